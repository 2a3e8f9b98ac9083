//! Writing an answer to the connection, in the manner that was ordered.

use std::time::Duration;

use smol::io::AsyncWriteExt as _;

use super::behaviour::{Behaviour, Ending, GatePoint};
use super::connection::Connection;
use super::log::Outcome;
use super::reply::{Action, Answer, Payload};
use super::state::State;

/// Bytes that coalesced writes gather at most.
const COALESCED: usize = 64 * 1024;

/// How the answer is given.
#[derive(Default)]
pub(super) struct Manners {
    before: Option<Duration>,
    between: Option<Duration>,
    split: bool,
    gates: Vec<(String, GatePoint)>,
}

impl Manners {
    pub(super) fn new(behaviours: &[Behaviour]) -> Self {
        let mut manners = Self::default();
        for behaviour in behaviours {
            match behaviour {
                Behaviour::Delay { ms } => manners.before = Some(Duration::from_millis(*ms)),
                Behaviour::SlowStream { delay_ms } => manners.between = Some(Duration::from_millis(*delay_ms)),
                Behaviour::SplitSegments => manners.split = true,
                Behaviour::HeldGate { gate, at } => manners.gates.push((gate.clone(), *at)),
                _ => {}
            }
        }
        manners
    }
}

/// The client is gone.
struct Gone;

impl From<std::io::Error> for Gone {
    fn from(_: std::io::Error) -> Self {
        Self
    }
}

/// One answer on its way.
pub(super) struct Player<'a> {
    pub(super) state: &'a State,
    pub(super) connection: &'a mut Connection,
    pub(super) manners: Manners,
    /// Whether the connection stays open after a complete answer.
    pub(super) keep_alive: bool,
    /// Whether the client understands chunks.
    pub(super) chunked: bool,
    /// Whether only the head is wanted.
    pub(super) head_only: bool,
    events: u32,
    broken: bool,
    /// Bytes not written yet, where writes are coalesced.
    out: Vec<u8>,
}

impl<'a> Player<'a> {
    pub(super) fn new(state: &'a State, connection: &'a mut Connection, behaviours: &[Behaviour]) -> Self {
        let manners = Manners::new(behaviours);
        let (keep_alive, chunked, head_only) = (true, true, false);
        Self { state, connection, manners, keep_alive, chunked, head_only, events: 0, broken: false, out: Vec::new() }
    }

    /// Plays `action` to its end and says how it ended. Anything but `Answered` closes the connection.
    pub(super) async fn play(&mut self, action: Action) -> Outcome {
        let status = if let Action::Answer(answer) = &action { answer.status } else { 0 };
        match self.perform(action).await {
            Err(Gone) => Outcome::ClientLeft { events: self.events },
            Ok(()) if self.broken => Outcome::Broken { events: self.events },
            Ok(()) => Outcome::Answered { status },
        }
    }

    async fn perform(&mut self, action: Action) -> Result<(), Gone> {
        if let Some(pause) = self.manners.before {
            self.unless_left(crate::clock::sleep(pause)).await?;
        }
        self.gates(GatePoint::BeforeHeaders).await?;
        match action {
            Action::Hang => self.unless_left(smol::future::pending()).await,
            Action::Reset => self.reset(),
            Action::Answer(answer) => {
                self.answer(answer).await?;
                self.flush().await
            }
        }
    }

    async fn answer(&mut self, answer: Answer) -> Result<(), Gone> {
        let head = answer.head(self.chunked, self.keep_alive);
        if self.head_only {
            return self.write(head.as_bytes()).await;
        }
        match answer.payload {
            Payload::Whole(bytes) => self.whole(head, bytes, answer.ending).await,
            Payload::Events(events) => self.stream(head, &events, answer.ending).await,
        }
    }

    async fn whole(&mut self, head: String, bytes: Vec<u8>, ending: Option<Ending>) -> Result<(), Gone> {
        let held = !self.manners.gates.is_empty();
        let mut out = head.into_bytes();
        if held {
            self.write(&out).await?;
            out.clear();
            self.gates(GatePoint::AfterEvents(0)).await?;
            self.gates(GatePoint::BeforeEnd).await?;
        }
        let kept = if ending.is_some() { bytes.len() / 2 } else { bytes.len() };
        out.extend_from_slice(&bytes[..kept]);
        self.write(&out).await?;
        // A body of known length that stops short cannot end well.
        match ending {
            None => Ok(()),
            Some(Ending::Reset) => {
                self.flush().await?;
                self.reset()
            }
            Some(Ending::Clean | Ending::Cut) => {
                self.broken = true;
                Ok(())
            }
        }
    }

    async fn stream(&mut self, head: String, events: &[String], ending: Option<Ending>) -> Result<(), Gone> {
        self.write(head.as_bytes()).await?;
        for (index, event) in events.iter().enumerate() {
            self.gates(GatePoint::AfterEvents(self.events)).await?;
            if index + 1 == events.len() {
                self.gates(GatePoint::BeforeEnd).await?;
            }
            if let Some(pause) = self.manners.between {
                self.unless_left(crate::clock::sleep(pause)).await?;
            }
            self.event(event).await?;
            self.events += 1;
        }
        self.gates(GatePoint::AfterEvents(self.events)).await?;
        match ending {
            None | Some(Ending::Clean) => {
                self.broken = ending.is_some();
                let end: &[u8] = if self.chunked { b"0\r\n\r\n" } else { b"" };
                self.write(end).await
            }
            Some(Ending::Cut) => {
                self.broken = true;
                Ok(())
            }
            Some(Ending::Reset) => {
                self.flush().await?;
                self.reset()
            }
        }
    }

    async fn event(&mut self, event: &str) -> Result<(), Gone> {
        if !self.chunked {
            return self.write(event.as_bytes()).await;
        }
        let mut chunk = format!("{:x}\r\n", event.len()).into_bytes();
        chunk.extend_from_slice(event.as_bytes());
        chunk.extend_from_slice(b"\r\n");
        self.write(&chunk).await
    }

    /// Writes at once: in pieces where ordered, later where the options coalesce writes.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), Gone> {
        if self.manners.split && bytes.len() > 3 {
            // One byte alone, then the rest in two: framing and data are both torn.
            let middle = 1 + (bytes.len() - 1) / 2;
            for piece in [&bytes[..1], &bytes[1..middle], &bytes[middle..]] {
                self.connection.stream.write_all(piece).await?;
                smol::future::yield_now().await;
            }
            return Ok(());
        }
        self.out.extend_from_slice(bytes);
        if self.state.options.coalesce && self.out.len() < COALESCED { Ok(()) } else { self.flush().await }
    }

    async fn flush(&mut self) -> Result<(), Gone> {
        if !self.out.is_empty() {
            self.connection.stream.write_all(&self.out).await?;
            self.out.clear();
        }
        Ok(())
    }

    /// Waits for `future` unless the client leaves first. What was written before is on its way.
    async fn unless_left(&mut self, future: impl Future<Output = ()>) -> Result<(), Gone> {
        self.flush().await?;
        let done = async {
            future.await;
            Ok(())
        };
        let left = async {
            self.connection.left().await;
            Err(Gone)
        };
        smol::future::or(done, left).await
    }

    /// Waits at every gate that stands at `point`.
    async fn gates(&mut self, point: GatePoint) -> Result<(), Gone> {
        let names: Vec<String> =
            self.manners.gates.iter().filter(|(_, at)| *at == point).map(|(name, _)| name.clone()).collect();
        for name in names {
            let place = Waiting { state: self.state, name: &name };
            let gate = self.state.with(|inner| inner.gates.join(&name));
            self.unless_left(async move {
                // Ends with an error once the gate is released: nothing is ever sent through it.
                let _ = gate.recv().await;
            })
            .await?;
            drop(place);
        }
        Ok(())
    }

    /// Ends the connection with a reset instead of an orderly close.
    fn reset(&mut self) -> Result<(), Gone> {
        self.broken = true;
        socket2::SockRef::from(&self.connection.stream).set_linger(Some(Duration::ZERO))?;
        Ok(())
    }
}

/// A place in the count of those who wait at a gate.
struct Waiting<'a> {
    state: &'a State,
    name: &'a str,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.state.with(|inner| inner.gates.part(self.name));
    }
}
