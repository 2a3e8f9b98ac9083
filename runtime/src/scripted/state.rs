//! What all connections of one upstream share.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::gates::Gates;
use super::ids::Mint;
use super::log::Log;
use super::registry::Registry;
use super::rules::Rules;
use super::upstream::Options;

/// Settings that may change while the upstream runs.
pub(super) struct Knobs {
    /// 400 for a request that carries another account's encrypted content.
    pub(super) reject_foreign_reasoning: bool,
    /// Serve a `previous_response_id` that nobody issued, instead of answering that it was not found.
    pub(super) accept_unknown_previous: bool,
    /// Output deltas of an answer; `None`: one for each word.
    pub(super) deltas: Option<u32>,
    /// Input tokens to report; `None`: a quarter of the body's bytes.
    pub(super) input_tokens: Option<u64>,
}

pub(super) struct Inner {
    pub(super) registry: Registry,
    pub(super) rules: Rules,
    pub(super) gates: Gates,
    pub(super) log: Log,
    pub(super) knobs: Knobs,
}

pub(super) struct State {
    pub(super) mint: Mint,
    pub(super) options: Options,
    inner: Mutex<Inner>,
    changed: Condvar,
}

impl State {
    pub(super) fn new(options: Options) -> Self {
        let nonce = (crate::clock::wall_ms() ^ crate::entropy::jitter()) as u32;
        let inner = Inner {
            registry: Registry::default(),
            rules: Rules::default(),
            gates: Gates::default(),
            log: Log::new(options.log_capacity, options.log_body_budget),
            knobs: Knobs {
                reject_foreign_reasoning: false,
                accept_unknown_previous: false,
                deltas: options.deltas,
                input_tokens: None,
            },
        };
        Self { mint: Mint::new(nonce), options, inner: Mutex::new(inner), changed: Condvar::new() }
    }

    /// Reads or changes the shared state; whoever waits in [`State::wait`] looks again.
    pub(super) fn with<T>(&self, f: impl FnOnce(&mut Inner) -> T) -> T {
        let result = f(&mut self.lock());
        self.changed.notify_all();
        result
    }

    /// Blocks until `ready` says so, at most `limit`. Returns whether it did.
    pub(super) fn wait(&self, limit: Duration, mut ready: impl FnMut(&Inner) -> bool) -> bool {
        let guard = self.lock();
        let waited = self.changed.wait_timeout_while(guard, limit, |inner| !ready(inner));
        let (_guard, result) = waited.unwrap_or_else(PoisonError::into_inner);
        !result.timed_out()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
