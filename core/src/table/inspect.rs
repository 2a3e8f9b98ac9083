//! Reading the table without touching it: counts, listings, and the check of its own consistency.

use super::{Slot, Table};
use crate::ids::{Epoch, RowId, Seq, TenantId};
use crate::key::Keys;
use crate::row::{Row, State};
use crate::time::Time;

impl Table {
    /// Rows held, expired ones that were not yet removed among them.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.live
    }

    /// Whether no row is held.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Rows of one tenant: reservations, bindings.
    #[must_use]
    pub fn held_by(&self, tenant: TenantId) -> (usize, usize) {
        self.ledgers.get(&tenant).map_or((0, 0), |l| (l.reserved.len(), l.bound.len()))
    }

    /// The number of the last change.
    #[must_use]
    pub const fn seq(&self) -> Seq {
        self.seq
    }

    /// The erasures so far.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The id the next row will have.
    #[must_use]
    pub const fn next_id(&self) -> RowId {
        self.next_id
    }

    /// The whole row a session has now.
    #[must_use]
    pub fn session(&self, tenant: TenantId, keys: &Keys, now: Time) -> Option<&Row> {
        self.locate(tenant, keys, self.clock(now)).and_then(|slot| self.row(slot))
    }

    /// Live rows from position `cursor` on, with the cursor that goes on behind each. Positions are stable while a row lives.
    pub fn rows_from(&self, cursor: u32, now: Time) -> impl Iterator<Item = (u32, &Row)> {
        let now = self.clock(now);
        let rows = self.rows.iter().zip(0..).skip(cursor as usize);
        rows.filter_map(move |(row, slot): (_, Slot)| {
            row.as_ref().filter(|r| r.live(now)).map(|r| (slot.saturating_add(1), r))
        })
    }

    /// What must hold between any two transitions; the text names what does not.
    ///
    /// # Errors
    /// The first inconsistency found.
    pub fn check(&self) -> Result<(), &'static str> {
        let held = self.rows.iter().flatten().count();
        if held != self.live || held + self.free.len() != self.rows.len() {
            return Err("the count of rows is off");
        }
        if self.ledgers.values().map(super::Ledger::len).sum::<usize>() != held {
            return Err("the orders by expiry and the rows differ");
        }
        let keys: usize = self.rows.iter().flatten().map(|r| r.keys.count()).sum();
        if keys != self.index.len() {
            return Err("the index and the rows' keys differ");
        }
        for (row, slot) in self.rows.iter().zip(0..) {
            if let Some(row) = row {
                self.check_row(row, slot)?;
            }
        }
        self.check_pins()?;
        self.check_caps()
    }

    fn check_row(&self, row: &Row, slot: Slot) -> Result<(), &'static str> {
        let ledger = self.ledgers.get(&row.tenant).ok_or("a row's tenant has no order")?;
        let order = match row.state {
            State::Reserved => &ledger.reserved,
            State::Bound => &ledger.bound,
        };
        if !order.contains(&(row.stored_expires, slot)) {
            return Err("a row is missing from its order");
        }
        if row.stored_expires > row.expires {
            return Err("B15: a stored life is longer than the real one");
        }
        if row.keys.iter().any(|k| self.slot_of(&k.digest) != Some(slot)) {
            return Err("B10: a key leads to another row than its owner");
        }
        if row.keys.count() > crate::row::KEYS_PER_ROW {
            return Err("B10: a row has more than eight keys");
        }
        if row.state == State::Reserved && row.expires != row.stored_expires {
            return Err("B7: a reservation was renewed");
        }
        Ok(())
    }

    fn check_caps(&self) -> Result<(), &'static str> {
        if self.live > self.caps.total {
            return Err("B13: more rows than the total cap");
        }
        for ledger in self.ledgers.values() {
            if ledger.len() > self.caps.tenant {
                return Err("B13: a tenant holds more rows than its cap");
            }
            if ledger.reserved.len() > self.caps.reservations() {
                return Err("B4: reservations fill more than a tenth of a tenant's cap");
            }
        }
        Ok(())
    }

    /// Every row, in no order that means anything, for a copy or a test.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().flatten()
    }
}
