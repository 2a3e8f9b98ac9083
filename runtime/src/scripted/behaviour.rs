//! What the upstream can be told to do instead of answering well.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a stream that is cut short comes to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Well framed (the last chunk is sent), yet without a terminal event.
    Clean,
    /// The connection is closed inside the body.
    Cut,
    /// The connection is reset inside the body.
    Reset,
}

/// Where an answer waits for its gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatePoint {
    /// Before the first byte of the answer.
    BeforeHeaders,
    /// After this many events (0: after the headers); in an answer that is no stream, before the body.
    AfterEvents(u32),
    /// Before the last event of the stream or the body of another answer.
    BeforeEnd,
}

/// A scripted behaviour. One *outcome* decides what the answer is; any number of *manners* change how it is given.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Behaviour {
    /// Outcome: this status with these headers and this body (a JSON string is sent as plain text).
    Status {
        /// The status code, 200 to 999.
        code: u16,
        /// Extra header fields.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// The body; JSON unless it is a string.
        #[serde(default)]
        body: Value,
    },
    /// Outcome: 429 `usage_limit_reached`.
    UsageLimit {
        /// Seconds until the quota is back; without it the answer names no reset.
        resets_in: Option<u64>,
    },
    /// Outcome: 429 `rate_limit_exceeded`, with `Retry-After` where given.
    RateLimited {
        /// Seconds.
        retry_after: Option<u64>,
    },
    /// Outcome: 403 with an HTML challenge page.
    Html403,
    /// Outcome: 401 as for an expired token.
    Unauthorized,
    /// Outcome: a 200 stream that ends in `response.failed`.
    SseFailed {
        /// `error.code`, e.g. `server_is_overloaded`.
        code: String,
        /// Good events before it; 2 (created, in_progress) leave the failure before any output.
        #[serde(default = "two")]
        after: u32,
    },
    /// Outcome: a 200 stream that ends in an `error` event.
    SseErrorAfter {
        /// Good events before it.
        events: u32,
        /// `code` of the event.
        #[serde(default = "server_error")]
        code: String,
    },
    /// Outcome: the stream stops without a terminal event (another answer: inside its body).
    TruncateAfter {
        /// Good events before the end.
        events: u32,
        /// How it ends.
        ending: Ending,
    },
    /// Outcome: the request is read, then the connection reset.
    ResetBeforeHeaders,
    /// Outcome: the request is read and never answered.
    HangBeforeHeaders,
    /// Outcome: the head is read and answered, the body is not read before that; the connection is closed after.
    EarlyAnswer {
        /// The status code.
        code: u16,
        /// The JSON body.
        #[serde(default)]
        body: Value,
    },
    /// Outcome: the stream ends in `response.incomplete` (reason `max_output_tokens`).
    Incomplete,
    /// Outcome, `/oauth/token` only: the refresh token is spent and the connection reset: a lost answer.
    LostAnswer,
    /// Manner: a pause before the headers.
    Delay {
        /// Milliseconds.
        ms: u64,
    },
    /// Manner: a pause before each event.
    SlowStream {
        /// Milliseconds.
        delay_ms: u64,
    },
    /// Manner: keep-alives between `response.in_progress` and the first output.
    KeepaliveEvents {
        /// How many.
        count: u32,
        /// SSE comments rather than `keepalive` events.
        #[serde(default)]
        comments: bool,
    },
    /// Manner: one extra output delta of this size.
    BigEvent {
        /// Bytes of its text.
        bytes: u32,
    },
    /// Manner: every event goes out in several TCP segments.
    SplitSegments,
    /// Manner: the answer waits at a named gate until it is released.
    HeldGate {
        /// The gate's name.
        gate: String,
        /// Where it waits.
        at: GatePoint,
    },
}

fn two() -> u32 {
    2
}

fn server_error() -> String {
    "server_error".to_owned()
}

impl Behaviour {
    /// [`Behaviour::Status`] with a JSON error body that has this `code`.
    pub fn status(code: u16) -> Self {
        Self::Status { code, headers: Vec::new(), body: Value::Null }
    }

    /// [`Behaviour::UsageLimit`] that ends in so many seconds.
    pub fn usage_limit(resets_in: u64) -> Self {
        Self::UsageLimit { resets_in: Some(resets_in) }
    }

    /// [`Behaviour::SseFailed`] before any output.
    pub fn failed(code: &str) -> Self {
        Self::SseFailed { code: code.to_owned(), after: two() }
    }

    /// [`Behaviour::HeldGate`].
    pub fn held(gate: &str, at: GatePoint) -> Self {
        Self::HeldGate { gate: gate.to_owned(), at }
    }

    /// Whether it changes only how an answer is given, not what it is.
    pub fn is_manner(&self) -> bool {
        matches!(
            self,
            Self::Delay { .. }
                | Self::SlowStream { .. }
                | Self::KeepaliveEvents { .. }
                | Self::BigEvent { .. }
                | Self::SplitSegments
                | Self::HeldGate { .. }
        )
    }
}
