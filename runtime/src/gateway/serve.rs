//! The running gateway: listeners, background work, and an orderly stop.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use smol::net::TcpListener;

use super::management::Management;
use super::open::{StartError, open};
use super::state::Gateway;
use super::{connection, fit, keep, operator::Operator, reload, stop};
use crate::admin::{self, Gate, OwnerSocket};
use crate::config::Config;
use crate::{clock, os};

/// How often idle upstream connections are looked for.
const REAP_EVERY: Duration = Duration::from_secs(10);
/// Wait after a refused accept: out of descriptors, for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Runs the gateway until SIGTERM or SIGINT.
///
/// # Errors
/// [`StartError`] where it could not start; once it runs, it ends in order.
pub async fn serve(mut config: Config) -> Result<(), StartError> {
    let mut stops = os::Stops::listen().map_err(StartError::Signals)?;
    fit::fit_connections(&mut config.limits.connections, os::raise_descriptor_limit());
    let (gateway, lock) = open(config).await?;
    let accounts_lock = fit::lock_accounts(&gateway.config.accounts.directory)?;
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
        os::spawn(reap(Arc::clone(&gateway))),
    ];
    if let Some((listener, gate)) = admin {
        background.push(os::spawn(admin::serve(listener, Arc::new(gate), Arc::clone(&control))));
    }
    background.push(os::spawn(async move { admin::serve_owner(&socket, control).await }));
    let keeping = {
        let gateway = Arc::clone(&gateway);
        os::spawn(async move { keep::keep(&gateway).await })
    };
    let accepting = os::spawn(accept(Arc::clone(&gateway), listener));

    let signal = stops.next().await;
    accepting.cancel().await;
    stop::drain(&gateway, signal, &mut stops, keeping).await;
    for task in background {
        task.cancel().await;
    }
    stop::close(&gateway).await;
    let _ = std::fs::remove_file(addresses(&gateway.config));
    drop((accounts_lock, lock));
    Ok(())
}

/// Where a running gateway writes down its addresses.
fn addresses(config: &Config) -> PathBuf {
    config.state.directory.join("listening.json")
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
    let path = addresses(&gateway.config);
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
        if open >= limit.saturating_add(fit::TURNED_AWAY.min(limit)) {
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

/// Closes upstream connections that nobody used for a while.
async fn reap(gateway: Arc<Gateway>) {
    loop {
        clock::sleep(REAP_EVERY).await;
        gateway.pool.reap();
    }
}
