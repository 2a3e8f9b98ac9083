//! Rows from outside: how keys join them, who makes room, what a restart keeps, how they are listed.

mod world;

use homing_core::ids::{Epoch, Generation, RowId, Seq, TenantId};
use homing_core::key::{Keys, SignalKind};
use homing_core::row::{Change, EpochScope, Fence, KEYS_PER_ROW, Row, RowKeys, Scope, State};
use homing_core::settings::{Caps, Settings, TTL_MAX, TTL_MIN};
use homing_core::store::{Answer, Completion, Op, Refusal, Subject};
use homing_core::table::Table;
use homing_core::time::{Millis, Time};
use world::{A, ADA, B, BOB, START, TTL, World, header};

use SignalKind::{BodySession as Body, PromptCacheKey as Cache, SessionHeader as Header};

fn keys(signals: &[(SignalKind, &str)]) -> Keys {
    Keys::session("user:ada", signals.iter().map(|(kind, value)| (*kind, value.as_bytes())))
}

fn of_tenant(tenant: TenantId, session: &str) -> Keys {
    Keys::session(&format!("user:{}", tenant.0), [(Header, session.as_bytes())])
}

impl World {
    /// A success on `A` of a plan that saw the row as it is.
    fn succeeds(&mut self, keys: &Keys) -> Completion {
        let fence = self.row(keys).map(|row| row.view().fence);
        let seen = self.table.epoch();
        let op = Op::Complete { fence, account: A, seen, ttl: TTL, pinned: false, inserts: true };
        match self.table.answer(Subject::new(ADA, keys), op, self.now) {
            Answer::Completed { how, .. } => how,
            other => panic!("{other:?}"),
        }
    }

    fn kinds(&self, keys: &Keys) -> Vec<SignalKind> {
        self.row(keys).into_iter().flat_map(|row| row.keys.iter().map(|key| key.kind)).collect()
    }

    /// A first success of another tenant's session.
    fn binds(&mut self, tenant: TenantId, session: &str) -> Answer {
        let keys = of_tenant(tenant, session);
        let op = Op::Complete { fence: None, account: A, seen: Epoch(9), ttl: TTL, pinned: false, inserts: true };
        let answer = self.table.answer(Subject::new(tenant, &keys), op, self.now);
        assert_eq!(self.table.check(), Ok(()));
        answer
    }

    fn has(&self, tenant: TenantId, session: &str) -> bool {
        self.table.session(tenant, &of_tenant(tenant, session), self.now).is_some()
    }
}

#[test]
fn b10_the_last_free_place_goes_to_the_smallest_digest() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    for n in 1..KEYS_PER_ROW - 1 {
        w.succeeds(&keys(&[(Header, "s"), (Cache, &format!("p{n}"))]));
    }
    let two = keys(&[(Header, "s"), (Body, "b"), (Cache, "p")]);
    w.succeeds(&two);
    let row = w.row(&header("s")).unwrap();
    let mut new: Vec<_> = two.iter().skip(1).map(|key| key.digest).collect();
    new.sort_unstable();
    assert_eq!(row.keys.count(), KEYS_PER_ROW);
    assert_eq!(new.iter().map(|digest| row.keys.has(digest)).collect::<Vec<_>>(), [true, false]);
    assert_eq!(w.table.check(), Ok(()));
}

#[test]
fn b10_what_a_row_owns_of_weaker_or_equal_kinds_keeps_nobody_out() {
    let mut w = World::new();
    w.bound(&keys(&[(Body, "b"), (Cache, "p")]), B);
    assert_eq!(w.home(&keys(&[(Header, "new"), (Body, "b")])), Some(B));
    w.bound(&keys(&[(Cache, "q1"), (Cache, "q2")]), A);
    assert_eq!(w.home(&keys(&[(Header, "new"), (Cache, "q1")])), Some(A));
}

#[test]
fn b10_a_row_s_own_stronger_value_keeps_others_out_unless_they_bring_it() {
    let mut w = World::new();
    w.bound(&keys(&[(Body, "b"), (Cache, "p")]), A);
    assert_eq!(w.home(&keys(&[(Body, "other"), (Cache, "p")])), None);
    assert_eq!(w.home(&keys(&[(Header, "new"), (Body, "b"), (Cache, "p")])), Some(A));
}

#[test]
fn b10_keys_of_a_dead_row_join_and_those_of_a_live_one_do_not() {
    let mut w = World::new();
    w.bound(&keys(&[(Cache, "dead")]), B);
    w.wait(Millis(TTL.0 - 1));
    w.bound(&header("s"), A);
    w.bound(&keys(&[(Cache, "live")]), B);
    w.wait(Millis(1));
    w.succeeds(&keys(&[(Header, "s"), (Cache, "live")]));
    assert_eq!((w.kinds(&header("s")), w.home(&keys(&[(Cache, "live")]))), (vec![Header], Some(B)));
    w.succeeds(&keys(&[(Header, "s"), (Cache, "dead")]));
    assert_eq!((w.kinds(&header("s")), w.home(&keys(&[(Cache, "dead")]))), (vec![Header, Cache], Some(A)));
    assert_eq!((w.table.len(), w.table.check()), (2, Ok(())));
}

#[test]
fn b10_a_dead_row_s_taken_key_is_no_reason_to_keep_the_row() {
    let mut w = World::new();
    w.bound(&keys(&[(Header, "old"), (Cache, "p")]), A);
    w.wait(TTL);
    w.bound(&keys(&[(Header, "new"), (Cache, "p")]), B);
    assert_eq!((w.table.len(), w.table.check()), (1, Ok(())));
}

#[test]
fn b10_where_even_the_strongest_key_is_taken_no_row_is_made() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    let op = Op::Complete { fence: None, account: B, seen: Epoch(9), ttl: TTL, pinned: false, inserts: true };
    // Another tenant that brings the very digest: it is not its row, and not its key.
    let answer = w.table.answer(Subject::new(BOB, &header("s")), op, w.now);
    assert_eq!(answer, Answer::Refused(Refusal::KeyTaken));
}

#[test]
fn k2_a_stronger_place_is_remembered_and_written_a_weaker_one_changes_nothing() {
    let mut w = World::new();
    let (weak, strong) = (keys(&[(Cache, "x")]), keys(&[(Body, "x")]));
    w.bound(&weak, A);
    w.table.take_changes();
    w.succeeds(&strong);
    assert_eq!(w.kinds(&weak), [Body]);
    let written = |change: &Change| matches!(change, Change::Put(row) if row.keys.iter().all(|k| k.kind == Body));
    assert!(matches!(&w.table.take_changes().0[..], [change] if written(change)));
    w.succeeds(&weak);
    assert_eq!((w.kinds(&weak), w.table.take_changes().0), (vec![Body], vec![]));
}

#[test]
fn k2_a_later_key_of_a_row_is_strengthened_as_well() {
    let mut w = World::new();
    w.bound(&keys(&[(Header, "s"), (Cache, "x")]), A);
    w.succeeds(&keys(&[(Header, "s"), (Body, "x")]));
    assert_eq!(w.kinds(&header("s")), [Header, Body]);
}

#[test]
fn a_row_holds_eight_keys_and_no_more() {
    let all: Vec<_> = (0..10).flat_map(|n| header(&n.to_string()).iter().collect::<Vec<_>>()).collect();
    let mut row = RowKeys::new(all[0]);
    let pushed = all[1..].iter().filter(|key| row.push(**key)).count();
    assert_eq!((pushed, row.count(), row.iter().count()), (7, 8, 8));
    assert!(row.has(&all[7].digest) && !row.has(&all[8].digest));
}

#[test]
fn b13_the_purge_goes_past_a_head_that_was_renewed() {
    let mut w = World::new();
    w.bound(&header("renewed"), A);
    w.wait(Millis(1));
    w.bound(&header("not"), A);
    w.wait(Millis(1));
    assert_eq!(w.succeeds(&header("renewed")), Completion::Renewed);
    w.table.take_changes();
    w.now = START.plus(TTL).plus(Millis(1));
    assert_eq!((w.table.purge(w.now), w.table.check()), (1, Ok(())));
    assert!(w.row(&header("renewed")).is_some() && w.row(&header("not")).is_none());
    // The durable copy learns of the longer life before the row is looked at as expired there.
    let changes = w.table.take_changes().0;
    assert!(
        matches!(&changes[..], [Change::Put(row), Change::Delete(_)] if row.expires == START.plus(TTL).plus(Millis(2)))
    );
    assert_eq!(w.table.purge(w.now), 0);
    w.wait(Millis(1));
    assert_eq!(w.table.purge(w.now), 1);
}

#[test]
fn b13_reservations_and_bindings_are_purged_in_the_order_of_their_ends() {
    let mut w = World::new();
    w.reserved(&header("r"), A);
    w.wait(Millis(1));
    w.bound(&header("b"), A);
    w.now = START.plus(TTL);
    assert_eq!((w.table.purge(w.now), w.table.held_by(ADA)), (1, (0, 1)));
    w.wait(Millis(1));
    assert_eq!((w.table.purge(w.now), w.table.held_by(ADA), w.table.is_empty()), (1, (0, 0), true));
}

#[test]
fn b13_among_equals_the_tenant_that_asks_makes_room() {
    for (asks, keeps) in [(ADA, BOB), (BOB, ADA)] {
        let mut w = World::with(Caps { total: 4, tenant: 4 });
        for tenant in [ADA, BOB] {
            w.binds(tenant, "1");
            w.wait(Millis(1));
            w.binds(tenant, "2");
        }
        w.binds(asks, "3");
        assert_eq!((w.table.held_by(asks), w.table.held_by(keeps)), ((0, 2), (0, 2)));
        assert!(!w.has(asks, "1") && w.has(asks, "2"), "its soonest to expire");
    }
}

#[test]
fn b13_a_tenant_below_its_share_is_not_asked_though_its_row_ends_first() {
    let mut w = World::with(Caps { total: 4, tenant: 4 });
    w.binds(BOB, "1");
    for session in ["1", "2", "3"] {
        w.wait(Millis(1));
        w.binds(ADA, session);
    }
    w.binds(TenantId(3), "1");
    assert!(w.has(BOB, "1") && !w.has(ADA, "1"));
    assert_eq!(w.table.len(), 4);
}

#[test]
fn b13_at_its_cap_of_reservations_a_tenant_gives_its_soonest_reservation() {
    let mut w = World::with(Caps { total: 100, tenant: 20 });
    w.bound(&header("b"), A);
    for session in ["r1", "r2", "r3"] {
        w.wait(Millis(1));
        w.reserved(&header(session), A);
    }
    assert_eq!(w.table.held_by(ADA), (2, 1));
    assert!(w.row(&header("r1")).is_none() && w.row(&header("r2")).is_some() && w.row(&header("b")).is_some());
    w.bound(&header("c"), A);
    assert_eq!(w.table.held_by(ADA), (2, 2), "a binding needs no reservation to go");
}

#[test]
fn b13_the_row_that_goes_is_the_one_that_really_ends_first() {
    let mut w = World::with(Caps { total: 100, tenant: 2 });
    w.bound(&header("renewed"), A);
    w.wait(Millis(1));
    w.bound(&header("not"), A);
    w.wait(Millis(1));
    w.succeeds(&header("renewed"));
    w.bound(&header("new"), A);
    assert!(w.row(&header("renewed")).is_some() && w.row(&header("not")).is_none());
    assert_eq!(w.table.check(), Ok(()));
}

#[test]
fn b13_a_cap_that_was_lowered_keeps_nobody_out() {
    let mut w = World::new();
    ["1", "2", "3"].iter().for_each(|session| w.bound(&header(session), A));
    let rows: Vec<Row> = w.table.rows().cloned().collect();
    (w.table, _) = Table::restore(Caps { total: 10, tenant: 2 }, RowId(1), rows, []);
    w.bound(&header("new"), B);
    assert_eq!((w.home(&header("new")), w.table.held_by(ADA)), (Some(B), (0, 3)));
}

#[test]
fn b13_where_nothing_may_be_held_every_row_is_refused() {
    for caps in [Caps { total: 0, tenant: 5 }, Caps { total: 5, tenant: 0 }] {
        let mut w = World::with(caps);
        assert_eq!(w.binds(ADA, "s"), Answer::Refused(Refusal::Full), "{caps:?}");
    }
}

#[test]
fn b4_a_tenth_of_the_cap_may_be_reserved_and_always_one() {
    let most = |tenant| Caps { total: 100, tenant }.reservations();
    assert_eq!([1, 5, 9, 10, 19, 20, 100_000].map(most), [1, 1, 1, 1, 1, 2, 10_000]);
}

#[test]
fn the_bounds_and_defaults_are_those_of_the_specification() {
    assert_eq!((TTL_MIN, TTL_MAX), (Millis(60_000), Millis(2_592_000_000)));
    let defaults = Settings::default();
    assert!(defaults.session_affinity && defaults.conversation.is_none());
    assert_eq!((defaults.ttl, defaults.request_deadline), (Millis(86_400_000), Millis(600_000)));
    assert_eq!((defaults.request_retry, defaults.quick_repeat), (3, Millis(250)));
    assert_eq!(Caps::default(), Caps { total: 1_000_000, tenant: 100_000 });
}

#[test]
fn b8_a_restart_keeps_the_newest_time_so_that_a_clock_set_back_revives_nothing() {
    for renews in [false, true] {
        let mut w = World::new();
        w.bound(&header("old"), A);
        w.wait(Millis(TTL.0 - 1));
        w.bound(&header("s"), A);
        if renews {
            // Long enough for the renewal to be written.
            w.wait(TTL);
            w.now = Time(w.now.0 - 1);
            w.succeeds(&header("s"));
        } else {
            w.wait(Millis(1));
            w.bound(&header("later"), A);
        }
        let rows: Vec<Row> = w.table.rows().cloned().collect();
        (w.table, _) = Table::restore(Caps::default(), RowId(1), rows, []);
        w.now = START;
        assert!(w.row(&header("old")).is_none(), "renews: {renews}");
        assert!(w.row(&header("s")).is_some());
    }
}

#[test]
fn b6_a_restart_gives_no_id_twice_and_forgets_no_erasure() {
    let mut w = World::new();
    w.bound(&header("1"), A);
    w.bound(&header("2"), A);
    let rows: Vec<Row> = w.table.rows().cloned().collect();
    let erased = [(EpochScope::Tenant(ADA), Epoch(9)), (EpochScope::Account(B), Epoch(4))];
    (w.table, _) = Table::restore(Caps::default(), RowId(1), rows.clone(), erased);
    assert_eq!((w.table.next_id(), w.table.epoch(), w.table.check()), (RowId(3), Epoch(9), Ok(())));
    let (table, _) = Table::restore(Caps::default(), RowId(50), rows, []);
    assert_eq!((table.next_id(), table.seq(), table.len()), (RowId(50), Seq(0), 2));
    assert!(table.rows().all(|row| row.seq == Seq(0) && row.stored_expires == row.expires));
}

#[test]
fn b6_erasures_are_counted_and_written() {
    let mut w = World::new();
    w.bound(&header("1"), A);
    w.bound(&header("2"), A);
    let id = w.row(&header("1")).map(|row| row.id).unwrap();
    w.table.take_changes();
    assert_eq!(w.table.erase(Scope::Row(BOB, id)), 0, "another tenant's row");
    assert_eq!(w.table.erase(Scope::Row(ADA, id)), 1);
    let (changes, upto) = w.table.take_changes();
    let erased = |tenant, epoch| Change::Erased(EpochScope::Tenant(tenant), Epoch(epoch));
    assert_eq!(changes, [erased(BOB, 1), erased(ADA, 2), Change::Delete(id)]);
    assert_eq!((upto, w.table.seq(), w.table.epoch()), (Seq(5), Seq(5), Epoch(2)));
}

#[test]
fn rows_are_listed_page_by_page() {
    let mut w = World::new();
    w.bound(&header("old"), A);
    w.wait(Millis(1));
    for session in ["1", "2", "3"] {
        w.bound(&header(session), A);
    }
    w.now = START.plus(TTL);
    let page = |w: &World, cursor| -> Vec<(u32, RowId)> {
        w.table.rows_from(cursor, w.now).take(2).map(|(next, row)| (next, row.id)).collect()
    };
    let first = page(&w, 0);
    assert_eq!(first, [(2, RowId(2)), (3, RowId(3))], "an expired row is not listed");
    assert_eq!(page(&w, 3), [(4, RowId(4))]);
    assert_eq!(page(&w, 4), []);
    assert!(!w.table.is_empty() && w.table.len() == 4);
}

#[test]
fn b5_the_home_s_success_ends_a_proposal_and_a_reservation_raises_the_generation_once() {
    let mut w = World::new();
    w.reserved(&header("s"), A);
    assert_eq!(w.succeeds(&header("s")), Completion::Confirmed);
    let row = w.row(&header("s")).unwrap().clone();
    assert_eq!((row.state, row.generation.0, row.pending), (State::Bound, 1, None));
    let op = Op::Pend { fence: row.view().fence, expect: None, next: B };
    assert!(matches!(w.table.answer(Subject::new(ADA, &header("s")), op, w.now), Answer::Pended(_)));
    assert_eq!(w.succeeds(&header("s")), Completion::Confirmed);
    assert_eq!(w.row(&header("s")).map(|row| (row.generation.0, row.pending, row.account)), Some((2, None, A)));
    assert_eq!(w.succeeds(&header("s")), Completion::Renewed);
}

#[test]
fn b15_every_change_has_its_number() {
    let mut w = World::new();
    w.reserved(&header("s"), A);
    assert_eq!(w.row(&header("s")).map(|row| row.seq), Some(Seq(1)));
    w.succeeds(&header("s"));
    assert_eq!((w.row(&header("s")).map(|row| row.seq), w.table.seq()), (Some(Seq(2)), Seq(2)));
    let (changes, upto) = w.table.take_changes();
    assert_eq!((changes.len(), upto), (2, Seq(2)));
    w.wait(Millis(TTL.0 / 2));
    w.succeeds(&header("s"));
    assert_eq!((w.row(&header("s")).map(|row| row.seq), w.table.seq()), (Some(Seq(3)), Seq(3)));
}

#[test]
fn b7_an_earlier_success_that_comes_late_takes_no_life_away() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    let fence = w.row(&header("s")).map(|row| row.view().fence);
    let short = Op::Complete { fence, account: A, seen: Epoch(0), ttl: Millis(1), pinned: false, inserts: true };
    w.table.answer(Subject::new(ADA, &header("s")), short, w.now);
    assert_eq!(w.row(&header("s")).map(|row| row.expires), Some(START.plus(TTL)));
}

#[test]
fn b7_a_fence_that_never_was_renews_no_reservation() {
    let mut w = World::new();
    w.reserved(&header("s"), A);
    let row = w.row(&header("s")).unwrap().clone();
    let fence = Some(Fence { id: row.id, generation: Generation(5) });
    w.wait(Millis(1));
    let op = Op::Complete { fence, account: A, seen: Epoch(0), ttl: TTL, pinned: false, inserts: true };
    let stale = Answer::Completed { how: Completion::Stale, seq: Seq(0) };
    assert_eq!(w.table.answer(Subject::new(ADA, &header("s")), op, w.now), stale);
    assert_eq!(w.row(&header("s")), Some(&row));
}

#[test]
fn b15_a_key_that_joins_is_a_change_of_its_own() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    w.succeeds(&keys(&[(Header, "s"), (Cache, "p")]));
    assert_eq!((w.row(&header("s")).map(|row| row.seq), w.table.seq()), (Some(Seq(2)), Seq(2)));
}
