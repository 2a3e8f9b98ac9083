//! A response's body, piece by piece as it arrives, with its end told apart from its loss.

use std::future::poll_fn;
use std::io;
use std::sync::Weak;
use std::task::{Context, Poll};
use std::time::Duration;

use super::buffer;
use super::chunk::{ChunkDecoder, Step};
use super::client::Conn;
use super::framing::BodyFraming;
use super::origin::Origin;
use super::pool::Shelf;

/// Why a body has no proper end (W2).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The connection ended or broke before the body did.
    #[error("{origin} was lost in the middle of its answer, after {read} bytes of it ({kind:?})")]
    Truncated {
        /// The origin.
        origin: String,
        /// Bytes of the body that had come.
        read: u64,
        /// What the socket said; `UnexpectedEof` for a plain end.
        kind: io::ErrorKind,
    },
    /// Nothing came for too long.
    #[error("{origin} sent nothing for {} s in the middle of its answer", .after.as_secs_f32())]
    Idle {
        /// The origin.
        origin: String,
        /// The limit.
        after: Duration,
    },
    /// The chunked coding is broken.
    #[error("{origin} sent a malformed body: {reason}")]
    Malformed {
        /// The origin.
        origin: String,
        /// What is wrong.
        reason: &'static str,
    },
}

/// The body of an [`super::Exchange`].
///
/// The connection goes back to the pool by itself once the body ended exactly, keep-alive holds, the request was sent
/// completely and nothing more had come. In every other case, an early drop included, it is closed.
pub struct BodyReader {
    /// The connection, until the end of the body was handed out.
    conn: Option<Box<Conn>>,
    origin: Origin,
    home: Weak<Shelf>,
    reusable: bool,
    framing: BodyFraming,
    decoder: Decoder,
    /// Bytes at the front of the input that the caller has seen, or that were framing.
    used: usize,
    read: u64,
    idle: Duration,
    waiting: bool,
    failed: Option<BodyError>,
}

enum Decoder {
    Length(u64),
    Chunks(ChunkDecoder),
    /// A fault behind data that was still good.
    Faulty(&'static str),
    UntilClose,
    Ended,
}

impl BodyReader {
    pub(crate) fn new(
        conn: Box<Conn>,
        origin: Origin,
        home: Weak<Shelf>,
        framing: BodyFraming,
        reusable: bool,
        idle: Duration,
    ) -> Self {
        let decoder = match framing {
            BodyFraming::None => Decoder::Ended,
            BodyFraming::Length(n) => Decoder::Length(n),
            BodyFraming::Chunked => Decoder::Chunks(ChunkDecoder::default()),
            BodyFraming::UntilClose => Decoder::UntilClose,
        };
        let conn = Some(conn);
        Self { conn, origin, home, reusable, framing, decoder, used: 0, read: 0, idle, waiting: false, failed: None }
    }

    /// How the end of this body is known. A clean end of [`BodyFraming::UntilClose`] may also be a lost upstream: an
    /// event stream is complete only with its terminal event.
    pub fn framing(&self) -> BodyFraming {
        self.framing
    }

    /// Whether the end was reached: `next` will say `None` without waiting. Known along with the last piece where
    /// both came together, so that both can be passed on in one write.
    pub fn is_ended(&self) -> bool {
        matches!(self.decoder, Decoder::Ended)
    }

    /// Bytes of the body handed out so far.
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// The next bytes, as soon as there are any; `None` at the proper end, and only there.
    ///
    /// A call that is dropped loses nothing, and does not start the idle limit anew.
    ///
    /// # Errors
    /// [`BodyError`], again at each further call.
    pub async fn next(&mut self) -> Result<Option<&[u8]>, BodyError> {
        match poll_fn(|cx| self.poll_piece(cx)).await? {
            0 => Ok(None),
            length => Ok(self.conn.as_ref().map(|conn| &conn.input.unread()[..length])),
        }
    }

    /// Makes the next piece ready at the front of the input; its length, 0 for the end.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, BodyError>> {
        if let Some(error) = &self.failed {
            return Poll::Ready(Err(error.clone()));
        }
        let result = match self.try_piece(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(result) => result,
        };
        self.waiting = false;
        match &result {
            Ok(0) => self.give_back(),
            Ok(length) => self.read += *length as u64,
            Err(error) => {
                self.failed = Some(error.clone());
                self.conn = None;
            }
        }
        Poll::Ready(result)
    }

    fn try_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, BodyError>> {
        let Some(conn) = &mut self.conn else { return Poll::Ready(Ok(0)) };
        conn.input.consume(std::mem::take(&mut self.used));
        loop {
            match self.decoder.decode(conn.input.unread_mut()) {
                Decoded::Piece { length, used } => {
                    self.used = used;
                    return Poll::Ready(Ok(length));
                }
                Decoded::End { used } => {
                    conn.input.consume(used);
                    self.decoder = Decoder::Ended;
                    return Poll::Ready(Ok(0));
                }
                Decoded::More { used } => conn.input.consume(used),
                Decoded::Fault(reason) => {
                    return Poll::Ready(Err(BodyError::Malformed { origin: self.origin.to_string(), reason }));
                }
            }
            let truncated = |kind| BodyError::Truncated { origin: self.origin.to_string(), read: self.read, kind };
            match conn.input.poll_fill(&mut conn.stream, cx, buffer::SIZE) {
                Poll::Ready(Ok(0)) if matches!(self.decoder, Decoder::UntilClose) => {
                    self.decoder = Decoder::Ended;
                    return Poll::Ready(Ok(0));
                }
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(truncated(io::ErrorKind::UnexpectedEof))),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(truncated(error.kind()))),
                Poll::Pending => {
                    if !std::mem::replace(&mut self.waiting, true) {
                        conn.deadline.set(self.idle);
                    }
                    let late = || BodyError::Idle { origin: self.origin.to_string(), after: self.idle };
                    return conn.deadline.poll(cx).map(|()| Err(late()));
                }
            }
        }
    }

    /// Back to the pool if the connection is exactly at the start of the next response, else closed.
    fn give_back(&mut self) {
        let Some(mut conn) = self.conn.take() else { return };
        conn.input.consume(std::mem::take(&mut self.used));
        if self.reusable
            && self.is_ended()
            && conn.input.is_empty()
            && let Some(home) = self.home.upgrade()
        {
            home.put(&self.origin, conn);
        }
    }
}

impl Drop for BodyReader {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl std::fmt::Debug for BodyReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BodyReader({:?}, {} bytes read)", self.framing, self.read)
    }
}

enum Decoded {
    /// Data of this length is at the front; `used` bytes of the input belong to it and to framing behind it.
    Piece {
        length: usize,
        used: usize,
    },
    /// No data; so many bytes were framing.
    More {
        used: usize,
    },
    /// The body ended after so many bytes.
    End {
        used: usize,
    },
    Fault(&'static str),
}

impl Decoder {
    fn decode(&mut self, input: &mut [u8]) -> Decoded {
        match self {
            Self::Ended => Decoded::End { used: 0 },
            Self::Faulty(reason) => Decoded::Fault(reason),
            _ if input.is_empty() => Decoded::More { used: 0 },
            Self::UntilClose => Decoded::Piece { length: input.len(), used: input.len() },
            Self::Length(left) => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= length as u64;
                if *left == 0 {
                    *self = Self::Ended;
                }
                Decoded::Piece { length, used: length }
            }
            Self::Chunks(chunks) => match join_chunks(chunks, input) {
                Joined { length: 0, used, after: After::More } => Decoded::More { used },
                Joined { length: 0, used, after: After::End } => Decoded::End { used },
                Joined { length: 0, after: After::Fault(reason), .. } => Decoded::Fault(reason),
                Joined { length, used, after } => {
                    match after {
                        After::More => {}
                        After::End => *self = Self::Ended,
                        After::Fault(reason) => *self = Self::Faulty(reason),
                    }
                    Decoded::Piece { length, used }
                }
            },
        }
    }
}

struct Joined {
    length: usize,
    used: usize,
    after: After,
}

enum After {
    More,
    End,
    Fault(&'static str),
}

/// Moves the data of all chunks in `input` together at its front, so that what arrived together is passed on in one
/// write instead of one for each chunk.
fn join_chunks(chunks: &mut ChunkDecoder, input: &mut [u8]) -> Joined {
    let (mut length, mut used) = (0, 0);
    loop {
        let after = match chunks.step(&input[used..]) {
            Ok(Step::Data(range)) => {
                let range = used + range.start..used + range.end;
                used = range.end;
                let moved = range.len();
                input.copy_within(range, length);
                length += moved;
                continue;
            }
            Ok(Step::More) => {
                used = input.len();
                After::More
            }
            Ok(Step::End(end)) => {
                used += end;
                After::End
            }
            Err(fault) => After::Fault(fault.0),
        };
        return Joined { length, used, after };
    }
}
