//! What operators and the directory of accounts do, and the store's housekeeping.

use homing_core::fleet::Standing;
use homing_core::ids::{AccountId, PoolId, TenantId};
use homing_core::row::Scope as Erasure;
use homing_core::time::Millis;

use super::World;
use crate::event::{Cause, Event, FIRST, ProcessId};
use crate::plant::Plant;
use crate::scope::OTHER_POOL;

impl World {
    /// Time passes. What is set reaches every process within two seconds (B16), so none goes past a step of the clock without it.
    pub(crate) fn tick(&mut self, span: Millis) {
        let settings = self.settings;
        self.processes.values_mut().flatten().for_each(|process| process.settings = settings);
        self.now = self.now.plus(span);
        self.emit(Event::Ticked(span));
    }

    /// An account is switched off or on, or its file goes or comes. The only process hears it at once; of several each hears it
    /// at its own time.
    pub(crate) fn place(&mut self, account: AccountId, standing: Standing) {
        self.placed.insert(account, standing);
        if !self.several() {
            self.hear(FIRST, account);
            return;
        }
        self.processes.values_mut().flatten().for_each(|process| {
            process.unheard.insert(account);
        });
        self.emit(Event::Placed(account, standing));
    }

    /// The file of an account holds another identity: the old account is gone and another one is there (B11).
    pub(crate) fn replace(&mut self, account: AccountId) {
        let Some(last) = self.placed.keys().next_back().copied() else { return };
        let new = AccountId(last.0 + 1);
        self.emit(Event::Replaced { old: account, new });
        self.place(account, Standing::Gone);
        self.place(new, Standing::Usable);
    }

    /// The file of an account cannot be read. The account keeps its last good credential: nothing changes (B11).
    pub(crate) fn garble(&mut self, account: AccountId) {
        self.emit(Event::Garbled(account));
        if self.plant == Some(Plant::UnreadableIsRemoval) {
            self.erase_account(account);
        }
    }

    /// The removal is certain: the account is forgotten where it is known to be gone, and its bindings go.
    pub(crate) fn erase_account(&mut self, account: AccountId) {
        let knows = |world: &Self, id| {
            let process = world.process(id);
            process.is_some_and(|p| p.placed.get(&account).is_none_or(|s| *s == Standing::Gone))
        };
        let knowing: Vec<ProcessId> = self.processes.keys().copied().filter(|id| knows(self, *id)).collect();
        for id in knowing {
            if let Some(process) = self.processes.get_mut(&id).and_then(Option::as_mut) {
                process.fleet.remove(account);
            }
            self.emit_at(Some(id), Event::Stands(account, None));
        }
        self.erase(Erasure::Account(account));
    }

    pub(crate) fn erase(&mut self, scope: Erasure) {
        let Some(table) = &mut self.store.table else { return };
        let rows = table.erase(scope);
        self.emit(Event::Erased(scope, rows));
        self.collect(Cause::Erase(scope));
    }

    /// The tenant's oldest row is cleared by hand.
    pub(crate) fn clear_row(&mut self, tenant: TenantId) {
        let oldest = self.history.rows.values().find(|row| row.tenant == tenant).map(|row| row.id);
        if let Some(id) = oldest {
            self.erase(Erasure::Row(tenant, id));
        }
    }

    /// The tenant's API key is replaced: its sessions are kept (B12).
    pub(crate) fn reset_key(&mut self, tenant: TenantId) {
        let key = self.api_keys.entry(tenant).or_default();
        *key = key.saturating_add(1);
        self.emit(Event::KeyReset(tenant));
    }

    /// The session policy is switched: at once in the process that is told, later in the others (B16).
    pub(crate) fn switch(&mut self, id: ProcessId, on: bool) {
        self.settings.session_affinity = on;
        if let Some(process) = self.processes.get_mut(&id).and_then(Option::as_mut) {
            process.settings.session_affinity = on;
        }
        self.emit(Event::Affinity(on));
    }

    /// The conversation policy is switched: at once in the process that is told, later in the others (B16).
    pub(crate) fn talk(&mut self, id: ProcessId, on: bool) {
        let ttl = self.scope.as_ref().and_then(|scope| scope.settings.conversation).filter(|_| on);
        self.settings.conversation = ttl;
        if let Some(process) = self.processes.get_mut(&id).and_then(Option::as_mut) {
            process.settings.conversation = ttl;
        }
        self.emit(Event::Talk(on));
    }

    /// The tenant goes over to the other pool, with its sessions (B17).
    pub(crate) fn move_pool(&mut self, tenant: TenantId) {
        let pool = self.pools.entry(tenant).or_default();
        *pool = if *pool == PoolId::DEFAULT { OTHER_POOL } else { PoolId::DEFAULT };
        let pool = *pool;
        self.emit(Event::MovedPool(tenant, pool));
    }

    pub(crate) fn purge(&mut self) {
        let (wall, at) = (self.store_wall(), self.keeper());
        self.purge_too_much();
        let Some(table) = &mut self.store.table else { return };
        let gone = table.purge(wall);
        self.collect(Cause::Purge);
        self.emit_at(at, Event::Purged(gone));
    }

    pub(crate) fn flush(&mut self) {
        let at = self.keeper();
        let Some(table) = &mut self.store.table else { return };
        let queued = table.flush();
        self.collect(Cause::Flush);
        self.emit_at(at, Event::Flushed(queued));
    }

    /// The process that keeps the store, where one does.
    fn keeper(&self) -> Option<ProcessId> {
        (!self.racing()).then_some(FIRST)
    }
}
