//! The running gateway: listeners, background work, and an orderly stop.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use smol::net::TcpListener;

use super::management::Management;
use super::open::{StartError, open};
use super::state::Gateway;
use super::{connection, operator::Operator, reload};
use crate::admin::{self, Gate, OwnerSocket};
use crate::config::Config;
use crate::os::{Lock, LockError};
use crate::{clock, os};

/// How often expired bindings and idle connections are looked for.
const PURGE_EVERY: Duration = Duration::from_secs(10);
/// How often an ending gateway looks whether its connections are done.
const DRAIN_LOOK: Duration = Duration::from_millis(20);
/// How long the store may take to write the rest and close.
const STORE_WAIT: Duration = Duration::from_secs(30);
/// Connections beyond the limit that are open at once to be told so.
const TURNED_AWAY: u64 = 256;
/// Descriptors for everything but connections under way: files, idle upstream connections, those turned away.
const OTHER_DESCRIPTORS: u64 = 128 + TURNED_AWAY;
/// Wait after a refused accept: out of descriptors, for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Runs the gateway until SIGTERM or SIGINT.
///
/// # Errors
/// [`StartError`] where it could not start; once it runs, it ends in order.
pub async fn serve(mut config: Config) -> Result<(), StartError> {
    let ended = os::shutdown().map_err(StartError::Signals)?;
    fit_connections(&mut config.limits.connections, os::raise_descriptor_limit());
    let (gateway, lock) = open(config).await?;
    let accounts_lock = lock_accounts(&gateway.config.accounts.directory)?;
    let address = gateway.config.listen.address;
    let listening = TcpListener::bind(address).await.and_then(|l| Ok((l.local_addr()?, l)));
    let (address, listener) = listening.map_err(|error| StartError::Listen { address, error })?;
    let admin = admin::listen(&gateway.config).await?;
    let socket = OwnerSocket::bind(&gateway.config.state.socket, &lock)?;
    announce(&gateway, address, admin.as_ref().and_then(|(l, _)| l.local_addr().ok()));

    let control: Arc<dyn admin::Control> = Arc::new(Operator::running(Arc::clone(&gateway)));
    serve_management(&gateway, &control);
    let mut background = vec![
        os::spawn(reload::scan_forever(Arc::clone(&gateway))),
        os::spawn(reload::refresh_forever(Arc::clone(&gateway))),
        os::spawn(purge(Arc::clone(&gateway))),
        os::spawn(reap(Arc::clone(&gateway))),
    ];
    if let Some((listener, gate)) = admin {
        background.push(os::spawn(admin::serve(listener, Arc::new(gate), Arc::clone(&control))));
    }
    background.push(os::spawn(async move { admin::serve_owner(&socket, control).await }));
    let accepting = os::spawn(accept(Arc::clone(&gateway), listener));

    let signal = ended.await;
    tracing::info!(signal, "stopping: no new connections, open ones finish");
    accepting.cancel().await;
    drain(&gateway).await;
    for task in background {
        task.cancel().await;
    }
    let Some(health) = clock::within(STORE_WAIT, gateway.store.shutdown()).await else {
        tracing::error!("the store did not close in time; what was not on disk is lost");
        return Ok(());
    };
    match health.last_error {
        Some(error) => tracing::error!(error, queued = health.queued, "stopped with bindings that are not on disk"),
        None => tracing::info!("stopped, everything is on disk"),
    }
    drop((lock, accounts_lock));
    Ok(())
}

/// Takes no more connections than there are descriptors for, two each: past that, requests already taken would fail for want
/// of an upstream connection, and new ones get no answer at all.
fn fit_connections(connections: &mut u64, descriptors: Option<u64>) {
    let Some(descriptors) = descriptors else { return };
    let fits = (descriptors.saturating_sub(OTHER_DESCRIPTORS) / 2).max(descriptors / 4).max(1);
    if *connections > fits {
        tracing::warn!(
            asked = *connections,
            taken = fits,
            descriptors,
            "limits.connections does not fit the number of files this process may open: raise that (ulimit -n, LimitNOFILE)"
        );
        *connections = fits;
    }
}

/// T2: one gateway for each auth directory, whatever the state directory: two would spend each other's refresh tokens. A
/// directory that cannot be written to, or is not there yet, cannot be locked: no token is written back there either.
fn lock_accounts(directory: &Path) -> Result<Option<Lock>, StartError> {
    match Lock::acquire(&directory.join(".homing.lock")) {
        Ok(lock) => Ok(Some(lock)),
        Err(LockError::Io { error, .. }) => {
            tracing::warn!(?directory, %error, "the auth directory cannot be locked: start no second gateway on it");
            Ok(None)
        }
        Err(held) => Err(StartError::AccountsLock(held)),
    }
}

/// T5: the management API on the data port, where that is asked for; the configuration made sure that there is a key.
fn serve_management(gateway: &Gateway, control: &Arc<dyn admin::Control>) {
    let settings = &gateway.config.admin;
    if let Some(key) = settings.key.as_ref().filter(|_| settings.management_on_data_port) {
        let gate = Gate::new(key, settings.hosts.iter());
        let control = Arc::clone(control);
        let _ = gateway.management.set(Management { gate, control });
    }
}

/// Says where the gateway listens: in the log, and in `listening.json` for programs that chose port 0.
fn announce(gateway: &Gateway, address: SocketAddr, admin: Option<SocketAddr>) {
    let usable = gateway.usable_accounts();
    let bindings = gateway.store.len();
    tracing::info!(%address, admin = admin.map(tracing::field::display), usable, bindings, "listening");
    if usable == 0 {
        let directory = &gateway.config.accounts.directory;
        tracing::warn!(
            ?directory,
            "no usable account: requests get 503 until one is there. Log in with `codex login`, or copy an auth.json into this directory"
        );
    }
    let path = gateway.config.state.directory.join("listening.json");
    let text = serde_json::json!({"listen": address, "admin": admin, "pid": os::process_id()}).to_string();
    if let Err(error) = std::fs::write(&path, text + "\n") {
        tracing::warn!(?path, %error, "the addresses could not be written down");
    }
}

async fn accept(gateway: Arc<Gateway>, listener: TcpListener) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                clock::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (open, limit) = (gateway.connections(), gateway.config.limits.connections);
        if open >= limit.saturating_add(TURNED_AWAY.min(limit)) {
            tracing::warn!(limit, "far more connections than limits.connections: one is closed unanswered");
            continue;
        }
        let counted = Open::count(Arc::clone(&gateway));
        os::spawn(async move {
            match open >= limit {
                true => connection::turn_away(&counted.0, stream).await,
                false => connection::serve(Arc::clone(&counted.0), stream).await,
            }
            drop(counted);
        })
        .detach();
    }
}

/// Counts a connection for as long as it lives, however it ends.
struct Open(Arc<Gateway>);

impl Open {
    fn count(gateway: Arc<Gateway>) -> Self {
        gateway.open_connections.fetch_add(1, Ordering::Relaxed);
        Self(gateway)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open_connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Lets requests under way finish, up to `limits.drain`.
async fn drain(gateway: &Gateway) {
    gateway.draining.store(true, Ordering::Relaxed);
    let done = async {
        while gateway.busy() > 0 {
            clock::sleep(DRAIN_LOOK).await;
        }
    };
    if clock::within(gateway.config.limits.drain, done).await.is_none() {
        tracing::warn!(open = gateway.busy(), "limits.drain is over: requests under way are broken off");
    }
}

async fn purge(gateway: Arc<Gateway>) {
    gateway.store.purge_forever(PURGE_EVERY).await;
}

/// Closes upstream connections that nobody used for a while.
async fn reap(gateway: Arc<Gateway>) {
    loop {
        clock::sleep(PURGE_EVERY).await;
        gateway.pool.reap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(mut connections: u64, descriptors: Option<u64>) -> u64 {
        fit_connections(&mut connections, descriptors);
        connections
    }

    #[test]
    fn connections_never_need_more_descriptors_than_there_are() {
        assert_eq!(fitted(10_000, None), 10_000);
        assert_eq!(fitted(10_000, Some(1 << 20)), 10_000);
        assert_eq!(fitted(10_000, Some(20_384)), 10_000);
        assert_eq!(fitted(10_000, Some(1_024)), 320);
        assert_eq!(fitted(10_000, Some(64)), 16);
        assert_eq!(fitted(10_000, Some(0)), 1);
        assert_eq!(fitted(5, Some(1_024)), 5);
    }

    #[test]
    fn t2_an_auth_directory_has_one_gateway() {
        let place = tempfile::tempdir().unwrap();
        let first = lock_accounts(place.path()).unwrap();
        let said = lock_accounts(place.path()).unwrap_err().to_string();
        assert!(said.contains("accounts.directory") && said.contains("held by process"), "{said}");
        drop(first);
        assert!(lock_accounts(place.path()).unwrap().is_some());
        assert!(lock_accounts(&place.path().join("none")).unwrap().is_none());
    }
}
