//! Why an attempt did not serve (R2). The runtime reads the wire; the core decides what follows.

use crate::time::{Millis, Time};

/// One failed attempt, classed as the table of spec §4 does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// No connection: DNS, TCP or TLS. The host's fault, no account's.
    Unreachable,
    /// Time-out or reset before headers, 408, 500, 502, 503, 504, 52x, 529, or the same inside a 200 stream.
    Server {
        /// What `Retry-After` asked for, if it was there.
        retry_after: Option<Millis>,
    },
    /// 429 `usage_limit_reached`.
    QuotaSpent {
        /// The reset, where one within 366 days was given.
        until: Option<Time>,
    },
    /// 429 with `Retry-After` or a text like "try again in 1.5s".
    RateLimited {
        /// How long to leave the account alone.
        retry_after: Millis,
    },
    /// Any other 429.
    Throttled,
    /// 401.
    Unauthorized,
    /// 402, or 403 with a JSON account error: deactivated, suspended, deleted workspace.
    AccountRefused,
    /// 403 with an HTML challenge, or 404 with an empty body.
    Challenge,
    /// 400 "model is not supported" for the account's plan, or 429 `usage_not_included`.
    ModelRefused,
    /// 400 `invalid_encrypted_content`.
    ForeignCiphertext,
    /// Any other answer about the request itself: it goes to the client as it is.
    Request,
    /// The stream broke off after visible output, or ended without a terminal event.
    CutOff,
}
