//! A binding as it is stored, and what a request sees of it.

use alloc::vec::Vec;

use crate::ids::{AccountId, Epoch, Generation, PoolId, RowId, Seq, TenantId};
use crate::key::{Digest, Key, Policy, SignalKind};
use crate::pin::Pin;
use crate::time::Time;

/// Most keys of one session (B10); further ones are not stored.
pub const KEYS_PER_ROW: usize = 8;

/// Whether a row has seen a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Made before the first attempt, so that racing first requests converge (B4). Never renewed.
    Reserved,
    /// Its account is the session's home: an attempt there succeeded (B5).
    Bound,
}

/// One session's row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    /// Never used twice.
    pub id: RowId,
    /// Whose session it is.
    pub tenant: TenantId,
    /// The pool a conversation lives in; `None` for a session, which no pool bounds (spec §2).
    pub pool: Option<PoolId>,
    /// Raised when the home is confirmed or moves.
    pub generation: Generation,
    /// The reserved account or the home.
    pub account: AccountId,
    /// Reserved or bound.
    pub state: State,
    /// Where requests that had to leave the account agreed to go (B5).
    pub pending: Option<AccountId>,
    /// When the row was made.
    pub created: Time,
    /// When a success last renewed it.
    pub renewed: Time,
    /// When it ends.
    pub expires: Time,
    /// The expiry the durable store knows; at most a sixteenth of the time to live behind `expires` (B15).
    pub stored_expires: Time,
    /// The change a turn on this row rests on: it made the current generation, brought the newest key or wrote the longest
    /// life. Durable when everything up to it is (B15).
    pub seq: Seq,
    /// At most [`KEYS_PER_ROW`], in the order they came.
    pub keys: RowKeys,
}

impl Row {
    /// Whether the row may be used at `now` (B8: at the very expiry it is gone).
    #[must_use]
    pub fn live(&self, now: Time) -> bool {
        now < self.expires
    }

    /// The policy it was made under.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        if self.pool.is_some() { Policy::Conversation } else { Policy::Session }
    }

    /// What a request sees.
    #[must_use]
    pub const fn view(&self) -> View {
        View {
            fence: Fence { id: self.id, generation: self.generation },
            account: self.account,
            state: self.state,
            pending: self.pending,
            seq: self.seq,
        }
    }
}

/// The keys of a row. The first stands inline: most sessions have one, and a table may hold a million rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKeys {
    first: Key,
    more: Vec<Key>,
}

impl RowKeys {
    /// A row's keys begin with one.
    #[must_use]
    pub const fn new(first: Key) -> Self {
        Self { first, more: Vec::new() }
    }

    /// All keys.
    pub fn iter(&self) -> impl Iterator<Item = &Key> {
        core::iter::once(&self.first).chain(&self.more)
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        1 + self.more.len()
    }

    /// Whether a key has this digest.
    #[must_use]
    pub fn has(&self, digest: &Digest) -> bool {
        self.iter().any(|k| k.digest == *digest)
    }

    /// Appends a key if there is room; says whether it did.
    pub fn push(&mut self, key: Key) -> bool {
        let room = self.count() < KEYS_PER_ROW;
        if room {
            self.more.push(key);
        }
        room
    }

    /// More keys than a row may own, for a test of the table's check.
    #[cfg(test)]
    pub(crate) fn push_unbounded(&mut self, key: Key) {
        self.more.push(key);
    }

    /// Remembers a stronger kind for a digest the row owns; says whether anything changed (K2).
    pub fn strengthen(&mut self, digest: &Digest, kind: SignalKind) -> bool {
        let mut all = core::iter::once(&mut self.first).chain(&mut self.more);
        match all.find(|k| k.digest == *digest && kind < k.kind) {
            Some(key) => {
                key.kind = kind;
                true
            }
            None => false,
        }
    }
}

/// What a later write must still find (B6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence {
    /// The row.
    pub id: RowId,
    /// Its generation.
    pub generation: Generation,
}

/// A row as a request saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct View {
    /// Row and generation.
    pub fence: Fence,
    /// Reserved account or home.
    pub account: AccountId,
    /// Reserved or bound.
    pub state: State,
    /// The agreed replacement.
    pub pending: Option<AccountId>,
    /// The change that made this generation.
    pub seq: Seq,
}

/// What an erasure takes (B6, B11, B12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Everything bound to an account that was removed.
    Account(AccountId),
    /// Everything of a tenant that was deleted.
    Tenant(TenantId),
    /// The conversations of a pool that was deleted.
    Pool(PoolId),
    /// One row, cleared by hand. The epoch that rises is its tenant's.
    Row(TenantId, RowId),
}

/// One change to make durable, in the order of [`Seq`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// The row as it is now, with all its keys.
    Put(Row),
    /// The row is gone and its keys are free.
    Delete(RowId),
    /// A scope's last erasure.
    Erased(EpochScope, Epoch),
    /// A hard pin as it is now.
    PutPin(Pin),
    /// The hard pin with this anchor is gone.
    DropPin(Digest),
}

/// What remembers an erasure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EpochScope {
    /// An account.
    Account(AccountId),
    /// A tenant.
    Tenant(TenantId),
    /// A pool.
    Pool(PoolId),
}
