//! The states that were visited, by their prints.
#![expect(clippy::disallowed_types, reason = "it is only asked whether it holds a print: its order shows nowhere")]

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Takes a print as it is: it is a hash already.
#[derive(Clone, Copy, Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, _: &[u8]) {}

    fn write_u128(&mut self, print: u128) {
        self.0 = print as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The prints of visited states.
#[derive(Debug, Default)]
pub(super) struct Seen(HashSet<u128, BuildHasherDefault<AsItIs>>);

impl Seen {
    pub(super) fn has(&self, print: u128) -> bool {
        self.0.contains(&print)
    }

    /// Adds a print; says whether it is new.
    pub(super) fn insert(&mut self, print: u128) -> bool {
        self.0.insert(print)
    }
}
