//! Does what the keeper says is due (B13, B15): sweeps while the gateway runs, and the order of its end.

use std::time::Duration;

use homing_core::keeper::{Chore, Done};
use homing_core::time::{Millis, Time};

use super::state::Gateway;
use crate::clock;

/// From one sweep for expired bindings to the next.
pub(super) const SWEEP_EVERY: Millis = Millis::secs(10);

/// The clock of the keeper: no step of the wall clock delays a sweep or ends a drain.
pub(super) fn now() -> Time {
    Time(clock::steady_ms())
}

/// Does one chore after another. Returns when only the store is left to close.
pub(super) async fn keep(gateway: &Gateway) {
    loop {
        // Listening before asking: what happens in between is not missed.
        let changed = gateway.kept.listen();
        let (chore, wakes) = {
            let mut keeper = gateway.keeper();
            (keeper.chore(now()), keeper.wakes())
        };
        let done = match chore {
            Some(Chore::Sweep) => sweep(gateway).await,
            Some(Chore::BreakOff) => {
                tracing::warn!(open = gateway.keeper().open(), "requests under way are broken off");
                Done::BrokenOff
            }
            Some(Chore::Flush) => {
                gateway.store.flush_renewals();
                Done::Flushed
            }
            Some(Chore::Close) => return,
            None => {
                let wait = wakes.map_or(Duration::MAX, |at| Duration::from_millis(at.since(now()).0));
                clock::within(wait, changed).await;
                continue;
            }
        };
        if let Err(wrong) = gateway.keeper().done(done, now()) {
            tracing::error!(%wrong, "the keeper refused a report");
        }
    }
}

async fn sweep(gateway: &Gateway) -> Done {
    let swept = gateway.store.purge_expired(Time(clock::wall_ms())).await;
    gateway.store.look_at_file();
    // Requests go on between batches.
    smol::future::yield_now().await;
    match swept {
        Ok(gone) => Done::Swept { more: gone > 0 },
        Err(error) => {
            tracing::warn!(%error, "expired bindings stay in the file for now");
            Done::SweepFailed
        }
    }
}
