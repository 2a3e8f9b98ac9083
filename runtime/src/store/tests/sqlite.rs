//! One behaviour of the store each, over a restart wherever that is the point.

use homing_core::row::{Scope, State};

use super::*;
use crate::store::Renamed;

#[test]
fn sqlite_lookup() {
    let place = place();
    let s = session(T1, "s");
    {
        let store = open(&place.path, START);
        assert_eq!(look(&store, T1, &s, START), None);
        serve(&store, T1, &s, A, START);
        durable(&store);
    }
    let store = open(&place.path, START);
    let view = look(&store, T1, &s, START).unwrap();
    assert_eq!((view.account, view.state, view.seq), (A, State::Bound, Seq(0)));
    assert_eq!(look(&store, T1, &session(T1, "other"), START), None);
    assert_eq!(look(&store, T1, &s, START.plus(TTL)), None, "B8: at the very expiry it is gone");
}

#[test]
fn sqlite_upsert() {
    let place = place();
    let store = open(&place.path, START);
    let s = session(T1, "s");
    assert_eq!(serve(&store, T1, &s, A, START).0, Completion::Confirmed);
    durable(&store);
    // A failover: the row changes in place.
    assert_eq!(serve(&store, T1, &s, B, Time(START.0 + 5)).0, Completion::Moved { from: A });
    durable(&store);
    assert_eq!(count(&store, "SELECT count(*) FROM bindings"), 1);
    assert_eq!(count(&store, "SELECT account_id FROM bindings"), 2);
    assert_eq!(count(&store, "SELECT generation FROM bindings"), 2);
    assert_eq!(count(&store, "SELECT count(*) FROM binding_keys"), 1);
    let before = after_restart(&store);
    drop(store);
    assert_eq!(after_restart(&open(&place.path, START)), before);
}

#[test]
fn sqlite_renewal() {
    let place = place();
    let store = open(&place.path, START);
    let s = session(T1, "s");
    serve(&store, T1, &s, A, START);
    durable(&store);
    let written = store.health().last_seq;
    // H6: a thousand turns within a sixteenth of the time to live write nothing.
    for turn in 1..=1_000 {
        let (how, seq) = serve(&store, T1, &s, A, Time(START.0 + turn * 200));
        assert_eq!(how, Completion::Renewed);
        assert!(seq <= written, "B15: a renewal rests on its generation alone");
    }
    assert_eq!(store.health().last_seq, written);
    // Past that one write carries the longer life.
    let late = Time(START.0 + TTL.0 / 16);
    serve(&store, T1, &s, A, late);
    assert_eq!(store.health().last_seq, Seq(written.0 + 1));
    // An orderly stop writes what was coalesced.
    let last = Time(late.0 + 1_000);
    serve(&store, T1, &s, A, last);
    smol::block_on(store.shutdown());
    drop(store);
    let store = open(&place.path, START);
    assert_eq!(store.session(T1, &s, last).unwrap().expires, last.plus(TTL));
}

#[test]
fn sqlite_cleanup() {
    let place = place();
    let store = open(&place.path, START);
    for i in 0..2_500 {
        serve(&store, T1, &session(T1, &i.to_string()), A, START);
    }
    let fresh = Time(START.0 + TTL.0);
    serve(&store, T1, &session(T1, "fresh"), A, fresh);
    assert_eq!(purge_all(&store, fresh), 2_500);
    durable(&store);
    assert_eq!(count(&store, "SELECT count(*) FROM bindings"), 1);
    assert_eq!(count(&store, "SELECT count(*) FROM binding_keys"), 1);
    assert_eq!(store.len(), 1);
}

#[test]
fn sqlite_cleanup_of_rows_that_expired_while_nothing_ran() {
    let place = place();
    {
        let store = open(&place.path, START);
        for i in 0..1_500 {
            serve(&store, T1, &session(T1, &i.to_string()), A, START);
        }
        serve(&store, T1, &session(T1, "long"), A, Time(START.0 + 10));
    }
    let now = START.plus(TTL);
    let store = open(&place.path, now);
    assert_eq!(store.len(), 1, "expired rows are not loaded");
    // A new session takes over the key of a row that is still in the file.
    serve(&store, T1, &session(T1, "7"), B, now);
    assert_eq!(purge_all(&store, now), 1_500);
    assert_eq!(count(&store, "SELECT count(*) FROM bindings"), 2);
    let before = after_restart(&store);
    drop(store);
    let store = open(&place.path, now);
    assert_eq!(after_restart(&store), before);
    assert_eq!(look(&store, T1, &session(T1, "7"), now).unwrap().account, B);
}

#[test]
fn sqlite_restart() {
    let place = place();
    let epoch;
    let before;
    {
        let store = open(&place.path, START);
        let a = store.intern_account("acc-1/user-1");
        assert_eq!(store.intern_account("acc-1/user-1"), a);
        store.label_account(a, "work");
        serve(&store, T1, &session(T1, "kept"), a, START);
        serve(&store, T1, &session(T1, "erased"), B, START);
        let reserve = Op::Reserve { account: a, seen: homing_core::ids::Epoch(0), ttl: TTL };
        assert!(matches!(store.answer(Subject::new(T2, &session(T2, "r")), reserve, START), Answer::Reserved(_)));
        assert_eq!(store.erase(Scope::Account(B)).0, 1);
        epoch = store.table().epoch();
        durable(&store);
        before = (after_restart(&store), store.table().next_id());
    }
    let store = open(&place.path, START);
    assert_eq!((after_restart(&store), store.table().next_id()), before, "B6: ids are not given twice");
    assert_eq!(store.table().epoch(), epoch, "B6: erasures are counted on");
    let a = store.intern_account("acc-1/user-1");
    assert_eq!(look(&store, T1, &session(T1, "kept"), START).unwrap().account, a);
    assert_eq!(look(&store, T1, &session(T1, "erased"), START), None);
    assert_eq!(store.account_name(a).unwrap().1.as_ref(), "work");
    assert_ne!(store.intern_account("acc-2/user-1"), a);
}

#[test]
fn sqlite_alias() {
    let place = place();
    let both = keys(T1, &[(SignalKind::SessionHeader, "s"), (SignalKind::PromptCacheKey, "cache")]);
    let weak = keys(T1, &[(SignalKind::PromptCacheKey, "cache")]);
    {
        let store = open(&place.path, START);
        serve(&store, T1, &session(T1, "s"), A, START);
        durable(&store);
        let rests_on = serve(&store, T1, &both, A, Time(START.0 + 1)).1;
        assert_eq!(rests_on, store.health().last_seq, "B10: a new key is waited for");
        durable(&store);
        assert_eq!(count(&store, "SELECT count(*) FROM binding_keys"), 2);
        assert_eq!(look(&store, T1, &both, START).unwrap().account, A);
    }
    let store = open(&place.path, START);
    assert_eq!(look(&store, T1, &both, START).unwrap().account, A);
    assert_eq!(look(&store, T1, &session(T1, "s"), START).unwrap().account, A);
    assert_eq!(look(&store, T1, &weak, START).unwrap().account, A, "alone it is the strongest");
    let other = keys(T1, &[(SignalKind::SessionHeader, "other"), (SignalKind::PromptCacheKey, "cache")]);
    assert_eq!(look(&store, T1, &other, START), None, "B10: the row owns another value of a stronger kind");
    // The same value in a stronger place keeps its key and remembers the place (K2).
    let row = store.session(T1, &both, START).unwrap();
    assert_eq!(
        row.keys.iter().map(|k| k.kind).collect::<Vec<_>>(),
        [SignalKind::SessionHeader, SignalKind::PromptCacheKey]
    );
}

#[test]
fn sqlite_tenant_isolation() {
    let place = place();
    let (mine, theirs) = (session(T1, "same"), session(T2, "same"));
    {
        let store = open(&place.path, START);
        serve(&store, T1, &mine, A, START);
        assert_eq!(look(&store, T2, &theirs, START), None, "B14");
        assert_eq!(look(&store, T2, &mine, START), None, "B14: also with another scope's digest");
        serve(&store, T2, &theirs, B, START);
        durable(&store);
    }
    let store = open(&place.path, START);
    assert_eq!(look(&store, T1, &mine, START).unwrap().account, A);
    assert_eq!(look(&store, T2, &theirs, START).unwrap().account, B);
    assert_eq!(store.erase(Scope::Tenant(T1)).0, 1);
    durable(&store);
    drop(store);
    let store = open(&place.path, START);
    assert_eq!(look(&store, T1, &mine, START), None);
    assert_eq!(look(&store, T2, &theirs, START).unwrap().account, B);
    assert_eq!(store.page(Some(T2), 0, 10, START).rows.len(), 1);
    assert_eq!(store.page(Some(T1), 0, 10, START).rows.len(), 0);
}

#[test]
fn raw_identifiers_are_in_no_file() {
    let place = place();
    let store = open(&place.path, START);
    serve(&store, T1, &session(T1, "a-very-telling-session-id"), A, START);
    durable(&store);
    for entry in std::fs::read_dir(place.path.parent().unwrap()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(memchr::memmem::find(&bytes, b"telling").is_none());
    }
}

#[test]
fn renamed_identity_keeps_number_rows_and_scope() {
    let place = place();
    let (account, tenant);
    {
        let store = open(&place.path, START);
        account = store.intern_account("acc");
        tenant = store.account_tenant(account).unwrap();
        assert_eq!(&*tenant.scope, "account:acc");
        serve(&store, tenant.id, &session(tenant.id, "s"), account, START);
        assert_eq!(store.rename_account_identity("acc", "acc/user"), Renamed::Done(account));
        assert_eq!(store.rename_account_identity("nobody", "acc/x"), Renamed::Unknown);
        durable(&store);
    }
    let store = open(&place.path, START);
    assert_eq!(store.intern_account("acc/user"), account);
    assert_eq!(store.account_tenant(account).unwrap(), tenant, "the scope of its keys is what it was");
    assert_eq!(look(&store, tenant.id, &session(tenant.id, "s"), START).unwrap().account, account);
    // The bare identity is somebody else now, with a scope of its own.
    let other = store.intern_account("acc");
    assert_ne!(other, account);
    assert_ne!(store.account_tenant(other).unwrap().scope, tenant.scope);
    assert_eq!(store.rename_account_identity("acc", "acc/user"), Renamed::Taken { old: other, new: account });
    assert_eq!(store.account_tenant(AccountId(99)), None);
}

#[test]
fn identities_that_were_passed_on_in_one_batch() {
    let place = place();
    {
        let store = open(&place.path, START);
        let (a, b) = (store.intern_account("a"), store.intern_account("b"));
        assert_eq!(count(&store, "SELECT count(*) FROM accounts"), 2);
        // Both reach the file in one transaction, a before b.
        let names = &mut *store.names.lock().unwrap();
        assert_eq!(names.rename("b", "c"), Renamed::Done(b));
        assert_eq!(names.rename("a", "b"), Renamed::Done(a));
        store.writer.enqueue_names(names.take_changes());
    }
    let store = open(&place.path, START);
    assert_eq!(store.health().refused, 0);
    assert_eq!(store.intern_account("b"), AccountId(1));
    assert_eq!(store.intern_account("c"), AccountId(2));
}

#[test]
fn lower_caps_take_reservations_first_and_then_the_soonest_to_expire() {
    let place = place();
    {
        let store = open(&place.path, START);
        for i in 0..20 {
            serve(&store, T1, &session(T1, &i.to_string()), A, Time(START.0 + i));
        }
        for i in 0..5 {
            let op = Op::Reserve { account: A, seen: homing_core::ids::Epoch(0), ttl: TTL };
            store.answer(Subject::new(T1, &session(T1, &format!("r{i}"))), op, Time(START.0 + 50));
        }
        serve(&store, T2, &session(T2, "0"), A, START);
        durable(&store);
    }
    let caps = Caps { total: 9, tenant: 10 };
    let store = Store::open(&place.path, caps, Time(START.0 + 60)).unwrap();
    store.table().check().unwrap();
    assert_eq!((store.held_by(T1), store.held_by(T2)), ((0, 8), (0, 1)), "B13: from the tenant that holds most");
    for i in 12..20 {
        assert!(look(&store, T1, &session(T1, &i.to_string()), Time(START.0 + 60)).is_some());
    }
}

#[test]
fn pages_cover_everything_once() {
    let store = Store::memory(CAPS);
    for i in 0..25 {
        serve(&store, T1, &session(T1, &i.to_string()), A, START);
    }
    let (mut cursor, mut seen) = (0, Vec::new());
    loop {
        let page = store.page(None, cursor, 10, START);
        seen.extend(page.rows.iter().map(|r| r.id));
        match page.next {
            Some(next) => cursor = next,
            None => break,
        }
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 25);
}

#[test]
fn memory_mode_is_durable_at_once_and_forgets() {
    let store = Store::memory(CAPS);
    let (_, seq) = serve(&store, T1, &session(T1, "s"), A, START);
    assert_eq!(smol::block_on(store.commit(seq, Duration::ZERO)), Commit::Committed);
    assert!(!store.on_disk() && store.health().is_healthy());
    assert_eq!(store.intern_account("x"), store.intern_account("x"));
}

#[test]
fn sixty_four_tasks_bind_at_once() {
    let place = place();
    let store = open(&place.path, START);
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let store = Arc::clone(&store);
            smol::spawn(async move {
                for i in 0..20 {
                    let (_, seq) = serve(&store, T1, &session(T1, &format!("{task}/{i}")), AccountId(task), START);
                    assert_eq!(store.commit(seq, LONG).await, Commit::Committed);
                }
            })
        })
        .collect();
    smol::block_on(async {
        for task in tasks {
            task.await;
        }
    });
    let before = after_restart(&store);
    drop(store);
    let store = open(&place.path, START);
    assert_eq!(after_restart(&store), before);
    for task in 0..64 {
        let view = look(&store, T1, &session(T1, &format!("{task}/19")), START);
        assert_eq!(view.unwrap().account, AccountId(task));
    }
}
