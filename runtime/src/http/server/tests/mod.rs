//! The server's side over sockets and over scripted clients.

mod leave;
mod reading;
mod splits;
mod writing;

use super::*;
use crate::http::chunk::{LAST_CHUNK, write_chunk};
use crate::http::transport::tests::tcp_pair;
use crate::http::{Headers, MemoryBudget};
use proptest::prelude::*;
use smol::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use smol::net::TcpStream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

/// A client whose bytes arrive exactly in these pieces, each after a wait of its own.
struct Pieces {
    pieces: VecDeque<Vec<u8>>,
    wait: bool,
    written: Vec<u8>,
}

impl Pieces {
    fn new(pieces: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self { pieces: pieces.into_iter().filter(|p| !p.is_empty()).collect(), wait: true, written: Vec::new() }
    }
}

impl AsyncRead for Pieces {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        if std::mem::replace(&mut self.wait, false) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Some(mut piece) = self.pieces.pop_front() else { return Poll::Ready(Ok(0)) };
        let take = piece.len().min(room.len());
        room[..take].copy_from_slice(&piece[..take]);
        piece.drain(..take);
        if piece.is_empty() {
            self.wait = true;
        } else {
            self.pieces.push_front(piece);
        }
        Poll::Ready(Ok(take))
    }
}

impl AsyncWrite for Pieces {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.written.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Transport for Pieces {
    fn break_on_close(&self) {}
}

fn limits() -> Arc<Limits> {
    Arc::new(Limits::default())
}

fn budget() -> MemoryBudget {
    MemoryBudget::new(1 << 20)
}

async fn pair(limits: Limits) -> (TcpStream, ServerConn<TcpStream>) {
    let (client, server) = tcp_pair().await;
    (client, ServerConn::new(server, Arc::new(limits)))
}

const GET: &[u8] = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
