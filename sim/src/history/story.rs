//! One request's story, from observations alone.

use homing_core::failure::Failure;
use homing_core::ids::{AccountId, Seq};
use homing_core::key::Keys;
use homing_core::pin::Pinned;
use homing_core::row::{Fence, View};
use homing_core::store::{Answer, Completion, Op};
use homing_core::time::Time;
use homing_core::turn::{Outcome, Reason, Renewal, Request};

use crate::ask::Anchors;
use crate::event::{Event, ProcessId};

use super::Facts;

/// One attempt of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt {
    /// Where.
    pub account: AccountId,
    /// Why there.
    pub reason: Reason,
    /// When.
    pub at: Time,
    /// Its place in the run's events.
    pub event: u64,
    /// The account's quota was known to be spent until a time that has passed: this attempt finds out.
    pub probes: bool,
    /// The account was soft-cooling, and nothing else was left.
    pub warms: bool,
}

/// One request's story.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Story {
    /// Where it lives.
    pub process: ProcessId,
    /// Which of its tenant's API keys it came with.
    pub api_key: u8,
    /// What counts of what came: the conversation instead of the session where its policy was on.
    pub request: Request,
    /// The ids it names, and the one its success brings.
    pub anchors: Anchors,
    /// What its ids said together when the store looked for them, as the record has it.
    pub expected: Option<Pinned>,
    /// Whether the session policy was on then.
    pub affinity: bool,
    /// The event at which the store did the first read that the turn was told of: its plan's witness.
    pub planned: Option<u64>,
    /// What it asked of the store last.
    pub asked: Option<Op>,
    /// What the store made of that; `None` where it never got it.
    pub did: Option<Answer>,
    /// The event at which it did.
    pub did_at: u64,
    /// Every answer it got, in order.
    pub told: Vec<(Op, Answer)>,
    /// Every attempt, repeats among them.
    pub attempts: Vec<Attempt>,
    /// Every failure.
    pub failures: Vec<(AccountId, Failure)>,
    /// The last attempt is about to be repeated on its account.
    pub again: bool,
    /// Visible output went out.
    pub shown: bool,
    /// Where it succeeded.
    pub served: Option<AccountId>,
    /// The store wrote its success, whether it was told so or not.
    pub written: bool,
    /// The row its success was written to, in the generation and with the end that it had then.
    pub life: Option<(Fence, Time)>,
    /// The keys of the request that row had then.
    pub held: Keys,
    /// What its success did, as it was told.
    pub wrote: Option<(Completion, Seq)>,
    /// Whether its end was durable in time.
    pub released: Option<bool>,
    /// How it ended.
    pub ended: Option<Outcome>,
    /// Its client is gone, or its process is.
    pub gone: bool,
    /// Its process died before it ended.
    pub died: bool,
}

impl Story {
    /// Whether the request names a session that counts (B1, B16).
    #[must_use]
    pub const fn identified(&self) -> bool {
        self.affinity && !self.request.keys.is_empty()
    }

    /// Whether only one account can serve it (R1).
    #[must_use]
    pub const fn pinned(&self) -> bool {
        self.pin().is_some()
    }

    /// The only account that can serve it (R1).
    #[must_use]
    pub const fn pin(&self) -> Option<AccountId> {
        match self.expected {
            Some(Pinned::At { account, .. }) => Some(account),
            _ => self.request.pin,
        }
    }

    /// Whether it goes on.
    #[must_use]
    pub const fn open(&self) -> bool {
        self.ended.is_none() && !self.gone
    }

    /// Whether the account was tried.
    #[must_use]
    pub fn tried(&self, account: AccountId) -> bool {
        self.attempts.iter().any(|a| a.account == account)
    }

    /// How many distinct accounts were tried.
    #[must_use]
    pub fn distinct(&self) -> usize {
        let mut all: Vec<AccountId> = self.attempts.iter().map(|a| a.account).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    }

    /// The row as the store last told it, and whether the turn lost a race for it.
    #[must_use]
    pub fn last_view(&self) -> Option<View> {
        view_of(&self.told.last()?.1)
    }

    /// The attempt that is under way, also while it waits to be repeated.
    #[must_use]
    pub fn attempting(&self) -> Option<&Attempt> {
        let done = self.served.is_some() || (self.failures.len() >= self.attempts.len() && !self.again);
        self.attempts.last().filter(|_| self.open() && !done)
    }
}

impl Story {
    pub(super) fn new(process: ProcessId, request: Request, affinity: bool, api_key: u8) -> Self {
        Self {
            process,
            api_key,
            request,
            affinity,
            planned: None,
            asked: None,
            did: None,
            did_at: 0,
            told: Vec::new(),
            anchors: Anchors::default(),
            expected: None,
            attempts: Vec::new(),
            failures: Vec::new(),
            again: false,
            shown: false,
            served: None,
            written: false,
            life: None,
            held: Keys::default(),
            wrote: None,
            released: None,
            ended: None,
            gone: false,
            died: false,
        }
    }

    pub(super) fn absorb(&mut self, event: &Event, at: u64, facts: &Facts<'_>) {
        match *event {
            Event::Did { op, answer, .. } => {
                self.asked = Some(op);
                self.did = answer;
                self.did_at = at;
                self.absorb_completion(answer, facts);
            }
            // Nobody was told of it, but it was written all the same.
            Event::Landed { answer, .. } => self.absorb_completion(answer, facts),
            Event::LeftBehind { op, .. } => {
                self.asked = Some(op);
                self.did = None;
                self.did_at = at;
            }
            Event::Told { op, answer, .. } => {
                self.told.push((op, answer));
                if matches!(answer, Answer::Looked { .. } | Answer::Pins { .. }) {
                    self.planned = self.planned.or(Some(self.did_at));
                }
                if let Answer::Completed { how, seq } = answer {
                    self.wrote = Some((how, seq));
                }
            }
            Event::Dial { account, reason, .. } => {
                self.again = false;
                let now = facts.now;
                let known = facts.fleet.get(account);
                let probes = known.and_then(|a| a.spent).is_some_and(|bar| bar.until <= now);
                let warms = !self.pinned() && known.is_some_and(|a| a.cools(now));
                // A repeat is what the first attempt on its account was.
                let first = self.attempts.iter().find(|a| a.account == account).copied();
                let fresh = Attempt { account, reason, at: now, event: at, probes, warms };
                self.attempts.push(first.map_or(fresh, |first| Attempt { at: now, event: at, ..first }));
            }
            Event::Shown(_) => self.shown = true,
            Event::Waits(..) | Event::Renews(..) => self.again = true,
            Event::Served(_, account) => self.served = Some(account),
            Event::Failed(_, account, failure) => {
                self.again = false;
                self.failures.push((account, failure));
            }
            Event::Renewed(_, _, Renewal::Refused | Renewal::Unavailable) => self.again = false,
            Event::Released(_, in_time) => self.released = Some(in_time),
            Event::Ended(_, outcome) => self.ended = Some(outcome),
            Event::Left(_, settled) => self.gone |= !settled,
            _ => {}
        }
    }
}

impl Story {
    /// What the store wrote of its success: for how long, and by which of its keys it is found.
    fn absorb_completion(&mut self, answer: Option<Answer>, facts: &Facts<'_>) {
        if !matches!(answer, Some(Answer::Completed { how, .. }) if how != Completion::Stale) {
            return;
        }
        self.written = true;
        let row = facts.table.and_then(|t| t.session(self.request.tenant, &self.request.keys, facts.wall));
        self.life = row.map(|row| (row.view().fence, row.expires));
        self.held = Keys::default();
        for key in self.request.keys.iter().filter(|k| row.is_some_and(|row| row.keys.has(&k.digest))) {
            self.held.add(key);
        }
    }
}

/// The row an answer speaks of.
pub(crate) const fn view_of(answer: &Answer) -> Option<View> {
    match *answer {
        Answer::Looked { view, .. } | Answer::Lost(view) => view,
        Answer::Reserved(view) | Answer::Found(view) | Answer::Pended(view) => Some(view),
        Answer::Pins { .. }
        | Answer::Recorded(_)
        | Answer::Refused(_)
        | Answer::Completed { .. }
        | Answer::Raced
        | Answer::Unknown => None,
    }
}
