//! The handle of the writer thread ([`super::thread`]): queue changes without waiting, run small jobs, ask how it goes.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use homing_core::ids::{RowId, Seq};
use homing_core::row::Change;
use homing_core::time::Time;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use super::durable::Durable;
use super::error::StoreError;
use super::names::NameChanges;
use super::queue::Queue;
use super::thread::{Job, Shared, Stop, run};

/// How the store is doing (B15: what is not durable shows here).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreHealth {
    /// Everything up to here is durable.
    pub durable_seq: Seq,
    /// The last change made in memory.
    pub last_seq: Seq,
    /// Changes not yet durable, at most one for each row and those being written.
    pub queued: usize,
    /// Why commits fail, which file it is about, and what to do; `None` while they succeed.
    pub last_error: Option<String>,
    /// Since when they fail (wall clock).
    pub since: Option<Time>,
    /// Rows that the schema's checks refused; never expected to be other than 0.
    pub refused: u64,
    /// Turns that were let go without their commit: after `commit-wait`, or at once where the disk refuses.
    pub late: u64,
}

impl StoreHealth {
    /// Whether everything that should be durable is, or is about to be.
    #[must_use]
    pub const fn is_healthy(&self) -> bool {
        self.last_error.is_none() && self.refused == 0
    }
}

/// The handle of the writer thread; without a connection nothing is written and everything is durable at once.
pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    on_disk: bool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// A writer for the state that is lost with the process.
    pub(super) fn memory() -> Self {
        let shared = Arc::new(Shared::new("".into(), Queue::new(RowId(1)), Stop::Done));
        Self { shared, on_disk: false, thread: Mutex::new(None) }
    }

    /// A writer for a database that has seen row ids below `next_id`. Until it is started everything queues up.
    pub(super) fn new(path: &Path, next_id: RowId) -> Self {
        let shared = Arc::new(Shared::new(path.to_path_buf(), Queue::new(next_id), Stop::No));
        Self { shared, on_disk: true, thread: Mutex::new(None) }
    }

    /// Starts the thread, which writes what is queued to this connection.
    pub(super) fn start(&self, conn: Connection) -> Result<(), StoreError> {
        let theirs = Arc::clone(&self.shared);
        let started = thread::Builder::new().name("homing-store".into()).spawn(move || run(conn, theirs));
        let thread = started.map_err(|e| StoreError::io(&self.shared.path, "start its thread", &e))?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// Whether there is a file.
    pub(super) const fn on_disk(&self) -> bool {
        self.on_disk
    }

    pub(super) fn durable(&self) -> &Durable {
        &self.shared.durable
    }

    /// Queues changes; `last` numbers the last of them. Never waits for the disk.
    pub(super) fn enqueue(&self, changes: Vec<Change>, last: Seq) {
        if !self.on_disk {
            self.shared.durable.publish(last);
        } else if !changes.is_empty() {
            self.shared.change(|state| state.queue.push(changes, last));
        }
    }

    /// Queues names; changes queued later never reach the disk before them.
    pub(super) fn enqueue_names(&self, names: NameChanges) {
        if self.on_disk && !names.is_empty() {
            self.shared.change(|state| state.queue.push_names(names));
        }
    }

    /// Has the thread run `work` in a transaction of its own, after everything queued before it (unless the disk refuses
    /// that), then `committed`, then the answer. An asker that goes away changes nothing.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
        committed: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = smol::channel::bounded(1);
        let path = self.shared.path.clone();
        let job: Job = Box::new(move |conn| {
            let result = in_transaction(conn, work).map_err(|e| job_error(&path, action, &e));
            if let Ok(value) = &result {
                committed(value);
            }
            // Fails where the asker has gone away, which is its own affair.
            let _ = reply.try_send(result);
        });
        self.submit(job)?;
        answer.recv().await.unwrap_or(Err(StoreError::Closed))
    }

    /// Has the thread run a job on the bare connection.
    pub(super) fn submit(&self, job: Job) -> Result<(), StoreError> {
        self.shared.change(|state| {
            if state.stop != Stop::No {
                return Err(StoreError::Closed);
            }
            let after = state.queue.last();
            state.jobs.push_back((after, job));
            Ok(())
        })
    }

    /// How it goes. `last_seq` and `late` are the store's to fill in.
    pub(super) fn health(&self) -> StoreHealth {
        let state = self.shared.lock();
        StoreHealth {
            durable_seq: self.shared.durable.seq(),
            last_seq: state.queue.last(),
            queued: state.queue.len() + state.writing,
            last_error: state.failing.as_ref().map(|f| f.error.clone()),
            since: state.failing.as_ref().map(|f| f.since),
            refused: state.refused,
            late: 0,
        }
    }

    /// Has the thread write what is queued and close the database; waits for it. The second time it does nothing.
    pub(super) fn stop(&self) {
        self.shared.change(|state| {
            if state.stop == Stop::No {
                state.stop = Stop::Asked;
            }
        });
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A job may have held the last reference to the store: the thread does not wait for itself.
        if let Some(thread) = thread.filter(|t| t.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

fn in_transaction<T>(
    conn: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = work(&tx)?;
    tx.commit()?;
    Ok(value)
}

fn job_error(path: &Path, action: &'static str, error: &rusqlite::Error) -> StoreError {
    let said = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) if said.contains("users.name") => {
            StoreError::Taken { what: "the user's name" }
        }
        _ => StoreError::sqlite(path, action, error),
    }
}
