//! Users and keys over a real store.

use std::sync::Arc;
use std::time::Duration;

use homing_core::ids::AccountId;
use homing_core::key::{Keys, SignalKind};
use homing_core::settings::Caps;
use homing_core::store::{Answer, Op, Subject};
use homing_core::time::{Millis, Time};

use super::{ApiKey, Auth, Tenants, UserError};
use crate::store::{Commit, Store, Tenant};

const NOW: Time = Time(1_000_000_000);

fn open(dir: &tempfile::TempDir) -> Tenants {
    let store = Arc::new(Store::open(&dir.path().join("homing.db"), Caps::default(), NOW).unwrap());
    smol::block_on(Tenants::load(store)).unwrap()
}

fn user(tenants: &Tenants, key: &ApiKey) -> (Tenant, Arc<str>) {
    match tenants.authenticate(key.reveal()) {
        Auth::User { tenant, name, .. } => (tenant, name),
        other => panic!("not let in: {other:?}"),
    }
}

fn create(tenants: &Tenants, name: &str) -> (super::User, ApiKey) {
    smol::block_on(tenants.create(name, NOW)).unwrap()
}

fn session(tenant: &Tenant) -> Keys {
    Keys::session(&tenant.scope, [(SignalKind::SessionHeader, b"s".as_slice())])
}

fn bind(tenants: &Tenants, tenant: &Tenant) {
    let store = &tenants.store;
    let Answer::Looked { epoch, .. } = store.answer(Subject::new(tenant.id, &session(tenant)), Op::Look, NOW) else {
        panic!()
    };
    let ttl = Millis::secs(3_600);
    let op = Op::Complete { fence: None, account: AccountId(1), seen: epoch, ttl, pinned: false, inserts: true };
    let Answer::Completed { seq, .. } = store.answer(Subject::new(tenant.id, &session(tenant)), op, NOW) else {
        panic!()
    };
    assert_eq!(smol::block_on(store.commit(seq, Duration::from_secs(60))), Commit::Committed);
}

#[test]
fn keys_let_in_and_nothing_else_does() {
    let dir = tempfile::tempdir().unwrap();
    let tenants = open(&dir);
    let (alice, key) = create(&tenants, "alice");
    assert_eq!(key.reveal().len(), 47);
    assert!(key.reveal().starts_with("hmg_") && key.reveal().ends_with(&alice.key_hint));
    assert_eq!(alice.key_hint.len(), 4);
    let (tenant, name) = user(&tenants, &key);
    assert_eq!((tenant.id, &*name), (alice.tenant, "alice"));
    assert_eq!(*tenant.scope, format!("user:{}", alice.user_id));
    let mut other = key.reveal().to_owned();
    let last = if other.pop() == Some('A') { 'B' } else { 'A' };
    other.push(last);
    for presented in
        [other.as_str(), "", "hmg_", &key.reveal()[4..], &format!("{} ", key.reveal()), &"x".repeat(100_000)]
    {
        assert_eq!(tenants.authenticate(presented), Auth::Unknown);
    }
}

#[test]
fn key_reset_keeps_tenant_and_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second, tenant);
    {
        let tenants = open(&dir);
        first = create(&tenants, "alice").1;
        tenant = user(&tenants, &first).0;
        bind(&tenants, &tenant);
        second = smol::block_on(tenants.reset("alice", Time(NOW.0 + 5))).unwrap();
        assert_eq!(tenants.authenticate(first.reveal()), Auth::Unknown, "the old key is dead at once");
        assert_eq!(user(&tenants, &second).0, tenant, "B12");
        assert_eq!(tenants.get("alice").unwrap().key_created, Time(NOW.0 + 5));
    }
    let tenants = open(&dir);
    assert_eq!(tenants.authenticate(first.reveal()), Auth::Unknown);
    assert_eq!(user(&tenants, &second).0, tenant);
    assert!(tenants.store.session(tenant.id, &session(&tenant), NOW).is_some(), "B12: the session is there");
}

#[test]
fn disabled_users_are_known_but_not_let_in() {
    let dir = tempfile::tempdir().unwrap();
    let key;
    {
        let tenants = open(&dir);
        key = create(&tenants, "alice").1;
        let id = tenants.get("alice").unwrap().user_id;
        assert!(smol::block_on(tenants.set_disabled(&id, true)).unwrap().disabled);
        assert_eq!(tenants.authenticate(key.reveal()), Auth::Disabled);
    }
    let tenants = open(&dir);
    assert_eq!(tenants.authenticate(key.reveal()), Auth::Disabled);
    smol::block_on(tenants.set_disabled("alice", false)).unwrap();
    user(&tenants, &key);
}

#[test]
fn deleting_a_user_deletes_the_bindings() {
    let dir = tempfile::tempdir().unwrap();
    let tenants = open(&dir);
    let (_, key) = create(&tenants, "alice");
    let (_, other_key) = create(&tenants, "bob");
    let (tenant, other) = (user(&tenants, &key).0, user(&tenants, &other_key).0);
    bind(&tenants, &tenant);
    bind(&tenants, &other);
    let (gone, rows) = smol::block_on(tenants.delete("alice")).unwrap();
    assert_eq!((gone.name.as_str(), rows), ("alice", 1));
    assert_eq!(tenants.authenticate(key.reveal()), Auth::Unknown);
    assert!(matches!(tenants.get("alice"), Err(UserError::NoSuchUser { .. })));
    assert!(tenants.store.session(tenant.id, &session(&tenant), NOW).is_none());
    assert!(tenants.store.session(other.id, &session(&other), NOW).is_some(), "B14");
    // The name is free, the number is not.
    let (again, _) = create(&tenants, "alice");
    assert_ne!(again.tenant, tenant.id);
    drop(tenants);
    let tenants = open(&dir);
    assert_eq!(tenants.list().len(), 2);
    assert_ne!(create(&tenants, "carol").0.tenant, tenant.id);
}

#[test]
fn a_crash_between_user_and_bindings_leaves_no_orphans() {
    let dir = tempfile::tempdir().unwrap();
    let tenant;
    {
        let tenants = open(&dir);
        tenant = user(&tenants, &create(&tenants, "alice").1).0;
        bind(&tenants, &tenant);
        // The user goes, and the process with it.
        assert!(smol::block_on(tenants.store.delete_user(tenant.id, || ())).unwrap());
    }
    let tenants = open(&dir);
    assert!(tenants.store.session(tenant.id, &session(&tenant), NOW).is_none(), "B12");
    assert_ne!(create(&tenants, "alice").0.tenant, tenant.id);
}

#[test]
fn names_are_checked_and_unique() {
    let store = Arc::new(Store::memory(Caps::default()));
    let tenants = smol::block_on(Tenants::load(store)).unwrap();
    for bad in ["", "a b", "ä", "a/b", "a\n", &"x".repeat(65), "a\0"] {
        let error = smol::block_on(tenants.create(bad, NOW)).unwrap_err();
        assert!(matches!(error, UserError::BadName { .. }), "{error}");
        assert!(error.to_string().starts_with("name: ") && error.to_string().len() < 300);
    }
    let error = smol::block_on(tenants.create("usr_x", NOW)).unwrap_err();
    assert!(matches!(error, UserError::LooksLikeId { .. }), "{error}");
    for good in ["a", &"x".repeat(64), "Ada.Lovelace_1@example-org"] {
        create(&tenants, good);
        let error = smol::block_on(tenants.create(good, NOW)).unwrap_err();
        assert!(matches!(error, UserError::NameTaken { .. }), "{error}");
    }
    assert!(matches!(smol::block_on(tenants.reset("nobody", NOW)), Err(UserError::NoSuchUser { .. })));
    assert!(smol::block_on(tenants.set_disabled("nobody", true)).is_err());
    assert!(smol::block_on(tenants.delete("nobody")).is_err());
    let names: Vec<String> = tenants.list().into_iter().map(|u| u.name).collect();
    assert_eq!(names, ["Ada.Lovelace_1@example-org", "a", &"x".repeat(64)]);
}

#[test]
fn one_of_many_gets_the_name() {
    let dir = tempfile::tempdir().unwrap();
    let tenants = open(&dir);
    let tries: Vec<_> = (0..16)
        .map(|_| {
            let tenants = tenants.clone();
            std::thread::spawn(move || smol::block_on(tenants.create("alice", NOW)).is_ok())
        })
        .collect();
    assert_eq!(tries.into_iter().map(|t| t.join().unwrap()).filter(|ok| *ok).count(), 1);
}

#[test]
fn a_caller_that_goes_away_leaves_memory_and_disk_agreed() {
    let dir = tempfile::tempdir().unwrap();
    {
        let tenants = open(&dir);
        let key = create(&tenants, "bob").1;
        for i in 0..50 {
            // Polled once, then dropped: the job is queued and nobody waits for it.
            let name = format!("u{i}");
            let mut making = Box::pin(tenants.create(&name, NOW));
            assert!(smol::block_on(smol::future::poll_once(&mut making)).is_none_or(|made| made.is_ok()));
        }
        let mut deleting = Box::pin(tenants.delete("bob"));
        smol::block_on(smol::future::poll_once(&mut deleting));
        drop(deleting);
        // Whatever is queued behind them comes after them.
        create(&tenants, "last");
        assert_eq!(tenants.authenticate(key.reveal()), Auth::Unknown);
        assert_eq!(tenants.list().len(), 51);
    }
    assert_eq!(open(&dir).list().len(), 51);
}

#[test]
fn secrets_are_in_no_text() {
    let dir = tempfile::tempdir().unwrap();
    let tenants = open(&dir);
    let (alice, key) = create(&tenants, "alice");
    let texts = format!("{tenants:?} {alice:?} {key:?} {:?} {:?}", tenants.authenticate(key.reveal()), tenants.store);
    assert!(!texts.contains(&key.reveal()[4..]) && !texts.contains(&key.reveal()[8..20]), "{texts}");
    drop(tenants);
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(memchr::memmem::find(&bytes, &key.reveal().as_bytes()[..30]).is_none());
    }
}

#[test]
fn users_that_the_disk_refuses_are_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let tenants = open(&dir);
    let key = create(&tenants, "alice").1;
    smol::block_on(tenants.store.shutdown());
    assert!(matches!(smol::block_on(tenants.create("bob", NOW)), Err(UserError::Store(_))));
    assert!(matches!(smol::block_on(tenants.reset("alice", NOW)), Err(UserError::Store(_))));
    user(&tenants, &key);
    assert_eq!(tenants.list().len(), 1);
    // The name is not lost by the attempt.
    assert!(matches!(smol::block_on(tenants.create("bob", NOW)), Err(UserError::Store(_))));
}
