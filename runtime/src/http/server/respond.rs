//! Writing a response: one write for each piece, its head along with the first.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;

use super::ServerConn;
use crate::http::buffer;
use crate::http::chunk::{LAST_CHUNK, write_chunk};
use crate::http::framing::{BodyFraming, is_framing_field};
use crate::http::head::{Version, reason_phrase, write_status_line};
use crate::http::headers::{Headers, write_line};
use crate::http::transport::Transport;

/// Data copied into one write at most; longer data goes out in several.
const PIECE: usize = buffer::SIZE;

/// What body a response has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    /// Exactly so many bytes.
    Length(u64),
    /// As it comes: chunked, or until the connection closes for an HTTP/1.0 client.
    Chunked,
    /// No body.
    None,
}

impl From<BodyFraming> for BodyKind {
    /// How to pass on a body that an upstream frames like this.
    fn from(framing: BodyFraming) -> Self {
        match framing {
            BodyFraming::None => Self::None,
            BodyFraming::Length(n) => Self::Length(n),
            BodyFraming::Chunked | BodyFraming::UntilClose => Self::Chunked,
        }
    }
}

/// Why a response cannot go on. The connection is of no more use; drop it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The client hung up.
    #[error("the client left")]
    Gone,
    /// The client took no byte within [`super::Limits::write_progress`].
    #[error("the client took no byte of the answer for {} s", .0.as_secs_f32())]
    Stalled(std::time::Duration),
    /// The connection broke.
    #[error("the connection to the client broke ({0:?})")]
    Broken(io::ErrorKind),
    /// The calls do not make one response: a mistake of the caller.
    #[error("the response was written wrongly: {0}")]
    Misuse(&'static str),
}

/// Where the writing of the current response stands.
#[derive(Debug, Default)]
pub(super) struct Response {
    /// Written and not sent yet: the head until the first data comes.
    pending: Vec<u8>,
    mode: Mode,
    keep_alive: bool,
    /// A write was cut short: what the client has is not the start of anything that could be continued.
    torn: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Mode {
    #[default]
    NotStarted,
    /// Data is counted and dropped: an answer to HEAD, 204, 304.
    Suppressed,
    Length(u64),
    Chunked,
    UntilClose,
    Finished,
}

impl Response {
    pub(super) fn is_started(&self) -> bool {
        self.mode != Mode::NotStarted
    }

    /// Whether the client has, or may have, a part of a response.
    pub(super) fn is_half_sent(&self) -> bool {
        self.torn || !matches!(self.mode, Mode::NotStarted | Mode::Finished)
    }

    pub(super) fn keeps_alive(&self) -> bool {
        self.mode == Mode::Finished && self.keep_alive && !self.torn
    }
}

impl<S: Transport> ServerConn<S> {
    /// Starts the response to the current request. Nothing is sent yet: the head goes out with the first data, with
    /// `finish`, or with [`ServerConn::flush`].
    ///
    /// `Connection`, `Content-Length`, `Transfer-Encoding` and their like in `headers` are left out; this codec writes
    /// its own. A `Connection: close` among them is honoured. `Upgrade` passes with 101 and 426.
    ///
    /// # Errors
    /// [`WriteError::Misuse`] for a second start, an interim status, or a status that is no three-digit number.
    pub fn start_response(&mut self, status: u16, headers: &Headers, body: BodyKind) -> Result<(), WriteError> {
        if !self.exchange.open || self.response.is_started() {
            return Err(WriteError::Misuse("there is no request to answer, or its answer has started"));
        }
        if (100..200).contains(&status) && status != 101 {
            return Err(WriteError::Misuse("an interim status is no answer"));
        }
        let version = self.exchange.version;
        let no_body = matches!(status, 101 | 204 | 304);
        let mode = match body {
            _ if no_body || self.exchange.is_head => Mode::Suppressed,
            BodyKind::None => Mode::Length(0),
            BodyKind::Length(n) => Mode::Length(n),
            BodyKind::Chunked if version == Version::Http11 => Mode::Chunked,
            BodyKind::Chunked => Mode::UntilClose,
        };
        let keep_alive = self.exchange.framing.keep_alive
            && !self.last
            && mode != Mode::UntilClose
            && !headers.has_token("connection", "close")
            && self.body_is_out_of_the_way();
        let mut out = buffer::take_output();
        write_status_line(&mut out, Version::Http11, status, reason_phrase(status))
            .map_err(|_| WriteError::Misuse("the status is not a number of three digits"))?;
        let upgrade = matches!(status, 101 | 426) && headers.count("upgrade") > 0;
        headers.write_lines(&mut out, |n| !is_framing_field(n) || (upgrade && n.eq_ignore_ascii_case("upgrade")));
        match (mode, body) {
            (Mode::Length(n), _) => write_length(&mut out, n),
            (Mode::Suppressed, BodyKind::Length(n)) if !matches!(status, 101 | 204) => write_length(&mut out, n),
            (Mode::Chunked, _) => write_line(&mut out, "Transfer-Encoding", b"chunked"),
            _ => {}
        }
        let connection: &[u8] = match (upgrade, keep_alive, version) {
            (true, _, _) if status == 101 => b"Upgrade",
            (true, true, _) => b"Upgrade, keep-alive",
            (true, false, _) => b"Upgrade, close",
            (false, true, Version::Http11) => b"",
            (false, true, Version::Http10) => b"keep-alive",
            (false, false, _) => b"close",
        };
        if !connection.is_empty() {
            write_line(&mut out, "Connection", connection);
        }
        out.extend_from_slice(b"\r\n");
        self.response = Response { pending: out, mode, keep_alive, torn: false };
        Ok(())
    }

    /// Whether the next request starts where the buffer does, or can be made to without reading on.
    fn body_is_out_of_the_way(&mut self) -> bool {
        if self.exchange.body_read {
            return true;
        }
        if let BodyFraming::Length(n) = self.exchange.framing.body
            && let Ok(n) = usize::try_from(n)
            && n <= self.input.unread().len()
        {
            self.input.consume(n);
            self.exchange.body_read = true;
        }
        self.exchange.body_read
    }

    /// Sends a piece of the body, at once and in one write where it has at most 16 KiB.
    ///
    /// Not to be dropped half-way: the connection can only be broken off then. No select is needed either, because
    /// the client's leave and a lack of progress end the call.
    ///
    /// # Errors
    /// [`WriteError`]; more data than announced is a misuse.
    pub async fn write_data(&mut self, data: &[u8]) -> Result<(), WriteError> {
        self.write_pieces(data, false).await
    }

    /// Sends the head if it still waits for the first data.
    ///
    /// # Errors
    /// As `write_data`.
    pub async fn flush(&mut self) -> Result<(), WriteError> {
        let pending = std::mem::take(&mut self.response.pending);
        self.send_owned(pending).await
    }

    /// Ends the response. Whether the connection takes another request.
    ///
    /// # Errors
    /// As `write_data`; fewer bytes than announced is a misuse, and the response stays unended (W2).
    pub async fn finish(&mut self) -> Result<bool, WriteError> {
        self.finish_with(&[]).await
    }

    /// Sends the last piece and the end of the body in one write, and ends the response.
    ///
    /// # Errors
    /// As `finish`.
    pub async fn finish_with(&mut self, data: &[u8]) -> Result<bool, WriteError> {
        if matches!(self.response.mode, Mode::NotStarted | Mode::Finished) {
            return Err(WriteError::Misuse("there is no started response to finish"));
        }
        self.write_pieces(data, true).await?;
        if matches!(self.response.mode, Mode::Length(1..)) {
            return Err(WriteError::Misuse("fewer bytes were written than announced"));
        }
        self.response.mode = Mode::Finished;
        self.exchange.open = false;
        Ok(self.response.keep_alive)
    }

    async fn write_pieces(&mut self, mut data: &[u8], end: bool) -> Result<(), WriteError> {
        if self.response.torn {
            return Err(WriteError::Misuse("an earlier write was cut short"));
        }
        loop {
            // What needs no copy to go out with something else goes out as it is.
            let alone = self.response.pending.is_empty() && self.response.mode != Mode::Chunked;
            let (piece, rest) = data.split_at(if alone { data.len() } else { data.len().min(PIECE) });
            data = rest;
            let mut out = std::mem::take(&mut self.response.pending);
            match &mut self.response.mode {
                Mode::NotStarted | Mode::Finished => return Err(WriteError::Misuse("no response was started")),
                Mode::Suppressed => {}
                Mode::Length(left) => {
                    *left = left
                        .checked_sub(piece.len() as u64)
                        .ok_or(WriteError::Misuse("more bytes were written than announced"))?;
                    if out.is_empty() {
                        self.send(piece).await?;
                    } else {
                        out.extend_from_slice(piece);
                    }
                }
                Mode::UntilClose if out.is_empty() => self.send(piece).await?,
                Mode::UntilClose => out.extend_from_slice(piece),
                Mode::Chunked => {
                    if out.capacity() == 0 {
                        out = buffer::take_output();
                    }
                    write_chunk(&mut out, piece);
                    if end && data.is_empty() {
                        out.extend_from_slice(LAST_CHUNK);
                    }
                }
            }
            self.send_owned(out).await?;
            if data.is_empty() {
                return Ok(());
            }
        }
    }

    async fn send_owned(&mut self, out: Vec<u8>) -> Result<(), WriteError> {
        if !out.is_empty() {
            self.send(&out).await?;
        }
        buffer::give_output(out);
        Ok(())
    }

    /// Writes all of `bytes`, watching for the client's leave and for a lack of progress whenever it must wait.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        if bytes.is_empty() {
            return Ok(());
        }
        // Stays set if this future is dropped, or fails, before everything is out.
        self.response.torn = true;
        let patience = self.limits.write_progress;
        let bound = self.limits.pipelined_bytes;
        let Self { stream, input, watch, deadline, .. } = self;
        let mut sent = 0;
        let mut waiting = false;
        poll_fn(|cx| {
            loop {
                let progress = if sent < bytes.len() {
                    Pin::new(&mut *stream).poll_write(cx, &bytes[sent..])
                } else {
                    // Only TLS has something left to do here.
                    match Pin::new(&mut *stream).poll_flush(cx) {
                        Poll::Ready(Ok(())) => return Poll::Ready(Ok(())),
                        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                        Poll::Pending => Poll::Pending,
                    }
                };
                match progress {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(WriteError::Gone)),
                    Poll::Ready(Ok(n)) => {
                        sent += n;
                        waiting = false;
                    }
                    Poll::Ready(Err(error)) => match error.kind() {
                        io::ErrorKind::Interrupted => {}
                        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                            return Poll::Ready(Err(WriteError::Gone));
                        }
                        kind => return Poll::Ready(Err(WriteError::Broken(kind))),
                    },
                    Poll::Pending => {
                        if !std::mem::replace(&mut waiting, true) {
                            deadline.set(patience);
                        }
                        if watch.poll_gone(stream, input, bound, cx).is_ready() {
                            return Poll::Ready(Err(WriteError::Gone));
                        }
                        return deadline.poll(cx).map(|()| Err(WriteError::Stalled(patience)));
                    }
                }
            }
        })
        .await?;
        self.response.torn = false;
        Ok(())
    }
}

fn write_length(out: &mut Vec<u8>, length: u64) {
    write_line(out, "Content-Length", length.to_string().as_bytes());
}
