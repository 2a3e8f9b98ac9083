//! Renewing a credential: one at a time for each account, the file first, a single-use token never twice.

use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::credential::{Bearer, Credential, Secret, TokenDigest};
use super::directory;
use super::file::{AuthFile, NewTokens};
use super::identity::Identity;
use super::ledger::{Ledger, Standing};
use super::roster::Roster;
use super::token_client::{Redeemed, redeem};
use crate::{clock, os};

/// Codex refreshes a token of unknown expiry after eight days.
const UNKNOWN_EXPIRY_MS: u64 = 8 * 24 * 3_600 * 1_000;
/// First wait after a refresh that may be tried again; doubles up to [`WAIT_MAX_MS`].
const WAIT_FIRST_MS: u64 = 2_000;
const WAIT_MAX_MS: u64 = 10 * 60 * 1_000;
/// How often a file that cannot be parsed is read: the Codex CLI may be in the middle of writing it.
const READS: u32 = 3;
const READ_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Why a credential is renewed.
#[derive(Clone, Debug)]
pub enum RefreshReason {
    /// It ends soon.
    Expiring,
    /// The upstream said 401 to it.
    Unauthorized {
        /// What was presented.
        used: Option<Bearer>,
    },
}

/// A credential could not be renewed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefreshError {
    /// There is no such account now.
    #[error("the account is not loaded")]
    Unknown,
    /// There is no refresh token.
    #[error("there is no refresh token; log in again")]
    NoRefreshToken,
    /// The server refused the token for good.
    #[error("the token server refused the refresh token ({0}); log in again")]
    Refused(String),
    /// The token was sent and the answer never came: it may be spent, and is never sent again.
    #[error("the answer to a refresh was lost ({0}); the token may be spent and is not sent again: log in again")]
    AnswerLost(String),
    /// It may be tried later.
    #[error("the token server cannot be used now ({0}); it is tried again")]
    Later(String),
}

impl RefreshError {
    /// Whether only a login can help.
    #[must_use]
    pub const fn needs_login(&self) -> bool {
        match self {
            Self::NoRefreshToken | Self::Refused(_) | Self::AnswerLost(_) => true,
            Self::Unknown | Self::Later(_) => false,
        }
    }
}

/// What the account's file says just before a refresh.
enum OnDisk {
    Read(AuthFile),
    /// Nothing is known from it, for now.
    Unreadable(String),
    /// It is not there.
    Gone,
}

impl Roster {
    /// Accounts whose access token should be renewed now, whatever routing holds against them, and also where their owner
    /// switched them off (field E3).
    #[must_use]
    pub fn due(&self, now_ms: u64) -> Vec<Identity> {
        let state = self.state();
        let due = state.entries.iter().filter(|(_, e)| {
            let can = e.credential.refresh.is_some() && e.needs_login.is_none() && e.suspended_ms.is_none();
            can && e.not_before_ms <= now_ms && self.ends(&e.credential, now_ms)
        });
        due.map(|(identity, _)| identity.clone()).collect()
    }

    /// A newer credential for the account. Callers that come together get one result; a caller that leaves does not break
    /// off a redemption (field E5). A token that is still valid stays in use where this fails.
    ///
    /// # Errors
    /// [`RefreshError`].
    pub async fn refresh(&self, identity: &Identity, reason: RefreshReason) -> Result<Bearer, RefreshError> {
        let (roster, identity) = (self.clone(), identity.clone());
        let (tell, told) = smol::channel::bounded(1);
        os::spawn(async move {
            let _ = tell.send(roster.refresh_alone(&identity, &reason).await).await;
        })
        .detach();
        told.recv().await.unwrap_or_else(|_| Err(RefreshError::Later("it was interrupted".into())))
    }

    async fn refresh_alone(&self, identity: &Identity, reason: &RefreshReason) -> Result<Bearer, RefreshError> {
        let came_with = self.current(identity)?.bearer();
        let alone = Arc::clone(&self.state().entries.get(identity).ok_or(RefreshError::Unknown)?.refreshing);
        let _alone = alone.lock().await;
        let outdated = match reason {
            RefreshReason::Unauthorized { used } => used.clone().unwrap_or(came_with).access_token.digest(),
            RefreshReason::Expiring => came_with.access_token.digest(),
        };
        let credential = self.read_again(identity, reason).await?;
        let enough = matches!(reason, RefreshReason::Expiring) && !self.ends(&credential, clock::wall_ms());
        if credential.access.digest() != outdated || enough {
            return Ok(credential.bearer());
        }
        self.redeem(identity, reason).await
    }

    fn ends(&self, credential: &Credential, now_ms: u64) -> bool {
        let before = u64::try_from(self.0.refresh_before.as_millis()).unwrap_or(u64::MAX);
        match (credential.expires_ms, credential.last_refresh_ms) {
            (Some(end), _) => end <= now_ms.saturating_add(before),
            (None, Some(made)) => made.saturating_add(UNKNOWN_EXPIRY_MS) <= now_ms,
            (None, None) => false,
        }
    }

    /// The credential in use, of an account whose file is there.
    fn current(&self, identity: &Identity) -> Result<Credential, RefreshError> {
        let state = self.state();
        let entry = state.entries.get(identity).filter(|entry| entry.suspended_ms.is_none());
        entry.map(|entry| entry.credential.clone()).ok_or(RefreshError::Unknown)
    }

    /// The file first: the Codex CLI writes it too (R2). Without it nothing is redeemed that can wait, since new tokens
    /// could not be written back.
    async fn read_again(&self, identity: &Identity, reason: &RefreshReason) -> Result<Credential, RefreshError> {
        match self.on_disk(identity).await? {
            OnDisk::Read(file) if file.identity == *identity || identity.gains(&file.identity) => {
                let mut state = self.state();
                state.version += 1;
                if let Some(entry) = state.entries.get_mut(identity) {
                    let path = entry.path.clone();
                    entry.untold |= entry.update(&path, &file);
                }
                drop(state);
                self.current(identity)
            }
            // B11: no attempt, and no refresh either; the next scan tells.
            OnDisk::Read(_) => Err(RefreshError::Unknown),
            OnDisk::Gone => Err(RefreshError::Later("its file is gone or has another name".into())),
            OnDisk::Unreadable(why) => {
                let credential = self.current(identity)?;
                let can_wait = matches!(reason, RefreshReason::Expiring) && !credential.expired(clock::wall_ms());
                if can_wait {
                    return Err(self.later(identity, &format!("its file cannot be read: {why}")));
                }
                tracing::warn!(%why, "an auth file cannot be read; its last good credential is refreshed");
                Ok(credential)
            }
        }
    }

    async fn on_disk(&self, identity: &Identity) -> Result<OnDisk, RefreshError> {
        let relative = self.state().entries.get(identity).map(|e| e.path.clone()).ok_or(RefreshError::Unknown)?;
        let path = self.0.directory.join(&relative);
        let mut unreadable = String::new();
        for read in 0..READS {
            if read > 0 {
                clock::sleep(READ_AGAIN_AFTER).await;
            }
            let (file, relative) = (path.clone(), relative.clone());
            let parsed = smol::unblock(move || {
                let (_, bytes) = directory::read(&file)?;
                Ok(AuthFile::parse(&bytes, &relative.to_string_lossy()))
            });
            match parsed.await {
                Ok(Ok(file)) => return Ok(OnDisk::Read(file)),
                Ok(Err(problem)) if problem.may_pass() => unreadable = problem.to_string(),
                Ok(Err(_)) => return Ok(OnDisk::Gone),
                Err(error) if is_gone(&error) && path.parent().is_some_and(std::path::Path::is_dir) => {
                    return Ok(OnDisk::Gone);
                }
                Err(error) => unreadable = error.to_string(),
            }
        }
        Ok(OnDisk::Unreadable(unreadable))
    }

    async fn redeem(&self, identity: &Identity, reason: &RefreshReason) -> Result<Bearer, RefreshError> {
        let token = self.redeemable(identity)?;
        let digest = token.digest();
        // Unwritten, it is unsent.
        let begun = self.ledger(move |ledger| ledger.begin(&digest)).await;
        match begun.map_err(|e| self.later(identity, &format!("the state directory cannot be written: {e}")))? {
            Standing::Good => {}
            Standing::Sent => {
                let lost = RefreshError::AnswerLost("the process ended, or another file holds the same token".into());
                return Err(self.refused(identity, digest, lost));
            }
            Standing::Spent => {
                let spent = RefreshError::Refused("another file holds the same token, and it is spent".into());
                return Err(self.refused(identity, digest, spent));
            }
        }
        let word = match reason {
            RefreshReason::Expiring => "proactive_expiry",
            RefreshReason::Unauthorized { .. } => "unauthorized_recovery",
        };
        match redeem(&self.0.client, &self.0.token_url, &token, word, self.0.token_limit).await {
            Redeemed::Tokens(tokens) => self.keep(identity, digest, tokens).await,
            Redeemed::Lost(why) => Err(self.refused(identity, digest, RefreshError::AnswerLost(why))),
            Redeemed::Refused(why) => {
                self.settle(digest).await;
                Err(self.refused(identity, digest, RefreshError::Refused(why)))
            }
            Redeemed::Later(why) | Redeemed::NotSent(why) => {
                self.settle(digest).await;
                Err(self.later(identity, &why))
            }
        }
    }

    /// The account's refresh token, if it may be sent.
    fn redeemable(&self, identity: &Identity) -> Result<Secret, RefreshError> {
        let state = self.state();
        let entry = state.entries.get(identity).ok_or(RefreshError::Unknown)?;
        if let Some(known) = &entry.needs_login {
            return Err(known.error.clone());
        }
        if clock::wall_ms() < entry.not_before_ms {
            return Err(RefreshError::Later("it failed a moment ago".into()));
        }
        entry.credential.refresh.clone().ok_or(RefreshError::NoRefreshToken)
    }

    /// Puts new tokens into memory first, then into the file, and only then lets the old one be forgotten.
    async fn keep(
        &self,
        identity: &Identity,
        redeemed: TokenDigest,
        tokens: NewTokens,
    ) -> Result<Bearer, RefreshError> {
        let rotated = tokens.refresh.as_ref().is_some_and(|new| new.digest() != redeemed);
        if rotated {
            self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner).spend(redeemed);
        }
        let (taken, bearer) = {
            let mut state = self.state();
            state.version += 1;
            let entry = state.entries.get_mut(identity).ok_or(RefreshError::Unknown)?;
            (entry.refreshed(tokens, redeemed, clock::wall_ms()), entry.credential.bearer())
        };
        if !taken {
            tracing::warn!(account = %identity, "another credential came while this one was refreshed; that one is used");
            self.settle(redeemed).await;
        }
        let (roster, identity) = (self.clone(), identity.clone());
        smol::unblock(move || roster.write_out(&identity)).await;
        Ok(bearer)
    }

    async fn settle(&self, token: TokenDigest) {
        if let Err(error) = self.ledger(move |ledger| ledger.settle(&token)).await {
            tracing::error!(%error, "the record of refresh tokens under way cannot be written");
        }
    }

    async fn ledger<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Ledger) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let shared = Arc::clone(&self.0);
        smol::unblock(move || change(&mut shared.ledger.lock().unwrap_or_else(PoisonError::into_inner))).await
    }

    fn refused(&self, identity: &Identity, token: TokenDigest, error: RefreshError) -> RefreshError {
        if let Some(entry) = self.state().entries.get_mut(identity) {
            entry.refused(token, &error);
        }
        error
    }

    /// Backs off; each failure in a row waits longer.
    fn later(&self, identity: &Identity, why: &str) -> RefreshError {
        if let Some(entry) = self.state().entries.get_mut(identity) {
            let wait = (WAIT_FIRST_MS << entry.failures.min(16)).min(WAIT_MAX_MS);
            entry.failures = entry.failures.saturating_add(1);
            entry.not_before_ms = clock::wall_ms().saturating_add(wait);
        }
        RefreshError::Later(why.to_owned())
    }
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}
