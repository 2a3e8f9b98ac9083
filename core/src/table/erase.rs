//! Rows that go: erasures with their epochs (B6, B11, B12) and expired rows (B13).

use alloc::vec::Vec;

use super::{Slot, Table};
use crate::ids::TenantId;
use crate::row::{Change, EpochScope, Scope};
use crate::time::Time;

/// Most expired rows removed in one batch (B13).
pub const PURGE_BATCH: usize = 1_000;

impl Table {
    /// Deletes what the scope names and raises its epoch, so that no plan from before can write it back. Returns the number of
    /// rows deleted.
    pub fn erase(&mut self, scope: Scope) -> usize {
        self.epoch.0 += 1;
        let remembered = match scope {
            Scope::Account(account) => EpochScope::Account(account),
            Scope::Tenant(tenant) | Scope::Row(tenant, _) => EpochScope::Tenant(tenant),
            Scope::Pool(pool) => EpochScope::Pool(pool),
        };
        self.erased.insert(remembered, self.epoch);
        self.seq.0 += 1;
        self.changes.push(Change::Erased(remembered, self.epoch));
        let hit: Vec<Slot> = self
            .rows
            .iter()
            .zip(0..)
            .filter_map(|(row, slot)| row.as_ref().map(|row| (row, slot)))
            .filter(|(row, _)| match scope {
                Scope::Account(account) => row.account == account,
                Scope::Tenant(tenant) => row.tenant == tenant,
                Scope::Pool(pool) => row.pool == Some(pool),
                Scope::Row(tenant, id) => row.tenant == tenant && row.id == id,
            })
            .map(|(_, slot)| slot)
            .collect();
        for slot in &hit {
            self.remove(*slot);
        }
        if let Scope::Tenant(tenant) = scope {
            self.erase_pins(tenant);
        }
        hit.len()
    }

    /// Removes up to [`PURGE_BATCH`] expired rows and pins; returns how many. Call again until it returns 0.
    pub fn purge(&mut self, now: Time) -> usize {
        let now = self.clock(now);
        let tenants: Vec<TenantId> = self.ledgers.keys().copied().collect();
        let mut gone = 0;
        for tenant in tenants {
            while gone < PURGE_BATCH && self.purge_one(tenant, now) {
                gone += 1;
            }
        }
        gone + self.purge_pins(PURGE_BATCH - gone, now)
    }

    fn purge_one(&mut self, tenant: TenantId, now: Time) -> bool {
        let head = |ledger: &super::Ledger| {
            ledger.reserved.first().into_iter().chain(ledger.bound.first()).min().copied().filter(|(t, _)| *t <= now)
        };
        while let Some((_, slot)) = self.ledgers.get(&tenant).and_then(head) {
            if self.row(slot).is_some_and(|row| row.live(now)) {
                // Renewed since it was stored: it takes its true place, and the durable copy learns of the longer life.
                self.stored(slot);
                continue;
            }
            self.remove(slot);
            return true;
        }
        false
    }

    /// Queues every renewal that was coalesced so far: for an orderly stop.
    pub fn flush(&mut self) -> usize {
        let lagging = |row: &crate::row::Row| row.stored_expires != row.expires;
        let slots: Vec<Slot> =
            self.rows.iter().zip(0..).filter(|(r, _)| r.as_ref().is_some_and(lagging)).map(|(_, s)| s).collect();
        for slot in &slots {
            self.stored(*slot);
        }
        slots.len()
    }
}
