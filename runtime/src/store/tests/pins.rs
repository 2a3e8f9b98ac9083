//! Hard pins (R1) and conversations over a restart, and on a disk that refuses.

use homing_core::row::Scope;

use super::*;

const AT_A: Pinned = Pinned::At { account: A, anchor: 0 };

#[test]
fn r1_pins_outlive_the_process_and_are_told_apart_by_tenant() {
    let place = place();
    {
        let store = open(&place.path, START);
        assert_eq!(pin(&store, T1, "resp_1", A, START), store.health().last_seq);
        pin(&store, T2, "resp_2", B, START);
        durable(&store);
        assert_eq!(count(&store, "SELECT count(*) FROM pins"), 2);
    }
    let store = open(&place.path, START);
    assert_eq!(pinned(&store, T1, "resp_1", START), AT_A);
    assert_eq!(pinned(&store, T2, "resp_1", START), Pinned::Foreign { anchor: 0 });
    assert_eq!(pinned(&store, T1, "resp_3", START), Pinned::Nowhere);
    assert_eq!(pinned(&store, T1, "resp_1", START.plus(PIN_TTL)), Pinned::Nowhere, "kept for 30 days");
    // Deleting the tenant takes its pins with it, also from the file (B12).
    store.erase(Scope::Tenant(T1));
    durable(&store);
    assert_eq!(count(&store, "SELECT count(*) FROM pins"), 1);
    drop(store);
    let store = open(&place.path, START);
    assert_eq!(pinned(&store, T1, "resp_1", START), Pinned::Nowhere);
    assert_eq!(pinned(&store, T2, "resp_2", START), Pinned::At { account: B, anchor: 0 });
}

#[test]
fn pins_that_expired_while_nothing_ran_go_in_the_background() {
    let place = place();
    {
        let store = open(&place.path, START);
        for i in 0..1_500 {
            pin(&store, T1, &format!("resp_{i}"), A, START);
        }
        pin(&store, T1, "later", A, Time(START.0 + 10));
    }
    let now = START.plus(PIN_TTL);
    let store = open(&place.path, now);
    assert_eq!(store.table().pin_count(), 1);
    // An id that is recorded again before the old record went is not removed with it.
    pin(&store, T2, "resp_7", B, now);
    assert_eq!(purge_all(&store, now), 1_499);
    assert_eq!(count(&store, "SELECT count(*) FROM pins"), 2);
    drop(store);
    assert_eq!(pinned(&open(&place.path, now), T2, "resp_7", now), Pinned::At { account: B, anchor: 0 });
}

#[test]
fn b13_lower_caps_take_the_pins_that_end_soonest() {
    let place = place();
    {
        let store = open(&place.path, START);
        for i in 0..20 {
            pin(&store, T1, &format!("resp_{i}"), A, Time(START.0 + i));
        }
        pin(&store, T2, "other", B, START);
        durable(&store);
    }
    let store = Store::open(&place.path, Caps { total: 9, tenant: 10 }, START).unwrap();
    store.table().check().unwrap();
    assert_eq!(store.table().pin_count(), 9);
    assert_eq!(pinned(&store, T1, "resp_11", START), Pinned::Nowhere);
    assert_eq!(pinned(&store, T1, "resp_12", START), AT_A);
    assert_eq!(pinned(&store, T2, "other", START), Pinned::At { account: B, anchor: 0 });
}

#[test]
fn pins_that_come_and_go_on_a_stuck_disk_cost_no_memory() {
    let place = place();
    let store = Arc::new(Store::open(&place.path, Caps { total: 100, tenant: 100 }, START).unwrap());
    run_raw(&store, "PRAGMA query_only = 1");
    for i in 0..20_000 {
        pin(&store, T1, &format!("resp_{i}"), A, Time(START.0 + i));
    }
    // Those that are held, and what the first failed batches had taken.
    let queued = store.health().queued;
    assert!(queued <= 100 + 8_192, "{queued}");
    run_raw(&store, "PRAGMA query_only = 0");
    durable(&store);
    assert_eq!(count(&store, "SELECT count(*) FROM pins"), 100);
    drop(store);
    let store = open(&place.path, START);
    assert_eq!(pinned(&store, T1, "resp_19999", START), AT_A);
    assert_eq!(pinned(&store, T1, "resp_19899", START), Pinned::Nowhere);
}

#[test]
fn conversations_outlive_the_process_and_end_with_their_pool() {
    let place = place();
    let (one, other) = (PoolId(1), PoolId(2));
    {
        let store = open(&place.path, START);
        serve(&store, T1, &conversation(T1, one, "c"), A, START);
        serve(&store, T1, &conversation(T1, other, "c"), B, START);
        serve(&store, T1, &session(T1, "s"), A, START);
        durable(&store);
    }
    let store = open(&place.path, START);
    assert_eq!(look(&store, T1, &conversation(T1, one, "c"), START).unwrap().account, A);
    assert_eq!(look(&store, T1, &conversation(T1, other, "c"), START).unwrap().account, B);
    let before = store.table().epoch();
    assert_eq!(store.erase(Scope::Pool(one)).0, 1);
    durable(&store);
    drop(store);
    let store = open(&place.path, START);
    assert_eq!(look(&store, T1, &conversation(T1, one, "c"), START), None);
    assert_eq!(look(&store, T1, &conversation(T1, other, "c"), START).unwrap().account, B);
    assert_eq!(look(&store, T1, &session(T1, "s"), START).unwrap().account, A);
    let late = Op::Reserve { account: A, seen: before, ttl: TTL };
    let answer = store.answer(Subject::new(T1, &conversation(T1, one, "c")), late, START);
    assert!(matches!(answer, Answer::Refused(_)), "B6: {answer:?}");
}
