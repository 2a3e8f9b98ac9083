//! Observations: each goes past the marks and the oracles, then into the record of the run.

use std::collections::BTreeMap;

use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::AccountId;
use homing_core::settings::Settings;
use homing_core::table::Table;
use homing_core::time::Time;

use super::{Violation, World};
use crate::disk::Disk;
use crate::event::{Event, ProcessId, Seen};
use crate::history::{Facts, History};
use crate::oracle;
use crate::scope::Scope;

/// The accounts where there is no process to have any.
static NONE: Fleet = Fleet::new();

/// What an oracle may look at besides the event: public views of the parts, and the record of the run.
#[derive(Debug)]
pub struct Moment<'a> {
    /// What may happen in this world.
    pub scope: &'a Scope,
    /// The process it happens in; `None`: the store, the world or an operator.
    pub process: Option<ProcessId>,
    /// The settings as that process knows them, else as they are.
    pub settings: &'a Settings,
    /// That process's clock, else the world's.
    pub now: Time,
    /// The clock the store reads.
    pub wall: Time,
    /// The time that decides in the store: never before what it stored (B8).
    pub store_now: Time,
    /// The accounts as that process's routing saw them when the step began; without a process none.
    pub fleet: &'a Fleet,
    /// The table: of the process that holds it, if it is up, else of the shared store.
    pub table: Option<&'a Table>,
    /// The durable copy.
    pub disk: &'a Disk,
    /// Whether a shared store is out of reach.
    pub outage: bool,
    /// What that process has heard about each account, else the same as `directory`.
    pub placed: &'a BTreeMap<AccountId, Standing>,
    /// What the operator and the directory say about each account.
    pub directory: &'a BTreeMap<AccountId, Standing>,
    /// The run before this event.
    pub history: &'a History,
}

impl World {
    /// Records what happened in the process of the turn it is about; without one, in the world.
    pub(crate) fn emit(&mut self, event: Event) {
        let process = event.turn().and_then(|turn| self.history.story(turn)).map(|story| story.process);
        self.emit_at(process, event);
    }

    /// Records one observation: the oracles see it first, then the record of the run takes it in.
    pub(crate) fn emit_at(&mut self, process: Option<ProcessId>, event: Event) {
        let now = process.map_or(self.now, |id| self.clock(id));
        let wall = self.store_wall();
        let Some(scope) = &self.scope else { return };
        let here = process.and_then(|id| self.processes.get(&id)).and_then(Option::as_deref);
        let fleet = match here {
            Some(_) if process == self.acting.0 => &self.acting.1,
            Some(here) => &here.fleet,
            None => &NONE,
        };
        let moment = Moment {
            scope,
            process,
            settings: here.map_or(&self.settings, |here| &here.settings),
            now,
            wall,
            store_now: wall.max(self.store.newest),
            fleet,
            table: self.store.table.as_deref(),
            disk: &self.store.disk,
            outage: self.store.away,
            placed: here.map_or(&self.placed, |here| &here.placed),
            directory: &self.placed,
            history: &self.history,
        };
        self.marks.see(&event, &moment);
        if let Err((oracle, text)) = oracle::see(&event, &moment)
            && self.violation.is_none()
        {
            self.violation = Some(Violation { oracle, text, step: self.step, event: self.seen.len() });
        }
        let facts = Facts {
            store: scope.store,
            process,
            now,
            fleet,
            wall,
            store_now: wall.max(self.store.newest),
            table: self.store.table.as_deref(),
            durable_id: self.store.disk.last_id(),
        };
        self.history.absorb(&event, &facts);
        self.seen.push(Seen { at: self.now, process, event });
    }
}
