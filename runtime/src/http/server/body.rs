//! Reading a request's body into memory that is accounted for.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;

use super::{Filled, ServerConn};
use crate::http::buffer;
use crate::http::chunk::{ChunkDecoder, Step};
use crate::http::error::HttpError;
use crate::http::framing::BodyFraming;
use crate::http::memory::{Body, MemoryBudget, Reservation};
use crate::http::transport::Transport;

/// Memory taken before the first byte of a body came. What a head merely promises reserves no more than this.
const FIRST_STEP: usize = 128 * 1024;

/// A body as it grows: its capacity never passes what was reserved.
struct Growing {
    bytes: Vec<u8>,
    held: Reservation,
    max: usize,
}

impl Growing {
    /// Makes room for `needed` bytes in all, in steps that double, never past `most`.
    fn make_room(&mut self, needed: usize, most: usize) -> Result<(), HttpError> {
        if needed <= self.bytes.capacity() {
            return Ok(());
        }
        let capacity = needed.max(self.bytes.capacity() * 2).min(most.max(needed));
        self.held.grow_to(capacity).map_err(|_| HttpError::Busy)?;
        self.bytes.try_reserve_exact(capacity - self.bytes.len()).map_err(|_| HttpError::Busy)
    }

    fn append(&mut self, data: &[u8]) -> Result<(), HttpError> {
        let needed = self.bytes.len() + data.len();
        if needed > self.max {
            return Err(HttpError::BodyTooLarge { max: self.max });
        }
        self.make_room(needed, self.max)?;
        self.bytes.extend_from_slice(data);
        Ok(())
    }

    fn done(self) -> Body {
        Body::new(self.bytes, self.held)
    }
}

impl<S: Transport> ServerConn<S> {
    /// Reads the body of the request that `next_request` gave, at most `max` bytes. Says `100 Continue` first where
    /// the client waits for it. A request without a body gives an empty one.
    ///
    /// Memory is taken from `budget` before it is used, in steps as the body grows (W5).
    ///
    /// # Errors
    /// 413 past `max` (from Content-Length before anything is read), 503 past the budget, 408 without progress, 400
    /// for a malformed or cut-off body; to be answered with [`ServerConn::refuse`].
    pub async fn read_body(&mut self, max: usize, budget: &MemoryBudget) -> Result<Body, HttpError> {
        let body = Growing { bytes: Vec::new(), held: budget.reservation(), max };
        if self.exchange.body_read {
            return Ok(body.done());
        }
        let body = match self.exchange.framing.body {
            BodyFraming::Length(length) => self.read_length(length, body).await?,
            BodyFraming::Chunked => self.read_chunks(body).await?,
            BodyFraming::None | BodyFraming::UntilClose => body,
        };
        self.exchange.body_read = true;
        Ok(body.done())
    }

    /// Reads straight into the body, so that its bytes are copied by the kernel alone.
    async fn read_length(&mut self, length: u64, mut body: Growing) -> Result<Growing, HttpError> {
        let too_large = HttpError::BodyTooLarge { max: body.max };
        let length = usize::try_from(length).map_err(|_| too_large.clone())?;
        if length > body.max {
            return Err(too_large);
        }
        body.make_room(length.min(FIRST_STEP), length)?;
        self.say_continue().await?;
        let early = self.input.unread().len().min(length);
        body.append(&self.input.unread()[..early])?;
        self.input.consume(early);
        let mut filled = early;
        while filled < length {
            if filled == body.bytes.capacity() {
                body.make_room(filled + 1, length)?;
            }
            if body.bytes.len() == filled {
                let room = body.bytes.capacity().min(length);
                body.bytes.resize(room, 0);
            }
            filled += self.read_into(&mut body.bytes[filled..]).await?;
        }
        Ok(body)
    }

    async fn read_into(&mut self, room: &mut [u8]) -> Result<usize, HttpError> {
        let patience = self.limits.body_progress;
        self.deadline.set(patience);
        self.watch.look_again();
        let Self { stream, deadline, .. } = self;
        let read = poll_fn(|cx| {
            loop {
                match Pin::new(&mut *stream).poll_read(cx, room) {
                    Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                    Poll::Ready(read) => return Poll::Ready(Some(read)),
                    Poll::Pending => return deadline.poll(cx).map(|()| None),
                }
            }
        })
        .await;
        match read {
            None => Err(HttpError::BodyTimeout(patience)),
            Some(Ok(0)) => Err(HttpError::BadRequest("the connection ended within the request body")),
            Some(Ok(read)) => Ok(read),
            Some(Err(error)) => Err(HttpError::Gone(error.kind())),
        }
    }

    async fn read_chunks(&mut self, mut body: Growing) -> Result<Growing, HttpError> {
        self.say_continue().await?;
        let mut decoder = ChunkDecoder::default();
        loop {
            let input = self.input.unread();
            match decoder.step(input).map_err(|fault| HttpError::BadRequest(fault.0))? {
                Step::Data(range) => {
                    body.append(&input[range.clone()])?;
                    self.input.consume(range.end);
                }
                Step::End(used) => {
                    self.input.consume(used);
                    return Ok(body);
                }
                Step::More => {
                    let all = input.len();
                    self.input.consume(all);
                    self.fill_body().await?;
                }
            }
        }
    }

    async fn fill_body(&mut self) -> Result<(), HttpError> {
        let patience = self.limits.body_progress;
        self.deadline.set(patience);
        match self.fill(buffer::SIZE).await {
            Filled::Bytes => Ok(()),
            Filled::End => Err(HttpError::BadRequest("the connection ended within the request body")),
            Filled::TimedOut => Err(HttpError::BodyTimeout(patience)),
            Filled::Broken(kind) => Err(HttpError::Gone(kind)),
        }
    }

    /// Asks for the body where the client waits to be asked and has not sent any of it yet.
    async fn say_continue(&mut self) -> Result<(), HttpError> {
        if !std::mem::take(&mut self.exchange.framing.expects_continue) || !self.input.is_empty() {
            return Ok(());
        }
        self.send(b"HTTP/1.1 100 Continue\r\n\r\n").await.map_err(|_| HttpError::Gone(io::ErrorKind::BrokenPipe))
    }
}
