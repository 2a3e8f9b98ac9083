//! Hard pins in the table (R1): found by their anchor, forgotten by age, bounded like rows.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use hashbrown::HashTable;

use super::Table;
use crate::ids::{AccountId, Epoch, Seq, TenantId};
use crate::key::Digest;
use crate::pin::{PIN_TTL, Pin, Pinned};
use crate::row::{Change, EpochScope};
use crate::store::Answer;
use crate::time::Time;

/// All pins, by anchor and by age for each tenant.
#[derive(Clone, Debug)]
pub(super) struct Pins {
    index: HashTable<Pin>,
    ages: BTreeMap<TenantId, BTreeSet<(Time, Digest)>>,
}

impl Pins {
    pub(super) const fn new() -> Self {
        Self { index: HashTable::new(), ages: BTreeMap::new() }
    }

    fn get(&self, anchor: &Digest) -> Option<&Pin> {
        self.index.find(anchor.word(), |pin| pin.anchor == *anchor)
    }

    fn held_by(&self, tenant: TenantId) -> usize {
        self.ages.get(&tenant).map_or(0, BTreeSet::len)
    }

    pub(super) fn insert(&mut self, pin: Pin) {
        self.take(&pin.anchor);
        self.index.insert_unique(pin.anchor.word(), pin, |p| p.anchor.word());
        self.ages.entry(pin.tenant).or_default().insert((pin.expires, pin.anchor));
    }

    fn take(&mut self, anchor: &Digest) -> Option<Pin> {
        let (pin, _) = self.index.find_entry(anchor.word(), |pin| pin.anchor == *anchor).ok()?.remove();
        if let Some(ages) = self.ages.get_mut(&pin.tenant) {
            ages.remove(&(pin.expires, pin.anchor));
            if ages.is_empty() {
                self.ages.remove(&pin.tenant);
            }
        }
        Some(pin)
    }

    /// The pin that ends first, of one tenant.
    fn soonest(&self, tenant: TenantId) -> Option<(Time, Digest)> {
        self.ages.get(&tenant)?.first().copied()
    }

    fn of(&self, tenant: TenantId) -> Vec<Digest> {
        self.ages.get(&tenant).into_iter().flatten().map(|(_, anchor)| *anchor).collect()
    }
}

impl Table {
    /// What the anchors say together, in the order the request names them.
    pub(super) fn find_pins(&self, tenant: TenantId, anchors: &[Digest], now: Time) -> Answer {
        let mut found = Pinned::Nowhere;
        for (anchor, place) in anchors.iter().zip(0_u8..) {
            let Some(pin) = self.pins.get(anchor).filter(|pin| pin.live(now)) else { continue };
            if pin.tenant != tenant {
                return Answer::Pins { found: Pinned::Foreign { anchor: place }, epoch: self.epoch };
            }
            found = match found {
                Pinned::Nowhere => Pinned::At { account: pin.account, anchor: place },
                Pinned::At { account, .. } if account != pin.account => Pinned::Apart { anchor: place },
                other => other,
            };
        }
        Answer::Pins { found, epoch: self.epoch }
    }

    /// Records that `account` issued the anchor to the tenant. The first record of an id stands: it is never taken from a
    /// tenant, and a second one changes nothing. Returns the change to wait for; none where a deletion of the tenant came after
    /// the plan (B12).
    pub(super) fn record(
        &mut self,
        tenant: TenantId,
        anchor: Digest,
        account: AccountId,
        seen: Option<Epoch>,
        now: Time,
    ) -> Seq {
        if self.pins.get(&anchor).is_some_and(|pin| pin.live(now)) {
            // Whoever asks again may have been told nothing: it waits for all that is queued, this pin among it.
            return self.seq;
        }
        let erased = self.erased.get(&EpochScope::Tenant(tenant)).copied().unwrap_or_default();
        if seen.is_some_and(|seen| erased > seen) {
            return Seq(0);
        }
        if self.pins.take(&anchor).is_some() {
            self.pin_changed(Change::DropPin(anchor));
        }
        self.make_room_for_pin(tenant);
        let pin = Pin { anchor, tenant, account, expires: now.plus(PIN_TTL) };
        self.pins.insert(pin);
        // A clock set back revives no pin that had ended by a time the store has seen (B8).
        self.newest = self.newest.max(now);
        self.pin_changed(Change::PutPin(pin));
        self.seq
    }

    /// B13 for pins: the tenant's own soonest-to-expire go first; at the total cap, those of the tenant that holds most.
    fn make_room_for_pin(&mut self, tenant: TenantId) {
        while self.pins.held_by(tenant) >= self.caps.tenant.max(1) {
            let Some((_, anchor)) = self.pins.soonest(tenant) else { break };
            self.drop_pin(&anchor);
        }
        while self.pins.index.len() >= self.caps.total.max(1) {
            let largest = self.pins.ages.iter().max_by_key(|(t, ages)| (ages.len(), **t == tenant)).map(|(t, _)| *t);
            let Some((_, anchor)) = largest.and_then(|t| self.pins.soonest(t)) else { break };
            self.drop_pin(&anchor);
        }
    }

    fn drop_pin(&mut self, anchor: &Digest) {
        if self.pins.take(anchor).is_some() {
            self.pin_changed(Change::DropPin(*anchor));
        }
    }

    fn pin_changed(&mut self, change: Change) {
        self.seq.0 += 1;
        self.changes.push(change);
    }

    /// Deletes the pins of a tenant that is deleted (B12).
    pub(super) fn erase_pins(&mut self, tenant: TenantId) {
        for anchor in self.pins.of(tenant) {
            self.drop_pin(&anchor);
        }
    }

    /// Removes up to `most` expired pins; returns how many.
    pub(super) fn purge_pins(&mut self, most: usize, now: Time) -> usize {
        let heads = self.pins.ages.values().flat_map(|ages| ages.iter().take_while(|(until, _)| *until <= now));
        let gone: Vec<Digest> = heads.take(most).map(|(_, anchor)| *anchor).collect();
        for anchor in &gone {
            self.drop_pin(anchor);
        }
        gone.len()
    }

    /// Takes pins over from a durable copy. One whose anchor is there already is left out.
    pub fn restore_pins(&mut self, pins: impl IntoIterator<Item = Pin>) {
        for pin in pins {
            if self.pins.get(&pin.anchor).is_none() {
                self.newest = self.newest.max(pin.recorded());
                self.pins.insert(pin);
            }
        }
    }

    /// Pins held, expired ones that were not yet removed among them.
    #[must_use]
    pub fn pin_count(&self) -> usize {
        self.pins.index.len()
    }

    /// Every pin, tenant by tenant, the soonest to expire first.
    pub fn pins(&self) -> impl Iterator<Item = &Pin> {
        self.pins.ages.values().flatten().filter_map(|(_, anchor)| self.pins.get(anchor))
    }

    /// What must hold of the pins between any two transitions.
    pub(super) fn check_pins(&self) -> Result<(), &'static str> {
        let aged: usize = self.pins.ages.values().map(BTreeSet::len).sum();
        if aged != self.pins.index.len() || self.pins().count() != aged {
            return Err("the pins and their order by age differ");
        }
        if aged > self.caps.total.max(1) || self.pins.ages.values().any(|ages| ages.len() > self.caps.tenant.max(1)) {
            return Err("B13: more pins than a cap");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Caps;

    fn pin(n: u8) -> Pin {
        let anchor = Digest([n; 32]);
        Pin { anchor, tenant: TenantId(1), account: AccountId(1), expires: Time(9) }
    }

    fn sound() -> Table {
        let mut table = Table::new(Caps { total: 3, tenant: 2 });
        table.restore_pins([pin(1), pin(2)]);
        assert_eq!(table.check(), Ok(()));
        table
    }

    #[test]
    fn pins_that_differ_from_their_order_are_noticed() {
        let differ = Err("the pins and their order by age differ");
        let mut table = sound();
        table.pins.ages.clear();
        assert_eq!(table.check(), differ);
        let mut table = sound();
        table.pins.ages.entry(TenantId(1)).or_default().remove(&(Time(9), Digest([1; 32])));
        table.pins.ages.entry(TenantId(1)).or_default().insert((Time(9), Digest([7; 32])));
        assert_eq!(table.check(), differ);
    }

    #[test]
    fn pins_past_a_cap_are_noticed() {
        for caps in [Caps { total: 1, tenant: 2 }, Caps { total: 3, tenant: 1 }] {
            let mut table = sound();
            table.caps = caps;
            assert_eq!(table.check(), Err("B13: more pins than a cap"), "{caps:?}");
        }
        let mut table = sound();
        table.caps = Caps { total: 2, tenant: 2 };
        assert_eq!(table.check(), Ok(()));
    }

    #[test]
    fn a_tenant_without_pins_leaves_nothing_behind() {
        let mut table = sound();
        table.erase_pins(TenantId(1));
        assert!(table.pins.ages.is_empty() && table.pins.index.is_empty());
    }
}
