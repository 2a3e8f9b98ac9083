//! The in-memory table: every session's row, found by any of its keys, ordered by expiry for each tenant, within caps.
//!
//! This is the one definition of the store's contract ([`crate::store`]). Each transition is atomic: it takes the table
//! exclusively, reads the time that decides after that (B8), and queues what a durable copy has to write. It performs no
//! I/O itself; the caller takes the changes in order and says when they are durable.

mod attach;
#[cfg(test)]
mod check_tests;
mod complete;
pub mod erase;
mod inspect;
mod pins;
mod place;
#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use hashbrown::HashTable;

use crate::ids::{AccountId, Epoch, RowId, Seq, TenantId};
use crate::key::{Digest, Keys};
use crate::row::{Change, EpochScope, Row, State, View};
use crate::settings::Caps;
use crate::store::{Answer, Op, Subject};
use crate::time::Time;

type Slot = u32;

/// The rows of one tenant by expiry. The order holds the *stored* expiry, which is never later than the real one.
#[derive(Clone, Debug, Default)]
struct Ledger {
    reserved: BTreeSet<(Time, Slot)>,
    bound: BTreeSet<(Time, Slot)>,
}

impl Ledger {
    fn len(&self) -> usize {
        self.reserved.len() + self.bound.len()
    }

    fn order(&mut self, state: State) -> &mut BTreeSet<(Time, Slot)> {
        match state {
            State::Reserved => &mut self.reserved,
            State::Bound => &mut self.bound,
        }
    }
}

/// All bindings of one process, or of one store.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Option<Row>>,
    free: Vec<Slot>,
    index: HashTable<(Digest, Slot)>,
    ledgers: BTreeMap<TenantId, Ledger>,
    live: usize,
    caps: Caps,
    next_id: RowId,
    epoch: Epoch,
    erased: BTreeMap<EpochScope, Epoch>,
    newest: Time,
    seq: Seq,
    changes: Vec<Change>,
    pins: pins::Pins,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub const fn new(caps: Caps) -> Self {
        Self {
            rows: Vec::new(),
            free: Vec::new(),
            index: HashTable::new(),
            ledgers: BTreeMap::new(),
            live: 0,
            caps,
            next_id: RowId(1),
            epoch: Epoch(0),
            erased: BTreeMap::new(),
            newest: Time(0),
            seq: Seq(0),
            changes: Vec::new(),
            pins: pins::Pins::new(),
        }
    }

    /// The table a durable copy describes. `next_id` must be beyond every id ever given out.
    ///
    /// A row one of whose keys another row holds already is left out; the number of those is the second value. Every row is
    /// durable as it is: its change belongs to a process that is no more, and a turn need not wait for it (B15).
    #[must_use]
    pub fn restore(
        caps: Caps,
        next_id: RowId,
        rows: impl IntoIterator<Item = Row>,
        erased: impl IntoIterator<Item = (EpochScope, Epoch)>,
    ) -> (Self, usize) {
        let mut table = Self::new(caps);
        table.next_id = next_id;
        for (scope, epoch) in erased {
            table.epoch = table.epoch.max(epoch);
            table.erased.insert(scope, epoch);
        }
        let mut refused = 0;
        for mut row in rows {
            if row.keys.iter().any(|k| table.slot_of(&k.digest).is_some()) {
                refused += 1;
                continue;
            }
            table.next_id = table.next_id.max(RowId(row.id.0 + 1));
            table.newest = table.newest.max(row.created).max(row.renewed);
            row.seq = Seq(0);
            row.stored_expires = row.expires;
            table.insert(row);
        }
        table.changes.clear();
        (table, refused)
    }

    /// Performs one transition for the session with these keys. `now` is the wall clock; what decides is the later of it and
    /// the newest time stored (B8).
    pub fn answer(&mut self, subject: Subject<'_>, op: Op, now: Time) -> Answer {
        let now = self.clock(now);
        let Subject { tenant, keys, anchors, issued } = subject;
        match op {
            Op::FindPins => self.find_pins(tenant, anchors, now),
            Op::Record { account, seen } => match issued {
                Some(anchor) => Answer::Recorded(self.record(tenant, anchor, account, seen, now)),
                None => Answer::Recorded(Seq(0)),
            },
            Op::Look => Answer::Looked { view: self.find(tenant, keys, now), epoch: self.epoch },
            Op::Reserve { account, seen, ttl } => self.reserve(tenant, keys, account, seen, ttl, now),
            Op::Pend { fence, expect, next } => self.pend(tenant, keys, fence, expect, next, now),
            Op::Complete { fence, account, seen, ttl, pinned, inserts } => {
                let success = complete::Success { tenant, keys, fence, account, seen, ttl, pinned, inserts };
                let pin = issued.map(|anchor| self.record(tenant, anchor, account, Some(seen), now));
                match (self.complete(&success, now), pin) {
                    (Answer::Completed { how, seq }, Some(pin)) => Answer::Completed { how, seq: seq.max(pin) },
                    (answer, _) => answer,
                }
            }
        }
    }

    /// The changes since the last call, in order, and the number of the last one.
    pub fn take_changes(&mut self) -> (Vec<Change>, Seq) {
        (core::mem::take(&mut self.changes), self.seq)
    }

    /// The time that decides: never before the newest time stored, so that a clock set back revives nothing.
    fn clock(&self, now: Time) -> Time {
        now.max(self.newest)
    }

    /// The session's live row (B10): by the strongest key that leads to one; through a weaker key only where that row owns no
    /// other value of a stronger kind.
    pub(crate) fn find(&self, tenant: TenantId, keys: &Keys, now: Time) -> Option<View> {
        self.locate(tenant, keys, now).and_then(|slot| self.row(slot)).map(Row::view)
    }

    fn locate(&self, tenant: TenantId, keys: &Keys, now: Time) -> Option<Slot> {
        let mut weaker = false;
        for key in keys.iter() {
            if let Some(slot) = self.live_slot(&key.digest, now)
                && let Some(row) = self.row(slot)
                && row.tenant == tenant
                && (!weaker || !row.keys.iter().any(|k| k.kind < key.kind && !keys.has(&k.digest)))
            {
                return Some(slot);
            }
            weaker = true;
        }
        None
    }

    fn row(&self, slot: Slot) -> Option<&Row> {
        self.rows.get(slot as usize)?.as_ref()
    }

    fn row_mut(&mut self, slot: Slot) -> Option<&mut Row> {
        self.rows.get_mut(slot as usize)?.as_mut()
    }

    fn slot_of(&self, digest: &Digest) -> Option<Slot> {
        self.index.find(digest.word(), |(d, _)| d == digest).map(|(_, slot)| *slot)
    }

    fn live_slot(&self, digest: &Digest, now: Time) -> Option<Slot> {
        self.slot_of(digest).filter(|slot| self.row(*slot).is_some_and(|row| row.live(now)))
    }

    /// Whether an insert that knew of `seen` erasures may still be made (B6).
    fn admitted(&self, tenant: TenantId, keys: &Keys, account: AccountId, seen: Epoch) -> bool {
        let last = |scope| self.erased.get(&scope).copied().unwrap_or_default();
        let pool = keys.pool().map_or(Epoch(0), |pool| last(EpochScope::Pool(pool)));
        pool <= seen && last(EpochScope::Tenant(tenant)) <= seen && last(EpochScope::Account(account)) <= seen
    }

    /// Queues the row as it is now. The stored expiry becomes the real one, and the order follows it.
    fn stored(&mut self, slot: Slot) -> Seq {
        let Some(row) = self.rows.get_mut(slot as usize).and_then(Option::as_mut) else {
            return self.seq;
        };
        let order = self.ledgers.entry(row.tenant).or_default().order(row.state);
        if row.stored_expires != row.expires {
            order.remove(&(row.stored_expires, slot));
            row.stored_expires = row.expires;
            row.seq = Seq(self.seq.0 + 1);
            order.insert((row.stored_expires, slot));
        }
        self.seq.0 += 1;
        self.newest = self.newest.max(row.renewed);
        self.changes.push(Change::Put(row.clone()));
        self.seq
    }

    /// Puts a row in, with its keys and its place in the order. The caller has made sure that the keys are free.
    fn insert(&mut self, row: Row) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            Slot::try_from(self.rows.len() - 1).unwrap_or(Slot::MAX)
        });
        for key in row.keys.iter() {
            self.index.insert_unique(key.digest.word(), (key.digest, slot), |(d, _)| d.word());
        }
        self.ledgers.entry(row.tenant).or_default().order(row.state).insert((row.stored_expires, slot));
        self.live += 1;
        if let Some(place) = self.rows.get_mut(slot as usize) {
            *place = Some(row);
        }
        slot
    }

    /// Takes a row out, frees its keys and queues the deletion.
    fn remove(&mut self, slot: Slot) {
        let Some(row) = self.rows.get_mut(slot as usize).and_then(Option::take) else { return };
        for key in row.keys.iter() {
            if let Ok(entry) = self.index.find_entry(key.digest.word(), |(d, s)| *d == key.digest && *s == slot) {
                entry.remove();
            }
        }
        if let Some(ledger) = self.ledgers.get_mut(&row.tenant) {
            ledger.order(row.state).remove(&(row.stored_expires, slot));
            if ledger.len() == 0 {
                self.ledgers.remove(&row.tenant);
            }
        }
        self.live -= 1;
        self.free.push(slot);
        self.seq.0 += 1;
        self.changes.push(Change::Delete(row.id));
    }
}
