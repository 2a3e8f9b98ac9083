//! A deadline that is moved often and fires seldom.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::clock;

/// A point in time to wait for.
///
/// Moving it later costs no timer: the one that runs is left to fire early and is set again then. A stream of events
/// therefore touches the reactor's timers once for each idle limit, not once for each event.
#[derive(Default)]
pub(crate) struct Deadline {
    due: Option<Instant>,
    timer: Option<Timer>,
}

struct Timer {
    at: Instant,
    sleep: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Deadline {
    /// Due `after` from now.
    pub(crate) fn set(&mut self, after: Duration) {
        // An unrepresentable instant is further away than any connection lives.
        self.due = clock::monotonic().checked_add(after);
    }

    /// Never due, and no timer (nor the task it would wake) is held.
    pub(crate) fn clear(&mut self) {
        self.due = None;
        self.timer = None;
    }

    /// Ready once the point has passed.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(due) = self.due else { return Poll::Pending };
        loop {
            if let Some(timer) = &mut self.timer
                && timer.at <= due
            {
                if timer.sleep.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                self.timer = None;
            }
            let left = due.saturating_duration_since(clock::monotonic());
            if left.is_zero() {
                return Poll::Ready(());
            }
            self.timer = Some(Timer { at: due, sleep: Box::pin(clock::sleep(left)) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    #[test]
    fn a_deadline_may_be_moved_both_ways() {
        smol::block_on(async {
            let mut deadline = Deadline::default();
            for _ in 0..2 {
                deadline.set(Duration::from_secs(3600));
                assert!(poll_fn(|cx| Poll::Ready(deadline.poll(cx))).await.is_pending());
                deadline.set(Duration::from_millis(1));
                poll_fn(|cx| deadline.poll(cx)).await;
            }
            deadline.clear();
            assert!(poll_fn(|cx| Poll::Ready(deadline.poll(cx))).await.is_pending());
        });
    }
}
