//! Why a turn took a step: typed reasons in place of logging. They feed logs, metrics, explanations and traces.

use crate::failure::Failure;
use crate::fleet::Out;
use crate::ids::AccountId;
use crate::pin::Pinned;
use crate::store::{Completion, Refusal};

/// The reason of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Note {
    /// The request names a session: its row is looked up.
    Identified,
    /// The request names anchors: what they are pinned to is looked up (R1).
    Anchored,
    /// An anchor is another tenant's, or two belong to different accounts (R1).
    AnchorRefused(Pinned),
    /// The store could not say what the anchors belong to (R1).
    PinsUnknown,
    /// The success brought an anchor, which is recorded (R1).
    Records,
    /// The anchor is recorded; the end waits until that is durable (B15).
    Recorded,
    /// The account the request is pinned to cannot serve (R1, R4).
    PinOut(Out),
    /// The attempt goes where [`Reason`] says.
    Goes(Reason),
    /// A new session: it is reserved on this account before the first attempt (B4).
    Reserves(AccountId),
    /// The request has to leave the row's account and proposes another (B5).
    Diverts {
        /// The account it leaves.
        from: AccountId,
        /// The account it proposes.
        to: AccountId,
    },
    /// The same account is tried once more (R2).
    Repeats(Failure),
    /// The account's credential was not accepted: it is read again or refreshed (R2).
    Renews,
    /// The outcome of a store operation is unknown: it reads again.
    ReadsAgain,
    /// Another request was first: it reads what stands now.
    LostRace,
    /// Output reached the client; the attempt stands (R3).
    Shows,
    /// The attempt succeeded and is written down.
    Succeeded,
    /// What the success did to the row; the end waits until that is durable (B15).
    Wrote(Completion),
    /// The success made no row.
    Unwritten(Refusal),
    /// The end, with everything durable or nothing to write.
    Ends,
    /// The end, not durable in time (B15).
    EndsUndurable,
    /// The upstream's answer is about the request: it goes to the client.
    Relays(Failure),
    /// Every account is out (R4).
    AllOut(Out),
    /// The upstream's host could not be reached.
    HostUnreachable,
    /// The attempt failed after visible output.
    BrokeOff(Failure),
}

/// Why an attempt goes to its account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// No session identity: the pool's strategy (B1).
    NoIdentity,
    /// A hard pin (R1).
    Pinned,
    /// The session's home (B3).
    Home,
    /// The session is new and was reserved here (B4).
    Reserved,
    /// Another first request of the session had reserved it here (B4).
    Joined,
    /// The home could not serve, or failed; this is the replacement this request proposed (B5).
    FailedOver,
    /// The home could not serve, or failed; another request had already proposed this replacement (B5).
    Converged,
    /// The store gave no row to follow or write.
    Unremembered,
    /// No store answers: the last home seen, else the account the key itself names (T3).
    Guessed,
}

impl Reason {
    /// The reason's name in logs and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoIdentity => "no-identity",
            Self::Pinned => "pinned",
            Self::Home => "home",
            Self::Reserved => "reserved",
            Self::Joined => "joined",
            Self::FailedOver => "failed-over",
            Self::Converged => "converged",
            Self::Unremembered => "unremembered",
            Self::Guessed => "guessed",
        }
    }
}
