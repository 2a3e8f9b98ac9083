//! Making a row: reservations (B4) and room for them (B13).

use super::{Slot, Table};
use crate::ids::{AccountId, Epoch, Generation, Seq, TenantId};
use crate::key::Keys;
use crate::row::{Fence, Row, RowKeys, State};
use crate::store::{Answer, Refusal};
use crate::time::{Millis, Time};

impl Table {
    /// B4: the first of racing first requests makes the row, the others find it.
    pub(super) fn reserve(
        &mut self,
        tenant: TenantId,
        keys: &Keys,
        account: AccountId,
        seen: Epoch,
        ttl: Millis,
        now: Time,
    ) -> Answer {
        if let Some(view) = self.find(tenant, keys, now) {
            return Answer::Found(view);
        }
        match self.make(tenant, keys, account, State::Reserved, seen, ttl, now) {
            Ok(slot) => self.row(slot).map_or(Answer::Unknown, |row| Answer::Reserved(row.view())),
            Err(refusal) => Answer::Refused(refusal),
        }
    }

    /// A new row under the request's keys that are free.
    ///
    /// The request is another session than the owner of a taken key (it would have been found else), so that key stays where
    /// it is (B10). Where even the strongest key is taken, there is nothing to know the session by.
    #[expect(clippy::too_many_arguments, reason = "the columns of one row")]
    pub(super) fn make(
        &mut self,
        tenant: TenantId,
        keys: &Keys,
        account: AccountId,
        state: State,
        seen: Epoch,
        ttl: Millis,
        now: Time,
    ) -> Result<Slot, Refusal> {
        if !self.admitted(tenant, keys, account, seen) {
            return Err(Refusal::Erased);
        }
        let mut free = keys.iter().filter(|k| self.live_slot(&k.digest, now).is_none());
        let mut owned = RowKeys::new(free.next().ok_or(Refusal::KeyTaken)?);
        for key in free {
            owned.push(key);
        }
        for digest in owned.iter().map(|k| k.digest) {
            if let Some(dead) = self.slot_of(&digest) {
                self.remove(dead);
            }
        }
        self.make_room(tenant, state, now)?;
        let id = self.next_id;
        self.next_id.0 += 1;
        let expires = now.plus(ttl);
        let generation = match state {
            State::Reserved => Generation(0),
            State::Bound => Generation(1),
        };
        let row = Row {
            id,
            tenant,
            pool: keys.pool(),
            generation,
            account,
            state,
            pending: None,
            created: now,
            renewed: now,
            expires,
            stored_expires: expires,
            seq: Seq(self.seq.0 + 1),
            keys: owned,
        };
        let slot = self.insert(row);
        self.stored(slot);
        Ok(slot)
    }

    /// B13: the tenant's own reservations go first, then its soonest-to-expire bindings; at the total cap, those of the tenant
    /// that holds most.
    fn make_room(&mut self, tenant: TenantId, state: State, now: Time) -> Result<(), Refusal> {
        let (reserved, all) = self.ledgers.get(&tenant).map_or((0, 0), |l| (l.reserved.len(), l.len()));
        if all >= self.caps.tenant || (state == State::Reserved && reserved >= self.caps.reservations()) {
            let only_reserved = all < self.caps.tenant;
            let victim = self.soonest(tenant, only_reserved, now).ok_or(Refusal::Full)?;
            self.remove(victim);
        }
        while self.live >= self.caps.total {
            let largest = self.ledgers.iter().max_by_key(|(t, l)| (l.len(), **t == tenant)).map(|(t, _)| *t);
            let victim = largest.and_then(|t| self.soonest(t, false, now)).ok_or(Refusal::Full)?;
            self.remove(victim);
        }
        Ok(())
    }

    /// The tenant's row to give up: a reservation if it has one, else the binding that ends soonest.
    fn soonest(&mut self, tenant: TenantId, only_reserved: bool, now: Time) -> Option<Slot> {
        let ledger = self.ledgers.get(&tenant)?;
        if let Some((_, slot)) = ledger.reserved.first() {
            return Some(*slot);
        }
        if only_reserved {
            return None;
        }
        self.first_bound(tenant, now)
    }

    /// The binding that really ends first. The order holds stored expiries, so a row at its head that was renewed since takes
    /// its true place before the next one is looked at.
    fn first_bound(&mut self, tenant: TenantId, now: Time) -> Option<Slot> {
        loop {
            let (stored, slot) = *self.ledgers.get(&tenant)?.bound.first()?;
            let row = self.row(slot)?;
            if row.expires == stored || !row.live(now) {
                return Some(slot);
            }
            self.stored(slot);
        }
    }

    /// B5: the next candidate of a request that had to leave, by compare-and-set.
    pub(super) fn pend(
        &mut self,
        tenant: TenantId,
        keys: &Keys,
        fence: Fence,
        expect: Option<AccountId>,
        next: AccountId,
        now: Time,
    ) -> Answer {
        let found = self.locate(tenant, keys, now);
        let Some((slot, row)) = found.and_then(|slot| Some((slot, self.row_mut(slot)?))) else {
            return Answer::Lost(None);
        };
        if row.view().fence != fence || row.pending != expect {
            return Answer::Lost(Some(row.view()));
        }
        row.pending = Some(next);
        self.stored(slot);
        self.row(slot).map_or(Answer::Unknown, |row| Answer::Pended(row.view()))
    }
}
