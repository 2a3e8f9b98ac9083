//! Session identity: explicit client signals become scoped digests (K1, K2). Nothing else ever identifies a session.

use sha2::{Digest as _, Sha256};

use crate::name::Name;

use crate::ids::PoolId;

/// Longest accepted value of a session signal in bytes, after trimming (K1).
pub const SESSION_VALUE_MAX: usize = 256;

/// Longest accepted value of a conversation signal in bytes, after trimming (K1).
pub const CONVERSATION_VALUE_MAX: usize = 1024;

/// Most signals one request can carry: one of each kind.
pub const KEYS_PER_REQUEST: usize = 4;

/// Where a session signal stood in the request, strongest first (spec §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SignalKind {
    /// Header `session-id` or `session_id`.
    SessionHeader = 0,
    /// Body `session_id` or `sessionId`.
    BodySession = 1,
    /// Body `conversation` or `conversation_id`.
    Conversation = 2,
    /// Body `prompt_cache_key`.
    PromptCacheKey = 3,
    /// Header `thread-id`: identity of the conversation policy.
    ThreadHeader = 4,
    /// Header `x-codex-conversation-id`, where `thread-id` is absent: identity of the conversation policy.
    ConversationHeader = 5,
}

/// Which of the two policies a key, a row or a plan belongs to (spec §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    /// Every explicit session signal, scoped to the tenant; the signals of one request are aliases (B10).
    Session,
    /// One header, scoped to pool, API key and exposed model.
    Conversation,
}

impl SignalKind {
    /// The kind with this stored number, if there is one.
    #[must_use]
    pub const fn from_u8(n: u8) -> Option<Self> {
        match n {
            0 => Some(Self::SessionHeader),
            1 => Some(Self::BodySession),
            2 => Some(Self::Conversation),
            3 => Some(Self::PromptCacheKey),
            4 => Some(Self::ThreadHeader),
            5 => Some(Self::ConversationHeader),
            _ => None,
        }
    }

    /// The policy whose identity this kind is.
    #[must_use]
    pub const fn policy(self) -> Policy {
        match self {
            Self::SessionHeader | Self::BodySession | Self::Conversation | Self::PromptCacheKey => Policy::Session,
            Self::ThreadHeader | Self::ConversationHeader => Policy::Conversation,
        }
    }
}

/// SHA-256 over a scope and a signal value. What is stored instead of the identifier itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl core::hash::Hash for Digest {
    fn hash<H: core::hash::Hasher>(&self, to: &mut H) {
        to.write_u128(Name::Digest.hashed(self.word()));
    }
}

impl core::fmt::Debug for Digest {
    /// The first four bytes: enough to tell two apart in a trace, too few to search for.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}{d:02x}…")
    }
}

impl Digest {
    /// The digest's first eight bytes as a table hash: it is uniform already and needs no second hash.
    pub(crate) const fn word(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

/// One scoped key and the strongest place it was seen in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The scoped digest.
    pub digest: Digest,
    /// Strongest kind seen so far.
    pub kind: SignalKind,
}

/// The keys of one request, strongest first, no digest twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Keys {
    slots: [Option<Key>; KEYS_PER_REQUEST],
    /// The pool a conversation lives in; `None` for sessions, which no pool bounds.
    pool: Option<PoolId>,
}

/// What a conversation identity is valid for (spec §2): another key or model is another conversation.
#[derive(Clone, Copy, Debug)]
pub struct ConversationScope<'a> {
    /// The pool of the caller.
    pub pool: PoolId,
    /// The stable name of the API key presented; on compatibility routes, of the account.
    pub api_key: &'a str,
    /// The one exposed model the request names.
    pub model: &'a str,
}

impl Keys {
    /// Keys of the session policy from raw signal values; values that are no key (K1) are left out.
    ///
    /// `scope` is the tenant's stable name. All kinds share one class (K2): the same value sent as `session-id` and as
    /// `prompt_cache_key`, which Codex does, is one key and keeps its strongest kind.
    #[must_use]
    pub fn session<'a>(scope: &str, signals: impl IntoIterator<Item = (SignalKind, &'a [u8])>) -> Self {
        let mut keys = Self::default();
        for (kind, raw) in signals {
            if let Some(value) = normalise(raw, SESSION_VALUE_MAX) {
                keys.add(Key { digest: session_digest(scope, value), kind });
            }
        }
        keys
    }

    /// The key of the conversation policy from the headers' values, in the order they came; `None` where they give no identity.
    ///
    /// The first of the two headers that is *present* decides: where it is repeated or no key (K1), the other is not tried.
    #[must_use]
    pub fn conversation(scope: &ConversationScope<'_>, thread_id: &[&[u8]], conversation_id: &[&[u8]]) -> Option<Self> {
        let (kind, values) = match thread_id {
            [] => (SignalKind::ConversationHeader, conversation_id),
            present => (SignalKind::ThreadHeader, present),
        };
        let [raw] = values else { return None };
        let value = normalise(raw, CONVERSATION_VALUE_MAX)?;
        let mut keys = Self { pool: Some(scope.pool), ..Self::default() };
        keys.add(Key { digest: conversation_digest(scope, kind, value), kind });
        Some(keys)
    }

    /// The pool a conversation lives in; `None` for sessions.
    #[must_use]
    pub const fn pool(&self) -> Option<PoolId> {
        self.pool
    }

    /// The policy these keys belong to.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        if self.pool.is_some() { Policy::Conversation } else { Policy::Session }
    }

    /// The keys, strongest first.
    pub fn iter(&self) -> impl Iterator<Item = Key> + '_ {
        self.slots.iter().flatten().copied()
    }

    /// Whether the request carries no identity at all (B1).
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.slots[0].is_none()
    }

    /// Whether one of the keys has this digest.
    #[must_use]
    pub fn has(&self, digest: &Digest) -> bool {
        self.iter().any(|k| k.digest == *digest)
    }

    /// Adds a key in its place; a digest that is there already keeps the stronger kind.
    pub fn add(&mut self, key: Key) {
        let mut all = [None; KEYS_PER_REQUEST + 1];
        let rest = self.iter().filter(|k| k.digest != key.digest);
        let kind = self.iter().find(|k| k.digest == key.digest).map_or(key.kind, |k| k.kind.min(key.kind));
        for (slot, k) in all.iter_mut().zip(rest.chain([Key { kind, ..key }])) {
            *slot = Some(k);
        }
        all.sort_unstable_by_key(|k| k.map_or((u8::MAX, Digest([0xff; 32])), |k| (k.kind as u8, k.digest)));
        for (slot, k) in self.slots.iter_mut().zip(all) {
            *slot = k;
        }
    }
}

/// The trimmed value if it is a key (K1): 1 to `max` bytes of UTF-8 without control characters.
#[must_use]
pub fn normalise(raw: &[u8], max: usize) -> Option<&str> {
    let value = core::str::from_utf8(raw).ok()?.trim();
    let fits = !value.is_empty() && value.len() <= max;
    (fits && !value.chars().any(char::is_control)).then_some(value)
}

/// The digest of one session value under a tenant's stable name: length-framed over version, policy, class, scope, value (K2).
#[must_use]
pub fn session_digest(scope: &str, value: &str) -> Digest {
    framed(&[b"homing key 1", b"session", b"any", scope.as_bytes(), value.as_bytes()])
}

/// The digest of one conversation value: the header's name is the class, pool, API key and model are the scope (K2).
#[must_use]
pub fn conversation_digest(scope: &ConversationScope<'_>, kind: SignalKind, value: &str) -> Digest {
    let class: &[u8] = if kind == SignalKind::ThreadHeader { b"thread-id" } else { b"x-codex-conversation-id" };
    let pool = scope.pool.0.to_le_bytes();
    let (key, model) = (scope.api_key.as_bytes(), scope.model.as_bytes());
    framed(&[b"homing key 1", b"conversation", class, &pool, key, model, value.as_bytes()])
}

/// SHA-256 over parts, each behind its length: no two lists of parts give the same input.
pub(crate) fn framed(parts: &[&[u8]]) -> Digest {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Digest(hash.finalize().into())
}
