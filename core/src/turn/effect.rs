//! What a turn asks of the world, and what the world may answer: one effect at a time, each with a typed reply.

use crate::failure::Failure;
use crate::fleet::Out;
use crate::ids::{AccountId, Seq};
use crate::store::{Answer, Op};
use crate::time::Millis;

/// The one thing to do next. Perform it, then resume the turn with its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[must_use = "the turn goes on only when the effect was performed and answered"]
pub enum Effect {
    /// One atomic transition of the store, with the turn's tenant and keys. Answered by [`Reply::Store`].
    Store(Op),
    /// Send the request to an account, and read its answer up to what decides. Answered by [`Reply::Visible`],
    /// [`Reply::Served`] or [`Reply::Failed`].
    Dial {
        /// Where.
        account: AccountId,
        /// 1 for the first attempt of the request.
        attempt: u8,
    },
    /// Wait before the same account is tried again. Answered by [`Reply::Waited`].
    Wait(Millis),
    /// Read the account's file again, else refresh its token (R2, 401). Answered by [`Reply::Refreshed`].
    Refresh(AccountId),
    /// Visible output may reach the client: pass everything on up to the terminal event. Answered by [`Reply::Served`] or
    /// [`Reply::Failed`].
    Stream,
    /// Hold the terminal event until everything up to here is durable or `commit-wait` is over (B15). Answered by
    /// [`Reply::Committed`].
    Commit(Seq),
    /// The end: do what the outcome says. No reply.
    Done(Outcome),
}

/// The answer to an [`Effect`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reply {
    /// The store's.
    Store(Answer),
    /// The attempt has visible output; nothing is retried from here on (R3).
    Visible,
    /// Success (spec §1): the terminal event says completed or incomplete, or a complete, well-framed 2xx. It was read, not
    /// yet passed on.
    Served {
        /// Whether it brought an id that pins later requests to this account (R1). The driver holds its digest and passes it
        /// on with [`Op::Complete`] or [`Op::Record`].
        issued: bool,
    },
    /// The attempt did not serve.
    Failed(Failure),
    /// The wait is over.
    Waited,
    /// The credential is new, refused for good, or could not be renewed now.
    Refreshed(Renewal),
    /// Whether the commit came in time.
    Committed {
        /// `false`: the event goes out all the same, and the row counts as not durable.
        in_time: bool,
    },
}

/// How a refresh ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Renewal {
    /// There is a newer access token.
    Fresh,
    /// Only a new login helps.
    Refused,
    /// The token server or the file could not be reached; later it may.
    Unavailable,
}

/// How a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Pass the held terminal event on.
    Served,
    /// Give the client the last answer of the upstream, unchanged.
    Relay,
    /// Every account is out (R4).
    Out(Out),
    /// The account the request is pinned to cannot serve. The client is told which anchor to drop (R1).
    PinOut {
        /// The place of the anchor among the request's; `None` where a connection pinned it.
        anchor: Option<u8>,
        /// What keeps the account from serving.
        out: Out,
    },
    /// The anchor at this place is another tenant's: the upstream's own not-found answer, without asking it (R1).
    NotFound {
        /// Its place among the request's.
        anchor: u8,
    },
    /// The anchor at this place belongs to another account than one before it (R1).
    Apart {
        /// Its place among the request's.
        anchor: u8,
    },
    /// The store could not say what the anchors belong to: 503 (R1).
    PinsUnknown,
    /// The upstream's host could not be reached: 502.
    Unreachable,
    /// The stream failed after visible output: pass a terminal event on if there is one, else break off visibly (W2).
    Broken,
}
