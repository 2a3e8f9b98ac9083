//! Names the core works with: small integers that the runtime maps to what they stand for.

use crate::name::hashed_as_name;

/// An upstream account. The runtime gives each stable identity (spec §1) one number, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(pub u32);

/// Who asks: a managed user or a compatibility caller's account. The runtime gives each one number, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TenantId(pub u32);

/// A filter over accounts with settings of its own. The runtime gives each pool one number, for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(pub u32);

impl PoolId {
    /// The pool `default`, which is always there (spec §1).
    pub const DEFAULT: Self = Self(0);
}

/// One row of the store. Never used twice: a session deleted and made again has another id (B6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowId(pub u64);

/// Counts the changes of a row's home: the first success under the current generation raises it (B5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u32);

/// Counts erasures in the whole store. A scope remembers the count of its last one; an insert that saw less is refused (B6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub u64);

/// Counts the changes a store has made; durability is "everything up to this number" (B15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seq(pub u64);

/// Counts what the files and the owners of accounts have said. What an attempt finds out of a credential counts only where nothing
/// was said of its account since it began (R2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(pub u32);

hashed_as_name! {
    TenantId => Tenant,
    RowId => Row,
    Epoch => Epoch,
    Seq => Seq,
    Revision => Revision,
}
