//! An orderly stop: requests under way finish, everything reaches the disk.

use std::time::Duration;

use smol::Task;

use super::keep;
use super::state::Gateway;
use crate::clock;
use crate::os::Stops;

/// How long the store may take to write the rest and close.
const STORE_WAIT: Duration = Duration::from_secs(30);

/// Lets requests under way finish, up to `limits.drain`; a second signal ends the wait.
pub(super) async fn drain(gateway: &Gateway, signal: &str, stops: &mut Stops, keeping: Task<()>) {
    tracing::info!(
        signal,
        open = gateway.keeper().open(),
        limit_s = gateway.config.limits.drain.as_secs(),
        "stopping: requests under way may finish within limits.drain; a second signal stops at once"
    );
    let again = async {
        loop {
            end(gateway);
            stops.next().await;
        }
    };
    smol::future::or(keeping, again).await;
}

fn end(gateway: &Gateway) {
    gateway.keeper().drain(keep::now());
    gateway.kept.notify(usize::MAX);
}

/// Writes what is not on disk and closes the store.
pub(super) async fn close(gateway: &Gateway) {
    let Some(health) = clock::within(STORE_WAIT, gateway.store.shutdown()).await else {
        tracing::error!("the store did not close in time; what was not on disk is lost");
        return;
    };
    if !gateway.store.on_disk() {
        tracing::info!("stopped; bindings were kept in memory alone");
    } else if let Some(error) = health.last_error {
        tracing::error!(error, queued = health.queued, "stopped with bindings that are not on disk");
    } else if health.refused > 0 {
        tracing::error!(rows = health.refused, "stopped with bindings that the database's checks refused");
    } else {
        tracing::info!("stopped, everything is on disk");
    }
}
