//! Everything that can happen next. A run is a list of choices among these.

use homing_core::ids::{AccountId, TenantId};
use homing_core::time::Millis;

use crate::ask::Ask;
use crate::event::TurnId;
use crate::scope::Knob;

mod text;

pub use text::NotAction;

/// How an attempt fails; the world fills in the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// 5xx.
    Server,
    /// 503 with `Retry-After`.
    ServerWait,
    /// Quota with a reset.
    Quota,
    /// Quota without a reset.
    QuotaOpen,
    /// 429 with a time.
    Limited,
    /// 429 without.
    Throttled,
    /// 401.
    Unauthorized,
    /// 402.
    Refused,
    /// 403 with HTML.
    Challenge,
    /// The model is not served.
    Model,
    /// 400 about the request.
    Request,
    /// 400 about ciphertext.
    Ciphertext,
    /// No connection.
    Unreachable,
    /// The stream ended early.
    CutOff,
}

/// All faults an attempt can meet before visible output.
pub const FAULTS: [Fault; 14] = [
    Fault::Server,
    Fault::Quota,
    Fault::Limited,
    Fault::Unauthorized,
    Fault::Throttled,
    Fault::ServerWait,
    Fault::QuotaOpen,
    Fault::Refused,
    Fault::Challenge,
    Fault::Model,
    Fault::Unreachable,
    Fault::CutOff,
    Fault::Request,
    Fault::Ciphertext,
];

/// How a credential renewal ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refreshed {
    /// A newer token.
    Fresh,
    /// Only a login helps.
    Refused,
    /// The token server is away.
    Unavailable,
}

/// One step of the world. Benign ones come first in the order of [`crate::world::World::enabled`], so that lowering a choice
/// while shrinking removes trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// The first choice of every run: which world it is.
    Setup(u8),
    /// One part of a drawn world, after [`Action::Setup`] of [`crate::scope::SWARM`].
    Draw(Knob, u32),
    /// The store does what a turn asked and answers.
    Answer(TurnId),
    /// The store's late answer arrives.
    Deliver(TurnId),
    /// The upstream serves the request.
    Serve(TurnId),
    /// The upstream shows visible output.
    Show(TurnId),
    /// The turn's wait is over.
    Wake(TurnId),
    /// The turn's credential renewal ends.
    Refresh(TurnId, Refreshed),
    /// What the turn rests on is durable; its end goes out.
    Release(TurnId),
    /// The disk commits its oldest batch.
    Commit,
    /// A client sends a request.
    Ask(Ask),
    /// Expired rows are removed.
    Purge,
    /// Coalesced renewals are queued.
    Flush,
    /// The process comes up again.
    Restart,
    /// Both clocks move on.
    Tick(Millis),
    /// The operator mends an account: enabled, there, its credential new.
    Mend(AccountId),
    /// The store does it, but the answer is under way for a while.
    Apply(TurnId),
    /// The upstream attempt fails.
    Fail(TurnId, Fault),
    /// The client leaves.
    HangUp(TurnId),
    /// `commit-wait` is over before the disk was.
    GiveUpWaiting(TurnId),
    /// The store never gets what the turn asked; the outcome is unknown.
    LoseRequest(TurnId),
    /// The store does it, the answer is lost; the outcome is unknown.
    LoseReply(TurnId),
    /// The account's owner switches it off.
    Disable(AccountId),
    /// The account's file is gone: no attempt starts.
    Vanish(AccountId),
    /// The removal is certain: its bindings are erased.
    EraseAccount(AccountId),
    /// A tenant is deleted.
    EraseTenant(TenantId),
    /// One row of a tenant, its oldest, is cleared by hand.
    ClearRow(TenantId),
    /// The session policy is switched on or off.
    Affinity(bool),
    /// The wall clock is set back; the process's clock goes on.
    WallBack,
    /// The process dies.
    Crash,
}

/// What kind of step it is, for weights and budgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A turn goes on without trouble.
    Progress,
    /// A client sends something.
    Client,
    /// The store's own housekeeping.
    House,
    /// Time passes.
    Time,
    /// The upstream, a client or the store misbehaves.
    Trouble,
    /// An operator does something.
    Operator,
    /// The process dies.
    Crash,
}

/// All kinds, in their order.
pub const CLASSES: [Class; 7] =
    [Class::Progress, Class::Client, Class::House, Class::Time, Class::Trouble, Class::Operator, Class::Crash];

impl Action {
    /// The request it is about.
    #[must_use]
    pub const fn turn(&self) -> Option<TurnId> {
        match *self {
            Self::Answer(turn)
            | Self::Deliver(turn)
            | Self::Serve(turn)
            | Self::Show(turn)
            | Self::Wake(turn)
            | Self::Refresh(turn, _)
            | Self::Release(turn)
            | Self::Apply(turn)
            | Self::Fail(turn, _)
            | Self::HangUp(turn)
            | Self::GiveUpWaiting(turn)
            | Self::LoseRequest(turn)
            | Self::LoseReply(turn) => Some(turn),
            _ => None,
        }
    }

    /// Its kind.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self {
            Self::Setup(_)
            | Self::Draw(..)
            | Self::Answer(_)
            | Self::Deliver(_)
            | Self::Serve(_)
            | Self::Show(_)
            | Self::Wake(_)
            | Self::Refresh(_, Refreshed::Fresh)
            | Self::Release(_)
            | Self::Restart
            | Self::Apply(_) => Class::Progress,
            Self::Commit | Self::Purge | Self::Flush => Class::House,
            Self::Ask(_) => Class::Client,
            Self::Tick(_) => Class::Time,
            Self::Refresh(..)
            | Self::Fail(..)
            | Self::HangUp(_)
            | Self::GiveUpWaiting(_)
            | Self::LoseRequest(_)
            | Self::LoseReply(_) => Class::Trouble,
            Self::Mend(_)
            | Self::Disable(_)
            | Self::Vanish(_)
            | Self::EraseAccount(_)
            | Self::EraseTenant(_)
            | Self::ClearRow(_)
            | Self::Affinity(_)
            | Self::WallBack => Class::Operator,
            Self::Crash => Class::Crash,
        }
    }

    /// Whether it takes from the budget of faults.
    #[must_use]
    pub const fn is_fault(&self) -> bool {
        matches!(self.class(), Class::Trouble | Class::Crash)
            || matches!(
                self,
                Self::Apply(_)
                    | Self::Disable(_)
                    | Self::Vanish(_)
                    | Self::EraseTenant(_)
                    | Self::ClearRow(_)
                    | Self::Affinity(false)
                    | Self::WallBack
            )
    }
}
