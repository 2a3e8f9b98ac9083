//! What an operator may set and a decision reads. Read anew at each plan (B16).

use crate::key::Policy;
use crate::time::Millis;

/// Shortest time to live of a binding (spec §2).
pub const TTL_MIN: Millis = Millis::secs(60);
/// Longest time to live of a binding (spec §2).
pub const TTL_MAX: Millis = Millis::secs(30 * 24 * 3600);
/// Most distinct accounts one request may try, whatever `request_retry` says.
pub const ATTEMPTS_MAX: usize = 8;

/// Settings of routing and of the session policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Settings {
    /// Whether the session policy is on (B16).
    pub session_affinity: bool,
    /// Sliding time to live of a session's binding; [`TTL_MIN`] to [`TTL_MAX`].
    pub ttl: Millis,
    /// Sliding time to live of a conversation's binding, [`TTL_MIN`] to [`TTL_MAX`], where the request's pool has the
    /// conversation policy on; `None`: it is off.
    pub conversation: Option<Millis>,
    /// Further distinct accounts after the first; at most [`ATTEMPTS_MAX`] - 1.
    pub request_retry: u8,
    /// No attempt starts later than this after the request came.
    pub request_deadline: Millis,
    /// Longest wait before the quick repeat on a home or the second try of an unreachable host (R2).
    pub quick_repeat: Millis,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            session_affinity: true,
            ttl: Millis::secs(24 * 3600),
            conversation: None,
            request_retry: 3,
            request_deadline: Millis::secs(600),
            quick_repeat: Millis(250),
        }
    }
}

impl Settings {
    /// The time to live under a policy; `None` where that is switched off (B16).
    #[must_use]
    pub const fn ttl_of(&self, policy: Policy) -> Option<Millis> {
        match policy {
            Policy::Session if self.session_affinity => Some(self.ttl),
            Policy::Session => None,
            Policy::Conversation => self.conversation,
        }
    }
}

/// Bounds of the table (B13). Pins are bounded by the same numbers, counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caps {
    /// Most rows in all.
    pub total: usize,
    /// Most rows of one tenant; a tenth of it may be reservations.
    pub tenant: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { total: 1_000_000, tenant: 100_000 }
    }
}

impl Caps {
    /// Most reservations of one tenant (B4): a tenth of its cap, at least one.
    #[must_use]
    pub const fn reservations(&self) -> usize {
        if self.tenant < 10 { 1 } else { self.tenant / 10 }
    }
}
