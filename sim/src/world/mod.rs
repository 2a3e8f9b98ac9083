//! The world: one gateway process, its store, its accounts, its clients and its clocks, as one transition system.
//!
//! [`World::enabled`] lists what can happen next, [`World::apply`] lets one of it happen, and every observation on the way goes
//! past the oracles. The world decides nothing about sessions itself: it drives [`homing_core`] and answers its effects.

mod apply;
mod enabled;
mod fingerprint;
mod operate;
mod planted;
mod settle;
mod store;
mod turns;

use std::collections::BTreeMap;

use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::{AccountId, RowId, TenantId};
use homing_core::row::Row;
use homing_core::settings::Settings;
use homing_core::store::{Answer, Op};
use homing_core::table::Table;
use homing_core::time::{Millis, Time};
use homing_core::turn::{Effect, Turn};
use homing_core::turn_state::TurnStates;

pub use apply::Violation;

use crate::ask::Ask;
use crate::disk::Disk;
use crate::event::{Event, ProcessId, Seen, TurnId};
use crate::history::{Facts, History};
use crate::marks::Marks;
use crate::oracle;
use crate::plant::Plant;
use crate::scope::{Draft, Scope};

/// When every run begins, in milliseconds since the epoch: any fixed time will do.
pub const BEGINNING: Time = Time(1_000_000_000);

/// One request under way.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) ask: Ask,
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

/// What lives and dies with the process.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) table: Table,
    pub(crate) fleet: Fleet,
    pub(crate) turns: BTreeMap<TurnId, Open>,
    pub(crate) states: TurnStates,
    /// The newest time the table stored, from its changes (B8).
    pub(crate) newest: Time,
}

/// Everything, as plain data: a clone is another world that goes its own way.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) scope: Option<Scope>,
    /// The world while it is being drawn.
    pub(crate) draft: Option<Draft>,
    pub(crate) settings: Settings,
    pub(crate) plant: Option<Plant>,
    /// The process's clock: never goes back.
    pub(crate) now: Time,
    /// How far behind it the wall clock is.
    pub(crate) behind: Millis,
    pub(crate) process: Option<Process>,
    pub(crate) disk: Disk,
    /// What the operator and the directory say about each account.
    pub(crate) placed: BTreeMap<AccountId, Standing>,
    /// The last turn state each session got, and the account that issued it.
    pub(crate) tokens: BTreeMap<(TenantId, u8), (String, AccountId)>,
    pub(crate) next_turn: u32,
    pub(crate) faults: u32,
    pub(crate) asks: u32,
    pub(crate) ticks: u32,
    /// Trouble is over.
    pub(crate) healed: bool,
    /// The rows as they were last seen.
    pub(crate) rows: BTreeMap<RowId, Row>,
    /// The accounts as routing saw them when the present step began.
    pub(crate) fleet_then: Fleet,
    pub(crate) history: History,
    pub(crate) marks: Marks,
    pub(crate) step: u32,
    pub(crate) violation: Option<Violation>,
    /// Events of the present step, for whoever prints them.
    pub(crate) seen: Vec<Seen>,
}

/// What an oracle may look at besides the event: public views of the parts, and the record of the run.
#[derive(Debug)]
pub struct Moment<'a> {
    /// What may happen in this world.
    pub scope: &'a Scope,
    /// What the operator set, as it is now.
    pub settings: &'a Settings,
    /// The process's clock.
    pub now: Time,
    /// The wall clock.
    pub wall: Time,
    /// The time that decides in the store: never before what it stored (B8).
    pub store_now: Time,
    /// The accounts as routing saw them when the step began.
    pub fleet: &'a Fleet,
    /// The table, if the process lives.
    pub table: Option<&'a Table>,
    /// The durable copy.
    pub disk: &'a Disk,
    /// What the operator says about each account.
    pub placed: &'a BTreeMap<AccountId, Standing>,
    /// The run before this event.
    pub history: &'a History,
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
            behind: Millis(0),
            process: None,
            disk: Disk::default(),
            placed: BTreeMap::new(),
            tokens: BTreeMap::new(),
            next_turn: 0,
            faults: 0,
            asks: 0,
            ticks: 0,
            healed: false,
            rows: BTreeMap::new(),
            fleet_then: Fleet::new(),
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
        (self.faults, self.asks, self.ticks) = (scope.faults, scope.asks, scope.ticks);
        let name = scope.name;
        self.scope = Some(scope);
        self.start_process();
        self.emit(Event::World(name));
    }

    /// The wall clock.
    #[must_use]
    pub const fn wall(&self) -> Time {
        Time(self.now.0.saturating_sub(self.behind.0))
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

    /// Records one observation: the oracles see it first, then the record of the run takes it in.
    pub(crate) fn emit(&mut self, event: Event) {
        let Some(scope) = &self.scope else { return };
        let newest = self.process.as_ref().map_or(Time(0), |p| p.newest);
        let moment = Moment {
            scope,
            settings: &self.settings,
            now: self.now,
            wall: self.wall(),
            store_now: self.wall().max(newest),
            fleet: &self.fleet_then,
            table: self.process.as_ref().map(|p| &p.table),
            disk: &self.disk,
            placed: &self.placed,
            history: &self.history,
        };
        self.marks.see(&event, &moment);
        if let Err((oracle, text)) = oracle::see(&event, &moment)
            && self.violation.is_none()
        {
            self.violation = Some(Violation { oracle, text, step: self.step });
        }
        let facts = Facts {
            now: self.now,
            wall: self.wall(),
            fleet: &self.fleet_then,
            table: self.process.as_ref().map(|p| &p.table),
            durable_id: self.disk.last_id(),
        };
        self.history.absorb(&event, &facts);
        let process = event.in_process().then_some(ProcessId(0));
        self.seen.push(Seen { at: self.now, process, event });
    }

    pub(crate) fn op_of(open: &Open) -> Option<Op> {
        match open.effect {
            Effect::Store(op) => Some(op),
            _ => None,
        }
    }
}
