//! One request on one upstream connection: writing and reading at the same time, up to the response's head.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use smol::io::AsyncWrite;

use super::body_reader::BodyReader;
use super::buffer::{self, ReadBuf};
use super::connect::{ConnectError, UpstreamStream};
use super::deadline::Deadline;
use super::framing::is_framing_field;
use super::head::{InvalidHead, RequestHead, ResponseHead, Version};
use super::headers::write_line;
use super::limits::PoolLimits;
use super::origin::Origin;
use super::scan::{HeadBounds, HeadFault, HeadScan};

/// How long an upstream may take.
#[derive(Debug, Clone)]
pub struct Deadlines {
    /// For name, TCP and TLS together.
    pub connect: Duration,
    /// From the last request byte the upstream took to the whole response head; also the longest pause in taking
    /// the request.
    pub head: Duration,
    /// The longest pause within the response body.
    pub body_idle: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), head: Duration::from_secs(300), body_idle: Duration::from_secs(300) }
    }
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No connection; nothing was sent.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection broke before there was a whole response head.
    #[error("{origin} closed the connection before it answered ({kind:?})")]
    Reset {
        /// The origin.
        origin: String,
        /// Whether any byte of the request went out: if not, it is safe to repeat whatever it is.
        bytes_sent: bool,
        /// What the socket said; `UnexpectedEof` for a plain end.
        kind: io::ErrorKind,
    },
    /// No whole response head in time.
    #[error("{origin} did not answer within {} s", .after.as_secs_f32())]
    HeadTimeout {
        /// The origin.
        origin: String,
        /// [`Deadlines::head`].
        after: Duration,
    },
    /// The response is not HTTP/1.x, or its length could be read in two ways.
    #[error("{origin} sent a malformed response: {reason}")]
    BadResponse {
        /// The origin.
        origin: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// The request cannot be written; nothing was sent.
    #[error("the request cannot be sent: {0}")]
    BadRequest(#[from] InvalidHead),
}

/// A response whose head is there and whose body can be read. Dropping it early closes the connection at once (R5).
#[derive(Debug)]
pub struct Exchange {
    /// The head of the final response; interim ones were skipped.
    pub head: ResponseHead,
    /// The body.
    pub body: BodyReader,
}

/// A connection to an upstream with what was read ahead.
pub(crate) struct Conn {
    pub(crate) stream: UpstreamStream,
    pub(crate) input: ReadBuf,
    pub(crate) deadline: Deadline,
}

impl Conn {
    pub(crate) fn new(stream: UpstreamStream) -> Self {
        Self { stream, input: ReadBuf::default(), deadline: Deadline::default() }
    }
}

/// Writes a request's head for `origin`: framing fields are ours, `Host` is added where it is missing.
pub(crate) fn write_head(
    out: &mut Vec<u8>,
    origin: &Origin,
    head: &RequestHead,
    body: usize,
) -> Result<(), InvalidHead> {
    head.write_line(Version::Http11, out)?;
    if head.headers.count("host") != 1 {
        write_line(out, "Host", origin.authority().as_bytes());
        head.headers.write_lines(out, |name| !is_own_field(name) && !name.eq_ignore_ascii_case("host"));
    } else {
        head.headers.write_lines(out, |name| !is_own_field(name));
    }
    if body > 0 || ["POST", "PUT", "PATCH"].contains(&head.method.as_str()) {
        write_line(out, "Content-Length", body.to_string().as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// `Expect` was dealt with on the client's connection: the body is here already.
fn is_own_field(name: &str) -> bool {
    is_framing_field(name) || name.eq_ignore_ascii_case("expect") || name.eq_ignore_ascii_case("te")
}

/// How an attempt failed; what the pool needs to decide on a repeat.
pub(crate) struct Failure {
    pub(crate) error: SendError,
    /// Whether the connection gave any byte before it broke.
    pub(crate) answered: bool,
}

/// What came of a request: the head, and whether the request was sent completely.
pub(crate) struct Answer {
    pub(crate) head: ResponseHead,
    pub(crate) request_complete: bool,
}

/// Sends a request and reads until the head of the final response. A response that comes while the request is still
/// being sent is taken at once; the rest of the request is not sent then.
pub(crate) async fn converse(
    conn: &mut Conn,
    origin: &Origin,
    head: &[u8],
    body: &[u8],
    deadlines: &Deadlines,
    limits: &PoolLimits,
) -> Result<Answer, Failure> {
    let mut upload = Upload::new(head, body);
    let mut reply = Reply::new(limits);
    let mut answered = false;
    conn.deadline.set(deadlines.head);
    let outcome = poll_fn(|cx| {
        if upload.poll(&mut conn.stream, cx) {
            conn.deadline.set(deadlines.head);
        }
        loop {
            match reply.take(&mut conn.input) {
                Ok(Some(head)) => return Poll::Ready(Ok(head)),
                Ok(None) => {}
                Err(reason) => return Poll::Ready(Err(Trouble::Bad(reason))),
            }
            match conn.input.poll_fill(&mut conn.stream, cx, limits.head_bytes + 1) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(Trouble::Broken(io::ErrorKind::UnexpectedEof))),
                Poll::Ready(Ok(_)) => answered = true,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Trouble::Broken(error.kind()))),
                Poll::Pending => return conn.deadline.poll(cx).map(|()| Err(Trouble::Late)),
            }
        }
    })
    .await;
    let trouble = match outcome {
        Ok(head) => return Ok(Answer { head, request_complete: upload.state == UploadState::Done }),
        Err(trouble) => trouble,
    };
    let origin = origin.to_string();
    let error = match trouble {
        Trouble::Broken(kind) => SendError::Reset { origin, bytes_sent: upload.sent > 0, kind },
        Trouble::Late => SendError::HeadTimeout { origin, after: deadlines.head },
        Trouble::Bad(reason) => SendError::BadResponse { origin, reason },
    };
    Err(Failure { error, answered })
}

enum Trouble {
    Broken(io::ErrorKind),
    Late,
    Bad(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UploadState {
    Sending,
    Flushing,
    Done,
    /// The upstream takes no more. Whether it answered nevertheless is for the reading side to find out.
    Refused,
}

/// The request on its way out: its head, with the start of the body in the same write, then the body.
struct Upload<'a> {
    parts: [&'a [u8]; 2],
    sent: usize,
    state: UploadState,
}

impl<'a> Upload<'a> {
    fn new(head: &'a [u8], body: &'a [u8]) -> Self {
        Self { parts: [head, body], sent: 0, state: UploadState::Sending }
    }

    fn rest(&self) -> &'a [u8] {
        let [first, second] = self.parts;
        match self.sent.checked_sub(first.len()) {
            None => &first[self.sent..],
            Some(done) => &second[done..],
        }
    }

    /// Sends what the upstream takes; whether there was progress.
    fn poll(&mut self, stream: &mut UpstreamStream, cx: &mut Context<'_>) -> bool {
        let before = self.sent;
        while matches!(self.state, UploadState::Sending | UploadState::Flushing) {
            let rest = self.rest();
            if rest.is_empty() {
                self.state = UploadState::Flushing;
                match Pin::new(&mut *stream).poll_flush(cx) {
                    Poll::Ready(Ok(())) => self.state = UploadState::Done,
                    Poll::Ready(Err(_)) => self.state = UploadState::Refused,
                    Poll::Pending => break,
                }
                continue;
            }
            match Pin::new(&mut *stream).poll_write(cx, rest) {
                Poll::Ready(Ok(0)) => self.state = UploadState::Refused,
                Poll::Ready(Ok(sent)) => self.sent += sent,
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Poll::Ready(Err(_)) => self.state = UploadState::Refused,
                Poll::Pending => break,
            }
        }
        self.sent > before
    }
}

/// The response's head as it comes in, interim responses skipped.
struct Reply {
    scan: HeadScan,
    bounds: HeadBounds,
    interim_left: usize,
}

impl Reply {
    fn new(limits: &PoolLimits) -> Self {
        let bounds = HeadBounds { head_bytes: limits.head_bytes, fields: limits.fields, first_line: limits.head_bytes };
        Self { scan: HeadScan::default(), bounds, interim_left: limits.interim }
    }

    fn take(&mut self, input: &mut ReadBuf) -> Result<Option<ResponseHead>, &'static str> {
        loop {
            let Some(length) = self.scan.advance(input.unread(), &self.bounds).map_err(describe)? else {
                return Ok(None);
            };
            let head = ResponseHead::parse(&input.unread()[..length], self.bounds.fields).map_err(describe)?;
            input.consume(length);
            match head.status {
                101 => return Err("it switched protocols unasked"),
                100..=199 => {
                    self.interim_left = self.interim_left.checked_sub(1).ok_or("too many interim responses")?;
                    self.scan = HeadScan::default();
                }
                _ => return Ok(Some(head)),
            }
        }
    }
}

fn describe(fault: HeadFault) -> &'static str {
    match fault {
        HeadFault::Malformed(why) => why,
        HeadFault::TargetTooLong | HeadFault::TooLarge => "its head is too large",
        HeadFault::TooManyFields => "it has too many header fields",
        HeadFault::Version => "it is not HTTP/1.x",
    }
}

/// The head of a request, with the start of the body where both fit one write, and what is left of the body.
pub(crate) fn coalesce(mut head: Vec<u8>, body: &[u8]) -> (Vec<u8>, &[u8]) {
    let (first, rest) = body.split_at(buffer::SIZE.saturating_sub(head.len()).min(body.len()));
    head.extend_from_slice(first);
    (head, rest)
}
