//! API keys of managed users: `hmg_` and 256 random bits. Only their SHA-256 is kept.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::entropy::{self, NoEntropy};

const PREFIX: &str = "hmg_";
/// Characters of a whole key: the prefix and 43 of base64url.
const LENGTH: usize = 47;
/// Characters shown in lists.
const HINT: usize = 4;

/// A key as its user gets to see it, once. Wiped when it goes.
#[derive(Clone)]
pub struct ApiKey(Zeroizing<String>);

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey(hmg_…)")
    }
}

impl ApiKey {
    /// A new key.
    ///
    /// # Errors
    /// The operating system gave no random bytes.
    pub fn generate() -> Result<Self, NoEntropy> {
        let bytes = Zeroizing::new(entropy::bytes::<32>()?);
        let mut key = Zeroizing::new(String::with_capacity(LENGTH));
        key.push_str(PREFIX);
        URL_SAFE_NO_PAD.encode_string(bytes.as_slice(), &mut key);
        Ok(Self(key))
    }

    /// The key itself: to be shown once, never to be logged.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub(super) fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }

    pub(super) fn hint(&self) -> String {
        self.0.chars().skip(LENGTH - HINT).collect()
    }
}

/// The hash of what a caller presented, if it has the shape of a key at all.
pub(super) fn hash_presented(presented: &str) -> Option<[u8; 32]> {
    let shape = presented.len() == LENGTH && presented.starts_with(PREFIX);
    shape.then(|| Sha256::digest(presented.as_bytes()).into())
}
