//! Renewing a credential: one at a time for each account, the file first, a single-use token never twice.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use super::credential::{Bearer, Credential, Secret, TokenDigest};
use super::file::{AuthFile, NewTokens};
use super::identity::Identity;
use super::jwt::Claims;
use super::ledger::Ledger;
use super::roster::Roster;
use super::token_client::{Redeemed, redeem};
use super::write_back::replace;
use crate::{clock, os};

/// Codex refreshes a token of unknown expiry after eight days.
const UNKNOWN_EXPIRY_MS: u64 = 8 * 24 * 3_600 * 1_000;
/// First wait after a refresh that may be tried again; doubles up to [`WAIT_MAX_MS`].
const WAIT_FIRST_MS: u64 = 2_000;
const WAIT_MAX_MS: u64 = 10 * 60 * 1_000;

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
#[derive(Clone, Debug, thiserror::Error)]
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

impl Roster {
    /// Accounts whose access token should be renewed now, whatever routing holds against them (field E3).
    #[must_use]
    pub fn due(&self, now_ms: u64) -> Vec<Identity> {
        let state = self.state();
        let due = state.entries.iter().filter(|(_, e)| {
            let can = e.credential.refresh.is_some() && e.needs_login.is_none() && e.suspended_ms.is_none();
            can && e.not_before_ms <= now_ms && (self.ends(&e.credential, now_ms) || e.unwritten.is_some())
        });
        due.map(|(identity, _)| identity.clone()).collect()
    }

    /// A newer credential for the account. Callers that come together get one result; a caller that leaves does not break
    /// off a redemption (field E5).
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
        let came_with = self.bearer_of(identity)?;
        let alone = Arc::clone(&self.state().entries.get(identity).ok_or(RefreshError::Unknown)?.refreshing);
        let _alone = alone.lock().await;
        let outdated = match reason {
            RefreshReason::Unauthorized { used } => used.clone().unwrap_or(came_with).access_token.digest(),
            RefreshReason::Expiring => came_with.access_token.digest(),
        };
        let bearer = self.read_again(identity).await?;
        self.write_late(identity).await;
        if bearer.access_token.digest() != outdated {
            return Ok(bearer);
        }
        if matches!(reason, RefreshReason::Expiring) && !self.ends_soon(identity, clock::wall_ms()) {
            return Ok(bearer);
        }
        self.redeem(identity, reason).await
    }

    /// New tokens that could not be written when they came are written now, if that works by now.
    async fn write_late(&self, identity: &Identity) {
        let waiting = self.state().entries.get(identity).and_then(|e| {
            let tokens =
                NewTokens { access: e.credential.access.clone(), refresh: e.credential.refresh.clone(), id: None };
            Some((e.unwritten?, tokens, e.credential.last_refresh_ms.unwrap_or(0)))
        });
        let Some((redeemed, tokens, at)) = waiting else { return };
        if self.write_back(identity, redeemed, tokens, at).await.is_ok() {
            self.settle(redeemed).await;
            if let Some(entry) = self.state().entries.get_mut(identity) {
                entry.unwritten = None;
            }
        }
    }

    fn ends_soon(&self, identity: &Identity, now_ms: u64) -> bool {
        self.state().entries.get(identity).is_some_and(|e| self.ends(&e.credential, now_ms))
    }

    fn ends(&self, credential: &Credential, now_ms: u64) -> bool {
        let before = u64::try_from(self.0.refresh_before.as_millis()).unwrap_or(u64::MAX);
        match (credential.expires_ms, credential.last_refresh_ms) {
            (Some(end), _) => end <= now_ms.saturating_add(before),
            (None, Some(made)) => made.saturating_add(UNKNOWN_EXPIRY_MS) <= now_ms,
            (None, None) => false,
        }
    }

    fn bearer_of(&self, identity: &Identity) -> Result<Bearer, RefreshError> {
        self.state().entries.get(identity).map(|e| e.credential.bearer()).ok_or(RefreshError::Unknown)
    }

    /// The file first: the Codex CLI writes it too (R2).
    async fn read_again(&self, identity: &Identity) -> Result<Bearer, RefreshError> {
        let relative = self.state().entries.get(identity).map(|e| e.path.clone()).ok_or(RefreshError::Unknown)?;
        let path = self.0.directory.join(&relative);
        let read = smol::unblock(move || std::fs::read(path)).await;
        let parsed = read.ok().and_then(|bytes| AuthFile::parse(&bytes, &relative.to_string_lossy()).ok());
        if let Some(file) = parsed.filter(|file| file.identity == *identity)
            && let Some(entry) = self.state().entries.get_mut(identity)
        {
            let path = entry.path.clone();
            entry.update(&path, &file);
        }
        self.bearer_of(identity)
    }

    async fn redeem(&self, identity: &Identity, reason: &RefreshReason) -> Result<Bearer, RefreshError> {
        let token = self.redeemable(identity)?;
        let digest = token.digest();
        self.ledger(move |ledger| ledger.begin(&digest)).await.map_err(|e| {
            // Unwritten, it is unsent.
            self.later(identity, &format!("the state directory cannot be written: {e}"))
        })?;
        let word = match reason {
            RefreshReason::Expiring => "proactive_expiry",
            RefreshReason::Unauthorized { .. } => "unauthorized_recovery",
        };
        let redeemed = redeem(&self.0.client, &self.0.token_url, &token, word).await;
        if !matches!(redeemed, Redeemed::Lost(_) | Redeemed::Tokens(_)) {
            self.settle(digest).await;
        }
        match redeemed {
            Redeemed::Tokens(tokens) => Ok(self.keep(identity, &token, tokens).await),
            Redeemed::Refused(why) => {
                self.state().refused(identity, digest, why.clone());
                Err(RefreshError::Refused(why))
            }
            Redeemed::Lost(why) => {
                self.state().refused(identity, digest, format!("the answer to a refresh was lost ({why})"));
                Err(RefreshError::AnswerLost(why))
            }
            Redeemed::Later(why) | Redeemed::NotSent(why) => Err(self.later(identity, &why)),
        }
    }

    /// The account's refresh token, if it may be sent.
    fn redeemable(&self, identity: &Identity) -> Result<Secret, RefreshError> {
        let now = clock::wall_ms();
        let token = {
            let state = self.state();
            let entry = state.entries.get(identity).ok_or(RefreshError::Unknown)?;
            if let Some(known) = &entry.needs_login {
                return Err(RefreshError::Refused(known.why.clone()));
            }
            if now < entry.not_before_ms {
                return Err(RefreshError::Later("it failed a moment ago".into()));
            }
            entry.credential.refresh.clone().ok_or(RefreshError::NoRefreshToken)?
        };
        let ledger = self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        if ledger.holds(&token.digest()) {
            drop(ledger);
            let why = "the process ended in the middle of it";
            self.state().refused(identity, token.digest(), format!("the answer to a refresh was lost ({why})"));
            return Err(RefreshError::AnswerLost(why.into()));
        }
        Ok(token)
    }

    /// Puts new tokens into memory first, then into the file, and only then lets the old one be forgotten.
    async fn keep(&self, identity: &Identity, used: &Secret, tokens: NewTokens) -> Bearer {
        let now = clock::wall_ms();
        let credential = {
            let state = self.state();
            let old = state.entries.get(identity).map(|e| e.credential.account_id.clone());
            Credential {
                expires_ms: Claims::read(tokens.access.expose()).and_then(|c| c.expires_ms),
                access: tokens.access.clone(),
                refresh: tokens.refresh.clone().or_else(|| Some(used.clone())),
                account_id: old.flatten(),
                last_refresh_ms: Some(now),
            }
        };
        let bearer = credential.bearer();
        self.state().refreshed(identity, credential, used.digest(), now);
        match self.write_back(identity, used.digest(), tokens, now).await {
            Ok(()) => self.settle(used.digest()).await,
            Err(why) => {
                tracing::error!(%why, "new tokens are in memory alone: if this process ends now, the account needs a login");
                if let Some(entry) = self.state().entries.get_mut(identity) {
                    entry.unwritten = Some(used.digest());
                }
            }
        }
        bearer
    }

    /// The file is read again before it is written: a credential that somebody else put there meanwhile is not overwritten.
    async fn write_back(
        &self,
        identity: &Identity,
        redeemed: TokenDigest,
        tokens: NewTokens,
        now: u64,
    ) -> Result<(), String> {
        let relative = self.state().entries.get(identity).map(|e| e.path.clone()).ok_or("the account is gone")?;
        let (path, identity) = (self.0.directory.join(&relative), identity.clone());
        smol::unblock(move || write_file(&path, &relative, &identity, redeemed, &tokens, now)).await
    }

    async fn settle(&self, token: TokenDigest) {
        if let Err(error) = self.ledger(move |ledger| ledger.settle(&token)).await {
            tracing::error!(%error, "the record of refresh tokens under way cannot be written");
        }
    }

    async fn ledger<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Ledger) -> std::io::Result<T> + Send + 'static,
    ) -> std::io::Result<T> {
        let shared = Arc::clone(&self.0);
        smol::unblock(move || change(&mut shared.ledger.lock().unwrap_or_else(PoisonError::into_inner))).await
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

fn write_file(
    path: &Path,
    relative: &Path,
    identity: &Identity,
    redeemed: TokenDigest,
    tokens: &NewTokens,
    now: u64,
) -> Result<(), String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let there = AuthFile::parse(&bytes, &relative.to_string_lossy()).map_err(|e| e.to_string())?;
    if there.identity != *identity {
        return Err("its file holds another account now".into());
    }
    if there.credential.refresh_digest() != Some(redeemed) {
        // Somebody logged in, or refreshed, meanwhile: that credential is its owner's.
        return Ok(());
    }
    let updated = zeroize::Zeroizing::new(AuthFile::updated(&bytes, tokens, now).map_err(|e| e.to_string())?);
    replace(path, &updated).map_err(|e| e.to_string())
}
