//! Tokens in memory: wiped when dropped, never shown, compared by digest.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// A token.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// Keeps a token. The caller's copy is the caller's to wipe.
    #[must_use]
    pub fn new(token: &str) -> Self {
        Self(Arc::new(Zeroizing::new(token.to_owned())))
    }

    /// The token, to send it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What it is known by where the token itself must not be kept.
    #[must_use]
    pub fn digest(&self) -> TokenDigest {
        TokenDigest::of(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// SHA-256 of a whole token.
#[derive(Clone, Copy)]
pub struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// The digest of a token.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// The digest of a file's content.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest as lower-case hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.iter().map(|b| format!("{b:02x}")).collect()
    }
}

impl PartialEq for TokenDigest {
    /// In constant time: digests of presented tokens are compared with it.
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for TokenDigest {}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}{:02x}…", self.0[0], self.0[1])
    }
}

/// What an attempt authenticates with.
#[derive(Clone, Debug)]
pub struct Bearer {
    /// The access token.
    pub access_token: Secret,
    /// The value for `ChatGPT-Account-ID`, where the credential names one.
    pub account_id: Option<String>,
}

/// All that a file says of an account's tokens.
#[derive(Clone, Debug)]
pub(super) struct Credential {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) account_id: Option<String>,
    /// When the access token ends, where that is known.
    pub(super) expires_ms: Option<u64>,
    pub(super) last_refresh_ms: Option<u64>,
}

impl Credential {
    pub(super) fn bearer(&self) -> Bearer {
        Bearer { access_token: self.access.clone(), account_id: self.account_id.clone() }
    }

    pub(super) fn refresh_digest(&self) -> Option<TokenDigest> {
        self.refresh.as_ref().map(Secret::digest)
    }

    pub(super) fn expired(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|end| end <= now_ms)
    }

    /// Of two credentials of one account the fresher: by when it was made, else by when it ends.
    pub(super) fn freshness(&self) -> (u64, u64) {
        (self.last_refresh_ms.unwrap_or(0), self.expires_ms.unwrap_or(0))
    }

    pub(super) fn same_tokens(&self, other: &Self) -> bool {
        self.access.digest() == other.access.digest() && self.refresh_digest() == other.refresh_digest()
    }
}
