//! The ends of a connection: refused, closed so that the answer arrives, broken off, or handed over.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use smol::io::{AsyncRead, AsyncWrite};

use super::respond::BodyKind;
use super::{Filled, ServerConn};
use crate::http::buffer;
use crate::http::error::HttpError;
use crate::http::headers::Headers;
use crate::http::transport::Transport;

impl<S: Transport> ServerConn<S> {
    /// Answers a request that was not accepted and closes the connection, so that the client can read the answer
    /// (W5). A response that had already started is broken off instead; after [`HttpError::Gone`] nothing is sent.
    pub async fn refuse(mut self, error: &HttpError) {
        if matches!(error, HttpError::Gone(_)) || self.response.is_half_sent() {
            return self.abort();
        }
        if self.send_refusal(error).await.is_ok() {
            self.linger_close().await;
        }
    }

    async fn send_refusal(&mut self, error: &HttpError) -> Result<(), super::WriteError> {
        // The head may have been unreadable: the answer then belongs to whatever it was.
        self.exchange.is_head &= self.exchange.open;
        self.exchange.open = true;
        self.last = true;
        let body = error.body();
        let mut headers = Headers::new();
        let mut fields = vec![("Content-Type", "application/json".to_owned())];
        if let Some(seconds) = error.retry_after() {
            fields.push(("Retry-After", seconds.to_string()));
        }
        for (name, value) in fields {
            headers.push(name, value).map_err(|_| super::WriteError::Misuse("a header of the refusal"))?;
        }
        self.start_response(error.status(), &headers, BodyKind::Length(body.len() as u64))?;
        self.finish_with(&body).await.map(|_| ())
    }

    /// Breaks the connection off so that the client sees it (W2): a reset on TCP, and never the end of a chunked
    /// body.
    pub fn abort(self) {
        self.stream.break_on_close();
    }

    /// Closes the connection after a complete response, so that the client reads it instead of a reset.
    pub async fn close(mut self) {
        if !self.response.is_half_sent() {
            self.linger_close().await;
        }
    }

    /// Gets ready for the next request; `false` if there cannot be one.
    pub(super) async fn settle(&mut self) -> bool {
        if self.response.is_started() && !self.exchange.open && !self.response.keeps_alive() {
            self.linger_close().await;
            return false;
        }
        // A request that was never answered, or only in part: nothing that follows could be told apart from it.
        !self.exchange.open
    }

    /// Ends our side, then reads and drops what the client still sends, a bounded amount for a bounded time. Without
    /// this, unread bytes make the kernel send a reset that overtakes the answer.
    async fn linger_close(&mut self) {
        let mut bytes = self.limits.linger_bytes;
        self.deadline.set(self.limits.linger);
        let closed = poll_fn(|cx| match Pin::new(&mut self.stream).poll_close(cx) {
            Poll::Pending => self.deadline.poll(cx).map(|()| false),
            Poll::Ready(done) => Poll::Ready(done.is_ok()),
        });
        if !closed.await {
            return;
        }
        loop {
            let read = self.input.unread().len();
            self.input.consume(read);
            bytes = bytes.saturating_sub(read as u64);
            if bytes == 0 || !matches!(self.fill(buffer::SIZE).await, Filled::Bytes) {
                return;
            }
        }
    }

    /// Hands the connection over after a `101` was finished. Bytes that the client sent ahead are read first.
    pub fn into_upgraded(self) -> Upgraded<S> {
        Upgraded { conn: self }
    }
}

impl<S: Transport> Drop for ServerConn<S> {
    fn drop(&mut self) {
        if self.response.is_half_sent() {
            self.stream.break_on_close();
        }
    }
}

/// A connection that no longer speaks HTTP.
pub struct Upgraded<S: Transport> {
    conn: ServerConn<S>,
}

impl<S: Transport> Upgraded<S> {
    /// Makes the coming drop a visible break.
    pub fn break_on_close(&self) {
        self.conn.stream.break_on_close();
    }
}

impl<S: Transport> AsyncRead for Upgraded<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        let conn = &mut self.conn;
        if conn.input.is_empty() {
            return Pin::new(&mut conn.stream).poll_read(cx, room);
        }
        let ahead = conn.input.unread();
        let take = ahead.len().min(room.len());
        room[..take].copy_from_slice(&ahead[..take]);
        conn.input.consume(take);
        if conn.input.is_empty() {
            conn.input.release();
        }
        Poll::Ready(Ok(take))
    }
}

impl<S: Transport> AsyncWrite for Upgraded<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.conn.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.conn.stream).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.conn.stream).poll_close(cx)
    }
}
