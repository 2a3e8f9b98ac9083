//! What the writer thread does: take what is queued, write it in one transaction, say how far the store is durable, again.
//!
//! While one commit waits for the disk the next batch gathers, so that the load decides how many share a sync. A commit
//! that fails loses nothing: its changes go back to the queue and are tried again, later each time, until the disk takes
//! them. Requests are served from memory meanwhile, and wait for no commit that the disk is known to refuse.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use homing_core::ids::Seq;
use homing_core::time::Time;
use rusqlite::Connection;

use super::apply::{self, Applied};
use super::durable::Durable;
use super::error::StoreError;
use super::queue::{Batch, Queue};
use crate::clock;

/// Most changes in one transaction: a second's work at most, also after an outage.
const BATCH_MAX: usize = 8_192;
/// First pause after a failed commit; doubled each time up to [`RETRY_MAX`].
const RETRY_MIN: Duration = Duration::from_millis(50);
/// Longest pause between two tries.
const RETRY_MAX: Duration = Duration::from_secs(5);

/// A piece of work for the thread.
pub(super) type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// Commits fail at present.
#[derive(Debug)]
pub(super) struct Failing {
    pub(super) error: String,
    pub(super) since: Time,
    pause: Duration,
    retry_at: Instant,
}

/// Whether the thread is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    No,
    /// Write what is queued as long as the disk takes it, then end.
    Asked,
    /// The thread has ended, or there never was one.
    Done,
}

/// What the handle and the thread share.
pub(super) struct Shared {
    pub(super) path: PathBuf,
    pub(super) durable: Durable,
    state: Mutex<State>,
    wake: Condvar,
}

pub(super) struct State {
    pub(super) queue: Queue,
    /// Changes taken from the queue and not yet known to be durable.
    pub(super) writing: usize,
    /// In order, each with the last change that was queued before it.
    pub(super) jobs: VecDeque<(Seq, Job)>,
    pub(super) failing: Option<Failing>,
    pub(super) refused: u64,
    pub(super) stop: Stop,
}

impl Shared {
    pub(super) fn new(path: PathBuf, queue: Queue, stop: Stop) -> Self {
        let state = State { queue, writing: 0, jobs: VecDeque::new(), failing: None, refused: 0, stop };
        Self { path, durable: Durable::default(), state: Mutex::new(state), wake: Condvar::new() }
    }

    /// The state. A panic elsewhere left at worst one change half queued; going on beats losing all.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes the thread.
    pub(super) fn change<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        let out = f(&mut self.lock());
        self.wake.notify_one();
        out
    }

    /// Waits for something to do: a batch, or `Some(None)` for jobs alone; `None` when it is time to end.
    fn next(&self) -> Option<Option<Batch>> {
        let mut state = self.lock();
        loop {
            let stopping = state.stop != Stop::No;
            let pause = state.failing.as_ref().map(|f| f.retry_at.saturating_duration_since(clock::monotonic()));
            let due = stopping || pause.is_none_or(|p| p.is_zero());
            // Changes that cancelled each other out are durable too, and an error is tested again even with nothing to write.
            let dirty = state.queue.len() > 0 || state.queue.last() > self.durable.seq();
            if due && (dirty || (state.failing.is_some() && !stopping)) {
                let batch = state.queue.take(BATCH_MAX);
                state.writing = batch.changes.len() + batch.names.len();
                return Some(Some(batch));
            }
            if !state.jobs.is_empty() {
                return Some(None);
            }
            if stopping {
                return None;
            }
            state = match pause {
                None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(pause) => self.wake.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    /// The next job whose turn it is: what was queued before it is durable, or the disk does not take it.
    fn next_job(&self) -> Option<Job> {
        let mut state = self.lock();
        let failing = state.failing.is_some();
        let turn = state.jobs.front().is_some_and(|(after, _)| failing || *after <= self.durable.seq());
        if turn { state.jobs.pop_front().map(|(_, job)| job) } else { None }
    }

    /// Runs the jobs whose turn it is.
    pub(super) fn run_jobs(&self, conn: &mut Connection) {
        while let Some(job) = self.next_job() {
            job(conn);
        }
    }

    /// Draws the conclusions from a commit; says whether it succeeded.
    pub(super) fn settle(&self, batch: Batch, result: rusqlite::Result<Applied>) -> bool {
        match result {
            Ok(applied) => {
                let up_to = batch.up_to;
                self.succeeded(applied);
                self.durable.refuse(false);
                self.durable.publish(up_to);
                true
            }
            Err(error) => {
                self.failed(batch, StoreError::sqlite(&self.path, "commit", &error).to_string());
                self.durable.refuse(!passing(&error));
                false
            }
        }
    }

    fn succeeded(&self, applied: Applied) {
        let mut state = self.lock();
        state.writing = 0;
        if let Some((rows, first)) = applied.refused {
            state.refused += rows as u64;
            tracing::error!(rows, first, "the database's checks refused rows; they live in memory alone");
        }
        if state.failing.take().is_some() {
            tracing::info!(path = ?self.path, "the database takes commits again");
        }
    }

    fn failed(&self, batch: Batch, error: String) {
        let mut state = self.lock();
        state.writing = 0;
        state.queue.put_back(batch);
        let queued = state.queue.len();
        let (since, pause) = match &state.failing {
            Some(f) => (f.since, (f.pause * 2).min(RETRY_MAX)),
            None => (Time(clock::wall_ms()), RETRY_MIN),
        };
        if state.failing.as_ref().is_none_or(|f| f.error != error) {
            tracing::error!(error, queued, "commits fail; serving goes on from memory and they are tried again");
        }
        state.failing = Some(Failing { error, since, pause, retry_at: clock::monotonic() + pause });
    }

    fn stopping(&self) -> bool {
        self.lock().stop != Stop::No
    }
}

/// Whether the next try may well succeed: somebody holds a lock, or memory is short for a moment. A disk that is full, read
/// only or broken stays so until somebody mends it.
fn passing(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, OperationInterrupted, OutOfMemory};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked | OperationInterrupted | OutOfMemory))
}

/// The thread's body: until it is asked to stop and has written what it can.
pub(super) fn run(conn: Connection, shared: Arc<Shared>) {
    // Dropped last, also after a panic: nobody waits for an answer that cannot come.
    let ended = Ended(shared);
    let shared = &*ended.0;
    let mut conn = conn;
    while let Some(work) = shared.next() {
        let good = work.is_none_or(|batch| {
            let result = apply::commit(&mut conn, &batch);
            shared.settle(batch, result)
        });
        shared.run_jobs(&mut conn);
        if !good && shared.stopping() {
            tracing::error!(path = ?shared.path, "closing with changes that the disk did not take");
            break;
        }
    }
    if let Err((_, error)) = conn.close() {
        tracing::warn!(%error, path = ?shared.path, "closing the database");
    }
}

struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        let jobs = {
            let mut state = self.0.lock();
            if state.stop == Stop::No {
                let error = "the store's thread ended unexpectedly; restart the gateway, nothing is saved until then";
                let now = clock::monotonic();
                let since = Time(clock::wall_ms());
                state.failing = Some(Failing { error: error.into(), since, pause: RETRY_MAX, retry_at: now });
            }
            state.stop = Stop::Done;
            std::mem::take(&mut state.jobs)
        };
        // What is queued from now on is never written.
        self.0.durable.refuse(true);
        // Outside the lock: a job may hold the last reference to the store.
        drop(jobs);
    }
}
