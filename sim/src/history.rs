//! What is known of each request so far, from observations alone. Every oracle reads this one record.

use std::collections::{BTreeMap, BTreeSet};

use homing_core::failure::Failure;
use homing_core::fleet::{Bar, Fleet, ModelId};
use homing_core::ids::{AccountId, RowId, Seq};
use homing_core::key::{Digest, Keys};
use homing_core::pin::{Pin, Pinned};
use homing_core::row::{Fence, Row, Scope as Erasure, View};
use homing_core::store::{Answer, Completion, Op};
use homing_core::table::Table;
use homing_core::time::Time;
use homing_core::turn::{Outcome, Reason, Renewal, Request};

use crate::ask::Anchors;
use crate::event::{Cause, Event, FIRST, ProcessId, TurnId};
use crate::scope::StoreKind;
use crate::shared::Shared;

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

/// What a record needs to know besides the event.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Where the bindings are.
    pub store: StoreKind,
    /// The process it happened in.
    pub process: Option<ProcessId>,
    /// That process's clock.
    pub now: Time,
    /// Its accounts when the step began.
    pub fleet: &'a Fleet,
    /// The clock the store reads.
    pub wall: Time,
    /// The time that decides in the store.
    pub store_now: Time,
    /// The table, if it is there.
    pub table: Option<&'a Table>,
    /// The highest row id that was ever durable.
    pub durable_id: RowId,
}

/// One erasure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Erased {
    /// Its place in the run's events.
    pub event: u64,
    /// What it took.
    pub scope: Erasure,
    /// The highest row id given out before it.
    pub last_id: RowId,
    /// It is durable when everything up to here is.
    pub seq: Seq,
    /// Whether it is.
    pub durable: bool,
}

/// Until when the upstream said it will not serve, and what made it say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Barred {
    /// Quota.
    Quota,
    /// A rate limit.
    Rate,
}

/// Who wrote a row last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Writer {
    /// In which process.
    pub process: ProcessId,
    /// With which of its tenant's API keys.
    pub api_key: u8,
    /// For which model.
    pub model: Option<ModelId>,
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
        match self.told.last()?.1 {
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

    /// The attempt that is under way, also while it waits to be repeated.
    #[must_use]
    pub fn attempting(&self) -> Option<&Attempt> {
        let done = self.served.is_some() || (self.failures.len() >= self.attempts.len() && !self.again);
        self.attempts.last().filter(|_| self.open() && !done)
    }
}

/// The run so far.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct History {
    /// All requests.
    pub stories: BTreeMap<TurnId, Shared<Story>>,
    /// All erasures and their places in the run's events.
    pub erased: Vec<Erased>,
    /// Events so far.
    pub events: u64,
    /// Every row as it was last seen.
    pub rows: BTreeMap<RowId, Row>,
    /// Every hard pin as it was last seen.
    pub pins: BTreeMap<Digest, Pin>,
    /// The highest row id given out that a crash did not take back.
    pub last_id: RowId,
    /// Who wrote each row last.
    pub writers: BTreeMap<RowId, Writer>,
    /// Accounts whose file came to hold another identity.
    pub replaced: BTreeSet<AccountId>,
    /// What the upstream told each process of accounts that will not serve for a while.
    pub barred: BTreeMap<(ProcessId, AccountId, Barred), Bar>,
    /// When an account gave a process a reason to hold something against it.
    pub blamed: BTreeSet<(ProcessId, AccountId, Time)>,
    /// Accounts whose credential somebody tried to renew in a process since their standing was set there.
    pub renewed: BTreeSet<(ProcessId, AccountId)>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            stories: BTreeMap::new(),
            erased: Vec::new(),
            events: 0,
            rows: BTreeMap::new(),
            pins: BTreeMap::new(),
            last_id: RowId(0),
            writers: BTreeMap::new(),
            replaced: BTreeSet::new(),
            barred: BTreeMap::new(),
            blamed: BTreeSet::new(),
            renewed: BTreeSet::new(),
        }
    }
}

impl History {
    /// The story of a turn.
    #[must_use]
    pub fn story(&self, turn: TurnId) -> Option<&Story> {
        self.stories.get(&turn).map(|story| &**story)
    }

    /// Whether one of these erasures came after the event.
    #[must_use]
    pub fn erased_since(&self, event: u64, hit: impl Fn(&Erasure) -> bool) -> bool {
        self.erased.iter().any(|e| e.event > event && hit(&e.scope))
    }

    /// Attempts of other requests of the same process that are under way at this account.
    pub fn under_way(&self, account: AccountId, but: TurnId) -> impl Iterator<Item = &Attempt> {
        let here = self.story(but).map(|story| story.process);
        let same = move |story: &Story| Some(story.process) == here;
        let others = self.stories.iter().filter(move |(id, story)| **id != but && same(story));
        others.filter_map(|(_, story)| story.attempting()).filter(move |a| a.account == account)
    }

    /// Takes in one event. Oracles see the event before the history does.
    pub fn absorb(&mut self, event: &Event, facts: &Facts<'_>) {
        self.events += 1;
        let at = self.events;
        match event {
            Event::Came { turn, request, affinity, api_key, anchors, .. } => {
                let process = facts.process.unwrap_or(FIRST);
                let story = Story { anchors: *anchors, ..Story::new(process, *request, *affinity, *api_key) };
                self.stories.insert(*turn, story.into());
            }
            Event::Erased(scope, _) => {
                let erased = Erased {
                    event: at,
                    scope: *scope,
                    last_id: self.last_id,
                    seq: facts.table.map_or(Seq(0), Table::seq),
                    durable: facts.store == StoreKind::Racing,
                };
                self.erased.push(erased);
            }
            Event::Durable(upto) => self.erased.iter_mut().for_each(|e| e.durable |= e.seq <= *upto),
            Event::Row { cause, before, after } => {
                self.absorb_row(before.as_ref(), after.as_ref());
                if let (Cause::Op(turn, _), Some(row)) = (cause, after)
                    && let Some(Story { process, api_key, request, .. }) = self.stories.get(turn).map(|story| &**story)
                {
                    let writer = Writer { process: *process, api_key: *api_key, model: request.model };
                    self.writers.insert(row.id, writer);
                }
            }
            Event::Pin { before, after, .. } => {
                if let Some(gone) = before {
                    self.pins.remove(&gone.anchor);
                }
                if let Some(pin) = after {
                    self.pins.insert(pin.anchor, *pin);
                }
            }
            Event::Replaced { old, .. } => {
                self.replaced.insert(*old);
            }
            Event::Crashed(_) => self.absorb_crash(facts),
            Event::Stands(account, standing) => {
                let here = |process: &ProcessId, a: &AccountId| Some(*process) == facts.process && a == account;
                self.renewed.retain(|(process, a)| !here(process, a));
                if standing.is_none() {
                    self.barred.retain(|(process, a, _), _| !here(process, a));
                    self.forget_probes(facts.process, *account);
                }
            }
            _ => self.absorb_turn(event, at, facts),
        }
    }

    /// An account that was forgotten comes back with a clean slate: what found out about it before finds out nothing any more.
    fn forget_probes(&mut self, process: Option<ProcessId>, account: AccountId) {
        let here = self.stories.values_mut().filter(|story| Some(story.process) == process);
        let attempts = here.flat_map(|story| &mut story.attempts);
        for attempt in attempts.filter(|attempt| attempt.account == account) {
            (attempt.probes, attempt.warms) = (false, false);
        }
    }

    /// What the ids of a request say together, as the record has it.
    #[must_use]
    pub fn pinned(&self, story: &Story, now: Time) -> Pinned {
        let known = |anchor| self.pins.get(anchor).filter(|pin| pin.live(now));
        let named = story.anchors.list();
        let mine = || named.iter().zip(0_u8..).filter_map(|(anchor, place)| Some((known(anchor)?, place)));
        if let Some((_, anchor)) = mine().find(|(pin, _)| pin.tenant != story.request.tenant) {
            return Pinned::Foreign { anchor };
        }
        match (
            mine().next(),
            mine().find(|(pin, _)| mine().next().is_some_and(|(first, _)| first.account != pin.account)),
        ) {
            (_, Some((_, anchor))) => Pinned::Apart { anchor },
            (Some((pin, anchor)), None) => Pinned::At { account: pin.account, anchor },
            (None, None) => Pinned::Nowhere,
        }
    }

    fn absorb_row(&mut self, before: Option<&Row>, after: Option<&Row>) {
        match (before, after) {
            (_, Some(row)) => {
                self.last_id = self.last_id.max(row.id);
                self.rows.insert(row.id, row.clone());
            }
            (Some(row), None) => {
                self.rows.remove(&row.id);
                self.writers.remove(&row.id);
            }
            (None, None) => {}
        }
    }

    /// What the process knew is gone with it; what a shared store knows stays.
    fn absorb_crash(&mut self, facts: &Facts<'_>) {
        let here = |process: ProcessId| Some(process) == facts.process;
        for story in self.stories.values_mut().filter(|story| here(story.process)) {
            story.died |= story.open();
            story.gone |= story.ended.is_none();
        }
        self.barred.retain(|(process, ..), _| !here(*process));
        self.blamed.retain(|(process, ..)| !here(*process));
        self.renewed.retain(|(process, _)| !here(*process));
        if facts.store == StoreKind::Embedded {
            self.erased.retain(|e| e.durable);
            self.last_id = facts.durable_id;
        }
    }

    fn absorb_turn(&mut self, event: &Event, at: u64, facts: &Facts<'_>) {
        if let Some(account) = blamed(event) {
            self.blamed.insert((facts.process.unwrap_or(FIRST), account, facts.now));
        }
        // Of an account that was forgotten nothing is learned.
        let known = |account| facts.fleet.get(account).is_some();
        let here = facts.process.unwrap_or(FIRST);
        match *event {
            Event::Failed(_, account, _) if !known(account) => {}
            Event::Failed(_, account, Failure::QuotaSpent { until: Some(until) }) => {
                self.barred.insert((here, account, Barred::Quota), Bar { since: facts.now, until });
            }
            Event::Failed(_, account, Failure::RateLimited { retry_after }) => {
                let until = facts.now.plus(retry_after);
                let key = (here, account, Barred::Rate);
                let longest = self.barred.get(&key).map_or(until, |bar| bar.until.max(until));
                self.barred.insert(key, Bar { since: facts.now, until: longest });
            }
            // A success says nothing about what was said after its attempt began.
            Event::Served(turn, account) => {
                let began = self.stories.get(&turn).and_then(|s| s.attempts.last()).map(|a| a.at);
                let lifted = |process: &ProcessId, a: &AccountId| *process == here && *a == account;
                self.barred.retain(|(p, a, _), bar| !lifted(p, a) || began.is_some_and(|at| at < bar.since));
            }
            Event::Renews(_, account) | Event::Renewed(_, account, _) => {
                self.renewed.insert((here, account));
            }
            _ => {}
        }
        if let Event::Did { turn, op: Op::FindPins, answer: Some(_) } = event
            && let Some(story) = self.stories.get(turn)
        {
            let expected = self.pinned(story, facts.store_now);
            self.stories.entry(*turn).and_modify(|story| story.expected = Some(expected));
        }
        if let Some(story) = event.turn().and_then(|turn| self.stories.get_mut(&turn)) {
            story.absorb(event, at, facts);
        }
    }
}

/// The account that the event gives a reason to hold something against (R2).
const fn blamed(event: &Event) -> Option<AccountId> {
    match *event {
        Event::Failed(_, account, failure) => match failure {
            Failure::Unreachable | Failure::ForeignCiphertext | Failure::Request | Failure::CutOff => None,
            _ => Some(account),
        },
        Event::Renewed(_, account, Renewal::Refused | Renewal::Unavailable) => Some(account),
        _ => None,
    }
}

impl Story {
    fn new(process: ProcessId, request: Request, affinity: bool, api_key: u8) -> Self {
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

    fn absorb(&mut self, event: &Event, at: u64, facts: &Facts<'_>) {
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

impl Event {
    /// The turn it is about.
    #[must_use]
    pub const fn turn(&self) -> Option<TurnId> {
        match *self {
            Self::Came { turn, .. }
            | Self::Did { turn, .. }
            | Self::LeftBehind { turn, .. }
            | Self::Landed { turn, .. }
            | Self::Told { turn, .. }
            | Self::Dial { turn, .. }
            | Self::Noted(turn, _)
            | Self::Shown(turn)
            | Self::Served(turn, _)
            | Self::Failed(turn, ..)
            | Self::Waits(turn, _)
            | Self::Renews(turn, _)
            | Self::Renewed(turn, ..)
            | Self::Rests(turn, _)
            | Self::Released(turn, _)
            | Self::Ended(turn, _)
            | Self::Left(turn, _) => Some(turn),
            Self::Row { cause: Cause::Op(turn, _), .. } | Self::Pin { cause: Cause::Op(turn, _), .. } => Some(turn),
            _ => None,
        }
    }
}
