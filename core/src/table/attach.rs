//! Keys join a session at a fenced success (B10).

use super::{Slot, Table};
use crate::key::Keys;
use crate::row::KEYS_PER_ROW;
use crate::time::Time;

impl Table {
    /// Gives the row the request's keys that no live row owns, in digest order, up to eight; says whether anything changed.
    pub(super) fn attach(&mut self, slot: Slot, keys: &Keys, now: Time) -> bool {
        let Some(row) = self.row_mut(slot) else { return false };
        let mut changed = false;
        for key in keys.iter() {
            changed |= row.keys.strengthen(&key.digest, key.kind);
        }
        let full = row.keys.count() >= KEYS_PER_ROW;
        if full || keys.iter().all(|k| row.keys.has(&k.digest)) {
            return changed;
        }
        let mut order = [None; crate::key::KEYS_PER_REQUEST];
        for (place, key) in order.iter_mut().zip(keys.iter()) {
            *place = Some(key);
        }
        order.sort_unstable_by_key(|k| k.map(|k| k.digest));
        for key in order.into_iter().flatten() {
            match self.slot_of(&key.digest) {
                Some(owner) if owner == slot || self.row(owner).is_some_and(|r| r.live(now)) => continue,
                Some(dead) => self.remove(dead),
                None => {}
            }
            if self.row_mut(slot).is_some_and(|row| row.keys.push(key)) {
                self.index.insert_unique(key.digest.word(), (key.digest, slot), |(d, _)| d.word());
                changed = true;
            }
        }
        changed
    }
}
