//! What was seen to happen. Oracles, marks and traces read these and nothing else.

use homing_core::failure::Failure;
use homing_core::fleet::Standing;
use homing_core::ids::{AccountId, PoolId, Seq, TenantId};
use homing_core::pin::Pin;
use homing_core::row::{Row, Scope as Erasure};
use homing_core::store::{Answer, Op};
use homing_core::time::{Millis, Time};
use homing_core::turn::{Note, Outcome, Reason, Renewal, Request};

use crate::ask::{Anchors, Ask};

/// One request of a run, numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnId(pub u32);

/// One gateway process, numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u8);

/// The only process of a world that has one.
pub const FIRST: ProcessId = ProcessId(0);

/// One observation, where and when it was made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seen {
    /// By the world's clock, one for all: the clock of a process may be off (see [`Event::SetBack`] and the scope's skews).
    pub at: Time,
    /// The process it happened in; `None`: the store, the world or an operator.
    pub process: Option<ProcessId>,
    /// What.
    pub event: Event,
}

/// Why rows changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A turn's operation.
    Op(TurnId, Op),
    /// An erasure.
    Erase(Erasure),
    /// Expired rows were removed.
    Purge,
    /// Renewals were queued.
    Flush,
    /// A new process read the disk.
    Restart,
    /// A shared store began again.
    Reboot,
}

/// One observation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// The world was chosen.
    World(&'static str),
    /// A request came in.
    Came {
        /// Which.
        turn: TurnId,
        /// What the client sent.
        ask: Ask,
        /// As the core sees it.
        request: Request,
        /// Whether the session policy was on, as its process knows it.
        affinity: bool,
        /// Which of its tenant's API keys it came with.
        api_key: u8,
        /// The ids it names and the one its success brings.
        anchors: Anchors,
    },
    /// The store was asked for something and did it, or never got it.
    Did {
        /// By whom.
        turn: TurnId,
        /// What.
        op: Op,
        /// What the store made of it; `None` where it never got it.
        answer: Option<Answer>,
    },
    /// A turn gave up waiting for what it asked, or died; that may still be carried out.
    LeftBehind {
        /// By whom.
        turn: TurnId,
        /// What.
        op: Op,
    },
    /// What was left behind was carried out, or never will be.
    Landed {
        /// Whose.
        turn: TurnId,
        /// What.
        op: Op,
        /// What the store made of it, which nobody is told; `None` where it never arrived.
        answer: Option<Answer>,
    },
    /// A row was made, changed or removed by the event before it.
    Row {
        /// Why.
        cause: Cause,
        /// As it was.
        before: Option<Row>,
        /// As it is.
        after: Option<Row>,
    },
    /// A hard pin was made, changed or removed by the event before it.
    Pin {
        /// Why.
        cause: Cause,
        /// As it was.
        before: Option<Pin>,
        /// As it is.
        after: Option<Pin>,
    },
    /// A turn got the store's answer.
    Told {
        /// Which turn.
        turn: TurnId,
        /// To what.
        op: Op,
        /// The answer.
        answer: Answer,
    },
    /// A turn goes on and says why.
    Noted(TurnId, Note),
    /// An attempt begins.
    Dial {
        /// Whose.
        turn: TurnId,
        /// Where.
        account: AccountId,
        /// Its number within the request.
        attempt: u8,
        /// Why there.
        reason: Reason,
        /// The turn state that goes along, and the account that issued it (R7).
        token: Option<AccountId>,
    },
    /// Visible output.
    Shown(TurnId),
    /// The attempt succeeded.
    Served(TurnId, AccountId),
    /// The attempt failed.
    Failed(TurnId, AccountId, Failure),
    /// A turn waits before the same account.
    Waits(TurnId, Millis),
    /// A credential is renewed.
    Renews(TurnId, AccountId),
    /// How that ended.
    Renewed(TurnId, AccountId, Renewal),
    /// A turn waits for durability.
    Rests(TurnId, Seq),
    /// The wait is over.
    Released(TurnId, bool),
    /// A request ended.
    Ended(TurnId, Outcome),
    /// A client left; whether the terminal event had been read.
    Left(TurnId, bool),
    /// An account's standing was set in a process; `None`: it is forgotten there.
    Stands(AccountId, Option<Standing>),
    /// An account's standing was set; the processes have yet to hear it.
    Placed(AccountId, Standing),
    /// An account's file holds another identity.
    Replaced {
        /// The account that is gone.
        old: AccountId,
        /// The account that is there.
        new: AccountId,
    },
    /// An account's file cannot be read.
    Garbled(AccountId),
    /// A tenant's API key was replaced.
    KeyReset(TenantId),
    /// Bindings were erased.
    Erased(Erasure, usize),
    /// Expired rows were removed.
    Purged(usize),
    /// Renewals were queued.
    Flushed(usize),
    /// Everything up to here is durable.
    Durable(Seq),
    /// The process died; how many batches were lost.
    Crashed(usize),
    /// A new process is up; how many rows it could not take.
    Restarted(usize),
    /// Time passed.
    Ticked(Millis),
    /// The wall clock of the process's machine was set back.
    SetBack(Millis),
    /// The wall clock of the process's machine was set forth.
    SetForth(Millis),
    /// The shared store cannot be reached.
    Outage,
    /// The shared store can be reached again.
    Recovered,
    /// The shared store began again from what it had committed; how many rows it could not take.
    Rebooted(usize),
    /// The session policy was switched.
    Affinity(bool),
    /// The conversation policy was switched.
    Talk(bool),
    /// A tenant was moved to another pool.
    MovedPool(TenantId, PoolId),
    /// Trouble is over: from here on everything has to end well.
    Healed,
    /// The expectations of the healed world were checked; the text says what was not met.
    Settled(Option<String>),
}
