//! The embedded store as the suite drives it.
//!
//! By hand, there is no writer thread: the script says how many changes the disk takes, each batch goes through the very code
//! that the thread runs, and a crash is a copy of the files as they stand, opened by another store: with a transaction half
//! in the log that nobody was told of.

use std::fs;
use std::sync::{Arc, Barrier};

use homing_conformance::{Call, Observed, Promises, StoreUnderTest, TENANTS};
use homing_core::ids::{Epoch, TenantId};
use homing_core::row::{EpochScope, Scope};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::super::*;
use super::faults::Slip;
use crate::store::{apply, load};

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// The script.
    ByHand,
    /// The store's own thread.
    Thread,
}

/// One store, through all its lives.
pub(super) struct Sqlite {
    pace: Pace,
    slip: Option<Slip>,
    dir: TempDir,
    life: u32,
    batches: usize,
    caps: Caps,
    open: Option<Open>,
}

struct Open {
    store: Arc<Store>,
    /// The connection, where no thread has it.
    conn: Option<Connection>,
}

impl Sqlite {
    pub(super) fn new(pace: Pace) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { pace, slip: None, dir, life: 0, batches: 0, caps: CAPS, open: None }
    }

    /// An adapter that does one thing wrong.
    pub(super) fn with_slip(slip: Slip) -> Self {
        Self { slip: Some(slip), ..Self::new(Pace::ByHand) }
    }

    fn store(&self) -> Arc<Store> {
        Arc::clone(&self.open.as_ref().unwrap().store)
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(format!("life-{}", self.life)).join("homing.db")
    }

    fn open(&mut self, now: Time) {
        let (store, conn) = Store::load(&self.path(), self.caps, now).unwrap();
        let store = Arc::new(store);
        let conn = match self.pace {
            Pace::ByHand => Some(conn),
            Pace::Thread => {
                store.writer.start(conn).unwrap();
                None
            }
        };
        self.open = Some(Open { store, conn });
    }

    /// Writes up to `most` changes as the thread would.
    fn write(&mut self, most: usize) {
        let slip = self.slip;
        let Some(Open { store, conn: Some(conn) }) = &mut self.open else { return };
        let shared = &store.writer.shared;
        let mut batch = shared.lock().queue.take(most);
        if let Some(slip) = slip {
            let (before, after) = slip.reported(&batch, shared.lock().queue.last());
            if let Some(seq) = before {
                shared.durable.publish(seq);
            }
            self.batches += 1;
            let written = slip.written(&batch, self.batches);
            batch.up_to = after;
            let result = apply::commit(conn, &written);
            assert!(shared.settle(batch, result));
        } else {
            let result = apply::commit(conn, &batch);
            assert!(shared.settle(batch, result), "{:?}", store.health());
        }
        shared.run_jobs(conn);
    }

    /// Writes some of what waits and reports nothing of it: how much of the log a death in the midst of that leaves.
    fn half_write(&mut self) -> Option<u64> {
        let (wal, slip, life) = (self.path().with_extension("db-wal"), self.slip, u64::from(self.life));
        let Some(Open { store, conn: Some(conn) }) = &mut self.open else { return None };
        let length = || wal.metadata().map_or(0, |m| m.len());
        let before = length();
        let batch = store.writer.shared.lock().queue.take(4);
        let batch = match slip {
            Some(slip) => slip.written(&batch, self.batches),
            None => batch,
        };
        apply::commit(conn, &batch).unwrap();
        let written = length() - before;
        // Somewhere in it, at both its ends too: another place in each life.
        Some(before + (life * 2_711) % (written + 1))
    }

    /// Asks the file itself, through the store's own connection.
    fn ask<T: Send + 'static>(&mut self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static) -> T {
        match self.open.as_ref().unwrap() {
            Open { conn: Some(conn), .. } => ask(conn).unwrap(),
            Open { store, .. } => smol::block_on(store.writer.call("ask", move |tx| ask(tx), |_| ())).unwrap(),
        }
    }

    /// Before a start, in a file that nobody has open.
    fn overlook(&self) {
        let sql = self.slip.map_or("", Slip::overlooked);
        if !sql.is_empty() {
            Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
        }
    }
}

impl StoreUnderTest for Sqlite {
    fn start(&mut self, caps: Caps, now: Time) {
        self.open = None;
        fs::remove_dir_all(self.path().parent().unwrap()).ok();
        (self.caps, self.life) = (caps, self.life + 1);
        self.open(now);
        // Tenants that nobody knows would lose their erasures at the next start.
        for tenant in TENANTS {
            let account = self.store().intern_account(&format!("account-{}", tenant.0));
            assert_eq!(self.store().account_tenant(account).unwrap().id, tenant);
        }
        self.write(0);
        self.ask(|_| Ok(()));
    }

    fn promises(&self) -> Promises {
        Promises { counted: true, races: false, loses_replies: false, writes_behind: true }
    }

    fn answer(&mut self, call: &Call, now: Time) -> Answer {
        self.store().answer(call.subject(), call.op, now)
    }

    fn race(&mut self, calls: &[Call], now: Time) -> Vec<Answer> {
        let (store, line) = (self.store(), Barrier::new(calls.len()));
        std::thread::scope(|scope| {
            let run = |call: &Call| {
                line.wait();
                store.answer(call.subject(), call.op, now)
            };
            let threads: Vec<_> = calls.iter().map(|call| scope.spawn(move || run(call))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    fn erase(&mut self, scope: Scope) -> usize {
        self.store().erase(scope).0
    }

    fn purge(&mut self, now: Time) {
        let store = self.store();
        let task = smol::spawn(smol::unblock(move || purge_all(&store, now)));
        while !task.is_finished() {
            // What had expired before the start is removed by a job, which waits for all that was queued before it.
            self.write(usize::MAX);
            std::thread::yield_now();
        }
        smol::block_on(task);
    }

    fn flush(&mut self) -> Option<usize> {
        Some(self.store().flush_renewals())
    }

    fn commit(&mut self, changes: usize) {
        self.write(changes);
    }

    fn sync(&mut self) {
        match self.pace {
            Pace::ByHand => self.write(usize::MAX),
            Pace::Thread => durable(&self.store()),
        }
        assert_eq!(self.store().health().refused, 0, "the schema refused a row");
    }

    fn durable(&mut self) -> Seq {
        self.store().durable().seq()
    }

    fn crash(&mut self, now: Time) {
        let old = self.path();
        let torn = self.half_write();
        self.life += 1;
        let new = self.path();
        fs::create_dir(new.parent().unwrap()).unwrap();
        // The file before its log: the log is never moved into it while a script runs.
        for (from, to) in [(&old, &new), (&old.with_extension("db-wal"), &new.with_extension("db-wal"))] {
            if from.exists() {
                fs::copy(from, to).unwrap();
            }
        }
        if let Some(length) = torn {
            let wal = fs::OpenOptions::new().write(true).open(new.with_extension("db-wal")).unwrap();
            wal.set_len(length).unwrap();
        }
        if let Some(Open { conn: Some(conn), .. }) = &self.open {
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
        }
        self.open = None;
        fs::remove_dir_all(old.parent().unwrap()).unwrap();
        self.overlook();
        self.open(now);
    }

    fn restart(&mut self, now: Time) {
        match self.pace {
            Pace::ByHand => {
                self.store().flush_renewals();
                self.write(usize::MAX);
            }
            Pace::Thread => assert!(smol::block_on(self.store().shutdown()).is_healthy()),
        }
        self.open = None;
        self.overlook();
        self.open(now);
    }

    fn observe(&mut self, now: Time) -> Observed {
        let store = self.store();
        let mut listed = Vec::new();
        for tenant in TENANTS {
            let mut cursor = Some(0);
            while let Some(from) = cursor {
                let page = store.page(Some(tenant), from, 3, now);
                listed.extend(page.rows);
                cursor = page.next;
            }
        }
        let held = TENANTS.iter().map(|tenant| store.held_by(*tenant)).collect();
        store.table().check().unwrap();
        Observed { listed, held, ..Observed::of(&store.table(), now) }
    }

    fn session(&mut self, tenant: TenantId, keys: &Keys, now: Time) -> Option<Row> {
        self.store().session(tenant, keys, now)
    }

    fn epochs(&mut self) -> Vec<(EpochScope, Epoch)> {
        self.ask(load::read_epochs)
    }

    fn kept(&mut self) -> Option<(usize, usize)> {
        let count = |conn: &Connection| {
            conn.query_row("SELECT (SELECT count(*) FROM bindings), (SELECT count(*) FROM pins)", [], |row| {
                Ok((row.get::<_, u32>(0)? as usize, row.get::<_, u32>(1)? as usize))
            })
        };
        Some(self.ask(count))
    }
}
