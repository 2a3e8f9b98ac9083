//! Putting a gateway together from its configuration. Nothing listens yet, and nothing runs in the background.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::Duration;

use event_listener::Event;
use homing_core::fleet::Fleet;
use homing_core::keeper::{Keeper, Rules};
use homing_core::settings::{Caps, Settings};
use homing_core::time::Millis;
use homing_core::turn_state::TurnStates;

use super::keep;
use super::state::{Gateway, Names, now};
use crate::accounts::{Roster, RosterError};
use crate::config::{Config, StoreKind};
use crate::http::{ClientTls, Connector, InvalidOrigin, Limits, MemoryBudget, Origin, Pool, PoolLimits, TlsError};
use crate::os::{Lock, LockError};
use crate::store::{Store, StoreError, StoreMode};
use crate::tenants::{Tenants, UserError};

/// The gateway could not start. Each text names what is wrong and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The state directory cannot be made or written.
    #[error("state.directory: {} cannot be used ({error}); choose a directory that this user can write to", path.display())]
    StateDirectory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Another process has the same database.
    #[error("state.directory, state.database: {0}")]
    Lock(#[from] LockError),
    /// Another process has the same auth directory.
    #[error("accounts.directory: {0}")]
    AccountsLock(LockError),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The users in it.
    #[error(transparent)]
    Users(#[from] UserError),
    /// The auth directory.
    #[error(transparent)]
    Accounts(#[from] RosterError),
    /// The upstream's address.
    #[error("upstream.url: {0}")]
    Upstream(#[from] InvalidOrigin),
    /// Certificates.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A listener.
    #[error("listen.address: {address} cannot be opened ({error}); stop what uses it or choose another address")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// What the system said.
        error: std::io::Error,
    },
    /// The management API's listener.
    #[error(transparent)]
    Admin(#[from] crate::admin::ListenError),
    /// The command line's socket.
    #[error(transparent)]
    Socket(#[from] crate::admin::SocketError),
    /// Signals cannot be received.
    #[error("signals cannot be received ({0})")]
    Signals(std::io::Error),
}

/// Opens everything a gateway holds, under the lock that keeps a second process out (T2).
pub(super) async fn open(config: Config) -> Result<(Arc<Gateway>, Lock), StartError> {
    let lock = take_lock(&config)?;
    let store = Arc::new(open_store(&config)?);
    let tenants = Tenants::load(Arc::clone(&store)).await?;
    let roster = Roster::open(&config)?;
    let tls = match config.upstream.url.is_https() {
        true => Some(ClientTls::system(config.upstream.ca_file.as_deref())?),
        false => None,
    };
    let origin = Origin::of_url(config.upstream.url.parsed())?;
    let base_path = config.upstream.url.parsed().path().trim_end_matches('/').to_owned();
    let gateway = Gateway {
        pool: Pool::new(Connector::new(tls), PoolLimits::default()),
        budget: MemoryBudget::new(config.limits.bodies_total.length()),
        limits: Arc::new(limits(&config)),
        settings: settings(&config),
        fleet: Mutex::new(Fleet::new()),
        turn_states: Mutex::new(TurnStates::new()),
        names: RwLock::new(Names::default()),
        open_connections: AtomicU64::new(0),
        keeper: Mutex::new(Keeper::new(upkeep(&config), keep::now())),
        kept: Event::new(),
        management: OnceLock::new(),
        config,
        store,
        tenants,
        roster,
        origin,
        base_path,
    };
    let gateway = Arc::new(gateway);
    super::reload::expect_known(&gateway);
    super::reload::scan(&gateway).await;
    Ok((gateway, lock))
}

fn take_lock(config: &Config) -> Result<Lock, StartError> {
    let directory = &config.state.directory;
    let made = || {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
    };
    made().map_err(|error| StartError::StateDirectory { path: directory.clone(), error })?;
    // One lock for the database, wherever it is, and so for its state directory too.
    Ok(Lock::acquire(&config.state.database.with_extension("lock"))?)
}

fn open_store(config: &Config) -> Result<Store, StoreError> {
    let caps = Caps {
        total: usize::try_from(config.affinity.max_rows).unwrap_or(usize::MAX),
        tenant: usize::try_from(config.affinity.max_rows_per_tenant).unwrap_or(usize::MAX),
    };
    Store::with_mode(&StoreMode::Sqlite(config.state.database.clone()), caps, now())
}

fn upkeep(config: &Config) -> Rules {
    Rules { sweep_every: keep::SWEEP_EVERY, drain_for: millis(config.limits.drain) }
}

fn millis(d: Duration) -> Millis {
    Millis(u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// The settings the core reads.
fn settings(config: &Config) -> Settings {
    Settings {
        session_affinity: config.affinity.session && config.state.store != StoreKind::Off,
        ttl: millis(config.affinity.ttl),
        conversation: None,
        request_retry: u8::try_from(config.routing.request_retry).unwrap_or(u8::MAX),
        request_deadline: millis(config.routing.request_deadline),
        quick_repeat: millis(config.routing.quick_retry_delay),
    }
}

fn limits(config: &Config) -> Limits {
    Limits {
        idle: config.limits.idle,
        head: config.limits.head_timeout,
        body_progress: config.limits.body_idle,
        write_progress: config.limits.write_idle,
        ..Limits::default()
    }
}
