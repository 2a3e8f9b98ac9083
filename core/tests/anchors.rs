//! Hard pins (R1, B12, B13, B17): found, recorded, foreign, apart, forgotten, bounded.

mod bench;

use bench::{ADA, BOB, Bench, account};
use homing_core::failure::Failure;
use homing_core::fleet::{Out, Standing};
use homing_core::ids::{AccountId, RowId, Seq, TenantId};
use homing_core::key::{Digest, Keys};
use homing_core::pin::{ANCHOR_VALUE_MAX, AnchorKind, PIN_TTL, Pin, Pinned, anchor_digest};
use homing_core::row::{Change, Scope};
use homing_core::settings::Caps;
use homing_core::store::{Answer, Op, Subject};
use homing_core::table::Table;
use homing_core::time::{Millis, Time};
use homing_core::turn::{Effect, Note, Outcome, Reply, Request};

fn response(id: &str) -> Digest {
    anchor_digest(AnchorKind::Response, id.as_bytes()).unwrap()
}

fn file(id: &str) -> Digest {
    anchor_digest(AnchorKind::File, id.as_bytes()).unwrap()
}

/// A request whose success brings the anchor, on whatever account serves it.
fn issues(b: &mut Bench, session: &str, anchor: Digest) -> Vec<u32> {
    b.anchors.clear();
    b.issued = Some(anchor);
    let dialled = b.turn(session);
    b.issued = None;
    dialled
}

fn names(b: &mut Bench, session: &str, anchors: &[Digest]) -> (Vec<u32>, Outcome) {
    b.anchors = anchors.to_vec();
    let request = b.request(session);
    b.run(request)
}

fn record(table: &mut Table, tenant: TenantId, anchor: Digest, account: AccountId, now: Time) -> Answer {
    let keys = Keys::default();
    let subject = Subject { issued: Some(anchor), ..Subject::new(tenant, &keys) };
    let answer = table.answer(subject, Op::Record { account, seen: None }, now);
    assert_eq!(table.check(), Ok(()));
    answer
}

#[test]
fn an_anchor_is_its_kind_and_its_value() {
    assert_ne!(response("x"), file("x"));
    assert_eq!(anchor_digest(AnchorKind::File, b" x "), Some(file("x")));
    assert!(anchor_digest(AnchorKind::File, &[b'x'; ANCHOR_VALUE_MAX]).is_some());
    for bad in [b"".as_slice(), b"a\0", b"\xff", &[b'x'; ANCHOR_VALUE_MAX + 1]] {
        assert_eq!(anchor_digest(AnchorKind::File, bad), None, "{bad:?}");
    }
}

#[test]
fn r1_what_an_account_issued_goes_back_to_it_with_and_without_a_session() {
    for session in ["", "s"] {
        let mut b = Bench::new(3);
        assert_eq!(issues(&mut b, session, response("r1")), [1]);
        b.anchors.clear();
        b.turn("");
        assert_eq!(names(&mut b, "", &[response("r1")]), (vec![1], Outcome::Served));
        assert_eq!(names(&mut b, "another", &[file("nobody's"), response("r1")]), (vec![1], Outcome::Served));
        assert_ne!(names(&mut b, "", &[response("unknown")]).0, [1], "an id nobody recorded is no pin");
    }
}

#[test]
fn r1_a_pin_is_never_failed_over_and_the_client_learns_which_anchor_to_drop() {
    let mut b = Bench::new(3);
    issues(&mut b, "", file("f"));
    b.replies = vec![Reply::Failed(Failure::Server { retry_after: None })];
    assert_eq!(names(&mut b, "", &[file("f")]), (vec![1], Outcome::Relay));
    b.fleet.set(account(1), Standing::Disabled);
    let out = Outcome::PinOut { anchor: Some(1), out: Out::Soon { retry_after: Millis::secs(1) } };
    assert_eq!(names(&mut b, "", &[file("nobody's"), file("f")]), (vec![], out));
    // A connection that pins has no anchor to drop.
    b.anchors.clear();
    let request = Request { pin: Some(account(1)), ..b.request("") };
    assert!(matches!(b.run(request).1, Outcome::PinOut { anchor: None, .. }));
    // An account that is gone for good still has its pins: the client is told, not sent elsewhere.
    b.fleet.remove(account(1));
    b.table.erase(Scope::Account(account(1)));
    assert!(
        matches!(names(&mut b, "", &[file("f")]), (dialled, Outcome::PinOut { anchor: Some(0), .. }) if dialled.is_empty())
    );
}

#[test]
fn b14_an_id_of_another_tenant_is_not_found_and_never_dialled() {
    let mut b = Bench::new(2);
    record(&mut b.table, BOB, response("bob's"), account(2), b.now);
    issues(&mut b, "", file("mine"));
    for (anchors, place) in [(vec![response("bob's")], 0), (vec![file("mine"), response("bob's")], 1)] {
        assert_eq!(names(&mut b, "s", &anchors), (vec![], Outcome::NotFound { anchor: place }));
    }
    // Nor does a second record take it over.
    record(&mut b.table, ADA, response("bob's"), account(1), b.now);
    assert_eq!(names(&mut b, "s", &[response("bob's")]), (vec![], Outcome::NotFound { anchor: 0 }));
}

#[test]
fn r1_anchors_of_two_accounts_fit_no_request() {
    let mut b = Bench::new(2);
    assert_eq!(issues(&mut b, "", file("one")), [1]);
    assert_eq!(issues(&mut b, "", response("two")), [2]);
    let anchors = [file("one"), file("nobody's"), response("two")];
    assert_eq!(names(&mut b, "s", &anchors), (vec![], Outcome::Apart { anchor: 2 }));
    assert_eq!(names(&mut b, "s", &[file("one"), file("one")]).1, Outcome::Served);
}

#[test]
fn r1_a_store_that_cannot_answer_is_not_an_unknown_anchor() {
    let mut b = Bench::new(2);
    issues(&mut b, "", file("f"));
    b.ops.clear();
    b.instead = vec![Some(Answer::Unknown); 3];
    assert_eq!(names(&mut b, "s", &[file("f")]), (vec![], Outcome::PinsUnknown));
    assert_eq!(b.ops, [Op::FindPins; 3]);
    b.instead = vec![Some(Answer::Unknown); 2];
    assert_eq!(names(&mut b, "s", &[file("f")]), (vec![1], Outcome::Served), "it was there at the third reading");
}

#[test]
fn b17_a_pinned_success_binds_where_no_row_is_and_moves_none() {
    let mut b = Bench::new(3);
    issues(&mut b, "", file("f"));
    assert_eq!(names(&mut b, "s", &[file("f")]).0, [1]);
    b.anchors.clear();
    assert_eq!(b.turn("s"), [1], "bound to the pinned account");
    assert_eq!(b.turn("t"), [2]);
    assert_eq!(names(&mut b, "t", &[file("f")]).0, [1]);
    b.anchors.clear();
    assert_eq!(b.turn("t"), [2], "its row did not move");
}

#[test]
fn b15_the_end_rests_on_the_pin_whatever_became_of_the_row() {
    // The completion is refused, because the tenant's row was cleared meanwhile: the pin is recorded all the same.
    let mut b = Bench::new(2);
    b.turn("s");
    b.issued = Some(response("r"));
    let request = b.request("s");
    let mut step = b.start(request);
    while !matches!(step.effect, Effect::Dial { .. }) {
        let reply = b.reply(&step);
        step = b.resume(step, reply);
    }
    let row = b.table.rows().next().unwrap().id;
    b.table.erase(Scope::Row(ADA, row));
    b.ops.clear();
    let mut rested = Vec::new();
    while !matches!(step.effect, Effect::Done(_)) {
        if let Effect::Commit(seq) = step.effect {
            rested.push(seq);
        }
        let reply = b.reply(&step);
        step = b.resume(step, reply);
    }
    assert!(matches!(b.ops[..], [Op::Complete { .. }, Op::Record { .. }]), "{:?}", b.ops);
    // The tenant's erasure came after the plan, which knew of none: by the letter of B12 nothing is recorded either.
    assert_eq!(rested, [Seq(0)]);
    // A plan that outlived no erasure rests on its pin.
    let mut b = Bench::new(2);
    b.issued = Some(response("r"));
    let request = b.request("");
    let mut step = b.start(request);
    while !matches!(step.effect, Effect::Commit(_)) {
        let reply = b.reply(&step);
        step = b.resume(step, reply);
    }
    let pins = b.table.take_changes();
    assert!(matches!(pins.0[..], [Change::PutPin(Pin { tenant: ADA, .. })]));
    assert_eq!((step.effect, step.note), (Effect::Commit(pins.1), Note::Recorded));
}

#[test]
fn an_unknown_record_is_asked_again_and_given_up_in_the_end() {
    let mut b = Bench::new(1);
    b.issued = Some(file("f"));
    b.instead = vec![Some(Answer::Unknown); 2];
    let request = b.request("");
    assert_eq!(b.run(request).1, Outcome::Served);
    assert_eq!((b.ops.len(), b.table.pin_count()), (3, 1), "asked three times, recorded once");
    b.instead = vec![Some(Answer::Unknown); 3];
    let request = b.request("");
    let mut step = b.start(request);
    while !matches!(step.effect, Effect::Done(_)) {
        let reply = b.reply(&step);
        step = b.resume(step, reply);
    }
    assert_eq!(step.note, Note::EndsUndurable);
}

#[test]
fn a_pin_ends_after_thirty_days_and_its_anchor_is_free() {
    let mut b = Bench::new(2);
    issues(&mut b, "", file("f"));
    b.wait(Millis(PIN_TTL.0 - 1));
    assert_eq!(names(&mut b, "", &[file("f")]).0, [1]);
    b.wait(Millis(1));
    assert_eq!(names(&mut b, "", &[file("f")]).0, [2], "it goes where the strategy says");
    b.table.take_changes();
    record(&mut b.table, BOB, file("f"), account(2), b.now);
    let (changes, _) = b.table.take_changes();
    assert!(matches!(changes[..], [Change::DropPin(_), Change::PutPin(Pin { tenant: BOB, .. })]), "{changes:?}");
    b.wait(PIN_TTL);
    assert_eq!((b.table.purge(b.now), b.table.purge(b.now), b.table.pin_count()), (1, 0, 0));
}

#[test]
fn b12_a_deleted_tenant_s_pins_go_and_no_plan_brings_one_back() {
    let mut b = Bench::new(2);
    issues(&mut b, "", file("f"));
    record(&mut b.table, BOB, file("bob's"), account(1), b.now);
    b.issued = Some(response("late"));
    let request = b.request("s");
    let step = b.start(request);
    let looked = b.reply(&step);
    b.table.erase(Scope::Tenant(ADA));
    assert_eq!(b.table.pins().map(|p| p.tenant).collect::<Vec<_>>(), [BOB]);
    let step = b.resume(step, looked);
    assert_eq!(b.finish(step).1, Outcome::Served);
    assert_eq!(b.table.pins().map(|p| p.tenant).collect::<Vec<_>>(), [BOB]);
}

#[test]
fn b13_pins_are_bounded_a_tenant_s_oldest_go_first_and_the_largest_tenant_gives_way() {
    let mut table = Table::new(Caps { total: 5, tenant: 3 });
    let at = |n: u64| Time(1_000 + n);
    for n in 0..4 {
        record(&mut table, ADA, file(&n.to_string()), account(1), at(n));
    }
    let anchors =
        |table: &Table, tenant| table.pins().filter(|p| p.tenant == tenant).map(|p| p.anchor).collect::<Vec<_>>();
    assert_eq!(anchors(&table, ADA), [file("1"), file("2"), file("3")]);
    for n in 10..13 {
        record(&mut table, BOB, file(&n.to_string()), account(1), at(n));
    }
    assert_eq!(anchors(&table, ADA), [file("2"), file("3")], "the tenant that held most gave one");
    assert_eq!(anchors(&table, BOB).len(), 3);
    let (mut copy, _) = Table::restore(Caps::default(), RowId(1), [], []);
    copy.restore_pins(table.pins().copied());
    copy.restore_pins([Pin { tenant: TenantId(9), ..*table.pins().next().unwrap() }]);
    assert_eq!(copy.pins().collect::<Vec<_>>(), table.pins().collect::<Vec<_>>(), "an anchor has one owner");
}

#[test]
fn the_anchors_of_nobody_say_nowhere() {
    let mut b = Bench::new(1);
    let keys = Keys::default();
    let subject = Subject { anchors: &[file("f")], ..Subject::new(ADA, &keys) };
    let epoch = b.table.epoch();
    assert_eq!(b.table.answer(subject, Op::FindPins, b.now), Answer::Pins { found: Pinned::Nowhere, epoch });
    assert_eq!(
        b.table.answer(Subject::new(ADA, &keys), Op::Record { account: account(1), seen: None }, b.now),
        Answer::Recorded(Seq(0))
    );
    assert_eq!(b.table.pin_count(), 0);
}
