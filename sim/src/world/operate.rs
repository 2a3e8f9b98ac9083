//! What operators, the directory of accounts, the clocks and the power supply do.

use homing_core::fleet::Standing;
use homing_core::ids::{AccountId, TenantId};
use homing_core::row::Scope as Erasure;
use homing_core::settings::Caps;
use homing_core::time::{Millis, Time};
use homing_core::turn_state::TurnStates;

use super::{Process, World, planted};
use crate::event::{Cause, Event};
use crate::plant::Plant;

impl World {
    fn caps(&self) -> Caps {
        match (self.plant, &self.scope) {
            (Some(Plant::ForgetsCaps), _) | (_, None) => Caps::default(),
            (_, Some(scope)) => scope.caps,
        }
    }

    /// A process starts: the table from the disk, accounts as they are placed, nothing else.
    pub(crate) fn start_process(&mut self) -> usize {
        let (table, refused) = planted::restored(self.plant, &self.disk, self.caps());
        let newest = self.disk.rows().map(|row| row.renewed.max(row.created)).max().unwrap_or(Time(0));
        let fleet = self.new_fleet();
        let turns = std::collections::BTreeMap::new();
        self.process = Some(Process { table, fleet, turns, states: TurnStates::new(), newest });
        refused
    }

    pub(crate) fn restart(&mut self) {
        if self.process.is_none() {
            let refused = self.start_process();
            self.emit(Event::Restarted(refused));
            self.collect(Cause::Restart);
        }
    }

    pub(crate) fn crash(&mut self) {
        if self.process.take().is_some() {
            let lost = self.disk.waiting();
            self.disk.crash();
            self.emit(Event::Crashed(lost));
        }
    }

    pub(crate) fn tick(&mut self, span: Millis) {
        self.now = self.now.plus(span);
        self.emit(Event::Ticked(span));
    }

    /// An account is switched off or on, or its file goes or comes (B11: no attempt starts from that moment).
    pub(crate) fn place(&mut self, account: AccountId, standing: Standing) {
        self.placed.insert(account, standing);
        let blind = self.plant == Some(Plant::BlindToRemoval) && standing == Standing::Gone;
        if let Some(process) = &mut self.process
            && !blind
            && (standing != Standing::Gone || process.fleet.get(account).is_some())
        {
            process.fleet.set(account, standing);
        }
        self.emit(Event::Stands(account, Some(standing)));
    }

    /// The removal is certain: the account is forgotten and its bindings go.
    pub(crate) fn erase_account(&mut self, account: AccountId) {
        if let Some(process) = &mut self.process {
            process.fleet.remove(account);
            self.emit(Event::Stands(account, None));
            self.erase(Erasure::Account(account));
        }
    }

    pub(crate) fn erase(&mut self, scope: Erasure) {
        let Some(process) = &mut self.process else { return };
        let rows = process.table.erase(scope);
        self.emit(Event::Erased(scope, rows));
        self.collect(Cause::Erase(scope));
    }

    /// The tenant's oldest row is cleared by hand.
    pub(crate) fn clear_row(&mut self, tenant: TenantId) {
        let oldest = self.rows.values().find(|row| row.tenant == tenant).map(|row| row.id);
        if let Some(id) = oldest {
            self.erase(Erasure::Row(tenant, id));
        }
    }

    pub(crate) fn purge(&mut self) {
        let wall = self.wall();
        self.purge_too_much();
        let Some(process) = &mut self.process else { return };
        let gone = process.table.purge(wall);
        self.collect(Cause::Purge);
        self.emit(Event::Purged(gone));
    }

    pub(crate) fn flush(&mut self) {
        let Some(process) = &mut self.process else { return };
        let queued = process.table.flush();
        self.collect(Cause::Flush);
        self.emit(Event::Flushed(queued));
    }
}
