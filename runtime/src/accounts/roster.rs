//! The loaded accounts.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::changes::State;
use super::credential::{Bearer, TokenDigest};
use super::directory::{Look, look};
use super::event::Event;
use super::identity::Identity;
use super::ledger::Ledger;
use crate::clock;
use crate::config::Config;
use crate::http::{ClientTls, Connector, TlsError};
use crate::outgoing::Outgoing;

/// Limit for one call of the token endpoint (field E5).
const TOKEN_LIMIT: Duration = Duration::from_secs(30);

/// Most looks in one scan, where refreshes keep changing files.
const LOOKS_MAX: u32 = 3;

/// The roster could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum RosterError {
    /// The record of refresh tokens under way.
    #[error("{} cannot be used ({error}); it keeps single-use tokens from being sent twice: repair its permissions, or remove it once every account has logged in again", path.display())]
    Ledger {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Certificates.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// One account, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountView {
    /// Its stable identity.
    pub identity: Identity,
    /// Safe to show.
    pub label: String,
    /// Where its credential is.
    pub file: PathBuf,
    /// Whether attempts may start with what is known now.
    pub usable: bool,
    /// Switched off by its owner.
    pub disabled: bool,
    /// When the access token ends.
    pub expires_at_ms: Option<u64>,
    /// Why only a login can help, where that is so.
    pub needs_login: Option<String>,
}

/// The accounts. Cheap to clone.
#[derive(Clone)]
pub struct Roster(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) directory: PathBuf,
    pub(super) removal_grace: Duration,
    pub(super) refresh_before: Duration,
    pub(super) token_url: http_types::Url,
    pub(super) client: Outgoing,
    /// Limit for one call of the token endpoint.
    pub(super) token_limit: Duration,
    pub(super) ledger: Mutex<Ledger>,
    /// One scan at a time.
    scanning: Mutex<()>,
    state: Mutex<State>,
}

impl Roster {
    /// A roster over the configured auth directory. Nothing is read before the first [`Roster::scan`].
    ///
    /// # Errors
    /// [`RosterError`]. A missing directory is none: it may come.
    pub fn open(config: &Config) -> Result<Self, RosterError> {
        Self::open_with(config, TOKEN_LIMIT)
    }

    pub(super) fn open_with(config: &Config, token_limit: Duration) -> Result<Self, RosterError> {
        let state = &config.state.directory;
        let ledger = Ledger::open(state).map_err(|error| RosterError::Ledger { path: Ledger::path(state), error })?;
        let tls = match config.accounts.token_url.is_https() {
            true => Some(ClientTls::system(config.upstream.ca_file.as_deref())?),
            false => None,
        };
        Ok(Self(Arc::new(Shared {
            directory: config.accounts.directory.clone(),
            removal_grace: config.accounts.removal_grace,
            refresh_before: config.accounts.refresh_before,
            token_url: config.accounts.token_url.parsed().clone(),
            client: Outgoing::new(Connector::new(tls)),
            token_limit,
            ledger: Mutex::new(ledger),
            scanning: Mutex::default(),
            state: Mutex::default(),
        })))
    }

    /// Accounts that have bindings: if no file of theirs appears, they are removed as one that went (B11).
    pub fn expect(&self, identities: impl IntoIterator<Item = Identity>) {
        self.state().expected.extend(identities.into_iter().map(|identity| (identity, None)));
    }

    /// Looks at the directory and says what changed; new tokens that could not be written before are written now.
    /// `now_ms` measures the removal grace (B11). Blocks on the file system: call it off the executor.
    pub fn scan(&self, now_ms: u64) -> Vec<Event> {
        let _one = self.0.scanning.lock().unwrap_or_else(PoisonError::into_inner);
        self.write_waiting();
        for _ in 1..LOOKS_MAX {
            let (version, looked) = self.glance(now_ms);
            if let Some(events) = self.take(version, looked, now_ms) {
                return events;
            }
        }
        let (_, looked) = self.glance(now_ms);
        self.state().take(&self.0.directory, looked, now_ms, self.0.removal_grace)
    }

    /// A look at the directory, and the version of what was known when it began.
    pub(super) fn glance(&self, now_ms: u64) -> (u64, io::Result<Look>) {
        let (before, version) = {
            let state = self.state();
            (state.files.clone(), state.version)
        };
        (version, look(&self.0.directory, &before, now_ms))
    }

    /// Takes over a look, unless a refresh read or wrote a file meanwhile: that knows better.
    pub(super) fn take(&self, version: u64, looked: io::Result<Look>, now_ms: u64) -> Option<Vec<Event>> {
        let mut state = self.state();
        (state.version == version).then(|| state.take(&self.0.directory, looked, now_ms, self.0.removal_grace))
    }

    /// All accounts, by identity.
    #[must_use]
    pub fn accounts(&self) -> Vec<AccountView> {
        let now = clock::wall_ms();
        self.state().entries.iter().map(|(identity, entry)| entry.view(identity, now)).collect()
    }

    /// One account.
    #[must_use]
    pub fn view(&self, identity: &Identity) -> Option<AccountView> {
        let now = clock::wall_ms();
        self.state().entries.get(identity).map(|entry| entry.view(identity, now))
    }

    /// What to authenticate an attempt with; `None` where none may start.
    #[must_use]
    pub fn bearer(&self, identity: &Identity) -> Option<Bearer> {
        let state = self.state();
        let entry = state.entries.get(identity)?;
        (entry.suspended_ms.is_none() && !entry.disabled).then(|| entry.credential.bearer())
    }

    /// The account whose whole current access token this is (spec §1); the one before our own refresh counts for ten minutes
    /// longer. Every account's digests are compared, in constant time each.
    #[must_use]
    pub fn caller(&self, presented: &str) -> Option<Identity> {
        self.caller_at(presented, clock::wall_ms())
    }

    pub(super) fn caller_at(&self, presented: &str, now: u64) -> Option<Identity> {
        let digest = TokenDigest::of(presented);
        let state = self.state();
        let mut found = None;
        for (identity, entry) in &state.entries {
            if entry.is_token(&digest, now) && !entry.disabled && entry.suspended_ms.is_none() {
                found = Some(identity);
            }
        }
        found.cloned()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
