//! One log line for each request: who, where to, why, how it ended. Never a secret, never a raw identifier.

use std::time::Instant;

use homing_core::turn::{Outcome, Turn};

use super::call::Call;
use super::caller::Caller;
use super::local::Then;
use crate::clock;
use crate::http::RequestHead;

/// How a request ended, as the log says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Served,
    Relayed,
    AllOut,
    Anchored,
    Unreachable,
    Broken,
    ClientLeft,
}

impl End {
    pub(super) const fn of(outcome: Outcome, then: Then) -> Self {
        match (outcome, then) {
            // The upstream served; the client did not take all of it.
            (Outcome::Served, Then::Abort) => Self::ClientLeft,
            (Outcome::Served, _) => Self::Served,
            (Outcome::Relay, _) => Self::Relayed,
            (Outcome::Out(_), _) => Self::AllOut,
            (Outcome::PinOut { .. } | Outcome::NotFound { .. } | Outcome::Apart { .. } | Outcome::PinsUnknown, _) => {
                Self::Anchored
            }
            (Outcome::Unreachable, _) => Self::Unreachable,
            (Outcome::Broken, _) => Self::Broken,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Relayed => "relayed",
            Self::AllOut => "all-out",
            Self::Anchored => "anchored",
            Self::Unreachable => "unreachable",
            Self::Broken => "broken",
            Self::ClientLeft => "client-left",
        }
    }
}

/// Writes the line.
pub(super) fn request(call: &Call<'_>, caller: &Caller, head: &RequestHead, turn: &Turn, end: End, began: Instant) {
    let account = turn.account().and_then(|id| call.gateway.named(id));
    let path = head.target.split('?').next().unwrap_or_default();
    let ms = clock::monotonic().duration_since(began).as_millis();
    tracing::info!(
        tenant = &*caller.label,
        method = head.method,
        path,
        status = call.status,
        end = end.name(),
        account = account.as_ref().map(|a| &*a.label),
        reason = turn.reason().name(),
        attempts = turn.attempts(),
        ms = u64::try_from(ms).unwrap_or(u64::MAX),
        "request"
    );
}
