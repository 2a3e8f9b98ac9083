//! An orderly stop: requests under way finish, everything reaches the disk.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::state::Gateway;
use crate::clock;
use crate::os::Stops;

/// How often an ending gateway looks whether its requests are done.
const DRAIN_LOOK: Duration = Duration::from_millis(20);
/// How long the store may take to write the rest and close.
const STORE_WAIT: Duration = Duration::from_secs(30);

/// Lets requests under way finish, up to `limits.drain`; a second signal ends the wait.
pub(super) async fn drain(gateway: &Gateway, signal: &str, stops: &mut Stops) {
    gateway.draining.store(true, Ordering::Relaxed);
    let limit = gateway.config.limits.drain;
    tracing::info!(
        signal,
        open = gateway.busy(),
        limit_s = limit.as_secs(),
        "stopping: requests under way may finish within limits.drain; a second signal stops at once"
    );
    let done = async {
        while gateway.busy() > 0 {
            clock::sleep(DRAIN_LOOK).await;
        }
    };
    let again = async {
        stops.next().await;
    };
    let finished = clock::within(limit, smol::future::or(done, again)).await;
    if finished.is_none() || gateway.busy() > 0 {
        tracing::warn!(open = gateway.busy(), "requests under way are broken off");
    }
}

/// Writes what is not on disk and closes the store.
pub(super) async fn close(gateway: &Gateway) {
    let Some(health) = clock::within(STORE_WAIT, gateway.store.shutdown()).await else {
        tracing::error!("the store did not close in time; what was not on disk is lost");
        return;
    };
    match health.last_error {
        Some(error) => tracing::error!(error, queued = health.queued, "stopped with bindings that are not on disk"),
        None => tracing::info!("stopped, everything is on disk"),
    }
}
