//! One account in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::credential::{Credential, TokenDigest};
use super::file::AuthFile;
use super::identity::Identity;
use super::roster::AccountView;

/// How long the token before our own refresh still names a compatibility caller (spec §1).
const PREVIOUS_MS: u64 = 10 * 60 * 1_000;

/// Longest label, in characters.
const LABEL_MAX: usize = 48;

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
    /// The refresh token that we redeemed: a file that still holds it is older than what is in memory.
    redeemed: Option<TokenDigest>,
    /// One refresh at a time.
    pub(super) refreshing: Arc<smol::lock::Mutex<()>>,
    /// No refresh before this, after one that failed.
    pub(super) not_before_ms: u64,
    pub(super) failures: u32,
    /// The new tokens are in memory and not in the file yet: what was redeemed for them.
    pub(super) unwritten: Option<TokenDigest>,
}

/// A refresh token that is no good any more.
#[derive(Clone, Debug)]
pub(super) struct NeedsLogin {
    pub(super) token: TokenDigest,
    pub(super) why: String,
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
            redeemed: None,
            refreshing: Arc::default(),
            not_before_ms: 0,
            failures: 0,
            unwritten: None,
        }
    }

    /// Takes over what the file says; whether that changed anything. A file that still holds the refresh token we redeemed
    /// says nothing new: what is in memory is fresher, and is written back later.
    pub(super) fn update(&mut self, path: &Path, file: &AuthFile) -> bool {
        self.path = path.to_path_buf();
        let back = self.suspended_ms.take().is_some();
        let switched = std::mem::replace(&mut self.disabled, file.disabled) != file.disabled;
        let outdated = self.redeemed.is_some() && self.redeemed == file.credential.refresh_digest();
        let fresh = !outdated && !self.credential.same_tokens(&file.credential);
        if fresh {
            self.replace(file.credential.clone());
            self.previous = None;
            self.redeemed = None;
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

    /// Takes over what our own refresh brought.
    pub(super) fn refreshed(&mut self, credential: Credential, redeemed: TokenDigest, now_ms: u64) {
        let old = self.credential.access.digest();
        self.replace(credential);
        self.needs_login = None;
        self.previous = Some((old, now_ms.saturating_add(PREVIOUS_MS)));
        self.redeemed = Some(redeemed);
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
            needs_login: self.needs_login.as_ref().map(|n| n.why.clone()),
        }
    }
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
