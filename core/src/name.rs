//! How names are hashed. Ids, counts, times and digests mean something only beside others of their kind: two states that differ
//! in nothing else go on alike.
//!
//! Each of them hashes as one `u128` that tells its kind, and nothing else in this crate hashes as a `u128`. A hasher that knows
//! that can give names other values while it hashes a state, and so find such states equal, whatever a type holds inside. The
//! simulator's exhaustive search does.

/// What a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// A [`crate::ids::TenantId`].
    Tenant = 1,
    /// A [`crate::ids::RowId`].
    Row = 2,
    /// A [`crate::ids::Epoch`].
    Epoch = 3,
    /// A [`crate::ids::Seq`].
    Seq = 4,
    /// A [`crate::time::Time`].
    Time = 5,
    /// A [`crate::key::Digest`], by its first eight bytes.
    Digest = 6,
    /// A [`crate::ids::Revision`].
    Revision = 7,
}

impl Name {
    const ALL: [Self; 7] = [Self::Tenant, Self::Row, Self::Epoch, Self::Seq, Self::Time, Self::Digest, Self::Revision];

    /// What a name of this kind with this value hashes as.
    #[must_use]
    pub const fn hashed(self, value: u64) -> u128 {
        ((self as u128) << 64) | value as u128
    }

    /// The kind and the value of a name that was hashed.
    #[must_use]
    pub fn of(hashed: u128) -> Option<(Self, u64)> {
        let name = Self::ALL.into_iter().find(|name| (*name as u128) == hashed >> 64)?;
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is the value")]
        Some((name, hashed as u64))
    }
}

/// Hashes a newtype over a number as a name.
macro_rules! hashed_as_name {
    ($($name:ident => $kind:ident),* $(,)?) => {$(
        impl core::hash::Hash for $name {
            fn hash<H: core::hash::Hasher>(&self, to: &mut H) {
                to.write_u128(crate::name::Name::$kind.hashed(self.0.into()));
            }
        }
    )*};
}
pub(crate) use hashed_as_name;

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use core::hash::{Hash as _, Hasher};

    use super::*;
    use crate::ids::{Epoch, RowId, Seq, TenantId};
    use crate::key::Digest;
    use crate::time::{Millis, Time};

    /// Keeps what it is given.
    #[derive(Default)]
    struct Heard {
        names: Vec<(Name, u64)>,
        rest: usize,
    }

    impl Hasher for Heard {
        fn write(&mut self, bytes: &[u8]) {
            self.rest += bytes.len();
        }

        fn write_u128(&mut self, hashed: u128) {
            self.names.extend(Name::of(hashed));
        }

        fn finish(&self) -> u64 {
            0
        }
    }

    #[test]
    fn a_hasher_hears_which_values_are_names() {
        let mut heard = Heard::default();
        let digest = Digest([1; 32]);
        (TenantId(7), Some(RowId(8)), Epoch(9), Seq(u64::MAX), Time(11), digest).hash(&mut heard);
        let word = u64::from_le_bytes([1; 8]);
        let names = [
            (Name::Tenant, 7),
            (Name::Row, 8),
            (Name::Epoch, 9),
            (Name::Seq, u64::MAX),
            (Name::Time, 11),
            (Name::Digest, word),
        ];
        assert_eq!(heard.names, names);
        let before = heard.rest;
        Millis(5).hash(&mut heard);
        assert_eq!((heard.names.len(), heard.rest), (6, before + 8), "a span is no name");
    }

    #[test]
    fn what_is_no_name_is_none() {
        assert_eq!(Name::of(5), None);
        assert_eq!(Name::of(u128::MAX), None);
        assert_eq!(Name::of(Name::Row.hashed(3)), Some((Name::Row, 3)));
    }
}
