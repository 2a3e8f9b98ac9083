//! Tests of the store on real files.

mod conformance;
mod crash;
mod failures;
mod files;
mod measure;
mod migrations;
mod pins;
mod queue;
mod sqlite;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use homing_core::ids::{AccountId, PoolId, Seq, TenantId};
use homing_core::key::{ConversationScope, Keys, SignalKind};
use homing_core::pin::{AnchorKind, PIN_TTL, Pinned, anchor_digest};
use homing_core::row::{Row, View};
use homing_core::settings::Caps;
use homing_core::store::{Answer, Completion, Op, Subject};
use homing_core::time::{Millis, Time};
use tempfile::TempDir;

use super::{Commit, Store};

/// An hour.
pub(super) const TTL: Millis = Millis::secs(3_600);
pub(super) const START: Time = Time(1_000_000_000);
/// Longer than any test waits for a healthy disk.
pub(super) const LONG: Duration = Duration::from_secs(60);
pub(super) const CAPS: Caps = Caps { total: 1_000_000, tenant: 100_000 };
pub(super) const T1: TenantId = TenantId(1);
pub(super) const T2: TenantId = TenantId(2);
pub(super) const A: AccountId = AccountId(1);
pub(super) const B: AccountId = AccountId(2);

pub(super) struct Place {
    _dir: TempDir,
    pub(super) path: PathBuf,
}

pub(super) fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state").join("homing.db");
    Place { _dir: dir, path }
}

pub(super) fn open(path: &Path, now: Time) -> Arc<Store> {
    Arc::new(Store::open(path, CAPS, now).unwrap())
}

pub(super) fn keys(tenant: TenantId, values: &[(SignalKind, &str)]) -> Keys {
    Keys::session(&format!("user:usr_{}", tenant.0), values.iter().map(|(kind, value)| (*kind, value.as_bytes())))
}

pub(super) fn session(tenant: TenantId, value: &str) -> Keys {
    keys(tenant, &[(SignalKind::SessionHeader, value)])
}

pub(super) fn look(store: &Store, tenant: TenantId, keys: &Keys, now: Time) -> Option<View> {
    match store.answer(Subject::new(tenant, keys), Op::Look, now) {
        Answer::Looked { view, .. } => view,
        other => panic!("a look was answered with {other:?}"),
    }
}

/// The key of a conversation in a pool.
pub(super) fn conversation(tenant: TenantId, pool: PoolId, value: &str) -> Keys {
    let scope = ConversationScope { pool, api_key: &format!("user:usr_{}", tenant.0), model: "model" };
    Keys::conversation(&scope, &[value.as_bytes()], &[]).unwrap()
}

/// Records that the account issued this id to the tenant.
pub(super) fn pin(store: &Store, tenant: TenantId, id: &str, account: AccountId, now: Time) -> Seq {
    let issued = anchor_digest(AnchorKind::Response, id.as_bytes());
    let none = Keys::default();
    let subject = Subject { issued, ..Subject::new(tenant, &none) };
    match store.answer(subject, Op::Record { account, seen: None }, now) {
        Answer::Recorded(seq) => seq,
        other => panic!("a record was answered with {other:?}"),
    }
}

/// What an id is pinned to.
pub(super) fn pinned(store: &Store, tenant: TenantId, id: &str, now: Time) -> Pinned {
    let anchors = [anchor_digest(AnchorKind::Response, id.as_bytes()).unwrap()];
    let none = Keys::default();
    let subject = Subject { anchors: &anchors, ..Subject::new(tenant, &none) };
    match store.answer(subject, Op::FindPins, now) {
        Answer::Pins { found, .. } => found,
        other => panic!("a look for pins was answered with {other:?}"),
    }
}

/// Reserves and completes, as one served turn does; the change the turn rests on.
pub(super) fn serve(store: &Store, tenant: TenantId, keys: &Keys, account: AccountId, now: Time) -> (Completion, Seq) {
    let Answer::Looked { view, epoch } = store.answer(Subject::new(tenant, keys), Op::Look, now) else {
        panic!("no look")
    };
    let view = match view {
        Some(view) => view,
        None => match store.answer(Subject::new(tenant, keys), Op::Reserve { account, seen: epoch, ttl: TTL }, now) {
            Answer::Reserved(view) | Answer::Found(view) => view,
            other => panic!("a reservation was answered with {other:?}"),
        },
    };
    let op = Op::Complete { fence: Some(view.fence), account, seen: epoch, ttl: TTL, pinned: false, inserts: true };
    match store.answer(Subject::new(tenant, keys), op, now) {
        Answer::Completed { how, seq } => (how, seq),
        other => panic!("a completion was answered with {other:?}"),
    }
}

/// Waits until everything is on disk, also on one that has just been mended.
pub(super) fn durable(store: &Store) {
    let last = store.health().last_seq;
    let began = std::time::Instant::now();
    while smol::block_on(store.commit(last, LONG)) != Commit::Committed {
        assert!(began.elapsed() < LONG, "{:?}", store.health());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// All rows as a restart may give them back: in order, with the life that was stored.
pub(super) fn after_restart(store: &Store) -> Vec<Row> {
    let mut rows: Vec<Row> = store.table().rows().cloned().collect();
    for row in &mut rows {
        row.expires = row.stored_expires;
        row.seq = Seq(0);
    }
    rows.sort();
    rows
}

/// The row count of a table in the file, through the writer's own connection.
pub(super) fn count(store: &Store, sql: &'static str) -> i64 {
    smol::block_on(store.writer.call("count", move |tx| tx.query_row(sql, [], |row| row.get(0)), |_| ())).unwrap()
}

/// Runs statements on the writer's connection, outside any transaction.
pub(super) fn run_raw(store: &Store, sql: &'static str) {
    let (done, wait) = smol::channel::bounded(1);
    let job = move |conn: &mut rusqlite::Connection| {
        done.try_send(conn.execute_batch(sql)).unwrap();
    };
    store.writer.submit(Box::new(job)).unwrap();
    smol::block_on(wait.recv()).unwrap().unwrap();
}

/// Removes what has expired, batch by batch; returns how many rows went.
fn purge_all(store: &Store, now: Time) -> usize {
    let batches = std::iter::from_fn(|| Some(smol::block_on(store.purge_expired(now)).unwrap()));
    batches.take_while(|gone| *gone > 0).sum()
}
