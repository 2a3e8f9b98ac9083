//! Hard pins (R1): recorded with a success, found by their anchor, bounded, never another tenant's.

mod world;

use homing_core::failure::Failure;
use homing_core::fleet::Standing;
use homing_core::ids::{AccountId, Epoch, PoolId, Seq, TenantId};
use homing_core::key::{Digest, Keys};
use homing_core::pin::{AnchorKind, PIN_TTL, Pin, Pinned, anchor_digest};
use homing_core::row::{Change, Scope};
use homing_core::settings::Caps;
use homing_core::store::{Answer, Completion, Op, Refusal, Subject};
use homing_core::table::Table;
use homing_core::table::erase::PURGE_BATCH;
use homing_core::time::Millis;
use homing_core::turn::{Effect, Note, Outcome, Reason, Reply, Request};
use world::{A, ADA, B, BOB, C, START, World, header};

fn anchor(id: &str) -> Digest {
    anchor_digest(AnchorKind::Response, id.as_bytes()).expect("an id")
}

impl World {
    /// What the anchors say to a tenant.
    fn pinned(&mut self, tenant: TenantId, ids: &[&str]) -> Pinned {
        let (keys, anchors) = (Keys::default(), ids.iter().map(|id| anchor(id)).collect::<Vec<_>>());
        let subject = Subject { anchors: &anchors, ..Subject::new(tenant, &keys) };
        match self.table.answer(subject, Op::FindPins, self.now) {
            Answer::Pins { found, .. } => found,
            other => panic!("{other:?}"),
        }
    }

    fn record(&mut self, tenant: TenantId, id: &str, account: AccountId, seen: Option<Epoch>) -> Seq {
        let keys = Keys::default();
        let subject = Subject { issued: Some(anchor(id)), ..Subject::new(tenant, &keys) };
        let answer = self.table.answer(subject, Op::Record { account, seen }, self.now);
        assert_eq!(self.table.check(), Ok(()));
        match answer {
            Answer::Recorded(seq) => seq,
            other => panic!("{other:?}"),
        }
    }

    /// A request that names these anchors.
    fn anchored(&mut self, request: Request, ids: &[&str]) -> Request {
        self.anchors = ids.iter().map(|id| anchor(id)).collect();
        Request { anchors: u8::try_from(ids.len()).expect("few anchors"), ..request }
    }
}

#[test]
fn r1_an_anchor_goes_to_the_account_that_issued_it_and_nowhere_else() {
    let mut w = World::new();
    w.issued = Some(anchor("r1"));
    assert_eq!(w.run(Request::new(ADA, START)).dialled, [A]);
    w.issued = None;
    for _ in 0..3 {
        let request = w.anchored(Request::new(ADA, START), &["r1"]);
        let end = w.run(request);
        assert_eq!((end.dialled, end.outcome, end.reason), (vec![A], Outcome::Served, Reason::Pinned));
    }
    w.fails(A, &[Failure::Throttled]);
    let request = w.anchored(Request::new(ADA, START), &["r1"]);
    let end = w.run(request);
    assert_eq!((end.dialled, end.outcome), (vec![A], Outcome::Relay), "never failed over");
}

#[test]
fn r1_an_anchor_beats_the_home_and_b17_moves_no_row() {
    let mut w = World::new();
    w.bound(&header("s"), B);
    w.record(ADA, "r1", C, None);
    let request = w.anchored(w.request("s"), &["r1"]);
    let end = w.run(request);
    assert_eq!((end.dialled, w.home(&header("s"))), (vec![C], Some(B)));
    assert!(end.notes.contains(&Note::Wrote(Completion::Stale)));
}

#[test]
fn b17_a_pinned_success_binds_where_no_row_stands() {
    let mut w = World::new();
    w.record(ADA, "r1", C, None);
    let request = w.anchored(w.request("s"), &["r1"]);
    w.run(request);
    assert_eq!(w.home(&header("s")), Some(C));
}

#[test]
fn r1_b14_another_tenant_s_anchor_is_not_found_and_never_dialled() {
    let mut w = World::new();
    w.record(BOB, "r1", A, None);
    let request = w.anchored(w.request("s"), &["unknown", "r1"]);
    let end = w.run(request);
    assert_eq!((end.dialled, end.outcome), (vec![], Outcome::NotFound { anchor: 1 }));
    assert!(end.notes.contains(&Note::AnchorRefused(Pinned::Foreign { anchor: 1 })));
    assert!(w.table.is_empty(), "nothing was reserved for it");
}

#[test]
fn r1_an_anchor_nobody_recorded_is_no_pin() {
    let mut w = World::new();
    let request = w.anchored(w.request("s"), &["unknown"]);
    let end = w.run(request);
    assert_eq!((end.dialled, end.reason), (vec![A], Reason::Reserved));
}

#[test]
fn r1_anchors_of_two_accounts_fit_no_account() {
    let mut w = World::new();
    w.record(ADA, "r1", A, None);
    w.record(ADA, "r2", B, None);
    w.record(ADA, "r3", A, None);
    assert_eq!(w.pinned(ADA, &["x", "r1", "r3"]), Pinned::At { account: A, anchor: 1 });
    assert_eq!(w.pinned(ADA, &["r1", "r2", "r3"]), Pinned::Apart { anchor: 1 }, "it stays apart");
    let request = w.anchored(w.request("s"), &["r1", "r2"]);
    let end = w.run(request);
    assert_eq!((end.dialled, end.outcome), (vec![], Outcome::Apart { anchor: 1 }));
}

#[test]
fn r1_a_pinned_account_that_cannot_serve_names_the_anchor_to_drop() {
    let mut w = World::new();
    w.record(ADA, "r1", A, None);
    w.fleet.set(A, Standing::NeedsLogin);
    let request = w.anchored(w.request("s"), &["x", "r1"]);
    let end = w.run(request);
    let out = homing_core::fleet::Out::Later;
    assert_eq!(end.outcome, Outcome::PinOut { anchor: Some(1), out }, "that the others serve is no comfort");
    assert_eq!(end.dialled, []);
    // A connection that pins has no anchor to drop.
    let request = Request { pin: Some(A), ..w.request("s") };
    assert!(matches!(w.run(request).outcome, Outcome::PinOut { anchor: None, .. }));
}

#[test]
fn b17_a_pin_outside_the_callers_pool_cannot_serve() {
    let mut w = World::new();
    w.record(ADA, "r1", A, None);
    w.fleet.assign(A, &[PoolId(5)]);
    let request = w.anchored(w.request("s"), &["r1"]);
    assert!(matches!(w.run(request).outcome, Outcome::PinOut { anchor: Some(0), .. }));
}

#[test]
fn r1_a_draining_account_still_serves_what_it_issued() {
    let mut w = World::new();
    w.record(ADA, "r1", A, None);
    w.fleet.set(A, Standing::Draining);
    let request = w.anchored(w.request("s"), &["r1"]);
    assert_eq!(w.run(request).dialled, [A]);
}

#[test]
fn r1_a_store_that_cannot_say_is_no_unknown_anchor() {
    let mut w = World::new();
    let request = w.anchored(w.request("s"), &["r1"]);
    let mut step = w.start(request);
    for _ in 0..2 {
        step = w.go(step, Reply::Store(Answer::Unknown));
        assert_eq!((step.effect, step.note), (Effect::Store(Op::FindPins), Note::ReadsAgain));
    }
    let end = w.go(step, Reply::Store(Answer::Unknown));
    assert_eq!(end.effect, Effect::Done(Outcome::PinsUnknown));
}

#[test]
fn r1_a_store_that_answers_late_has_its_readings_counted_anew_for_the_row() {
    let mut w = World::new();
    let request = w.anchored(w.request("s"), &["r1"]);
    let mut step = w.start(request);
    for _ in 0..2 {
        step = w.go(step, Reply::Store(Answer::Unknown));
    }
    let answer = w.does(&step);
    step = w.go(step, Reply::Store(answer));
    for _ in 0..2 {
        step = w.go(step, Reply::Store(Answer::Unknown));
        assert_eq!(step.effect, Effect::Store(Op::Look));
    }
}

#[test]
fn b8_a_clock_set_back_revives_no_pin_also_after_a_restart() {
    let mut w = World::new();
    let old = Pin { anchor: anchor("old"), tenant: ADA, account: A, expires: w.now };
    let new = Pin { anchor: anchor("new"), expires: w.now.plus(PIN_TTL), ..old };
    w.table.restore_pins([old, new]);
    w.now = homing_core::time::Time(w.now.0 - 60_000);
    assert_eq!(w.pinned(ADA, &["old"]), Pinned::Nowhere, "the newer pin was recorded when the older one ended");
    assert!(matches!(w.pinned(ADA, &["new"]), Pinned::At { account: A, .. }));
}

#[test]
fn r1_a_pin_lasts_thirty_days() {
    let mut w = World::new();
    w.record(ADA, "r1", A, None);
    w.wait(Millis(PIN_TTL.0 - 1));
    assert_eq!(w.pinned(ADA, &["r1"]), Pinned::At { account: A, anchor: 0 });
    w.wait(Millis(1));
    assert_eq!(w.pinned(ADA, &["r1"]), Pinned::Nowhere);
    assert_eq!(PIN_TTL, Millis(30 * 24 * 3_600 * 1_000));
}

#[test]
fn r1_the_first_record_of_an_id_stands_until_it_expires() {
    let mut w = World::new();
    let first = w.record(ADA, "r1", A, None);
    w.record(ADA, "other", A, None);
    let again = w.record(BOB, "r1", B, None);
    assert_eq!(w.pinned(ADA, &["r1"]), Pinned::At { account: A, anchor: 0 });
    assert!(again > first, "whoever asks again waits for all that is queued");
    w.table.take_changes();
    w.wait(PIN_TTL);
    w.record(BOB, "r1", B, None);
    assert_eq!(w.pinned(BOB, &["r1"]), Pinned::At { account: B, anchor: 0 });
    let pin = Pin { anchor: anchor("r1"), tenant: BOB, account: B, expires: w.now.plus(PIN_TTL) };
    assert_eq!(w.table.take_changes().0, [Change::DropPin(anchor("r1")), Change::PutPin(pin)]);
}

#[test]
fn b12_a_tenant_s_deletion_takes_its_pins_and_no_late_success_brings_one_back() {
    let mut w = World::new();
    for id in ["r1", "r2"] {
        w.record(ADA, id, A, None);
    }
    w.record(BOB, "b1", A, None);
    let seen = w.table.epoch();
    w.table.erase(Scope::Tenant(ADA));
    assert_eq!((w.table.pin_count(), w.pinned(ADA, &["r1", "r2"])), (1, Pinned::Nowhere));
    assert_eq!(w.record(ADA, "r1", A, Some(seen)), Seq(0), "nothing to wait for");
    assert_eq!(w.pinned(ADA, &["r1"]), Pinned::Nowhere);
    let now = w.table.epoch();
    w.record(ADA, "r3", A, Some(now));
    assert_eq!(w.pinned(ADA, &["r3"]), Pinned::At { account: A, anchor: 0 });
    w.table.erase(Scope::Account(A));
    assert_eq!(w.table.pin_count(), 2, "an account's removal leaves what it issued: its client is told");
}

#[test]
fn b12_a_turn_brings_the_erasures_it_knew_of_when_it_looked_for_pins() {
    let mut w = World::new();
    w.issued = Some(anchor("r2"));
    let request = w.anchored(Request::new(ADA, START), &["unknown"]);
    let step = w.start(request);
    let dial = w.stored(step);
    w.table.erase(Scope::Tenant(ADA));
    let end = w.finish(dial);
    assert_eq!((end.outcome, w.table.pin_count()), (Outcome::Served, 0));
}

#[test]
fn b13_a_tenant_past_its_cap_of_pins_gives_up_its_soonest_to_expire() {
    let mut w = World::with(Caps { total: 10, tenant: 3 });
    for id in ["r1", "r2", "r3"] {
        w.record(ADA, id, A, None);
        w.wait(Millis(1));
    }
    w.record(BOB, "b1", A, None);
    w.record(ADA, "r4", A, None);
    let left = ["r1", "r2", "r3", "r4"].map(|id| w.pinned(ADA, &[id]) != Pinned::Nowhere);
    assert_eq!(left, [false, true, true, true]);
    assert_eq!(w.pinned(BOB, &["b1"]), Pinned::At { account: A, anchor: 0 });
}

#[test]
fn b13_at_the_total_cap_the_tenant_with_most_pins_gives() {
    let mut w = World::with(Caps { total: 4, tenant: 4 });
    w.record(BOB, "b1", A, None);
    for id in ["r1", "r2", "r3"] {
        w.wait(Millis(1));
        w.record(ADA, id, A, None);
    }
    w.record(TenantId(3), "c1", A, None);
    assert_eq!((w.table.pin_count(), w.pinned(ADA, &["r1"])), (4, Pinned::Nowhere));
    assert_eq!(w.pinned(BOB, &["b1"]), Pinned::At { account: A, anchor: 0 }, "though it ends soonest of all");
    w.record(BOB, "b2", A, None);
    assert_eq!(w.pinned(ADA, &["r2"]), Pinned::Nowhere);
}

#[test]
fn b13_among_equals_the_tenant_that_brings_a_pin_gives_one() {
    for (asks, keeps) in [(ADA, BOB), (BOB, ADA)] {
        let mut w = World::with(Caps { total: 2, tenant: 2 });
        w.record(asks, "asks", A, None);
        w.record(keeps, "keeps", A, None);
        w.record(asks, "new", A, None);
        assert_eq!(w.pinned(asks, &["asks"]), Pinned::Nowhere);
        assert_eq!(w.pinned(keeps, &["keeps"]), Pinned::At { account: A, anchor: 0 });
    }
}

#[test]
fn b13_expired_pins_go_in_the_same_batches_as_rows() {
    let mut w = World::new();
    for n in 0..PURGE_BATCH + 2 {
        w.record(ADA, &n.to_string(), A, None);
    }
    w.wait(Millis(1));
    w.record(BOB, "later", A, None);
    w.bound(&header("s"), A);
    w.wait(Millis(PIN_TTL.0 - 1));
    assert_eq!(w.table.purge(w.now), PURGE_BATCH, "one row, and pins for the rest of the batch");
    assert_eq!(w.table.purge(w.now), 3);
    assert_eq!((w.table.purge(w.now), w.table.pin_count(), w.table.len()), (0, 1, 0));
    assert_eq!(w.table.check(), Ok(()));
}

#[test]
fn b15_the_end_waits_for_the_pin_it_brought() {
    let mut w = World::new();
    w.issued = Some(anchor("r1"));
    let dial = w.start(Request::new(ADA, START));
    let records = w.go(dial, Reply::Served { issued: true });
    assert_eq!(records.note, Note::Records);
    let commits = w.stored(records);
    assert_eq!((commits.effect, commits.note), (Effect::Commit(w.table.seq()), Note::Recorded));
    assert_eq!(w.table.pin_count(), 1);
}

#[test]
fn b15_a_coalesced_renewal_still_waits_for_the_pin_it_brought() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    w.table.take_changes();
    w.issued = Some(anchor("r1"));
    let looks = w.start(w.request("s"));
    let dial = w.stored(looks);
    let completes = w.go(dial, Reply::Served { issued: true });
    let commits = w.stored(completes);
    assert_eq!(commits.note, Note::Wrote(Completion::Renewed));
    assert_eq!(commits.effect, Effect::Commit(w.table.seq()));
    assert!(matches!(w.table.take_changes().0[..], [Change::PutPin(_)]), "nothing but the pin was written");
}

#[test]
fn r1_a_success_whose_row_was_refused_still_records_its_anchor() {
    let mut w = World::new();
    w.issued = Some(anchor("r1"));
    let looks = w.start(w.request("s"));
    let dial = w.stored(looks);
    let completes = w.go(dial, Reply::Served { issued: true });
    let records = w.go(completes, Reply::Store(Answer::Refused(Refusal::Full)));
    let commits = w.stored(records);
    assert_eq!((commits.note, w.table.pin_count()), (Note::Recorded, 1));
}

#[test]
fn r1_an_unknown_record_is_asked_again_and_then_left_undurable() {
    let mut w = World::new();
    let dial = w.start(Request::new(ADA, START));
    let mut step = w.go(dial, Reply::Served { issued: true });
    for _ in 0..2 {
        step = w.go(step, Reply::Store(Answer::Unknown));
        assert!(matches!(step.effect, Effect::Store(Op::Record { account: A, .. })), "{:?}", step.effect);
    }
    let end = w.go(step, Reply::Store(Answer::Unknown));
    assert_eq!((end.effect, end.note), (Effect::Done(Outcome::Served), Note::EndsUndurable));
}

/// A completion whose outcome is unknown, of a new session that brought an anchor: the row that the lost write made is found,
/// and the anchor is recorded for itself.
#[test]
fn b15_after_a_lost_completion_the_end_waits_for_row_and_pin() {
    let mut w = World::new();
    w.issued = Some(anchor("r1"));
    w.reserved(&header("s"), A);
    let looks = w.start(w.request("s"));
    let dial = w.stored(looks);
    w.wait(world::TTL);
    let completes = w.go(dial, Reply::Served { issued: true });
    w.does(&completes);
    let reads = w.go(completes, Reply::Store(Answer::Unknown));
    let answer = w.does(&reads);
    let records = w.go(reads, Reply::Store(answer));
    assert_eq!(records.note, Note::Records);
    let early = w.go(records.clone(), Reply::Store(Answer::Recorded(Seq(0))));
    let row = w.row(&header("s")).map(|row| row.seq);
    assert_eq!(Some(early.effect), row.map(Effect::Commit), "no earlier than the row");
    let commits = w.stored(records);
    assert_eq!(commits.effect, Effect::Commit(w.table.seq()));
}

#[test]
fn t1_to_record_nothing_is_to_wait_for_nothing() {
    let mut w = World::new();
    let keys = Keys::default();
    let subject = Subject::new(ADA, &keys);
    let answer = w.table.answer(subject, Op::Record { account: A, seen: None }, w.now);
    assert_eq!((answer, w.table.pin_count()), (Answer::Recorded(Seq(0)), 0));
}

#[test]
fn t2_restored_pins_are_the_pins_that_were() {
    let mut w = World::new();
    w.record(ADA, "r1", A, None);
    w.record(BOB, "b1", B, None);
    let pins: Vec<_> = w.table.pins().copied().collect();
    assert_eq!(pins.iter().map(|pin| pin.tenant).collect::<Vec<_>>(), [ADA, BOB]);
    w.table = Table::new(Caps::default());
    let twice = Pin { account: C, ..pins[0] };
    w.table.restore_pins(pins.iter().copied().chain([twice]));
    assert_eq!((w.table.pin_count(), w.table.check()), (2, Ok(())));
    assert_eq!(w.pinned(ADA, &["r1"]), Pinned::At { account: A, anchor: 0 }, "the first one stands");
    assert_eq!(w.table.take_changes().0, []);
}

#[test]
fn b12_a_refused_completion_without_an_anchor_records_nothing() {
    let mut w = World::new();
    let step = w.start(w.request("s"));
    let step = w.stored(step);
    w.table.erase(Scope::Tenant(ADA));
    let step = w.go(step, Reply::Served { issued: false });
    let refused = w.does(&step);
    assert_eq!(refused, Answer::Refused(Refusal::Erased));
    let step = w.go(step, Reply::Store(refused));
    assert_eq!((step.effect, step.note), (Effect::Done(Outcome::Served), Note::Unwritten(Refusal::Erased)));
}

/// Found by the simulator: the second completion saw the erasure and forgot to wait for the pin that the first had recorded.
#[test]
fn b15_a_success_written_twice_waits_for_its_pin_also_when_a_row_was_cleared_in_between() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    w.issued = Some(anchor("r1"));
    let step = w.start(w.request("s"));
    let step = w.stored(step);
    let step = w.go(step, Reply::Served { issued: true });
    w.does(&step);
    let recorded = w.table.seq();
    let row = w.row(&header("s")).map(|row| row.id).unwrap();
    w.table.erase(Scope::Row(ADA, row));
    let step = w.go(step, Reply::Store(Answer::Unknown));
    let step = w.stored(step);
    let Effect::Commit(seq) = step.effect else { panic!("{:?}", step.effect) };
    assert!(seq >= recorded, "{seq:?} is before {recorded:?}");
}
