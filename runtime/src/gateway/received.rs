//! What an attempt received and the client has not: a whole answer, or an event stream read up to its last piece.

use std::time::{Duration, Instant};

use homing_core::failure::Failure;

use super::attempt::Attempt;
use crate::clock;
use crate::http::{BodyError, Exchange, ResponseHead};
use crate::wire::classify::classify_event;
use crate::wire::sse::{Class, Piece, Scanner, Terminal};

/// Opening events are held up to this many bytes (R3).
const HEAD_HOLD_BYTES: usize = 256 << 10;

/// An answer ready for the client.
pub(super) enum Received {
    /// All of it.
    Whole(Whole),
    /// A stream whose terminal event was read, or that failed and can still be shown.
    Events(Events),
}

/// A complete answer.
pub(super) struct Whole {
    pub(super) head: ResponseHead,
    pub(super) body: Vec<u8>,
}

impl Whole {
    /// The failure that a 200 answer states in its body: a response object whose status is `failed`.
    pub(super) fn stated_failure(&self) -> Option<Failure> {
        #[derive(serde::Deserialize)]
        struct Stated<'a> {
            #[serde(borrow)]
            status: Option<std::borrow::Cow<'a, str>>,
        }
        let stated: Stated<'_> = serde_json::from_slice(&self.body).ok()?;
        (stated.status.as_deref() == Some("failed")).then(|| classify_event(&self.body, super::state::now()))
    }
}

/// An event stream under way.
pub(super) struct Events {
    pub(super) head: ResponseHead,
    body: crate::http::BodyReader,
    scanner: Scanner,
    /// Read, may be passed on.
    ready: Vec<u8>,
    /// The terminal event, kept until the machine lets it go (B15).
    terminal: Vec<u8>,
    ended: bool,
}

/// What reading further brought.
pub(super) enum Progress {
    /// Bytes that may be passed on are in [`Events::take_ready`].
    More,
    /// The terminal event was read.
    Terminal(Terminal, Option<Failure>),
    /// The stream ended, or broke, without one.
    Cut,
}

impl Events {
    /// Reads the stream up to what decides: visible output, the terminal event, or the end of the holding time (R3).
    pub(super) async fn open(exchange: Exchange, head_hold: Duration) -> Attempt {
        let mut events = Self {
            head: exchange.head,
            body: exchange.body,
            scanner: Scanner::default(),
            ready: Vec::new(),
            terminal: Vec::new(),
            ended: false,
        };
        let until = clock::monotonic() + head_hold;
        loop {
            match events.opening(until).await {
                Opening::Held if events.ready.len() < HEAD_HOLD_BYTES && clock::monotonic() < until => {}
                Opening::Held | Opening::Visible => return Attempt::Visible(events),
                Opening::Terminal(None) => return Attempt::Served(Received::Events(events)),
                Opening::Terminal(Some(failure)) => {
                    return Attempt::Failed(failure, Some(Received::Events(events)));
                }
                // Nothing visible came: as if it had broken off before the head.
                Opening::Cut => return Attempt::Failed(Failure::Server { retry_after: None }, None),
            }
        }
    }

    async fn opening(&mut self, until: Instant) -> Opening {
        let wait = until.saturating_duration_since(clock::monotonic());
        let Some(progress) = clock::within(wait, self.read()).await else { return Opening::Held };
        match progress {
            Progress::More if self.visible => Opening::Visible,
            Progress::More => Opening::Held,
            Progress::Terminal(_, failure) => Opening::Terminal(failure),
            Progress::Cut => Opening::Cut,
        }
    }
}

enum Opening {
    Held,
    Visible,
    Terminal(Option<Failure>),
    Cut,
}
