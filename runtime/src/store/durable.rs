//! How far the store is durable, and waiting for it (B15).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use event_listener::Event;
use homing_core::ids::Seq;

/// Everything up to this change is durable. Asking costs one atomic load.
#[derive(Debug, Default)]
pub struct Durable {
    seq: AtomicU64,
    refused: AtomicBool,
    changed: Event,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Everything up to the change is durable.
    Durable,
    /// The disk refuses it, and not for a moment. It is tried again, but there is nothing to wait for.
    Refused,
}

impl Durable {
    /// Everything up to here is durable.
    #[must_use]
    pub fn seq(&self) -> Seq {
        Seq(self.seq.load(Ordering::Acquire))
    }

    /// Completes once `seq` and everything before it is durable, or once the disk is known to refuse. Never, where the disk says
    /// nothing: the caller bounds it.
    pub async fn wait_for(&self, seq: Seq) -> Waited {
        loop {
            let changed = self.changed.listen();
            // Now that no wake-up can be missed.
            if self.seq() >= seq {
                return Waited::Durable;
            }
            if self.refused.load(Ordering::Acquire) {
                return Waited::Refused;
            }
            changed.await;
        }
    }

    /// Everything up to `seq` is durable now.
    pub(super) fn publish(&self, seq: Seq) {
        if self.seq.fetch_max(seq.0, Ordering::AcqRel) < seq.0 {
            self.changed.notify(usize::MAX);
        }
    }

    /// Whether the disk is known to refuse what is written.
    pub(super) fn refuse(&self, refused: bool) {
        if self.refused.swap(refused, Ordering::AcqRel) != refused {
            self.changed.notify(usize::MAX);
        }
    }
}
