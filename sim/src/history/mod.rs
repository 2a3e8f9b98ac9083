//! What is known of each request so far, from observations alone. Every oracle reads this one record.

mod story;

use std::collections::{BTreeMap, BTreeSet};

use homing_core::failure::Failure;
use homing_core::fleet::{Bar, Fleet, ModelId};
use homing_core::ids::{AccountId, RowId, Seq};
use homing_core::key::Digest;
use homing_core::pin::{Pin, Pinned};
use homing_core::row::{Row, Scope as Erasure};
use homing_core::store::Op;
use homing_core::table::Table;
use homing_core::time::Time;
use homing_core::turn::Renewal;

use crate::event::{Cause, Event, FIRST, ProcessId, TurnId};
use crate::scope::StoreKind;
use crate::shared::Shared;

pub(crate) use story::view_of;
pub use story::{Attempt, Story};

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
