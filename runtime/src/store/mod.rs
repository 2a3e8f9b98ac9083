//! The embedded store (T1, T2): [`Table`] in memory is the authority, an SQLite file its durable copy.
//!
//! ```text
//! request -> answer() -> Table (a mutex, microseconds) -> Queue -> writer thread -> SQLite
//!                                                                      |
//! terminal event <- commit(seq) <------------ Durable <----------------+
//! ```
//!
//! A transition is decided and queued under one lock, so the file sees changes in the table's order. Requests never wait
//! for the disk but at their very end, for [`Store::commit`], and there for a bounded time (B15).

mod apply;
mod durable;
mod error;
mod listing;
mod load;
pub mod migrate;
mod names;
mod open;
mod presence;
mod queue;
pub mod schema;
mod sweep;
#[cfg(test)]
mod tests;
mod thread;
mod users;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homing_core::ids::{AccountId, RowId, Seq};
use homing_core::row::Scope;
use homing_core::settings::Caps;
use homing_core::store::{Answer, Op, Subject};
use homing_core::table::Table;
use homing_core::time::Time;

pub use durable::{Durable, Waited};
pub use error::StoreError;
pub use listing::Page;
pub use names::{Renamed, Tenant};
pub use open::migrate_to;
pub(crate) use users::{NewKey, StoredUser};
pub use writer::StoreHealth;

use crate::clock;
use names::Names;
use writer::Writer;

/// Where bindings live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreMode {
    /// In this file, and in memory.
    Sqlite(PathBuf),
    /// In memory alone: the store is switched off, a restart forgets everything.
    Memory,
}

/// Whether a turn's changes are durable (B15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// They are.
    Committed,
    /// Not within the time given, or the disk is known to refuse them. The write is tried again; the terminal event may go
    /// out.
    Late,
}

/// All bindings, with their names and users, and the file behind them.
pub struct Store {
    table: Mutex<Table>,
    names: Mutex<Names>,
    writer: Writer,
    late: AtomicU64,
    /// Rows below this id that had expired by then may still be in the file.
    leftover: (RowId, Time),
    has_leftover: AtomicBool,
    /// The file that is written, and whether its name stands for another one now, or for none.
    file: Option<presence::Watched>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("health", &self.health()).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens, checks, migrates and loads the database at `path`, which is made if it is not there (T2). `now` is the wall
    /// clock: rows that expired by then are not loaded. Blocks; for the start of the process.
    ///
    /// # Errors
    /// Whatever keeps the file from being used, with its path and what to do. A file that is damaged, foreign, newer or no
    /// database at all is left as it is.
    pub fn open(path: &Path, caps: Caps, now: Time) -> Result<Self, StoreError> {
        let (store, conn) = Self::load(path, caps, now)?;
        store.writer.start(conn)?;
        Ok(store)
    }

    /// All of [`Store::open`] but the thread that writes.
    fn load(path: &Path, caps: Caps, now: Time) -> Result<(Self, rusqlite::Connection), StoreError> {
        let mut conn = open::open(path)?;
        let loaded = load::load(&mut conn, caps, now).map_err(|e| unreadable(path, &e))?;
        for statement in apply::STATEMENTS {
            conn.prepare(statement).map_err(|e| unreadable(path, &e))?;
        }
        let file = Some(presence::Watched::new(path));
        let next_id = loaded.table.next_id();
        tracing::info!(?path, bindings = loaded.table.len(), pins = loaded.table.pin_count(), "store opened");
        let store = Self {
            table: Mutex::new(loaded.table),
            names: Mutex::new(loaded.names),
            writer: Writer::new(path, next_id),
            late: AtomicU64::new(0),
            leftover: (next_id, now),
            has_leftover: AtomicBool::new(loaded.expired),
            file,
        };
        Ok((store, conn))
    }

    /// A store without a file ([`StoreMode::Memory`]): everything is "durable" at once and gone with the process.
    #[must_use]
    pub fn memory(caps: Caps) -> Self {
        Self {
            table: Mutex::new(Table::new(caps)),
            names: Mutex::new(Names::default()),
            writer: Writer::memory(),
            late: AtomicU64::new(0),
            leftover: (RowId(0), Time(0)),
            has_leftover: AtomicBool::new(false),
            file: None,
        }
    }

    /// Opens what `mode` says; see [`Store::open`] and [`Store::memory`].
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn with_mode(mode: &StoreMode, caps: Caps, now: Time) -> Result<Self, StoreError> {
        match mode {
            StoreMode::Sqlite(path) => Self::open(path, caps, now),
            StoreMode::Memory => Ok(Self::memory(caps)),
        }
    }

    /// Performs one transition at the time `now`. For simulations and tests: requests use [`Store::answer_now`].
    pub fn answer(&self, subject: Subject<'_>, op: Op, now: Time) -> Answer {
        self.change(|table| table.answer(subject, op, now))
    }

    /// Performs one transition at the present time, which is read once the table is held (B8).
    pub fn answer_now(&self, subject: Subject<'_>, op: Op) -> Answer {
        self.change(|table| table.answer(subject, op, Time(clock::wall_ms())))
    }

    /// Waits until `seq` and everything before it is durable, at most for `wait` (`commit-wait`, B15), and no longer than
    /// until the disk is known to refuse: a turn gains nothing by waiting on a full one.
    pub async fn commit(&self, seq: Seq, wait: Duration) -> Commit {
        let durable = self.writer.durable();
        if durable.seq() >= seq || clock::within(wait, durable.wait_for(seq)).await == Some(Waited::Durable) {
            return Commit::Committed;
        }
        self.late.fetch_add(1, Ordering::Relaxed);
        Commit::Late
    }

    /// How far everything is durable, for callers with a deadline of their own.
    #[must_use]
    pub fn durable(&self) -> &Durable {
        self.writer.durable()
    }

    /// Deletes what the scope names, so that no plan from before can write it back (B6). Returns how many rows went, and
    /// the change to wait for.
    pub fn erase(&self, scope: Scope) -> (usize, Seq) {
        self.change(|table| (table.erase(scope), table.seq()))
    }

    /// How the store is doing.
    #[must_use]
    pub fn health(&self) -> StoreHealth {
        let last_seq = self.table().seq();
        let mut health = StoreHealth { last_seq, late: self.late.load(Ordering::Relaxed), ..self.writer.health() };
        if let Some(lost) = self.file.as_ref().and_then(presence::Watched::problem) {
            health.last_error.get_or_insert(lost);
        }
        health
    }

    /// Whether there is a file behind the table.
    #[must_use]
    pub fn on_disk(&self) -> bool {
        self.writer.on_disk()
    }

    /// The number of the account with this stable identity; a new one the first time. It is on disk before any row that
    /// names it, and never waits for the disk.
    pub fn intern_account(&self, identity: &str) -> AccountId {
        self.name(|names| names.account(identity))
    }

    /// What to call an account that is gone from the directory. Changes nothing for a number that was never given.
    pub fn label_account(&self, id: AccountId, label: &str) {
        self.name(|names| names.label(id, label));
    }

    /// The stable identity and the label behind a number.
    #[must_use]
    pub fn account_name(&self, id: AccountId) -> Option<(Arc<str>, Arc<str>)> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.name_of(id).map(|n| (Arc::clone(&n.identity), Arc::clone(&n.label)))
    }

    /// The account gained a field of its identity that was missing: the number, and with it every row, follows (spec §1).
    pub fn rename_account_identity(&self, old: &str, new: &str) -> Renamed {
        self.name(|names| names.rename(old, new))
    }

    /// The tenant of the compatibility callers of an account: number and stable scope. It belongs to the account's number,
    /// so that it outlives a renamed identity. `None` for a number that was never given.
    pub fn account_tenant(&self, account: AccountId) -> Option<Tenant> {
        self.name(|names| names.account_tenant(account))
    }

    /// Queues the renewals that were coalesced, writes everything, and closes the database, moving its log into the file.
    /// Afterwards the store answers from memory and nothing becomes durable any more. Waits for the disk as long as that
    /// takes to write or to refuse: a caller in a hurry puts a bound on it.
    pub async fn shutdown(self: &Arc<Self>) -> StoreHealth {
        self.flush_renewals();
        let store = Arc::clone(self);
        smol::unblock(move || store.writer.stop()).await;
        // What was written counts for nothing in a file that is gone, however lately it went (T2).
        self.look_at_file();
        self.health()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the table and queues what it did before anybody else can change it.
    fn change<T>(&self, f: impl FnOnce(&mut Table) -> T) -> T {
        let mut table = self.table();
        let out = f(&mut table);
        let (changes, last) = table.take_changes();
        self.writer.enqueue(changes, last);
        out
    }

    /// As [`Store::change`], for names.
    fn name<T>(&self, f: impl FnOnce(&mut Names) -> T) -> T {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let out = f(&mut names);
        self.writer.enqueue_names(names.take_changes());
        out
    }
}

impl Drop for Store {
    /// Writes what is queued, as far as the disk takes it, and closes.
    fn drop(&mut self) {
        self.writer.stop();
    }
}

/// A database whose schema says it is ours and which then lacks a table or holds what no row can be is damaged; a disk that
/// could not be read is not.
fn unreadable(path: &Path, error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        None | Some(rusqlite::ErrorCode::Unknown) => {
            StoreError::Damaged { path: path.to_path_buf(), detail: error.to_string() }
        }
        Some(_) => StoreError::sqlite(path, "load", error),
    }
}
