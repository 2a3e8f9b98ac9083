//! Whatever happened to the table, a restart gives its rows back.

use homing_core::ids::Epoch;
use homing_core::row::Scope;
use proptest::prelude::*;

use super::*;

/// One step of a script. Small numbers, so that sessions, aliases, accounts and tenants meet.
#[derive(Clone, Debug)]
enum Step {
    Reserve { tenant: u32, keys: Vec<(u8, u8)>, account: u32, stale: bool },
    Pend { tenant: u32, keys: Vec<(u8, u8)>, next: u32 },
    Complete { tenant: u32, keys: Vec<(u8, u8)>, account: u32, fenced: bool, pinned: bool, ttl: u64 },
    Erase(u8, u32),
    Purge,
    Flush,
    Wait(u64),
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let keys = || prop::collection::vec((0..4_u8, 0..5_u8), 1..4);
    let (tenant, account) = (0..3_u32, 0..4_u32);
    prop_oneof![
        5 => (tenant.clone(), keys(), account.clone(), prop::bool::weighted(0.1))
            .prop_map(|(tenant, keys, account, stale)| Step::Reserve { tenant, keys, account, stale }),
        2 => (tenant.clone(), keys(), account.clone()).prop_map(|(tenant, keys, next)| Step::Pend { tenant, keys, next }),
        6 => (tenant, keys(), account, any::<bool>(), any::<bool>(), 60..4_000_u64).prop_map(
            |(tenant, keys, account, fenced, pinned, ttl)| Step::Complete { tenant, keys, account, fenced, pinned, ttl }
        ),
        1 => (0..3_u8, 0..4_u32).prop_map(|(what, which)| Step::Erase(what, which)),
        1 => Just(Step::Purge),
        1 => Just(Step::Flush),
        3 => (0..2_000_000_u64).prop_map(Step::Wait),
        1 => Just(Step::Restart),
    ]
}

fn keys_of(tenant: u32, picks: &[(u8, u8)]) -> Keys {
    let values: Vec<(SignalKind, String)> =
        picks.iter().map(|(kind, value)| (SignalKind::from_u8(*kind).unwrap(), value.to_string())).collect();
    let borrowed: Vec<(SignalKind, &str)> = values.iter().map(|(k, v)| (*k, v.as_str())).collect();
    keys(TenantId(tenant), &borrowed)
}

fn apply(store: &Store, step: &Step, now: Time) {
    match step {
        Step::Reserve { tenant, keys, account, stale } => {
            let seen = if *stale { Epoch(0) } else { store.table().epoch() };
            let op = Op::Reserve { account: AccountId(*account), seen, ttl: TTL };
            store.answer(Subject::new(TenantId(*tenant), &keys_of(*tenant, keys)), op, now);
        }
        Step::Pend { tenant, keys, next } => {
            let keys = keys_of(*tenant, keys);
            if let Some(view) = look(store, TenantId(*tenant), &keys, now) {
                let op = Op::Pend { fence: view.fence, expect: view.pending, next: AccountId(*next) };
                store.answer(Subject::new(TenantId(*tenant), &keys), op, now);
            }
        }
        Step::Complete { tenant, keys, account, fenced, pinned, ttl } => {
            let keys = keys_of(*tenant, keys);
            let fence = look(store, TenantId(*tenant), &keys, now).map(|v| v.fence).filter(|_| *fenced);
            let (account, ttl) = (AccountId(*account), Millis::secs(*ttl));
            let op = Op::Complete { fence, account, seen: store.table().epoch(), ttl, pinned: *pinned, inserts: true };
            store.answer(Subject::new(TenantId(*tenant), &keys), op, now);
        }
        Step::Erase(what, which) => {
            let first = store.table().rows().map(|r| (r.tenant, r.id)).min();
            let scope = match (what, first) {
                (0, _) => Scope::Account(AccountId(*which)),
                (1, Some((tenant, id))) => Scope::Row(tenant, id),
                _ => Scope::Tenant(TenantId(*which % 3)),
            };
            store.erase(scope);
        }
        Step::Purge => {
            purge_all(store, now);
        }
        Step::Flush => {
            store.flush_renewals();
        }
        Step::Wait(_) | Step::Restart => {}
    }
}

fn counters(store: &Store) -> (Epoch, homing_core::ids::RowId) {
    let table = store.table();
    (table.epoch(), table.next_id())
}

/// What must come back: rows that have not expired as far as the file knows, with `renewed` as old as the file may have it.
fn compare(before: &[Row], after: &[Row], now: Time) {
    let expected: Vec<Row> = before.iter().filter(|r| r.stored_expires > now).cloned().collect();
    assert_eq!(expected.len(), after.len());
    for (mut want, got) in expected.into_iter().zip(after) {
        assert!(got.renewed <= want.renewed && got.renewed >= want.created, "B7: {got:?} {want:?}");
        want.renewed = got.renewed;
        assert_eq!(want, *got);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn scripts_survive_restarts(script in prop::collection::vec(step(), 1..80)) {
        let place = place();
        let caps = Caps { total: 12, tenant: 6 };
        let mut now = START;
        let mut store = Store::open(&place.path, caps, now).unwrap();
        for step in script.iter().chain([&Step::Restart]) {
            match step {
                Step::Wait(ms) => now.0 += ms,
                Step::Restart => {
                    durable(&store);
                    let before = after_restart(&store);
                    let (epoch, next_id) = counters(&store);
                    drop(store);
                    store = Store::open(&place.path, caps, now).unwrap();
                    compare(&before, &after_restart(&store), now);
                    let after = counters(&store);
                    prop_assert_eq!(after.0, epoch, "B6: erasures are counted on");
                    prop_assert!(after.1 <= next_id, "ids that reached the disk are not given again, others may be");
                    prop_assert!(store.health().refused == 0);
                }
                step => apply(&store, step, now),
            }
            store.table().check().map_err(TestCaseError::fail)?;
        }
        purge_all(&store, Time(now.0 + 100_000_000_000));
        durable(&store);
        prop_assert_eq!(count(&store, "SELECT count(*) FROM bindings"), 0);
        prop_assert_eq!(count(&store, "SELECT count(*) FROM binding_keys"), 0);
    }
}
