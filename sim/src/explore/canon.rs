//! Canonical states: worlds that differ only in names are one state.
//!
//! The core hashes every name as such ([`homing_core::name`]). A first pass over a world hears all names in it; a second one
//! hashes it with each name replaced: row ids, changes and epochs by their rank, times by their distance from now, tenants by
//! a permutation. Requests are a set: their ids are left out. Where the scope is such that of two times that have passed nobody
//! can tell more than which was first, those are replaced by their rank too.

use std::hash::{Hash, Hasher};

use homing_core::ids::Seq;
use homing_core::name::Name;
use homing_core::time::Time;

use super::symmetry::Renaming;

/// A hasher that can be shown things that come in no order.
pub(crate) trait Canon: Hasher + Sized {
    /// Hashes the items so that their order does not matter.
    fn set<T>(&mut self, items: impl IntoIterator<Item = T>, each: impl Fn(T, &mut Self));
}

/// The names of one state.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Sorted, each once.
    all: Vec<(Name, u64)>,
    frame: Frame,
}

/// What the names of a state are compared with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frame {
    pub(crate) now: Time,
    /// Changes up to here are durable, and not told apart.
    pub(crate) durable: Seq,
    /// Whether times that have passed are only ordered.
    pub(crate) ordered_past: bool,
}

impl Frame {
    /// Whether the name is one of those that are ranked.
    const fn ranks(&self, name: Name, value: u64) -> bool {
        match name {
            Name::Row | Name::Epoch | Name::Revision => true,
            Name::Seq => value > self.durable.0,
            Name::Time => self.ordered_past && value <= self.now.0,
            Name::Tenant | Name::Digest => false,
        }
    }
}

impl Names {
    /// All names that `state` shows.
    pub(crate) fn of(frame: Frame, state: impl Fn(&mut Hearing)) -> Self {
        let mut heard = Hearing { names: Vec::with_capacity(64), frame };
        heard.write_u128(Name::Time.hashed(frame.now.0));
        state(&mut heard);
        let mut all = heard.names;
        all.sort_unstable();
        all.dedup();
        Self { all, frame }
    }

    fn rank(&self, name: Name, value: u64) -> u64 {
        let first = self.all.partition_point(|n| n.0 < name);
        let at = self.all.partition_point(|n| *n < (name, value));
        (at - first) as u64
    }

    fn canonical(&self, name: Name, value: u64, renaming: &Renaming) -> u64 {
        let Frame { now, .. } = self.frame;
        match name {
            Name::Row | Name::Epoch | Name::Revision => self.rank(name, value),
            Name::Seq if self.frame.ranks(name, value) => 1 + self.rank(name, value),
            Name::Seq => 0,
            // Counted back from now, so that what lies ahead of it is as far from it as it was.
            Name::Time if self.frame.ranks(name, value) => self.rank(name, value).wrapping_sub(self.rank(name, now.0)),
            Name::Time => value.wrapping_sub(now.0),
            Name::Tenant => renaming.tenant(value),
            Name::Digest => renaming.digest(value),
        }
    }
}

/// The first pass.
#[derive(Debug)]
pub(crate) struct Hearing {
    names: Vec<(Name, u64)>,
    frame: Frame,
}

impl Hasher for Hearing {
    fn write(&mut self, _: &[u8]) {}

    fn write_u8(&mut self, _: u8) {}

    fn write_u32(&mut self, _: u32) {}

    fn write_u64(&mut self, _: u64) {}

    fn write_usize(&mut self, _: usize) {}

    fn write_u128(&mut self, hashed: u128) {
        self.names.extend(Name::of(hashed).filter(|(name, value)| self.frame.ranks(*name, *value)));
    }

    fn finish(&self) -> u64 {
        0
    }
}

impl Canon for Hearing {
    fn set<T>(&mut self, items: impl IntoIterator<Item = T>, each: impl Fn(T, &mut Self)) {
        items.into_iter().for_each(|item| each(item, self));
    }
}

/// Odd, with no pattern: the first half is the golden ratio's, the second pi's.
const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15_243f_6a88_85a3_08d3;

/// The second pass. Every step is a bijection of the 128 bits, so nothing that differs is lost before the next word comes.
#[derive(Debug)]
pub(crate) struct Encoding<'a> {
    names: &'a Names,
    renaming: &'a Renaming,
    state: u128,
}

impl<'a> Encoding<'a> {
    pub(crate) const fn new(names: &'a Names, renaming: &'a Renaming) -> Self {
        Self { names, renaming, state: FACTOR }
    }

    const fn take(&mut self, word: u128) {
        self.state = (self.state ^ word).wrapping_mul(FACTOR);
        self.state ^= self.state >> 64;
    }

    /// The hash of all that was shown.
    pub(crate) const fn print(&self) -> u128 {
        let once = self.state.wrapping_mul(FACTOR);
        (once ^ (once >> 64)).wrapping_mul(FACTOR)
    }
}

impl Hasher for Encoding<'_> {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(16) {
            let mut word = [0; 16];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            self.take(u128::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.take(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.take(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.take(value.into());
    }

    fn write_usize(&mut self, value: usize) {
        self.take(value as u128);
    }

    fn write_u128(&mut self, hashed: u128) {
        let word = match Name::of(hashed) {
            Some((name, value)) => name.hashed(self.names.canonical(name, value, self.renaming)),
            None => hashed,
        };
        self.take(word);
    }

    fn finish(&self) -> u64 {
        (self.print() >> 64) as u64
    }
}

impl Canon for Encoding<'_> {
    fn set<T>(&mut self, items: impl IntoIterator<Item = T>, each: impl Fn(T, &mut Self)) {
        let (mut sum, mut count) = (0_u128, 0_u32);
        let before = self.state;
        for item in items {
            self.state = FACTOR;
            each(item, self);
            sum = sum.wrapping_add(self.print());
            count += 1;
        }
        self.state = before;
        (count, sum as u64, (sum >> 64) as u64).hash(self);
    }
}
