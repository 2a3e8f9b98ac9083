//! A store with one fault: what the suite has to find.

use homing_core::ids::{Epoch, Seq, TenantId};
use homing_core::key::Keys;
use homing_core::pin::Pinned;
use homing_core::row::{EpochScope, Row, Scope, View};
use homing_core::settings::Caps;
use homing_core::store::{Answer, Op};
use homing_core::time::Time;

use crate::store::{Call, Observed, Promises, StoreUnderTest, TENANTS};

/// A fault that a store's author may well build in: a condition left out, a column not written, a promise kept too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A completion does not compare the row and generation (B6).
    NoFence,
    /// A proposal does not compare the pending account (B5).
    NoExpect,
    /// An insert does not compare the epoch (B6).
    NoEpoch,
    /// A success under a hard pin moves rows (B17).
    PinnedMoves,
    /// A row is made though none may be (B8, B16).
    Inserts,
    /// Only the strongest key is looked at and stored (B10).
    OneKey,
    /// The tenant is left out of the look-up (B14).
    OneTenant,
    /// The loser of a reservation is told that it won (B4).
    TwoWinners,
    /// A success names no change to wait for (B15).
    NoWait,
    /// What was done is reported durable at once (B15).
    EarlyDurable,
    /// An account that is removed keeps its rows (B11).
    NoAccountErase,
    /// A deleted pool keeps its conversations.
    NoPoolErase,
    /// Expired rows stay (B13).
    NoPurge,
    /// Expired rows are used (B8).
    Revives,
    /// Another tenant's anchor is no pin (R1).
    ForeignPin,
    /// The anchor that a success brought is not recorded (R1).
    NoPin,
    /// The last row of a listing is left out.
    ShortList,
    /// An orderly stop does not write the renewals held back (B15).
    NoFlush,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::NoFence,
        Self::NoExpect,
        Self::NoEpoch,
        Self::PinnedMoves,
        Self::Inserts,
        Self::OneKey,
        Self::OneTenant,
        Self::TwoWinners,
        Self::NoWait,
        Self::EarlyDurable,
        Self::NoAccountErase,
        Self::NoPoolErase,
        Self::NoPurge,
        Self::Revives,
        Self::ForeignPin,
        Self::NoPin,
        Self::ShortList,
        Self::NoFlush,
    ];
}

/// The store inside, with the fault around it.
#[derive(Clone, Debug)]
pub struct Broken<S> {
    inner: S,
    fault: Fault,
    started: Time,
}

impl<S: StoreUnderTest> Broken<S> {
    /// Builds the fault in.
    pub const fn new(inner: S, fault: Fault) -> Self {
        Self { inner, fault, started: Time(0) }
    }

    fn stands(&mut self, call: &Call, now: Time) -> Option<View> {
        let look = Call { op: Op::Look, ..call.clone() };
        match self.inner.answer(&look, now) {
            Answer::Looked { view, .. } => view,
            _ => None,
        }
    }

    /// The operation as the faulty store understands it.
    fn misread(&mut self, call: &Call, now: Time) -> Call {
        let mut call = call.clone();
        match self.fault {
            Fault::OneKey => {
                let first = call.keys.iter().next();
                let rest: Vec<_> = call.keys.iter().skip(1).map(|k| k.digest).collect();
                if !rest.is_empty()
                    && let Some(first) = first
                {
                    let mut keys = Keys::default();
                    keys.add(first);
                    call.keys = keys;
                }
            }
            Fault::OneTenant => call.tenant = TENANTS[0],
            Fault::NoPin => call.issued = None,
            _ => {}
        }
        let stands = match self.fault {
            Fault::NoFence | Fault::NoExpect => self.stands(&call, now),
            _ => None,
        };
        call.op = match (call.op, self.fault) {
            (Op::Complete { fence: Some(_), account, seen, ttl, pinned, inserts }, Fault::NoFence) => {
                Op::Complete { fence: stands.map(|v| v.fence), account, seen, ttl, pinned, inserts }
            }
            (Op::Pend { fence, next, .. }, Fault::NoExpect) => {
                Op::Pend { fence, expect: stands.and_then(|v| v.pending), next }
            }
            (Op::Reserve { account, ttl, .. }, Fault::NoEpoch) => Op::Reserve { account, seen: Epoch(u64::MAX), ttl },
            (Op::Complete { fence, account, seen, ttl, inserts, .. }, Fault::PinnedMoves) => {
                Op::Complete { fence, account, seen, ttl, pinned: false, inserts }
            }
            (Op::Complete { fence, account, seen, ttl, pinned, .. }, Fault::Inserts) => {
                Op::Complete { fence, account, seen, ttl, pinned, inserts: true }
            }
            (op, _) => op,
        };
        call
    }

    fn time(&self, now: Time) -> Time {
        if self.fault == Fault::Revives { self.started } else { now }
    }
}

impl<S: StoreUnderTest> StoreUnderTest for Broken<S> {
    fn start(&mut self, caps: Caps, now: Time) {
        self.started = now;
        self.inner.start(caps, now);
    }

    fn promises(&self) -> Promises {
        self.inner.promises()
    }

    fn answer(&mut self, call: &Call, now: Time) -> Answer {
        let now = if call.op == Op::Look { self.time(now) } else { now };
        let call = self.misread(call, now);
        match (self.inner.answer(&call, now), self.fault) {
            (Answer::Found(view), Fault::TwoWinners) => Answer::Reserved(view),
            (Answer::Completed { how, .. }, Fault::NoWait) => Answer::Completed { how, seq: Seq(0) },
            (Answer::Pins { found: Pinned::Foreign { .. }, epoch }, Fault::ForeignPin) => {
                Answer::Pins { found: Pinned::Nowhere, epoch }
            }
            (answer, _) => answer,
        }
    }

    fn erase(&mut self, scope: Scope) -> usize {
        match (scope, self.fault) {
            (Scope::Account(_), Fault::NoAccountErase) | (Scope::Pool(_), Fault::NoPoolErase) => 0,
            (scope, _) => self.inner.erase(scope),
        }
    }

    fn purge(&mut self, now: Time) {
        if self.fault != Fault::NoPurge {
            self.inner.purge(now);
        }
    }

    fn flush(&mut self) -> Option<usize> {
        self.inner.flush()
    }

    fn commit(&mut self, changes: usize) {
        self.inner.commit(changes);
    }

    fn sync(&mut self) {
        self.inner.sync();
    }

    fn durable(&mut self) -> Seq {
        if self.fault == Fault::EarlyDurable { self.inner.observe(self.started).seq } else { self.inner.durable() }
    }

    fn crash(&mut self, now: Time) {
        self.inner.crash(now);
    }

    fn restart(&mut self, now: Time) {
        if self.fault == Fault::NoFlush {
            self.inner.sync();
            self.inner.crash(now);
        } else {
            self.inner.restart(now);
        }
    }

    fn observe(&mut self, now: Time) -> Observed {
        let mut seen = self.inner.observe(now);
        if self.fault == Fault::ShortList && seen.listed.len() > 1 {
            seen.listed.pop();
        }
        seen
    }

    fn session(&mut self, tenant: TenantId, keys: &Keys, now: Time) -> Option<Row> {
        self.inner.session(tenant, keys, now)
    }

    fn epochs(&mut self) -> Vec<(EpochScope, Epoch)> {
        self.inner.epochs()
    }

    fn kept(&mut self) -> Option<(usize, usize)> {
        self.inner.kept()
    }
}
