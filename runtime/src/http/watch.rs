//! Notices that the client hung up while it is being answered (R5), without a system call for each event.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use smol::io::AsyncRead;

use super::buffer::ReadBuf;

/// Watches the read side of a connection.
///
/// It waits with a waker of its own that notes whether the socket became readable. A poll that was caused by anything
/// else, such as the next event from the upstream, then costs a look at a flag instead of a read that finds nothing.
pub(crate) struct Watch {
    signal: Arc<Signal>,
    waker: Waker,
    gone: bool,
}

struct Signal {
    fired: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.fired.store(true, Ordering::Release);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl Watch {
    pub(crate) fn new() -> Self {
        let signal = Arc::new(Signal { fired: AtomicBool::new(true), task: Mutex::new(None) });
        Self { waker: Waker::from(Arc::clone(&signal)), signal, gone: false }
    }

    /// Somebody else read from the stream and replaced the watch's waker there: look again at the next poll.
    pub(crate) fn look_again(&self) {
        self.signal.fired.store(true, Ordering::Release);
    }

    /// Ready once the stream has ended or broke. Bytes that arrive meanwhile are kept up to `bound`; past it reading
    /// pauses, and with it the watching.
    pub(crate) fn poll_gone<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        input: &mut ReadBuf,
        bound: usize,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if self.gone {
            return Poll::Ready(());
        }
        {
            let mut task = self.signal.task.lock().unwrap_or_else(PoisonError::into_inner);
            if !task.as_ref().is_some_and(|t| t.will_wake(cx.waker())) {
                *task = Some(cx.waker().clone());
            }
        }
        if !self.signal.fired.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        loop {
            if input.unread().len() >= bound {
                self.look_again();
                return Poll::Pending;
            }
            match input.poll_fill(stream, &mut Context::from_waker(&self.waker), bound) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(read)) if read > 0 => {}
                Poll::Ready(_) => {
                    self.gone = true;
                    return Poll::Ready(());
                }
            }
        }
    }
}
