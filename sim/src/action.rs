//! Everything that can happen next. A run is a list of choices among these.

use homing_core::ids::{AccountId, TenantId};
use homing_core::time::Millis;

use crate::ask::Ask;
use crate::event::{ProcessId, TurnId};
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
    /// A shared store is out of reach: the turn is told that the outcome is unknown.
    TimeOut(TurnId),
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
    /// A client sends a request to a process.
    Ask(ProcessId, Ask),
    /// Expired rows are removed.
    Purge,
    /// Coalesced renewals are queued.
    Flush,
    /// The process comes up again.
    Restart(ProcessId),
    /// A shared store can be reached again.
    Recover,
    /// The process hears what is new about accounts and settings.
    Sync(ProcessId),
    /// All clocks move on.
    Tick(Millis),
    /// The operator mends an account: enabled, there, its credential new.
    Mend(AccountId),
    /// A statement that was left behind, by its place among them, never arrives.
    Drop(u8),
    /// A statement that was left behind is carried out.
    Land(u8),
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
    /// The turn is told that the outcome is unknown; what it asked stays under way, and may be carried out later.
    Linger(TurnId),
    /// The account's owner switches it off.
    Disable(AccountId),
    /// The account is to take no new sessions (R2).
    Drain(AccountId),
    /// The account's file is gone: no attempt starts.
    Vanish(AccountId),
    /// The account's file holds another identity.
    Replace(AccountId),
    /// The removal is certain: its bindings are erased.
    EraseAccount(AccountId),
    /// The account's file cannot be read: half-written, or locked. That is no removal (B11).
    Garble(AccountId),
    /// The removal is commanded, whatever the processes know.
    RemoveAccount(AccountId),
    /// A tenant is deleted.
    EraseTenant(TenantId),
    /// One row of a tenant, its oldest, is cleared by hand.
    ClearRow(TenantId),
    /// A tenant's API key is replaced.
    ResetKey(TenantId),
    /// A tenant is moved to the other pool (B17).
    MovePool(TenantId),
    /// The second pool is deleted, and its conversations with it (B6).
    ErasePool,
    /// The session policy is switched on or off, by a command to this process.
    Affinity(ProcessId, bool),
    /// The conversation policy is switched on or off, by a command to this process.
    Talk(ProcessId, bool),
    /// The wall clock of a process's machine is set back; the process's clock goes on.
    WallBack(ProcessId),
    /// The wall clock of a process's machine is set forth; the process's clock goes on.
    WallForth(ProcessId),
    /// The shared store cannot be reached.
    Outage,
    /// The shared store begins again from what it committed.
    Reboot,
    /// The process dies.
    Crash(ProcessId),
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
    /// A process or the shared store dies.
    Crash,
}

/// All kinds, in their order.
pub const CLASSES: [Class; 7] =
    [Class::Progress, Class::Client, Class::House, Class::Time, Class::Trouble, Class::Operator, Class::Crash];

impl Action {
    /// Its kind.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self {
            Self::Setup(_)
            | Self::Draw(..)
            | Self::Answer(_)
            | Self::Deliver(_)
            | Self::TimeOut(_)
            | Self::Serve(_)
            | Self::Show(_)
            | Self::Wake(_)
            | Self::Refresh(_, Refreshed::Fresh)
            | Self::Release(_)
            | Self::Restart(_)
            | Self::Apply(_) => Class::Progress,
            Self::Commit
            | Self::Purge
            | Self::Flush
            | Self::Recover
            | Self::Sync(_)
            | Self::Drop(_)
            | Self::Land(_) => Class::House,
            Self::Ask(..) => Class::Client,
            Self::Tick(_) => Class::Time,
            Self::Refresh(..)
            | Self::Fail(..)
            | Self::HangUp(_)
            | Self::GiveUpWaiting(_)
            | Self::LoseRequest(_)
            | Self::LoseReply(_)
            | Self::Linger(_) => Class::Trouble,
            Self::Mend(_)
            | Self::Garble(_)
            | Self::Disable(_)
            | Self::Drain(_)
            | Self::MovePool(_)
            | Self::ErasePool
            | Self::Talk(..)
            | Self::Vanish(_)
            | Self::Replace(_)
            | Self::EraseAccount(_)
            | Self::RemoveAccount(_)
            | Self::EraseTenant(_)
            | Self::ClearRow(_)
            | Self::ResetKey(_)
            | Self::Affinity(..)
            | Self::WallBack(_)
            | Self::WallForth(_) => Class::Operator,
            Self::Outage | Self::Reboot | Self::Crash(_) => Class::Crash,
        }
    }

    /// The request it is about.
    #[must_use]
    pub const fn turn(&self) -> Option<TurnId> {
        match *self {
            Self::Answer(id)
            | Self::Deliver(id)
            | Self::TimeOut(id)
            | Self::Serve(id)
            | Self::Show(id)
            | Self::Wake(id)
            | Self::Refresh(id, _)
            | Self::Release(id)
            | Self::Apply(id)
            | Self::Fail(id, _)
            | Self::HangUp(id)
            | Self::GiveUpWaiting(id)
            | Self::LoseRequest(id)
            | Self::LoseReply(id)
            | Self::Linger(id) => Some(id),
            _ => None,
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
                    | Self::Drain(_)
                    | Self::MovePool(_)
                    | Self::ErasePool
                    | Self::Talk(_, false)
                    | Self::Vanish(_)
                    | Self::Replace(_)
                    | Self::RemoveAccount(_)
                    | Self::EraseTenant(_)
                    | Self::ClearRow(_)
                    | Self::ResetKey(_)
                    | Self::Affinity(_, false)
                    | Self::WallBack(_)
                    | Self::WallForth(_)
            )
    }
}
