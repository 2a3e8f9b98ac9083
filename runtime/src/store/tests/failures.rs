//! A disk that refuses: serving goes on, health says so, and it heals by itself (H10, B15).

use super::*;
use crate::store::Waited;

/// Breaks the disk for real as far as SQLite sees it, serves on, repairs it, and expects everything on it.
fn breaks_and_heals(break_it: &'static str, repair_it: &'static str, expect: &str) {
    let place = place();
    let store = open(&place.path, START);
    serve(&store, T1, &session(T1, "before"), A, START);
    durable(&store);
    run_raw(&store, break_it);
    let durable_before = store.health().durable_seq;
    let mut seq = Seq(0);
    for i in 0..2_000 {
        let began = std::time::Instant::now();
        seq = serve(&store, T1, &session(T1, &i.to_string()), A, START).1;
        assert!(began.elapsed() < LONG);
    }
    assert_eq!(smol::block_on(store.commit(seq, Duration::from_millis(300))), Commit::Late);
    let health = store.health();
    assert!(!health.is_healthy());
    assert!(health.last_error.as_ref().unwrap().contains(expect), "{health:?}");
    assert!(health.since.is_some() && health.late == 1, "{health:?}");
    assert!(health.queued > 0 && health.durable_seq < health.last_seq, "{health:?}");
    assert!(health.durable_seq >= durable_before);
    assert_eq!(look(&store, T1, &session(T1, "1999"), START).unwrap().account, A, "H10: memory serves");
    run_raw(&store, repair_it);
    durable(&store);
    let health = store.health();
    assert!(health.is_healthy() && health.queued == 0, "{health:?}");
    let before = after_restart(&store);
    drop(store);
    let store = open(&place.path, START);
    assert_eq!(after_restart(&store), before);
    assert_eq!(store.len(), 2_001);
}

#[test]
fn a_full_disk_is_waited_out() {
    // The real SQLITE_FULL, from SQLite's own bound on the file.
    breaks_and_heals("PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000", "no room to write");
}

#[test]
fn b15_no_turn_waits_for_a_disk_that_is_known_to_refuse() {
    let place = place();
    let store = open(&place.path, START);
    serve(&store, T1, &session(T1, "before"), A, START);
    durable(&store);
    run_raw(&store, "PRAGMA query_only = 1");
    // The first ones to wait are let go when the disk refuses, later ones do not begin to wait.
    for i in 0..10 {
        let (_, seq) = serve(&store, T1, &session(T1, &i.to_string()), A, START);
        let ended = smol::block_on(crate::clock::within(LONG, store.commit(seq, 2 * LONG)));
        assert_eq!(ended, Some(Commit::Late), "waited though the store knew that the disk refuses");
    }
    let health = store.health();
    assert!(!health.is_healthy() && health.late == 10 && health.queued >= 10, "{health:?}");
    run_raw(&store, "PRAGMA query_only = 0");
    durable(&store);
    let (_, seq) = serve(&store, T1, &session(T1, "after"), A, START);
    assert_eq!(smol::block_on(store.commit(seq, LONG)), Commit::Committed, "the disk is waited for again");
    assert_eq!(count(&store, "SELECT count(*) FROM bindings"), 12);
}

#[test]
fn a_failure_that_passes_is_waited_out() {
    use rusqlite::ffi;
    let place = place();
    // No thread: the outcomes of its commits are said by hand.
    let (store, mut conn) = Store::load(&place.path, CAPS, START).unwrap();
    let shared = Arc::clone(&store.writer.shared);
    let (_, seq) = serve(&store, T1, &session(T1, "s"), A, START);
    let fails = |code| {
        let batch = shared.lock().queue.take(usize::MAX);
        assert!(!shared.settle(batch, Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))));
        smol::block_on(smol::future::poll_once(store.durable().wait_for(seq)))
    };
    assert_eq!(fails(ffi::SQLITE_BUSY), None);
    assert_eq!(fails(ffi::SQLITE_NOMEM), None);
    for code in [ffi::SQLITE_FULL, ffi::SQLITE_READONLY, ffi::SQLITE_IOERR, ffi::SQLITE_CORRUPT, ffi::SQLITE_CANTOPEN] {
        assert_eq!(fails(code), Some(Waited::Refused), "{code}");
    }
    // Nothing was lost by it, and the first commit that succeeds makes an end of it.
    let batch = shared.lock().queue.take(usize::MAX);
    let result = crate::store::apply::commit(&mut conn, &batch);
    assert!(shared.settle(batch, result));
    assert_eq!(smol::block_on(store.commit(seq, Duration::ZERO)), Commit::Committed);
    let (_, next) = serve(&store, T1, &session(T1, "t"), A, START);
    assert_eq!(smol::block_on(smol::future::poll_once(store.durable().wait_for(next))), None);
}

#[test]
fn a_database_that_turns_read_only_is_waited_out() {
    breaks_and_heals("PRAGMA query_only = 1", "PRAGMA query_only = 0", "cannot write the database");
}

#[test]
fn a_stuck_disk_costs_no_more_than_the_rows() {
    let place = place();
    let caps = Caps { total: 100, tenant: 100 };
    let store = Arc::new(Store::open(&place.path, caps, START).unwrap());
    run_raw(&store, "PRAGMA query_only = 1");
    // Every bind past the cap evicts one: 20,000 rows come and go.
    for i in 0..10_000 {
        serve(&store, T1, &session(T1, &i.to_string()), A, Time(START.0 + i));
        store.erase(homing_core::row::Scope::Account(B));
    }
    // Live rows, what the first failed batches had taken, and the epoch.
    let queued = store.health().queued;
    assert!(queued <= 100 + 8_192 + 1, "{queued}");
    run_raw(&store, "PRAGMA query_only = 0");
    durable(&store);
    assert_eq!(count(&store, "SELECT count(*) FROM bindings"), 100);
}

#[test]
fn one_bad_row_does_not_hold_up_the_others() {
    let place = place();
    let store = open(&place.path, START);
    run_raw(
        &store,
        "CREATE TRIGGER bad BEFORE INSERT ON bindings WHEN new.account_id = 666 BEGIN SELECT raise(ABORT, 'bad'); END",
    );
    serve(&store, T1, &session(T1, "bad"), AccountId(666), START);
    serve(&store, T1, &session(T1, "good"), A, START);
    durable(&store);
    let health = store.health();
    assert!(health.refused >= 1 && !health.is_healthy(), "{health:?}");
    assert_eq!(count(&store, "SELECT count(*) FROM bindings WHERE account_id = 1"), 1);
}

#[test]
fn after_shutdown_memory_still_answers() {
    let place = place();
    let store = open(&place.path, START);
    let s = session(T1, "s");
    serve(&store, T1, &s, A, START);
    smol::block_on(store.shutdown());
    assert!(!place.path.with_extension("db-wal").exists(), "the log is in the file");
    let (_, seq) = serve(&store, T1, &session(T1, "late"), A, START);
    assert_eq!(smol::block_on(store.commit(seq, Duration::from_millis(1))), Commit::Late);
    assert!(smol::block_on(store.users()).is_err());
    assert!(look(&store, T1, &s, START).is_some());
    drop(store);
    assert_eq!(open(&place.path, START).len(), 1);
}

#[test]
fn a_panic_in_the_writer_thread_hangs_nobody() {
    let place = place();
    let store = open(&place.path, START);
    store.writer.submit(Box::new(|_| panic!("on purpose"))).unwrap();
    let asked = smol::block_on(store.writer.call("ask", |_| Ok(()), |()| ()));
    assert!(matches!(asked, Err(crate::store::StoreError::Closed)));
    let (_, seq) = serve(&store, T1, &session(T1, "s"), A, START);
    assert_eq!(smol::block_on(store.commit(seq, Duration::from_millis(1))), Commit::Late);
    assert!(!store.health().is_healthy());
}
