//! What an attempt received and the client has not: a whole answer, or an event stream read as far as it decides.

use std::time::{Duration, Instant};

use homing_core::failure::Failure;

use super::attempt::Attempt;
use super::state::now;
use crate::clock;
use crate::http::{BodyReader, Exchange, ResponseHead};
use crate::wire::classify::classify_event;
use crate::wire::sse::{Class, Scanner};

/// Opening events are held up to this many bytes (R3).
const HEAD_HOLD_BYTES: usize = 256 << 10;

/// An answer ready for the client.
pub(super) enum Received {
    /// All of it.
    Whole(Whole),
    /// A stream whose terminal event was read.
    Events(Box<Events>),
}

impl Received {
    pub(super) const fn head(&self) -> &ResponseHead {
        match self {
            Self::Whole(whole) => &whole.head,
            Self::Events(events) => &events.head,
        }
    }
}

/// A complete answer.
pub(super) struct Whole {
    pub(super) head: ResponseHead,
    pub(super) body: Vec<u8>,
}

impl Whole {
    /// The failure that a 200 answer states in its body: a response object whose status is `failed`.
    pub(super) fn stated_failure(&self) -> Option<Failure> {
        let failed = crate::wire::usage::read(&self.body).status.as_deref() == Some("failed");
        failed.then(|| classify_event(&self.body, now()))
    }
}

/// An event stream under way.
pub(super) struct Events {
    pub(super) head: ResponseHead,
    body: BodyReader,
    scanner: Scanner,
    /// Read, may be passed on.
    ready: Vec<u8>,
    /// The terminal event and what came with it, kept until the machine lets it go (B15).
    terminal: Vec<u8>,
    /// Something came that a client would show (R3).
    visible: bool,
    /// What the next reading will bring, read already.
    ahead: Option<Progress>,
}

/// What reading further brought.
pub(super) enum Progress {
    /// There may be more to pass on.
    More,
    /// The terminal event was read; the failure it states, if it is none of the successes.
    Terminal(Option<Failure>),
    /// The stream ended, or broke, without one (W2).
    Cut,
}

impl Events {
    /// Reads the stream up to what decides: visible output, the terminal event, or the end of the holding time (R3).
    pub(super) async fn open(exchange: Exchange, head_hold: Duration) -> Attempt {
        let mut events = Box::new(Self {
            head: exchange.head,
            body: exchange.body,
            scanner: Scanner::default(),
            ready: Vec::new(),
            terminal: Vec::new(),
            visible: false,
            ahead: None,
        });
        let until = clock::monotonic() + head_hold;
        loop {
            match events.read_until(until).await {
                Some(Progress::More) if !events.visible && events.ready.len() < HEAD_HOLD_BYTES => {}
                Some(Progress::More) | None => return Attempt::Visible(events),
                Some(Progress::Terminal(None)) => return Attempt::Served(Received::Events(events)),
                Some(Progress::Terminal(Some(failure))) if !events.visible => {
                    return Attempt::Failed(failure, Some(Received::Events(events)));
                }
                // Nothing visible came: as if it had broken off before its head.
                Some(Progress::Cut) if !events.visible => {
                    return Attempt::Failed(Failure::Server { retry_after: None }, None);
                }
                // The very bytes that brought the first visible output brought the end too: that comes up next.
                Some(end) => {
                    events.ahead = Some(end);
                    return Attempt::Visible(events);
                }
            }
        }
    }

    /// `None` once the holding time is over.
    async fn read_until(&mut self, until: Instant) -> Option<Progress> {
        let left = until.saturating_duration_since(clock::monotonic());
        if left.is_zero() {
            return None;
        }
        clock::within(left, self.read()).await
    }

    /// Reads on by what the transport brings next.
    pub(super) async fn read(&mut self) -> Progress {
        if let Some(progress) = self.ahead.take() {
            return progress;
        }
        match self.body.next().await {
            Ok(Some(bytes)) => self.scanner.push(bytes),
            Ok(None) => return Progress::Cut,
            Err(error) => {
                tracing::debug!(%error, "the upstream's stream broke off");
                return Progress::Cut;
            }
        }
        self.scan()
    }

    fn scan(&mut self) -> Progress {
        loop {
            let piece = match self.scanner.next_piece() {
                Ok(Some(piece)) => piece,
                Ok(None) => return Progress::More,
                Err(error) => {
                    tracing::warn!(%error, "the upstream's stream cannot be read on");
                    return Progress::Cut;
                }
            };
            let Class::Terminal(end) = piece.class else {
                self.visible |= piece.class == Class::Visible;
                self.ready.extend_from_slice(piece.bytes);
                continue;
            };
            let stated = piece.data().unwrap_or_default();
            let failure = (!end.is_success()).then(|| classify_event(&stated, now()));
            self.terminal.extend_from_slice(piece.bytes);
            // Nothing behind the terminal event decides anything: it follows as it is.
            self.terminal.extend_from_slice(self.scanner.pending());
            return Progress::Terminal(failure);
        }
    }

    /// Moves the bytes that may be passed on into `out`, which is emptied first.
    pub(super) fn take_ready(&mut self, out: &mut Vec<u8>) {
        out.clear();
        std::mem::swap(&mut self.ready, out);
    }

    /// Whether the terminal event is there to be passed on.
    pub(super) fn has_terminal(&self) -> bool {
        !self.terminal.is_empty()
    }

    /// The terminal event, once the machine lets it go.
    pub(super) fn take_terminal(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.terminal)
    }

    /// What comes behind the terminal event; `None` at the end, also where the upstream breaks off there, and once the time
    /// is over: an upstream that never ends a finished stream must not keep its client waiting.
    pub(super) async fn rest(&mut self, until: Instant) -> Option<&[u8]> {
        let left = until.saturating_duration_since(clock::monotonic());
        // Bytes that are there already would come even without any time left.
        if left.is_zero() {
            return None;
        }
        clock::within(left, self.body.next()).await?.ok().flatten()
    }
}
