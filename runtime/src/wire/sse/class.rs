//! What an event's type means for holding back, passing on and ending (R3, B15).

/// What an event is to the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Says nothing a client would show: held back at the head of a stream so that another account can still take over (R3).
    Held(Held),
    /// Anything else, unknown types and `[DONE]` included: from here on nothing is retried (R3).
    Visible,
    /// The turn's outcome.
    Terminal(Terminal),
}

/// The kinds of event that are held back at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// `response.created`, `response.in_progress`, `response.queued`: the first tells the response's id.
    Lifecycle,
    /// `codex.rate_limits` and its like: the data tells quota.
    RateLimits,
    /// `response.metadata`: may carry a turn state.
    Metadata,
    /// A keep-alive event, a comment, an empty line or an event without data.
    KeepAlive,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// `response.completed` (or `response.done`): a success.
    Completed,
    /// `response.incomplete`: a success, whatever the reason.
    Incomplete,
    /// `response.failed`: [`classify_event`](crate::wire::classify::classify_event) says why.
    Failed,
    /// `error`: the same.
    Error,
}

impl Terminal {
    /// Whether the attempt counts as a success (spec §1).
    pub fn is_success(self) -> bool {
        matches!(self, Self::Completed | Self::Incomplete)
    }
}

impl Class {
    /// The class of a type, as the data's `type` or the `event:` line has it.
    pub(super) fn of_type(name: &[u8]) -> Self {
        match name {
            b"response.created" | b"response.in_progress" | b"response.queued" => Self::Held(Held::Lifecycle),
            b"response.metadata" => Self::Held(Held::Metadata),
            b"keepalive" | b"keep_alive" | b"keep-alive" | b"ping" | b"heartbeat" => Self::Held(Held::KeepAlive),
            b"response.completed" | b"response.done" => Self::Terminal(Terminal::Completed),
            b"response.incomplete" => Self::Terminal(Terminal::Incomplete),
            b"response.failed" => Self::Terminal(Terminal::Failed),
            b"error" => Self::Terminal(Terminal::Error),
            other if other.windows(11).any(|part| part == b"rate_limits") => Self::Held(Held::RateLimits),
            _ => Self::Visible,
        }
    }
}
