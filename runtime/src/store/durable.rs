//! How far the store is durable, and waiting for it (B15).

use std::sync::atomic::{AtomicU64, Ordering};

use event_listener::Event;
use homing_core::ids::Seq;

/// Everything up to this change is durable. Asking costs one atomic load.
#[derive(Debug, Default)]
pub struct Durable {
    seq: AtomicU64,
    raised: Event,
}

impl Durable {
    /// Everything up to here is durable.
    #[must_use]
    pub fn seq(&self) -> Seq {
        Seq(self.seq.load(Ordering::Acquire))
    }

    /// Completes once `seq` and everything before it is durable. Never, where the disk stays broken: the caller bounds it.
    pub async fn wait_for(&self, seq: Seq) {
        while self.seq() < seq {
            let raised = self.raised.listen();
            // Again, now that no wake-up can be missed.
            if self.seq() >= seq {
                return;
            }
            raised.await;
        }
    }

    /// Everything up to `seq` is durable now.
    pub(super) fn publish(&self, seq: Seq) {
        if self.seq.fetch_max(seq.0, Ordering::AcqRel) < seq.0 {
            self.raised.notify(usize::MAX);
        }
    }
}
