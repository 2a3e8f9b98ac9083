//! The loaded accounts: what the auth directory says, what is in memory, and what changed between two looks (B11).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::credential::{Bearer, Credential, TokenDigest};
use super::directory::{Files, look};
use super::entry::{Entry, NeedsLogin};
use super::event::{AccountWarning, Event};
use super::file::{AuthFile, FileProblem};
use super::identity::Identity;
use super::ledger::Ledger;
use crate::clock;
use crate::config::Config;
use crate::http::{ClientTls, Connector, TlsError};
use crate::outgoing::Outgoing;

/// The roster could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum RosterError {
    /// The record of refresh tokens under way.
    #[error("{} cannot be used ({error}); it keeps single-use tokens from being sent twice: repair its permissions, or remove it once every account has logged in again", path.display())]
    Ledger {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
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
    pub(super) ledger: Mutex<Ledger>,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    files: Files,
    pub(super) entries: BTreeMap<Identity, Entry>,
    /// Accounts with bindings whose file was not seen yet, and when they were first missed.
    expected: BTreeMap<Identity, Option<u64>>,
    /// Whether the directory's trouble was told already.
    troubled: bool,
}

impl Roster {
    /// A roster over the configured auth directory. Nothing is read before the first [`Roster::scan`].
    ///
    /// # Errors
    /// [`RosterError`]. A missing directory is none: it may come.
    pub fn open(config: &Config) -> Result<Self, RosterError> {
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
            ledger: Mutex::new(ledger),
            state: Mutex::default(),
        })))
    }

    /// Accounts that have bindings: if no file of theirs appears, they are removed as one that went (B11).
    pub fn expect(&self, identities: impl IntoIterator<Item = Identity>) {
        self.state().expected.extend(identities.into_iter().map(|identity| (identity, None)));
    }

    /// Looks at the directory and says what changed. Blocks on the file system.
    pub fn scan(&self, now_ms: u64) -> Vec<Event> {
        let before = self.state().files.clone();
        let looked = look(&self.0.directory, &before);
        let mut state = self.state();
        match looked {
            // B11: a directory that is missing or unreadable tells nothing of its files.
            Err(error) => state.trouble(&self.0.directory, error.to_string()),
            // Nor does one that is suddenly empty: a mount that is gone looks like that.
            Ok(files) if files.is_empty() && !(before.is_empty() && state.expected.is_empty()) => {
                state.trouble(&self.0.directory, "it is empty all of a sudden".to_owned())
            }
            Ok(files) => {
                state.troubled = false;
                state.take(files, now_ms, self.0.removal_grace)
            }
        }
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
        let (digest, now) = (TokenDigest::of(presented), clock::wall_ms());
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

impl State {
    fn trouble(&mut self, directory: &Path, why: String) -> Vec<Event> {
        if std::mem::replace(&mut self.troubled, true) {
            return Vec::new();
        }
        let path = directory.to_path_buf();
        vec![Event::Warning(AccountWarning::Directory { path, why })]
    }

    /// Takes over what a complete look found.
    fn take(&mut self, files: Files, now_ms: u64, grace: Duration) -> Vec<Event> {
        let mut events = warnings(&files);
        let present = freshest(&files, &mut events);
        self.files = files;
        for (identity, (path, file)) in present.iter() {
            self.found(identity, path, file, &mut events);
        }
        self.missing(&present, now_ms, grace, &mut events);
        events
    }

    fn found(&mut self, identity: &Identity, path: &Path, file: &AuthFile, events: &mut Vec<Event>) {
        self.expected.remove(identity);
        let poorer = self.entries.keys().chain(self.expected.keys()).find(|old| old.gains(identity)).cloned();
        if let Some(old) = poorer {
            self.expected.remove(&old);
            if let Some(entry) = self.entries.remove(&old) {
                self.entries.insert(identity.clone(), entry);
            }
            events.push(Event::Gained { old, new: identity.clone() });
        }
        match self.entries.get_mut(identity) {
            Some(entry) => {
                if entry.update(path, file) {
                    events.push(Event::Changed(identity.clone()));
                }
            }
            None => {
                let entry = Entry::new(identity, path, file);
                events.push(Event::Appeared { identity: identity.clone(), label: entry.label.clone() });
                self.entries.insert(identity.clone(), entry);
            }
        }
    }

    /// B11: gone from a directory that was listed: no attempt starts; gone twice, `grace` apart: removed.
    fn missing(&mut self, present: &Present<'_>, now_ms: u64, grace: Duration, events: &mut Vec<Event>) {
        let grace = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        let over = |since: u64| now_ms.saturating_sub(since) >= grace;
        self.entries.retain(|identity, entry| {
            match entry.suspended_ms {
                _ if present.contains_key(identity) => return true,
                None => {
                    entry.suspended_ms = Some(now_ms);
                    events.push(Event::Suspended(identity.clone()));
                }
                Some(since) if over(since) => {
                    events.push(Event::Removed(identity.clone()));
                    return false;
                }
                Some(_) => {}
            }
            true
        });
        self.expected.retain(|identity, since| match *since {
            None => {
                *since = Some(now_ms);
                true
            }
            Some(since) if over(since) => {
                events.push(Event::Removed(identity.clone()));
                false
            }
            Some(_) => true,
        });
    }

    /// What is known of an account whose refresh is over, if the account is still there.
    pub(super) fn refreshed(&mut self, identity: &Identity, credential: Credential, redeemed: TokenDigest, now: u64) {
        if let Some(entry) = self.entries.get_mut(identity) {
            entry.refreshed(credential, redeemed, now);
        }
    }

    pub(super) fn refused(&mut self, identity: &Identity, token: TokenDigest, why: String) {
        if let Some(entry) = self.entries.get_mut(identity) {
            entry.needs_login = Some(NeedsLogin { token, why });
        }
    }
}

type Present<'a> = BTreeMap<Identity, (PathBuf, AuthFile)>;

/// Files of equal identity are one account: the freshest counts, the others are warned about.
fn freshest<'a>(files: &Files, events: &mut Vec<Event>) -> Present<'a> {
    let mut present: Present<'a> = BTreeMap::new();
    for (path, known) in files {
        let Some(file) = &known.good else { continue };
        let Some((other, best)) = present.get(&file.identity) else {
            present.insert(file.identity.clone(), (path.clone(), file.clone()));
            continue;
        };
        let fresher = file.credential.freshness() > best.credential.freshness();
        let (used, ignored) = if fresher { (path, other) } else { (other, path) };
        if known.changed {
            let warning = AccountWarning::Duplicate { used: used.clone(), ignored: ignored.clone() };
            events.push(Event::Warning(warning));
        }
        if fresher {
            present.insert(file.identity.clone(), (path.clone(), file.clone()));
        }
    }
    present
}

fn warnings(files: &Files) -> Vec<Event> {
    let mut events = Vec::new();
    for (path, known) in files.iter().filter(|(_, known)| known.changed) {
        match &known.problem {
            // The auth directory is often Codex's own, with other files in it.
            Some(FileProblem::NoAccount(_)) if path.file_name().is_none_or(|name| name != "auth.json") => {}
            Some(problem) => {
                events.push(Event::Warning(AccountWarning::File { path: path.clone(), problem: problem.clone() }))
            }
            None => {}
        }
        if known.exposed && known.good.is_some() {
            events.push(Event::Warning(AccountWarning::Exposed { path: path.clone() }));
        }
    }
    events
}
