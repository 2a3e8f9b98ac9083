//! Buffers that are borrowed while there is something to hold and given back while a connection waits.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use smol::io::AsyncRead;

/// Size of a pooled buffer, in bytes: one TLS record, some dozens of events.
pub(crate) const SIZE: usize = 16 * 1024;

/// Buffers kept by each thread, 1 MiB in all.
const KEPT: usize = 64;

/// Output buffers that grew past this are dropped instead of kept.
const KEPT_CAPACITY: usize = SIZE + 4 * 1024;

thread_local! {
    static INPUT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer to write into.
pub(crate) fn take_output() -> Vec<u8> {
    OUTPUT.try_with(|free| free.borrow_mut().pop()).ok().flatten().unwrap_or_default()
}

/// Gives an output buffer back.
pub(crate) fn give_output(mut buffer: Vec<u8>) {
    if buffer.capacity() == 0 || buffer.capacity() > KEPT_CAPACITY {
        return;
    }
    buffer.clear();
    // Fails only while the thread ends; the buffer is freed then.
    let _ = OUTPUT.try_with(|free| {
        let mut free = free.borrow_mut();
        if free.len() < KEPT {
            free.push(buffer);
        }
    });
}

/// Bytes that were read and not yet consumed. Holds no memory while it is empty and its connection waits.
#[derive(Default)]
pub(crate) struct ReadBuf {
    data: Vec<u8>,
    start: usize,
    end: usize,
}

impl ReadBuf {
    pub(crate) fn unread(&self) -> &[u8] {
        &self.data[self.start..self.end]
    }

    pub(crate) fn unread_mut(&mut self) -> &mut [u8] {
        &mut self.data[self.start..self.end]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start = self.end.min(self.start + bytes);
        if self.is_empty() {
            self.start = 0;
            self.end = 0;
        }
    }

    /// Reads once from `stream`. At most `limit` unread bytes are held: a full buffer reads nothing and is an error
    /// of the caller, answered with `OutOfMemory`. `Ok(0)` is the end of the stream.
    pub(crate) fn poll_fill<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        limit: usize,
    ) -> Poll<io::Result<usize>> {
        if !self.make_room(limit) {
            return Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()));
        }
        loop {
            match Pin::new(&mut *stream).poll_read(cx, &mut self.data[self.end..]) {
                Poll::Ready(Ok(read)) => {
                    self.end += read;
                    return Poll::Ready(Ok(read));
                }
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    if self.is_empty() {
                        self.release();
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    fn make_room(&mut self, limit: usize) -> bool {
        if self.data.is_empty() {
            self.data = INPUT.try_with(|free| free.borrow_mut().pop()).ok().flatten().unwrap_or_else(|| vec![0; SIZE]);
        }
        if self.end < self.data.len() {
            return true;
        }
        if self.start > 0 {
            self.data.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            return true;
        }
        let longer = limit.min(self.data.len() * 2);
        if longer <= self.data.len() {
            return false;
        }
        self.data.resize(longer, 0);
        true
    }

    /// Gives the memory back; unread bytes are lost.
    pub(crate) fn release(&mut self) {
        self.start = 0;
        self.end = 0;
        let data = std::mem::take(&mut self.data);
        if data.len() == SIZE {
            let _ = INPUT.try_with(|free| {
                let mut free = free.borrow_mut();
                if free.len() < KEPT {
                    free.push(data);
                }
            });
        }
    }

    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.data.len()
    }
}

impl Drop for ReadBuf {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smol::io::AsyncWriteExt;
    use std::future::poll_fn;

    #[test]
    fn an_empty_buffer_that_waits_holds_no_memory() {
        smol::block_on(async {
            let (mut client, mut server) = crate::http::transport::tests::tcp_pair().await;
            let mut buf = ReadBuf::default();
            let pending = poll_fn(|cx| Poll::Ready(buf.poll_fill(&mut server, cx, 1 << 16).is_pending())).await;
            assert!(pending);
            assert_eq!(buf.held(), 0);
            client.write_all(b"hello").await.unwrap();
            poll_fn(|cx| buf.poll_fill(&mut server, cx, 1 << 16)).await.unwrap();
            assert_eq!((buf.unread(), buf.held()), (b"hello".as_slice(), SIZE));
        });
    }

    #[test]
    fn a_full_buffer_is_an_error_and_not_more_memory() {
        smol::block_on(async {
            let mut endless = smol::io::repeat(b'x');
            let mut buf = ReadBuf::default();
            loop {
                if poll_fn(|cx| buf.poll_fill(&mut endless, cx, 20_000)).await.is_err() {
                    break;
                }
            }
            assert_eq!(buf.held(), 20_000);
        });
    }
}
