//! The bounds of a connection, in one place.

use std::time::Duration;

/// The most header fields a head may have, whatever the settings say: the parser's table is this long.
pub(crate) const MAX_FIELDS: usize = 128;

/// Bounds of one connection from a client.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a request head, from the method to the empty line. Over it: 431.
    pub head_bytes: usize,
    /// Header fields of a request, at most 128. Over it: 431.
    pub fields: usize,
    /// Bytes of a request target. Over it: 414.
    pub target_bytes: usize,
    /// How long a connection may wait for the first byte of a request; then it is closed without a word.
    pub idle: Duration,
    /// How long a head may take from its first byte. Over it: 408.
    pub head: Duration,
    /// How long a body may bring no byte. Over it: 408.
    pub body_progress: Duration,
    /// How long a client may take no byte of the answer. Over it the connection is broken off.
    pub write_progress: Duration,
    /// How long a closing connection is drained, so that the client reads the answer instead of a reset.
    pub linger: Duration,
    /// Bytes drained at most while closing.
    pub linger_bytes: u64,
    /// Bytes of further requests that are taken while one is being answered; then reading pauses.
    pub pipelined_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 64 * 1024,
            fields: MAX_FIELDS,
            target_bytes: 16 * 1024,
            idle: Duration::from_secs(75),
            head: Duration::from_secs(10),
            body_progress: Duration::from_secs(30),
            write_progress: Duration::from_secs(60),
            linger: Duration::from_secs(5),
            linger_bytes: 64 * 1024 * 1024,
            pipelined_bytes: 64 * 1024,
        }
    }
}

/// Bounds of the keep-alive pool and of what an upstream may send.
#[derive(Debug, Clone)]
pub struct PoolLimits {
    /// Idle connections kept for each origin.
    pub idle_per_origin: usize,
    /// How long an idle connection is kept.
    pub idle_age: Duration,
    /// Bytes of a response head.
    pub head_bytes: usize,
    /// Header fields of a response, at most 128.
    pub fields: usize,
    /// Interim (1xx) responses skipped before the final one.
    pub interim: usize,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self {
            idle_per_origin: 64,
            idle_age: Duration::from_secs(60),
            head_bytes: 64 * 1024,
            fields: MAX_FIELDS,
            interim: 16,
        }
    }
}
