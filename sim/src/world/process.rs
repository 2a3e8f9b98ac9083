//! One gateway process: its accounts, its settings, its clock. Its turns die with it.

use std::collections::{BTreeMap, BTreeSet};

use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::AccountId;
use homing_core::key::Digest;
use homing_core::settings::Settings;
use homing_core::time::Time;
use homing_core::turn_state::TurnStates;

use super::World;
use crate::event::{Cause, Event, ProcessId};
use crate::plant::Plant;

/// How far a clock is ahead of the world's, in milliseconds; behind it where negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Offset(pub(crate) i64);

impl Offset {
    /// What this clock reads when the world's reads `now`.
    pub(crate) const fn of(self, now: Time) -> Time {
        Time(now.0.saturating_add_signed(self.0))
    }
}

/// What lives and dies with a process, besides its turns and, where it holds the store itself, its table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    /// The accounts as its routing sees them: health is local.
    pub(crate) fleet: Fleet,
    pub(crate) states: TurnStates,
    /// What it has heard about each account.
    pub(crate) placed: BTreeMap<AccountId, Standing>,
    /// Accounts about which there is news that it has not heard.
    pub(crate) unheard: BTreeSet<AccountId>,
    /// What was set when it last looked.
    pub(crate) settings: Settings,
    /// Its clock goes at the pace of real time from what the wall clock read when it began.
    pub(crate) ahead: Offset,
    /// The home it last saw each session at, by the session's strongest key (T3).
    pub(crate) homes: BTreeMap<Digest, AccountId>,
}

impl World {
    /// A process begins: accounts as they are placed, settings as they are, nothing held against anybody.
    pub(crate) fn start_process(&mut self, id: ProcessId) {
        let mut fleet = Fleet::new();
        for (account, placed) in self.placed.iter().filter(|(_, placed)| **placed != Standing::Gone) {
            fleet.set(*account, *placed);
            self.seat(&mut fleet, *account);
        }
        let process = Process {
            fleet,
            states: TurnStates::new(),
            placed: self.placed.clone(),
            unheard: BTreeSet::new(),
            settings: self.settings,
            ahead: self.walls.get(&id).copied().unwrap_or_default(),
            homes: BTreeMap::new(),
        };
        self.processes.insert(id, Some(process.into()));
    }

    /// Puts the account into its pools.
    fn seat(&self, fleet: &mut Fleet, account: AccountId) {
        if self.plant != Some(Plant::ForgetsPools)
            && let Some(scope) = &self.scope
        {
            fleet.assign(account, scope.pools_of(account));
        }
    }

    pub(crate) fn restart(&mut self, id: ProcessId) {
        if self.process(id).is_some() {
            return;
        }
        let refused = if self.racing() { 0 } else { self.restore() };
        self.start_process(id);
        self.emit_at(Some(id), Event::Restarted(refused));
        if !self.racing() {
            self.collect(Cause::Restart);
        }
    }

    /// The process dies, and with it its turns. Of a shared store nothing is lost; what its turns had asked of it may be under
    /// way still.
    pub(crate) fn crash(&mut self, id: ProcessId) {
        if self.process(id).is_none() {
            return;
        }
        if self.racing() {
            let asking = |open: &super::Open| open.process == id && open.late.is_none();
            let asking: Vec<_> = self.turns.iter().filter(|(_, open)| asking(open)).map(|(id, _)| *id).collect();
            asking.into_iter().for_each(|turn| self.let_fly(turn));
        }
        let lost = if self.racing() { 0 } else { self.store.crash() };
        self.turns.retain(|_, open| open.process != id);
        self.processes.insert(id, None);
        self.emit_at(Some(id), Event::Crashed(lost));
    }

    /// The process hears what is new about accounts and settings.
    pub(crate) fn sync(&mut self, id: ProcessId) {
        let Some(process) = self.processes.get_mut(&id).and_then(Option::as_mut) else { return };
        process.settings = self.settings;
        let news: Vec<_> = std::mem::take(&mut process.unheard).into_iter().collect();
        for account in news {
            self.hear(id, account);
        }
    }

    /// The process hears how an account stands now (B11: no attempt starts from the moment it is gone).
    pub(crate) fn hear(&mut self, id: ProcessId, account: AccountId) {
        let Some(standing) = self.placed.get(&account).copied() else { return };
        let blind = self.plant == Some(Plant::BlindToRemoval) && standing == Standing::Gone;
        let Some(process) = self.processes.get_mut(&id).and_then(Option::as_mut) else { return };
        process.unheard.remove(&account);
        process.placed.insert(account, standing);
        if !blind && (standing != Standing::Gone || process.fleet.get(account).is_some()) {
            process.fleet.set(account, standing);
            let mut fleet = std::mem::take(&mut process.fleet);
            self.seat(&mut fleet, account);
            if let Some(process) = self.processes.get_mut(&id).and_then(Option::as_mut) {
                process.fleet = fleet;
            }
        }
        self.emit_at(Some(id), Event::Stands(account, Some(standing)));
    }

    /// Whether there is something new for the process to hear.
    pub(crate) fn has_news(&self, process: &Process) -> bool {
        !process.unheard.is_empty() || process.settings != self.settings
    }
}
