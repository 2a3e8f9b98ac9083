//! The store's rules, one at a time, on the table itself.

use std::vec::Vec;

use super::Table;
use super::erase::PURGE_BATCH;
use crate::ids::{AccountId, Epoch, RowId, Seq, TenantId};
use crate::key::{Keys, SignalKind};
use crate::row::{Change, Fence, Scope, State, View};
use crate::settings::Caps;
use crate::store::{Answer, Completion, Op, Refusal, Subject};
use crate::time::{Millis, Time};

const ADA: TenantId = TenantId(1);
const BOB: TenantId = TenantId(2);
const A: AccountId = AccountId(10);
const B: AccountId = AccountId(20);
const C: AccountId = AccountId(30);
const TTL: Millis = Millis::secs(3600);
const T0: Time = Time(1_000_000);

fn keys(tenant: TenantId, signals: &[(SignalKind, &str)]) -> Keys {
    let scope = std::format!("user:{}", tenant.0);
    Keys::session(&scope, signals.iter().map(|(k, v)| (*k, v.as_bytes())))
}

fn sid(tenant: TenantId, value: &str) -> Keys {
    keys(tenant, &[(SignalKind::SessionHeader, value)])
}

/// A table under test: the clock and the tenant stand, the consistency check runs after every transition.
struct Bench {
    table: Table,
    now: Time,
}

impl Bench {
    fn new() -> Self {
        Self::with(Caps::default())
    }

    fn with(caps: Caps) -> Self {
        Self { table: Table::new(caps), now: T0 }
    }

    fn op(&mut self, tenant: TenantId, keys: &Keys, op: Op) -> Answer {
        let answer = self.table.answer(Subject::new(tenant, keys), op, self.now);
        assert_eq!(self.table.check(), Ok(()), "after {op:?}");
        answer
    }

    fn look(&mut self, tenant: TenantId, keys: &Keys) -> Option<View> {
        match self.op(tenant, keys, Op::Look) {
            Answer::Looked { view, .. } => view,
            other => panic!("{other:?}"),
        }
    }

    fn reserve(&mut self, tenant: TenantId, keys: &Keys, account: AccountId) -> Answer {
        let seen = self.table.epoch();
        self.op(tenant, keys, Op::Reserve { account, seen, ttl: TTL })
    }

    fn complete(&mut self, tenant: TenantId, keys: &Keys, fence: Option<Fence>, account: AccountId) -> Answer {
        let seen = self.table.epoch();
        self.op(tenant, keys, Op::Complete { fence, account, seen, ttl: TTL, pinned: false, inserts: true })
    }

    /// A session bound to `account` the ordinary way.
    fn bind(&mut self, tenant: TenantId, keys: &Keys, account: AccountId) -> View {
        assert!(matches!(self.reserve(tenant, keys, account), Answer::Reserved(_)));
        let fence = self.look(tenant, keys).map(|v| v.fence);
        assert!(matches!(self.complete(tenant, keys, fence, account), Answer::Completed { .. }));
        self.look(tenant, keys).expect("bound")
    }

    fn pend(
        &mut self,
        tenant: TenantId,
        keys: &Keys,
        fence: Fence,
        expect: Option<AccountId>,
        next: AccountId,
    ) -> Answer {
        self.op(tenant, keys, Op::Pend { fence, expect, next })
    }

    fn wait(&mut self, span: Millis) {
        self.now = self.now.plus(span);
    }
}

fn how(answer: Answer) -> Completion {
    match answer {
        Answer::Completed { how, .. } => how,
        other => panic!("{other:?}"),
    }
}

#[test]
fn b4_racing_first_requests_find_the_first_reservation() {
    let mut b = Bench::new();
    let k = sid(ADA, "s");
    let Answer::Reserved(first) = b.reserve(ADA, &k, A) else { panic!() };
    assert_eq!(b.reserve(ADA, &k, B), Answer::Found(first));
    assert_eq!(first.state, State::Reserved);
}

#[test]
fn b5_success_binds_a_reservation_and_raises_its_generation() {
    let mut b = Bench::new();
    let k = sid(ADA, "s");
    let Answer::Reserved(first) = b.reserve(ADA, &k, A) else { panic!() };
    assert_eq!(how(b.complete(ADA, &k, Some(first.fence), A)), Completion::Confirmed);
    let bound = b.look(ADA, &k).unwrap();
    assert_eq!((bound.state, bound.account, bound.pending), (State::Bound, A, None));
    assert_eq!(bound.fence.generation.0, first.fence.generation.0 + 1);
}

#[test]
fn b5_first_success_wins_and_b9_nothing_bounces_back() {
    let mut b = Bench::new();
    let k = sid(ADA, "s");
    let home = b.bind(ADA, &k, A);
    let Answer::Pended(_) = b.pend(ADA, &k, home.fence, None, B) else { panic!() };
    assert_eq!(how(b.complete(ADA, &k, Some(home.fence), B)), Completion::Moved { from: A });
    // The old home's late success carries the older generation.
    assert_eq!(how(b.complete(ADA, &k, Some(home.fence), A)), Completion::Stale);
    assert_eq!(b.look(ADA, &k).unwrap().account, B);
}

#[test]
fn b5_the_home_succeeding_first_keeps_the_session() {
    let mut b = Bench::new();
    let k = sid(ADA, "s");
    let home = b.bind(ADA, &k, A);
    b.pend(ADA, &k, home.fence, None, B);
    assert_eq!(how(b.complete(ADA, &k, Some(home.fence), A)), Completion::Confirmed);
    assert_eq!(how(b.complete(ADA, &k, Some(home.fence), B)), Completion::Stale);
    let row = b.look(ADA, &k).unwrap();
    assert_eq!((row.account, row.pending), (A, None));
}

#[test]
fn b5_pending_is_compare_and_set() {
    let mut b = Bench::new();
    let k = sid(ADA, "s");
    let home = b.bind(ADA, &k, A);
    let Answer::Pended(pended) = b.pend(ADA, &k, home.fence, None, B) else { panic!() };
    assert_eq!(b.pend(ADA, &k, home.fence, None, C), Answer::Lost(Some(pended)));
    let Answer::Pended(replaced) = b.pend(ADA, &k, home.fence, Some(B), C) else { panic!() };
    assert_eq!(replaced.pending, Some(C));
    assert_eq!(replaced.fence, home.fence, "a proposal is no new generation");
    assert_eq!(b.pend(ADA, &sid(ADA, "other"), home.fence, Some(C), B), Answer::Lost(None));
}

#[test]
fn b6_older_generation_renews_only_its_own_account() {
    let mut b = Bench::new();
    let k = sid(ADA, "s");
    let Answer::Reserved(first) = b.reserve(ADA, &k, A) else { panic!() };
    b.complete(ADA, &k, Some(first.fence), A);
    assert_eq!(how(b.complete(ADA, &k, Some(first.fence), A)), Completion::Renewed);
    assert_eq!(how(b.complete(ADA, &k, Some(first.fence), B)), Completion::Stale);
}

#[test]
fn b6_a_row_made_again_is_not_touched_by_an_old_completion() {
    let mut b = Bench::new();
    let k = sid(ADA, "s");
    let old = b.bind(ADA, &k, A);
    let seen = b.table.epoch();
    assert_eq!(b.table.erase(Scope::Row(ADA, old.fence.id)), 1);
    let refused = b.op(
        ADA,
        &k,
        Op::Complete { fence: Some(old.fence), account: A, seen, ttl: TTL, pinned: false, inserts: true },
    );
    assert_eq!(refused, Answer::Refused(Refusal::Erased));
    let new = b.bind(ADA, &k, B);
    assert_ne!(new.fence.id, old.fence.id);
    let stale = b.op(
        ADA,
        &k,
        Op::Complete { fence: Some(old.fence), account: A, seen, ttl: TTL, pinned: false, inserts: true },
    );
    assert_eq!(how(stale), Completion::Stale);
    assert_eq!(b.look(ADA, &k).unwrap(), new);
}

#[test]
fn b6_an_insert_from_before_an_erasure_is_refused_in_that_scope_only() {
    let mut b = Bench::new();
    let seen = b.table.epoch();
    b.table.erase(Scope::Account(A));
    let reserve = |account| Op::Reserve { account, seen, ttl: TTL };
    assert_eq!(b.op(ADA, &sid(ADA, "s"), reserve(A)), Answer::Refused(Refusal::Erased));
    assert!(matches!(b.op(ADA, &sid(ADA, "s"), reserve(B)), Answer::Reserved(_)));
    b.table.erase(Scope::Tenant(ADA));
    assert_eq!(b.op(ADA, &sid(ADA, "t"), reserve(B)), Answer::Refused(Refusal::Erased));
    assert!(matches!(b.op(BOB, &sid(BOB, "t"), reserve(B)), Answer::Reserved(_)));
}

#[test]
fn b7_only_successes_renew_and_reservations_never_are() {
    let mut b = Bench::new();
    let k = sid(ADA, "s");
    let home = b.bind(ADA, &k, A);
    let expiry = |b: &Bench| b.table.session(ADA, &k, b.now).unwrap().expires;
    let before = expiry(&b);
    b.wait(Millis::secs(60));
    b.look(ADA, &k);
    b.pend(ADA, &k, home.fence, None, B);
    assert_eq!(expiry(&b), before);
    b.complete(ADA, &k, Some(home.fence), B);
    assert_eq!(expiry(&b), before.plus(Millis::secs(60)));
}

#[test]
fn b8_at_its_expiry_a_row_is_gone_and_a_success_makes_a_new_one() {
    let mut b = Bench::new();
    let k = sid(ADA, "s");
    let old = b.bind(ADA, &k, A);
    b.wait(Millis(TTL.0 - 1));
    assert!(b.look(ADA, &k).is_some());
    b.wait(Millis(1));
    assert_eq!(b.look(ADA, &k), None);
    assert_eq!(how(b.complete(ADA, &k, Some(old.fence), B)), Completion::Inserted);
    let new = b.look(ADA, &k).unwrap();
    assert_ne!(new.fence.id, old.fence.id);
    assert_eq!(new.account, B);
}

#[test]
fn b8_a_wall_clock_set_back_revives_nothing() {
    let mut b = Bench::new();
    let k = sid(ADA, "s");
    b.bind(ADA, &k, A);
    b.wait(TTL);
    b.bind(BOB, &sid(BOB, "later"), A);
    b.now = T0;
    assert_eq!(b.look(ADA, &k), None);
}

#[test]
fn b10_aliases_lead_to_one_session_and_join_it() {
    use SignalKind::{PromptCacheKey as P, SessionHeader as S};
    let mut b = Bench::new();
    let both = keys(ADA, &[(S, "s"), (P, "p")]);
    let home = b.bind(ADA, &keys(ADA, &[(S, "s")]), A);
    assert_eq!(b.look(ADA, &both).unwrap(), home);
    assert_eq!(b.look(ADA, &keys(ADA, &[(P, "p")])), None, "keys attach at a success, not at a look");
    b.complete(ADA, &both, Some(home.fence), A);
    assert_eq!(b.look(ADA, &keys(ADA, &[(P, "p")])).unwrap().fence.id, home.fence.id);
}

#[test]
fn b10_a_shared_cache_key_does_not_melt_sessions() {
    use SignalKind::{PromptCacheKey as P, SessionHeader as S};
    let mut b = Bench::new();
    let one = b.bind(ADA, &keys(ADA, &[(S, "1"), (P, "app")]), A);
    assert_eq!(b.look(ADA, &keys(ADA, &[(S, "2"), (P, "app")])), None);
    let two = b.bind(ADA, &keys(ADA, &[(S, "2"), (P, "app")]), B);
    assert_ne!(one.fence.id, two.fence.id);
    assert_eq!(b.look(ADA, &keys(ADA, &[(P, "app")])).unwrap(), one, "a key is never stolen");
}

#[test]
fn b10_one_value_in_two_places_is_one_key_of_the_stronger_kind() {
    use SignalKind::{PromptCacheKey as P, SessionHeader as S};
    let mut b = Bench::new();
    let weak = b.bind(ADA, &keys(ADA, &[(P, "x")]), A);
    b.complete(ADA, &keys(ADA, &[(S, "x"), (P, "x")]), Some(weak.fence), A);
    let row = b.table.session(ADA, &keys(ADA, &[(S, "x")]), b.now).unwrap();
    assert_eq!(row.keys.iter().map(|k| k.kind).collect::<Vec<_>>(), [S]);
}

#[test]
fn b10_at_most_eight_keys_and_dead_rows_keys_are_free() {
    use SignalKind::{PromptCacheKey as P, SessionHeader as S};
    let mut b = Bench::new();
    let home = b.bind(ADA, &keys(ADA, &[(S, "s")]), A);
    for i in 0..12 {
        let more = keys(ADA, &[(S, "s"), (P, &std::format!("p{i}"))]);
        b.complete(ADA, &more, Some(home.fence), A);
    }
    assert_eq!(b.table.session(ADA, &sid(ADA, "s"), b.now).unwrap().keys.count(), 8);
    b.wait(TTL);
    assert!(matches!(b.reserve(ADA, &keys(ADA, &[(P, "p0")]), B), Answer::Reserved(_)));
}

#[test]
fn b11_and_b12_erase_their_scope_only() {
    let mut b = Bench::new();
    b.bind(ADA, &sid(ADA, "1"), A);
    b.bind(ADA, &sid(ADA, "2"), B);
    b.bind(BOB, &sid(BOB, "1"), A);
    assert_eq!(b.table.erase(Scope::Account(A)), 2);
    assert_eq!(b.look(ADA, &sid(ADA, "2")).unwrap().account, B);
    assert_eq!(b.look(BOB, &sid(BOB, "1")), None);
    assert_eq!(b.table.erase(Scope::Tenant(ADA)), 1);
    assert_eq!(b.table.len(), 0);
    assert_eq!(b.table.check(), Ok(()));
}

#[test]
fn b13_a_tenant_past_its_cap_gives_up_reservations_then_the_soonest_to_expire() {
    let mut b = Bench::with(Caps { total: 100, tenant: 20 });
    for i in 0..19 {
        b.bind(ADA, &sid(ADA, &std::format!("{i}")), A);
        b.wait(Millis::secs(1));
    }
    b.reserve(ADA, &sid(ADA, "reserved"), A);
    // The first one is renewed, so the second ends soonest.
    let first = b.look(ADA, &sid(ADA, "0")).unwrap();
    b.complete(ADA, &sid(ADA, "0"), Some(first.fence), A);
    b.bind(ADA, &sid(ADA, "20"), A);
    assert_eq!(b.look(ADA, &sid(ADA, "reserved")), None);
    assert_eq!(b.table.held_by(ADA), (0, 20));
    b.bind(ADA, &sid(ADA, "21"), A);
    assert!(b.look(ADA, &sid(ADA, "0")).is_some());
    assert_eq!(b.look(ADA, &sid(ADA, "1")), None);
    assert_eq!(b.table.held_by(ADA), (0, 20));
}

#[test]
fn b4_reservations_fill_at_most_a_tenth_and_never_push_out_a_binding() {
    let mut b = Bench::with(Caps { total: 100, tenant: 30 });
    for i in 0..10 {
        b.bind(ADA, &sid(ADA, &std::format!("bound{i}")), A);
    }
    for i in 0..50 {
        b.reserve(ADA, &sid(ADA, &std::format!("r{i}")), A);
    }
    assert_eq!(b.table.held_by(ADA), (3, 10));
}

#[test]
fn b13_at_the_total_cap_the_largest_tenant_gives() {
    let mut b = Bench::with(Caps { total: 10, tenant: 10 });
    for i in 0..3 {
        b.bind(BOB, &sid(BOB, &std::format!("{i}")), A);
    }
    for i in 0..40 {
        b.bind(ADA, &sid(ADA, &std::format!("{i}")), A);
    }
    assert_eq!(b.table.held_by(BOB), (0, 3), "below its share it loses none");
    assert_eq!(b.table.held_by(ADA), (0, 7));
}

#[test]
fn b13_purge_goes_in_batches_until_none_is_left() {
    let mut b = Bench::new();
    for i in 0..PURGE_BATCH + 7 {
        let k = sid(ADA, &std::format!("{i}"));
        b.table.answer(
            Subject::new(ADA, &k),
            Op::Complete { fence: None, account: A, seen: Epoch(0), ttl: TTL, pinned: false, inserts: true },
            T0,
        );
    }
    assert_eq!(b.table.purge(b.now), 0);
    b.wait(TTL);
    assert_eq!(b.table.purge(b.now), PURGE_BATCH);
    assert_eq!(b.table.purge(b.now), 7);
    assert_eq!(b.table.purge(b.now), 0);
    assert!(b.table.is_empty());
}

#[test]
fn b14_the_same_value_under_two_tenants_is_two_sessions() {
    let mut b = Bench::new();
    b.bind(ADA, &sid(ADA, "s"), A);
    assert_eq!(b.look(BOB, &sid(BOB, "s")), None);
    b.bind(BOB, &sid(BOB, "s"), B);
    assert_eq!(b.look(ADA, &sid(ADA, "s")).unwrap().account, A);
    // Even another tenant's very digest leads nowhere.
    assert_eq!(b.look(BOB, &sid(ADA, "s")), None);
}

#[test]
fn b15_renewals_are_written_once_they_gain_a_sixteenth() {
    let mut b = Bench::new();
    let k = sid(ADA, "s");
    let home = b.bind(ADA, &k, A);
    b.table.take_changes();
    b.wait(Millis(TTL.0 / 16 - 1));
    b.complete(ADA, &k, Some(home.fence), A);
    assert_eq!(b.table.take_changes().0, []);
    b.wait(Millis(1));
    let Answer::Completed { how: Completion::Renewed, seq } = b.complete(ADA, &k, Some(home.fence), A) else {
        panic!()
    };
    let (changes, upto) = b.table.take_changes();
    assert_eq!(seq, upto, "a crash may cost a sixteenth of a life and no more: the turn rests on what was written");
    assert!(matches!(changes.as_slice(), [Change::Put(row)] if row.expires == b.now.plus(TTL)));
}

#[test]
fn b15_an_orderly_stop_writes_what_was_coalesced() {
    let mut b = Bench::new();
    let k = sid(ADA, "s");
    let home = b.bind(ADA, &k, A);
    b.wait(Millis(1));
    b.complete(ADA, &k, Some(home.fence), A);
    b.table.take_changes();
    assert_eq!(b.table.flush(), 1);
    assert_eq!(b.table.take_changes().0.len(), 1);
    assert_eq!(b.table.flush(), 0);
}

#[test]
fn b17_a_pinned_success_renews_or_binds_and_never_moves() {
    let mut b = Bench::new();
    let k = sid(ADA, "s");
    let home = b.bind(ADA, &k, A);
    let pinned =
        |fence, account| Op::Complete { fence, account, seen: Epoch(0), ttl: TTL, pinned: true, inserts: true };
    assert_eq!(how(b.op(ADA, &k, pinned(Some(home.fence), B))), Completion::Stale);
    assert_eq!(how(b.op(ADA, &k, pinned(Some(home.fence), A))), Completion::Renewed);
    assert_eq!(how(b.op(ADA, &sid(ADA, "new"), pinned(None, C))), Completion::Inserted);
}

#[test]
fn a_restored_table_is_the_table_it_was() {
    let mut b = Bench::new();
    for i in 0..20 {
        b.bind(ADA, &sid(ADA, &std::format!("{i}")), A);
    }
    let erased_before = b.table.epoch();
    b.table.erase(Scope::Account(B));
    // Whatever is on disk is durable for the next process: its turns wait for none of it.
    let rows: Vec<_> = b.table.rows().cloned().map(|row| crate::row::Row { seq: Seq(0), ..row }).collect();
    let epochs = [(crate::row::EpochScope::Account(B), b.table.epoch())];
    let (mut again, refused) = Table::restore(Caps::default(), b.table.next_id(), rows.clone(), epochs);
    assert_eq!((refused, again.check()), (0, Ok(())));
    assert_eq!(again.rows().cloned().collect::<Vec<_>>(), rows);
    let late = Op::Reserve { account: B, seen: erased_before, ttl: TTL };
    assert_eq!(again.answer(Subject::new(ADA, &sid(ADA, "new")), late, b.now), Answer::Refused(Refusal::Erased));
    assert_eq!(again.take_changes(), (Vec::new(), Seq(0)));
    assert_eq!(again.next_id(), RowId(21));
    let (_, refused) = Table::restore(Caps::default(), RowId(1), rows.iter().chain(&rows).cloned(), []);
    assert_eq!(refused, 20, "a key that two rows claim goes to the first");
}
