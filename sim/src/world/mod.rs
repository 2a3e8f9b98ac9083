//! The world: gateway processes, the store they share or hold, their accounts, their clients and their clocks, as one transition
//! system.
//!
//! [`World::enabled`] lists what can happen next, [`World::apply`] lets one of it happen, and every observation on the way goes
//! past the oracles. The world decides nothing about sessions itself: it drives [`homing_core`] and answers its effects.

mod apply;
mod asked;
mod enabled;
mod fingerprint;
mod flight;
mod observe;
mod operate;
mod planted;
mod process;
mod settle;
mod store;
mod turns;

use std::collections::BTreeMap;

use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::{AccountId, PoolId, TenantId};
use homing_core::key::Digest;
use homing_core::settings::Settings;
use homing_core::store::{Answer, Op};
use homing_core::time::Time;
use homing_core::turn::{Effect, Turn};

pub use apply::Violation;
pub use observe::Moment;

use crate::ask::{Anchors, Ask};
use crate::event::{Event, FIRST, ProcessId, Seen, TurnId};
use crate::history::History;
use crate::marks::Marks;
use crate::plant::Plant;
use crate::scope::{Budget, Draft, Scope, StoreKind};
use crate::shared::Shared;
use process::{Offset, Process};
use store::Store;

pub(crate) use store::Statement;

/// When every run begins, in milliseconds since the epoch: any fixed time will do.
pub const BEGINNING: Time = Time(1_000_000_000);

/// One request under way.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    /// Where it lives; it dies with it.
    pub(crate) process: ProcessId,
    pub(crate) ask: Ask,
    pub(crate) anchors: Anchors,
    pub(crate) turn: Turn,
    /// What it waits for.
    pub(crate) effect: Effect,
    /// The store did it; the answer is under way.
    pub(crate) late: Option<Answer>,
    /// The turn as it was before visible output, for the planted bug that retries.
    pub(crate) before_visible: Option<Turn>,
    /// Its client left after the terminal event was read.
    pub(crate) left: bool,
}

/// Everything, as plain data: a clone is another world that goes its own way.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) scope: Option<Scope>,
    /// The world while it is being drawn.
    pub(crate) draft: Option<Draft>,
    /// What the operator set; a process reads it when it begins and when it hears of news.
    pub(crate) settings: Settings,
    pub(crate) plant: Option<Plant>,
    /// The world's clock: never goes back. A shared store reads this one.
    pub(crate) now: Time,
    /// How far the wall clock of each process's machine is off.
    pub(crate) walls: BTreeMap<ProcessId, Offset>,
    /// The processes; `None`: down.
    pub(crate) processes: BTreeMap<ProcessId, Option<Shared<Process>>>,
    pub(crate) turns: BTreeMap<TurnId, Shared<Open>>,
    pub(crate) store: Store,
    /// What the operator and the directory say about each account.
    pub(crate) placed: BTreeMap<AccountId, Standing>,
    /// Which of its API keys each tenant uses now.
    pub(crate) api_keys: BTreeMap<TenantId, u8>,
    /// The pool of each tenant that was moved to another.
    pub(crate) pools: BTreeMap<TenantId, PoolId>,
    /// The last id each session got (R1).
    pub(crate) ids: BTreeMap<(TenantId, u8), Digest>,
    /// The last turn state each session got, and the account that issued it.
    pub(crate) tokens: BTreeMap<(TenantId, u8), (String, AccountId)>,
    pub(crate) next_turn: u32,
    /// How often what may still happen.
    pub(crate) left: Budget,
    /// The process the present step is about, and its accounts as routing saw them when the step began.
    pub(crate) acting: (Option<ProcessId>, Fleet),
    pub(crate) history: History,
    pub(crate) marks: Marks,
    pub(crate) step: u32,
    pub(crate) violation: Option<Violation>,
    /// Events of the present step, for whoever prints them.
    pub(crate) seen: Vec<Seen>,
}

impl Default for World {
    fn default() -> Self {
        Self::new(None)
    }
}

impl World {
    /// A world before its first choice, with a planted bug or none.
    #[must_use]
    pub fn new(plant: Option<Plant>) -> Self {
        Self {
            scope: None,
            draft: None,
            settings: Settings::default(),
            plant,
            now: BEGINNING,
            walls: BTreeMap::new(),
            processes: BTreeMap::new(),
            turns: BTreeMap::new(),
            store: Store::default(),
            placed: BTreeMap::new(),
            api_keys: BTreeMap::new(),
            pools: BTreeMap::new(),
            ids: BTreeMap::new(),
            tokens: BTreeMap::new(),
            next_turn: 0,
            left: Budget::NOTHING,
            acting: (None, Fleet::new()),
            history: History::default(),
            marks: Marks::default(),
            step: 0,
            violation: None,
            seen: Vec::new(),
        }
    }

    /// A world of the given scope.
    #[must_use]
    pub fn of(scope: Scope, plant: Option<Plant>) -> Self {
        let mut world = Self::new(plant);
        world.set_up(scope);
        world
    }

    /// Begins in this scope.
    pub(crate) fn set_up(&mut self, scope: Scope) {
        self.settings = scope.settings;
        match self.plant {
            Some(Plant::GivesUpEarly) => self.settings.request_retry = 0,
            Some(Plant::TriesTooMuch) => self.settings.request_retry = 7,
            _ => {}
        }
        self.placed = scope.account_ids().map(|a| (a, Standing::Usable)).collect();
        self.walls = scope.process_ids().map(|p| (p, Offset(scope.skew_of(p)))).collect();
        self.left = scope.budget;
        let (name, processes) = (scope.name, scope.process_ids());
        self.scope = Some(scope);
        self.restore();
        for process in processes {
            self.start_process(process);
        }
        self.emit(Event::World(name));
    }

    /// Whether the processes share a store that races them.
    pub(crate) fn racing(&self) -> bool {
        self.scope.as_ref().is_some_and(|scope| scope.store == StoreKind::Racing)
    }

    /// Whether what an operator does reaches each process at another time.
    pub(crate) fn several(&self) -> bool {
        self.processes.len() > 1
    }

    /// The processes that are up.
    pub(crate) fn live(&self) -> impl Iterator<Item = (ProcessId, &Process)> {
        self.processes.iter().filter_map(|(id, process)| Some((*id, process.as_deref()?)))
    }

    /// The process, if it is up.
    pub(crate) fn process(&self, id: ProcessId) -> Option<&Process> {
        self.processes.get(&id)?.as_deref()
    }

    /// The clock its turns and its accounts go by; the world's where it is down.
    pub(crate) fn clock(&self, id: ProcessId) -> Time {
        self.process(id).map_or(self.now, |process| process.ahead.of(self.now))
    }

    /// The wall clock of a process's machine.
    pub(crate) fn wall(&self, id: ProcessId) -> Time {
        self.walls.get(&id).map_or(self.now, |wall| wall.of(self.now))
    }

    /// The clock the store reads: a shared one its own, an embedded one the wall clock of its process.
    pub(crate) fn store_wall(&self) -> Time {
        if self.racing() { self.now } else { self.wall(FIRST) }
    }

    /// The first rule that was broken, if one was.
    #[must_use]
    pub const fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// The interesting situations reached so far.
    #[must_use]
    pub const fn marks(&self) -> &Marks {
        &self.marks
    }

    /// The observations of the last step.
    #[must_use]
    pub fn seen(&self) -> &[Seen] {
        &self.seen
    }

    /// The number of steps so far.
    #[must_use]
    pub const fn steps(&self) -> u32 {
        self.step
    }

    pub(crate) const fn op_of(open: &Open) -> Option<Op> {
        match open.effect {
            Effect::Store(op) => Some(op),
            _ => None,
        }
    }
}
