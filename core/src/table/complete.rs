//! A success reaches the row (B5 to B9, B17).

use super::{Slot, Table};
use crate::ids::{AccountId, Epoch, Seq, TenantId};
use crate::key::Keys;
use crate::row::{Fence, Row, State};
use crate::store::{Answer, Completion, Refusal};
use crate::time::{Millis, Time};

/// A renewal is written once it gains this fraction of the time to live (B15: a crash shortens a life by no more).
const COALESCE: u64 = 16;

/// What succeeded, and what its plan had seen.
pub(super) struct Success<'a> {
    pub(super) tenant: TenantId,
    pub(super) keys: &'a Keys,
    pub(super) fence: Option<Fence>,
    pub(super) account: AccountId,
    pub(super) seen: Epoch,
    pub(super) ttl: Millis,
    pub(super) pinned: bool,
    pub(super) inserts: bool,
}

/// What the fence allows on a live row.
enum Allowed {
    Confirm,
    Move,
    Renew,
    Nothing,
}

impl Success<'_> {
    fn allowed(&self, fence: Fence, row: &Row) -> Allowed {
        let home = row.account == self.account;
        let current = row.generation == fence.generation;
        let settled = row.state == State::Bound && row.pending.is_none();
        match (current, home) {
            (true, true) if settled => Allowed::Renew,
            (true, true) => Allowed::Confirm,
            (true, false) if !self.pinned => Allowed::Move,
            (false, true) if row.state == State::Bound => Allowed::Renew,
            (true | false, _) => Allowed::Nothing,
        }
    }
}

impl Table {
    pub(super) fn complete(&mut self, success: &Success<'_>, now: Time) -> Answer {
        let slot = self.locate(success.tenant, success.keys, now);
        let same =
            |table: &Self, slot: Slot| success.fence.filter(|f| table.row(slot).is_some_and(|row| row.id == f.id));
        match (slot, slot.and_then(|s| same(self, s))) {
            (Some(slot), Some(fence)) => self.complete_row(success, fence, slot, now),
            // Another row stands: made while this plan knew of none, or after the one it knew was deleted (B6).
            (Some(_), None) => self.stale(),
            // No row: it expired, was evicted, or never was. The epoch guards against erasures (B6, B8).
            (None, _) if success.inserts => self.complete_absent(success, now),
            (None, _) => self.stale(),
        }
    }

    fn stale(&self) -> Answer {
        Answer::Completed { how: Completion::Stale, seq: Seq(0) }
    }

    fn complete_absent(&mut self, success: &Success<'_>, now: Time) -> Answer {
        let Success { tenant, keys, account, seen, ttl, .. } = *success;
        match self.make(tenant, keys, account, State::Bound, seen, ttl, now) {
            Ok(_) => Answer::Completed { how: Completion::Inserted, seq: self.seq },
            Err(refusal) => Answer::Refused(refusal),
        }
    }

    fn complete_row(&mut self, success: &Success<'_>, fence: Fence, slot: Slot, now: Time) -> Answer {
        let Some(row) = self.row(slot) else { return Answer::Unknown };
        let how = match success.allowed(fence, row) {
            Allowed::Nothing => return self.stale(),
            // B11: an account whose bindings were erased since the plan gets none back by an attempt from before.
            Allowed::Move if !self.admitted(success.tenant, success.keys, success.account, success.seen) => {
                return Answer::Refused(Refusal::Erased);
            }
            Allowed::Renew => Completion::Renewed,
            Allowed::Confirm => Completion::Confirmed,
            Allowed::Move => Completion::Moved { from: row.account },
        };
        let attached = self.attach(slot, success.keys, now);
        self.extend(slot, now.plus(success.ttl), now);
        if how == Completion::Renewed {
            return self.renewed(slot, success.ttl, attached);
        }
        self.rehome(slot, success.account);
        let seq = self.stored(slot);
        if let Some(row) = self.row(slot) {
            debug_assert_eq!(row.seq, seq);
        }
        Answer::Completed { how, seq }
    }

    /// B7: a life only gets longer, stored times never go back.
    fn extend(&mut self, slot: Slot, until: Time, now: Time) {
        if let Some(row) = self.row_mut(slot) {
            row.expires = row.expires.max(until);
            row.renewed = row.renewed.max(now);
        }
    }

    /// A renewal is durable as far as its generation and its keys are; the longer life itself may be coalesced, up to a
    /// sixteenth (B15). What is written is waited for by every turn from here on.
    fn renewed(&mut self, slot: Slot, ttl: Millis, attached: bool) -> Answer {
        let next = Seq(self.seq.0 + 1);
        let Some(row) = self.row_mut(slot) else { return Answer::Unknown };
        if attached || row.expires.since(row.stored_expires).0 >= ttl.0 / COALESCE {
            row.seq = next;
            self.stored(slot);
        }
        let seq = self.row(slot).map_or(next, |row| row.seq);
        Answer::Completed { how: Completion::Renewed, seq }
    }

    /// The first success under the current generation: the row is bound to its account, one generation on, nothing pending.
    fn rehome(&mut self, slot: Slot, account: AccountId) {
        let next = Seq(self.seq.0 + 1);
        let Some(row) = self.rows.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let ledger = self.ledgers.entry(row.tenant).or_default();
        ledger.order(row.state).remove(&(row.stored_expires, slot));
        row.state = State::Bound;
        row.stored_expires = row.expires;
        ledger.order(row.state).insert((row.stored_expires, slot));
        row.account = account;
        row.pending = None;
        row.generation.0 = row.generation.0.saturating_add(1);
        row.seq = next;
    }
}
