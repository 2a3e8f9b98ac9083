//! One account in memory.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::credential::{Credential, TokenDigest};
use super::file::{AuthFile, NewTokens};
use super::identity::Identity;
use super::refresh::RefreshError;
use super::roster::AccountView;

/// How long the token before our own refresh still names a compatibility caller (spec §1).
const PREVIOUS_MS: u64 = 10 * 60 * 1_000;

/// Longest label, in characters.
const LABEL_MAX: usize = 48;

/// Most credentials remembered as overtaken.
const STALE_MAX: usize = 8;

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) label: String,
    /// Relative to the auth directory.
    pub(super) path: PathBuf,
    pub(super) credential: Credential,
    pub(super) disabled: bool,
    /// Since when it is gone from the directory.
    pub(super) suspended_ms: Option<u64>,
    pub(super) needs_login: Option<NeedsLogin>,
    /// Our own refresh: the token it replaced, and until when that one still counts.
    previous: Option<(TokenDigest, u64)>,
    /// Access tokens that were overtaken: a file that still holds one is older than what is in memory.
    stale: VecDeque<TokenDigest>,
    /// One refresh at a time.
    pub(super) refreshing: Arc<smol::lock::Mutex<()>>,
    /// No refresh before this, after one that failed.
    pub(super) not_before_ms: u64,
    pub(super) failures: u32,
    /// New tokens that are in memory and not in the file yet.
    pub(super) unwritten: Option<Unwritten>,
    /// It changed outside of a scan, and the next scan is to tell.
    pub(super) untold: bool,
}

/// A refresh token that is no good any more.
#[derive(Clone, Debug)]
pub(super) struct NeedsLogin {
    pub(super) token: TokenDigest,
    pub(super) error: RefreshError,
}

/// New tokens on their way into the file.
#[derive(Clone, Debug)]
pub(super) struct Unwritten {
    pub(super) tokens: NewTokens,
    pub(super) at_ms: u64,
    /// The refresh tokens redeemed for them, one of which the file holds unless somebody else wrote it.
    pub(super) redeemed: VecDeque<TokenDigest>,
    /// How fresh the credential was that they replace.
    pub(super) replaces: (u64, u64),
    /// That they cannot be written was told.
    pub(super) told: bool,
}

impl Entry {
    pub(super) fn new(identity: &Identity, path: &Path, file: &AuthFile) -> Self {
        Self {
            label: label(identity, path),
            path: path.to_path_buf(),
            credential: file.credential.clone(),
            disabled: file.disabled,
            suspended_ms: None,
            needs_login: None,
            previous: None,
            stale: VecDeque::new(),
            refreshing: Arc::default(),
            not_before_ms: 0,
            failures: 0,
            unwritten: None,
            untold: false,
        }
    }

    /// Takes over what the file says; whether that changed anything. A file with an access token that was overtaken says
    /// nothing new: what is in memory is fresher, and is written back later.
    pub(super) fn update(&mut self, path: &Path, file: &AuthFile) -> bool {
        self.path = path.to_path_buf();
        let back = self.suspended_ms.take().is_some();
        let switched = std::mem::replace(&mut self.disabled, file.disabled) != file.disabled;
        let outdated = self.stale.contains(&file.credential.access.digest());
        let fresh = !outdated && !self.credential.same_tokens(&file.credential);
        if fresh {
            self.replace(file.credential.clone());
            self.previous = None;
        } else if !outdated {
            self.credential.last_refresh_ms = file.credential.last_refresh_ms;
        }
        back || switched || fresh
    }

    /// A credential that changed lifts what only a new credential can lift.
    fn replace(&mut self, credential: Credential) {
        let digest = credential.refresh_digest();
        self.credential = credential;
        self.needs_login = self.needs_login.take().filter(|n| Some(n.token) == digest);
        (self.not_before_ms, self.failures, self.unwritten) = (0, 0, None);
    }

    /// Takes over what our own refresh brought, to be written to the file. Where another credential came meanwhile, that
    /// one stands, and this is `false`.
    pub(super) fn refreshed(&mut self, tokens: NewTokens, redeemed: TokenDigest, now_ms: u64) -> bool {
        if self.credential.refresh_digest() != Some(redeemed) {
            return false;
        }
        let (old, replaces) = (self.credential.access.digest(), self.credential.freshness());
        let before = self.unwritten.take();
        let credential = Credential {
            access: tokens.access.clone(),
            refresh: tokens.refresh.clone().or_else(|| self.credential.refresh.clone()),
            account_id: self.credential.account_id.clone(),
            expires_ms: tokens.expires_ms,
            last_refresh_ms: Some(now_ms),
        };
        self.replace(credential);
        self.needs_login = None;
        self.previous = Some((old, now_ms.saturating_add(PREVIOUS_MS)));
        self.overtaken(old);
        self.unwritten = Some(Unwritten::after(before, tokens, redeemed, replaces, now_ms));
        true
    }

    /// A file that holds this access token is not to be taken over again.
    pub(super) fn overtaken(&mut self, access: TokenDigest) {
        push(&mut self.stale, access);
    }

    /// Only a login helps, as long as this is the account's refresh token.
    pub(super) fn refused(&mut self, token: TokenDigest, error: &RefreshError) {
        if self.credential.refresh_digest() == Some(token) {
            self.needs_login = Some(NeedsLogin { token, error: error.clone() });
        }
    }

    /// Whether this is the digest of the whole current access token, or of the one before for as long as that counts.
    pub(super) fn is_token(&self, digest: &TokenDigest, now_ms: u64) -> bool {
        let current = self.credential.access.digest() == *digest && !self.credential.expired(now_ms);
        let previous = self.previous.is_some_and(|(old, until)| old == *digest && now_ms < until);
        current | previous
    }

    pub(super) fn view(&self, identity: &Identity, now_ms: u64) -> AccountView {
        let dead = self.needs_login.is_some() && self.credential.expired(now_ms);
        let stuck = self.credential.refresh.is_none() && self.credential.expired(now_ms);
        AccountView {
            identity: identity.clone(),
            label: self.label.clone(),
            file: self.path.clone(),
            usable: !self.disabled && self.suspended_ms.is_none() && !dead && !stuck,
            disabled: self.disabled,
            expires_at_ms: self.credential.expires_ms,
            needs_login: self.needs_login.as_ref().map(|n| n.error.to_string()),
        }
    }
}

impl Unwritten {
    fn after(
        before: Option<Self>,
        mut tokens: NewTokens,
        redeemed: TokenDigest,
        replaces: (u64, u64),
        at_ms: u64,
    ) -> Self {
        let (mut chain, mut replaced) = (VecDeque::new(), replaces);
        if let Some(before) = before {
            // The file is two refreshes behind.
            (chain, replaced) = (before.redeemed, before.replaces);
            tokens.id = tokens.id.or(before.tokens.id);
            tokens.refresh = tokens.refresh.or(before.tokens.refresh);
        }
        push(&mut chain, redeemed);
        Self { tokens, at_ms, redeemed: chain, replaces: replaced, told: false }
    }
}

fn push(digests: &mut VecDeque<TokenDigest>, digest: TokenDigest) {
    if digests.len() >= STALE_MAX {
        digests.pop_front();
    }
    digests.push_back(digest);
}

/// The file's name and the end of the account id: people know their files, and no two accounts look alike.
fn label(identity: &Identity, path: &Path) -> String {
    let stem = path.with_extension("");
    let name = stem.to_string_lossy();
    let shown: String = name.chars().filter(|c| !c.is_control()).take(LABEL_MAX).collect();
    match identity {
        Identity::Stated { .. } => format!("{shown} ({identity})"),
        Identity::Path(_) => shown,
    }
}
