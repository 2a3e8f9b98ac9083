//! The store's contract: what one atomic transition is, and what a store may answer (T1).
//!
//! The machine speaks only these words. [`crate::table::Table`] is their one definition: the embedded store *is* a table
//! with a durable copy, and any other store has to answer as the table would.

use crate::ids::{AccountId, Epoch, Seq, TenantId};
use crate::key::{Digest, Keys};
use crate::pin::Pinned;
use crate::row::{Fence, View};
use crate::time::Millis;

/// What a transition is about: the request's tenant, keys and anchors. They go with every [`Op`].
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Who asks.
    pub tenant: TenantId,
    /// The keys of its session or conversation.
    pub keys: &'a Keys,
    /// The anchors it names, for [`Op::FindPins`].
    pub anchors: &'a [Digest],
    /// The anchor its success brought, for [`Op::Complete`] and [`Op::Record`].
    pub issued: Option<Digest>,
}

impl<'a> Subject<'a> {
    /// A request without anchors.
    #[must_use]
    pub const fn new(tenant: TenantId, keys: &'a Keys) -> Self {
        Self { tenant, keys, anchors: &[], issued: None }
    }
}

/// One decided transition on the session of one request. Its [`Subject`] goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Find what the request's anchors are pinned to (R1).
    FindPins,
    /// Find the session's live row (B10).
    Look,
    /// Make a reservation unless a live row has one of the keys (B4).
    Reserve {
        /// Where the first attempt will go.
        account: AccountId,
        /// The erasures the plan knew of (B6).
        seen: Epoch,
        /// Time to live.
        ttl: Millis,
    },
    /// Record where a request goes that had to leave (B5), if nothing changed meanwhile.
    Pend {
        /// The row it saw.
        fence: Fence,
        /// The pending account it saw.
        expect: Option<AccountId>,
        /// Where it goes.
        next: AccountId,
    },
    /// A success (B5 to B8, B10, B17).
    Complete {
        /// The row the plan saw, if any.
        fence: Option<Fence>,
        /// Where the attempt succeeded.
        account: AccountId,
        /// The erasures the plan knew of.
        seen: Epoch,
        /// Time to live.
        ttl: Millis,
        /// The account was a hard pin: renews or binds, never moves (B17).
        pinned: bool,
        /// Whether a new row may be made where none stands: not in the conversation policy for a row that expired (B8), nor
        /// once the policy was switched off (B16).
        inserts: bool,
    },
    /// A success outside any session brought an anchor (R1).
    Record {
        /// The account that issued it.
        account: AccountId,
        /// The erasures the plan knew of, if it read any.
        seen: Option<Epoch>,
    },
}

/// A store's answer to an [`Op`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// To `FindPins`.
    Pins {
        /// What the anchors say together.
        found: Pinned,
        /// What the plan knows of erasures.
        epoch: Epoch,
    },
    /// To `Record`: the anchor is recorded, or was before. The turn rests on `seq` (B15).
    Recorded(Seq),
    /// To `Look`: the session's row, and the erasures so far.
    Looked {
        /// The live row, if there is one.
        view: Option<View>,
        /// What inserts of this plan must name.
        epoch: Epoch,
    },
    /// To `Reserve`: made.
    Reserved(View),
    /// To `Reserve`: somebody else's row stands; it is the session's.
    Found(View),
    /// To `Reserve` and `Complete`: no row may be made.
    Refused(Refusal),
    /// To `Pend`: recorded.
    Pended(View),
    /// To `Pend`: something changed. What stands now, read after losing.
    Lost(Option<View>),
    /// To `Reserve` and `Pend`: somebody else was first. What stands now has to be read by a new `Look`: a store with
    /// snapshots would show the loser the very row it lost to somebody.
    Raced,
    /// To `Complete`: done. The turn rests on `seq` (B15).
    Completed {
        /// What it did to the row.
        how: Completion,
        /// Durable when everything up to here is.
        seq: Seq,
    },
    /// The outcome is unknown: the machine reads again and never guesses.
    Unknown,
}

/// What a success did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Completion {
    /// The reservation became a binding, or a pending change ended with the account staying.
    Confirmed,
    /// The home moved here from the account the row had.
    Moved {
        /// The home before.
        from: AccountId,
    },
    /// The home stands and lives longer.
    Renewed,
    /// A new binding, where no row was.
    Inserted,
    /// An older generation, another account: nothing was written (B6).
    Stale,
}

/// Why no row was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// An erasure of the tenant or account came after the plan (B6).
    Erased,
    /// A live row owns one of the keys; it is not this request's to take (B10).
    KeyTaken,
    /// The caps leave no room (B13).
    Full,
}
