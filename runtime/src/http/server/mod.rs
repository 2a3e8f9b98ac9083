//! The server's side of a connection: requests in, responses out, in order.

mod body;
mod close;
mod respond;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

pub use close::Upgraded;
pub use respond::{BodyKind, WriteError};

use super::buffer::ReadBuf;
use super::deadline::Deadline;
use super::error::HttpError;
use super::framing::{BodyFraming, RequestFraming, request_framing};
use super::head::{RequestHead, Version};
use super::limits::Limits;
use super::scan::{HeadBounds, HeadFault, HeadScan, REQUEST_LINE_EXTRA};
use super::transport::Transport;
use super::watch::Watch;
use respond::Response;

/// Empty lines tolerated before a request line.
const BLANK_LINES: usize = 8;

/// One connection from a client.
///
/// Requests come out of [`ServerConn::next_request`] in the order they were sent, also when the client pipelines.
/// Each is answered before the next is read: `start_response`, `write_data` any number of times, `finish`.
///
/// # The client's leave
/// [`ServerConn::gone`] resolves when the client hung up, and is meant for a select against the upstream's next
/// piece. While `write_data` waits for a slow client it watches for the same by itself, so that one `&mut` is enough.
/// **A half-close counts as leaving**: on the wire it cannot be told from a full close until something is written. A
/// client that shuts its write side down early still gets every answer that is ready without a wait for the upstream.
///
/// # Dropping
/// A connection dropped in the middle of a response is broken off visibly (W2), whatever the reason of the drop.
pub struct ServerConn<S: Transport> {
    stream: S,
    limits: Arc<Limits>,
    input: ReadBuf,
    watch: Watch,
    deadline: Deadline,
    exchange: Exchange,
    response: Response,
    /// No request after this one, whatever it says.
    last: bool,
}

/// Where the reading of the current request stands.
struct Exchange {
    framing: RequestFraming,
    version: Version,
    is_head: bool,
    /// Whether a head was read that has no finished answer yet.
    open: bool,
    body_read: bool,
}

/// What an attempt to read brought.
enum Filled {
    Bytes,
    End,
    TimedOut,
    Broken(io::ErrorKind),
}

impl<S: Transport> ServerConn<S> {
    /// Takes over an accepted connection. For TCP call [`super::prepare_tcp`] first.
    pub fn new(stream: S, limits: Arc<Limits>) -> Self {
        Self {
            stream,
            limits,
            input: ReadBuf::default(),
            watch: Watch::new(),
            deadline: Deadline::default(),
            exchange: Exchange {
                framing: RequestFraming { body: BodyFraming::None, expects_continue: false, keep_alive: true },
                version: Version::Http11,
                is_head: false,
                open: false,
                body_read: true,
            },
            response: Response::default(),
            last: false,
        }
    }

    /// The stream below, for addresses and TLS facts.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// The next request takes no further one: its answer says `Connection: close`. For a shutdown that lets the
    /// request being answered finish.
    pub fn close_after_response(&mut self) {
        self.last = true;
    }

    /// The next request's head. `None` after a clean end, when nothing came within the idle time, or when the
    /// response before said that the connection closes; drop the connection then.
    ///
    /// A call that is dropped loses nothing: the bytes read so far are kept for the next call.
    ///
    /// # Errors
    /// Everything wrong with the head, to be answered with [`ServerConn::refuse`].
    pub async fn next_request(&mut self) -> Result<Option<RequestHead>, HttpError> {
        if !self.settle().await {
            return Ok(None);
        }
        self.response = Response::default();
        let limits = Arc::clone(&self.limits);
        let bounds = HeadBounds {
            head_bytes: limits.head_bytes,
            fields: limits.fields,
            first_line: limits.target_bytes + REQUEST_LINE_EXTRA,
        };
        let mut scan = HeadScan::default();
        let mut blank_lines = 0;
        let mut begun = false;
        self.deadline.set(limits.idle);
        loop {
            if !begun && !self.input.is_empty() {
                begun = true;
                self.deadline.set(limits.head);
            }
            self.skip_blank_lines(&mut blank_lines)?;
            first_byte_fits(self.input.unread())?;
            let found = scan.advance(self.input.unread(), &bounds).map_err(|fault| self.fault(fault))?;
            if let Some(length) = found {
                return self.take_head(length).map(Some);
            }
            match self.fill(bounds.head_bytes + 1).await {
                Filled::Bytes => {}
                Filled::TimedOut if begun => return Err(HttpError::HeadTimeout(limits.head)),
                Filled::Broken(kind) if begun => return Err(HttpError::Gone(kind)),
                Filled::End if begun && !self.input.is_empty() => {
                    return Err(HttpError::BadRequest("the connection ended within the request head"));
                }
                Filled::End | Filled::TimedOut | Filled::Broken(_) => return Ok(None),
            }
        }
    }

    fn skip_blank_lines(&mut self, seen: &mut usize) -> Result<(), HttpError> {
        while self.input.unread().starts_with(b"\r\n") {
            *seen += 1;
            if *seen > BLANK_LINES {
                return Err(HttpError::BadRequest("too many empty lines before the request line"));
            }
            self.input.consume(2);
        }
        Ok(())
    }

    fn take_head(&mut self, length: usize) -> Result<RequestHead, HttpError> {
        let bytes = &self.input.unread()[..length];
        let head = RequestHead::parse(bytes, self.limits.fields, self.limits.target_bytes)
            .map_err(|fault| self.fault(fault))?;
        self.input.consume(length);
        // From here on the request is known well enough for its answer to fit it.
        self.exchange.version = head.version;
        self.exchange.is_head = head.method == "HEAD";
        self.exchange.open = true;
        self.exchange.framing = request_framing(&head)?;
        self.exchange.body_read = self.exchange.framing.body == BodyFraming::None;
        Ok(head)
    }

    fn fault(&self, fault: HeadFault) -> HttpError {
        match fault {
            HeadFault::Malformed(why) => HttpError::BadRequest(why),
            HeadFault::TargetTooLong => HttpError::TargetTooLong { max: self.limits.target_bytes },
            HeadFault::TooLarge => HttpError::HeadTooLarge { max: self.limits.head_bytes },
            HeadFault::TooManyFields => HttpError::TooManyFields { max: self.limits.fields },
            HeadFault::Version => HttpError::Version,
        }
    }

    /// Reads once into the buffer, up to `bound` unread bytes, until the deadline.
    async fn fill(&mut self, bound: usize) -> Filled {
        self.watch.look_again();
        let Self { stream, input, deadline, .. } = self;
        poll_fn(|cx| match input.poll_fill(stream, cx, bound) {
            Poll::Ready(Ok(0)) => Poll::Ready(Filled::End),
            Poll::Ready(Ok(_)) => Poll::Ready(Filled::Bytes),
            Poll::Ready(Err(error)) => Poll::Ready(Filled::Broken(error.kind())),
            Poll::Pending => deadline.poll(cx).map(|()| Filled::TimedOut),
        })
        .await
    }

    /// Resolves once the client hung up, a half-close included. Until then it takes what the client sends ahead, up
    /// to [`Limits::pipelined_bytes`]; past that it pauses, and a leave is noticed by the next write.
    ///
    /// Cheap to drop and to call again: a poll that the client did not cause makes no system call.
    pub async fn gone(&mut self) {
        poll_fn(|cx| self.poll_gone(cx)).await;
    }

    /// [`ServerConn::gone`] for hand-written futures.
    pub fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.watch.poll_gone(&mut self.stream, &mut self.input, self.limits.pipelined_bytes, cx)
    }
}

/// Turns away what cannot be HTTP, such as a TLS greeting on a plain port, before its line ends.
fn first_byte_fits(unread: &[u8]) -> Result<(), HttpError> {
    match unread.first() {
        Some(b'\r') | None => Ok(()),
        Some(byte) if super::headers::is_token_byte(*byte) => Ok(()),
        Some(_) => Err(HttpError::BadRequest("the request line does not start with a method")),
    }
}
