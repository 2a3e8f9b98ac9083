//! Which account issued a turn-state token (R7): a bounded memory of digests, in the order they came.

use alloc::collections::{BTreeMap, VecDeque};

use crate::ids::{AccountId, TenantId};
use crate::key::{Digest, session_digest};

/// Most tokens remembered; the oldest is forgotten first.
pub const TOKENS_MAX: usize = 100_000;

/// Remembers which account issued which turn-state token.
///
/// A token nobody remembers, after a restart for example, belongs to nobody: it is dropped, which costs the upstream's
/// routing hint for the rest of that turn and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnStates {
    issuers: BTreeMap<Digest, AccountId>,
    order: VecDeque<Digest>,
}

impl TurnStates {
    /// Nothing remembered.
    #[must_use]
    pub const fn new() -> Self {
        Self { issuers: BTreeMap::new(), order: VecDeque::new() }
    }

    /// `account` issued `token` to `tenant`.
    pub fn issued(&mut self, tenant: TenantId, token: &str, account: AccountId) {
        let digest = Self::digest(tenant, token);
        if self.issuers.insert(digest, account).is_none() {
            self.order.push_back(digest);
        }
        if self.order.len() > TOKENS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.issuers.remove(&oldest);
        }
    }

    /// Whether `tenant` may send `token` to `account`: only back to the account that issued it.
    #[must_use]
    pub fn belongs(&self, tenant: TenantId, token: &str, account: AccountId) -> bool {
        self.issuers.get(&Self::digest(tenant, token)) == Some(&account)
    }

    fn digest(tenant: TenantId, token: &str) -> Digest {
        let mut scope = [0; 16];
        let text = hex(tenant.0, &mut scope);
        session_digest(text, token)
    }
}

/// "turn state" scope of a tenant, without allocating.
fn hex(n: u32, buffer: &mut [u8; 16]) -> &str {
    buffer[..8].copy_from_slice(b"t-state ");
    for (place, shift) in buffer[8..].iter_mut().zip((0..8).rev()) {
        let nibble = (n >> (shift * 4)) & 0xf;
        *place = b"0123456789abcdef"[nibble as usize];
    }
    core::str::from_utf8(buffer).unwrap_or_default()
}
