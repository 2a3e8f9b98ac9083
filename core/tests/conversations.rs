//! The conversation policy (spec §2), and what pools, draining and a lost store do to routing.

mod bench;

use bench::{ADA, Bench, account};
use homing_core::failure::Failure;
use homing_core::fleet::{Out, Standing};
use homing_core::ids::PoolId;
use homing_core::key::{CONVERSATION_VALUE_MAX, ConversationScope, Keys, Policy, SignalKind};
use homing_core::row::Scope;
use homing_core::store::{Answer, Completion, Op};
use homing_core::time::Millis;
use homing_core::turn::{Effect, Note, Outcome, Reason, Reply, Request};

const POOL: PoolId = PoolId(7);
const DAY: Millis = Millis::secs(24 * 3600);

fn scope<'a>(api_key: &'a str, model: &'a str) -> ConversationScope<'a> {
    ConversationScope { pool: POOL, api_key, model }
}

fn conversation(api_key: &str, model: &str, thread: &str) -> Option<Keys> {
    Keys::conversation(&scope(api_key, model), &[thread.as_bytes()], &[])
}

/// A process whose pool has the policy on, and a request of a conversation that also names a session.
fn bench() -> Bench {
    let mut b = Bench::new(3);
    for id in 1..=3 {
        b.fleet.assign(account(id), &[POOL]);
    }
    b.settings.conversation = Some(DAY);
    b
}

fn asks(b: &Bench, conversation: Option<Keys>) -> Request {
    Request { pool: POOL, conversation, ..b.request("the-session") }
}

#[test]
fn k1_the_first_header_present_decides_and_a_bad_one_gives_no_identity() {
    let s = scope("key", "m");
    let thread = Keys::conversation(&s, &[b" t "], &[b"c"]).unwrap();
    assert_eq!(thread.iter().next().map(|k| k.kind), Some(SignalKind::ThreadHeader));
    assert_eq!(Keys::conversation(&s, &[b"t"], &[]), Some(thread), "trimmed, and the other header does not count");
    let other = Keys::conversation(&s, &[], &[b"t"]).unwrap();
    assert_eq!(other.iter().next().map(|k| k.kind), Some(SignalKind::ConversationHeader));
    assert!(!other.has(&thread.iter().next().unwrap().digest), "K2: the header's name is the class");
    for present in [vec![b"".as_slice()], vec![b"a\nb"], vec![b"\xff"], vec![b"a", b"a"], vec![b"a", b"b"]] {
        assert_eq!(Keys::conversation(&s, &present, &[b"c"]), None, "{present:?}");
    }
    let longest = vec![b'x'; CONVERSATION_VALUE_MAX];
    assert!(Keys::conversation(&s, &[longest.as_slice()], &[]).is_some());
    let too_long = vec![b'x'; CONVERSATION_VALUE_MAX + 1];
    assert_eq!(Keys::conversation(&s, &[too_long.as_slice()], &[b"c"]), None);
    assert_eq!(Keys::conversation(&s, &[], &[]), None);
}

#[test]
fn k2_pool_key_model_and_policy_are_scope() {
    let digest = |keys: Option<Keys>| keys.unwrap().iter().next().unwrap().digest;
    let here = digest(conversation("key", "m", "t"));
    assert_ne!(here, digest(conversation("other", "m", "t")), "a key reset is another conversation");
    assert_ne!(here, digest(conversation("key", "n", "t")), "another model is another conversation");
    let elsewhere = ConversationScope { pool: PoolId(8), api_key: "key", model: "m" };
    assert_ne!(here, digest(Keys::conversation(&elsewhere, &[b"t"], &[])));
    let session = Keys::session("key", [(SignalKind::SessionHeader, b"t".as_slice())]);
    assert!(!session.has(&here));
    assert_eq!((session.policy(), session.pool()), (Policy::Session, None));
    assert_eq!(conversation("key", "m", "t").map(|k| (k.policy(), k.pool())), Some((Policy::Conversation, Some(POOL))));
}

#[test]
fn a_conversation_counts_instead_of_the_session_also_on_a_miss() {
    let mut b = bench();
    let request = asks(&b, conversation("key", "m", "t"));
    assert_eq!(b.run(request), (vec![1], Outcome::Served));
    let rows: Vec<_> = b.table.rows().map(|r| (r.policy(), r.pool, r.keys.count())).collect();
    assert_eq!(rows, [(Policy::Conversation, Some(POOL), 1)], "no session row was read or written");
    // Without that identity, and with the policy off, the session counts.
    let request = asks(&b, None);
    assert_eq!(b.run(request).0, [2]);
    b.settings.conversation = None;
    let request = asks(&b, conversation("key", "m", "t"));
    assert_eq!(b.run(request).0, [2]);
    assert_eq!(b.table.len(), 2);
}

#[test]
fn b3_a_conversation_comes_home_for_its_own_time_to_live() {
    let mut b = bench();
    b.settings.ttl = Millis::secs(60);
    let request = asks(&b, conversation("key", "m", "t"));
    b.run(request);
    b.wait(Millis(DAY.0 - 1));
    let request = asks(&b, conversation("key", "m", "t"));
    assert_eq!(b.run(request).0, [1]);
    b.wait(DAY);
    let request = asks(&b, conversation("key", "m", "t"));
    assert_eq!(b.run(request).0, [2], "expired is gone (B8)");
}

#[test]
fn b8_a_conversation_that_expired_mid_turn_gets_no_row_and_a_session_gets_a_new_one() {
    for (policy, rows) in [(Policy::Conversation, 0), (Policy::Session, 1)] {
        let mut b = bench();
        b.settings.ttl = DAY;
        let request = asks(&b, conversation("key", "m", "t").filter(|_| policy == Policy::Conversation));
        let mut step = b.start(request);
        while !matches!(step.effect, Effect::Dial { .. }) {
            let reply = b.reply(&step);
            step = b.resume(step, reply);
        }
        b.wait(DAY);
        assert_eq!(b.finish(step), (vec![1], Outcome::Served));
        while b.table.purge(b.now) > 0 {}
        assert_eq!(b.table.len(), rows, "{policy:?}");
    }
}

#[test]
fn b16_once_the_policy_is_off_no_plan_from_before_makes_a_row() {
    // Off between the look-up and the reservation: it goes on without one.
    let mut b = Bench::new(2);
    let request = b.request("s");
    let step = b.start(request);
    b.settings.session_affinity = false;
    let reply = b.reply(&step);
    let step = b.resume(step, reply);
    assert_eq!(
        (step.effect, step.note),
        (Effect::Dial { account: account(1), attempt: 1 }, Note::Goes(Reason::Unremembered))
    );
    assert_eq!(b.finish(step).1, Outcome::Served);
    assert!(b.table.is_empty());
    // Off while it is under way: its fenced write is finished.
    let mut b = Bench::new(2);
    let request = b.request("s");
    let mut step = b.start(request);
    while !matches!(step.effect, Effect::Dial { .. }) {
        let reply = b.reply(&step);
        step = b.resume(step, reply);
    }
    b.settings.session_affinity = false;
    assert_eq!(b.finish(step).1, Outcome::Served);
    assert_eq!(b.table.held_by(ADA), (0, 1));
}

#[test]
fn b6_a_deleted_pool_takes_its_conversations_and_no_plan_brings_one_back() {
    let mut b = bench();
    let request = asks(&b, conversation("key", "m", "t"));
    b.run(request);
    let request = asks(&b, None);
    b.run(request);
    let late = conversation("key", "m", "late");
    let request = asks(&b, late);
    let step = b.start(request);
    let looked = b.reply(&step);
    assert_eq!(b.table.erase(Scope::Pool(POOL)), 1, "the session stays");
    let step = b.resume(step, looked);
    assert_eq!(b.finish(step).1, Outcome::Served);
    assert_eq!(b.table.rows().filter(|r| r.policy() == Policy::Conversation).count(), 0);
    assert!(matches!(b.ops.last(), Some(Op::Complete { .. })), "it tried");
    let request = asks(&b, late);
    b.run(request);
    assert_eq!(b.table.len(), 2, "a new plan may");
}

#[test]
fn b17_a_home_outside_the_pool_is_not_eligible_and_the_next_success_moves_it() {
    let mut b = Bench::new(3);
    assert_eq!(b.turn("s"), [1]);
    b.fleet.assign(account(2), &[POOL, PoolId::DEFAULT]);
    b.fleet.assign(account(3), &[POOL]);
    let moved = Request { pool: POOL, ..b.request("s") };
    assert_eq!(b.run(moved).0, [2]);
    assert_eq!(b.table.rows().map(|r| (r.id.0, r.account.0)).collect::<Vec<_>>(), [(1, 2)], "the row is kept");
    assert_eq!(b.turn("s"), [2], "it may be in several pools");
    let nobody = Request { pool: PoolId(99), ..b.request("s") };
    assert_eq!(b.run(nobody), (vec![], Outcome::Out(Out::Empty)));
}

#[test]
fn r2_a_draining_account_serves_its_homes_alone() {
    let mut b = Bench::new(2);
    assert_eq!(b.turn("s"), [1]);
    b.fleet.set(account(1), Standing::Draining);
    assert_eq!((b.turn("s"), b.turn("new"), b.turn("")), (vec![1], vec![2], vec![2]));
    // A reservation is no home.
    let mut b = Bench::new(2);
    b.replies = vec![Reply::Failed(Failure::Request)];
    let request = b.request("s");
    assert_eq!(b.run(request), (vec![1], Outcome::Relay));
    b.fleet.set(account(1), Standing::Draining);
    assert_eq!(b.turn("s"), [2]);
    // A refused credential counts for it as for any other.
    b.fleet.set(account(2), Standing::Draining);
    b.replies = vec![Reply::Failed(Failure::AccountRefused)];
    let request = b.request("s");
    b.run(request);
    assert_eq!(b.fleet.get(account(2)).map(|a| a.standing), Some(Standing::Refused));
}

#[test]
fn t3_without_a_store_the_last_home_seen_else_the_key_decides_and_nothing_is_bound() {
    let lost = vec![Some(Answer::Unknown); 3];
    let mut b = Bench::new(5);
    let mut homes = std::collections::BTreeSet::new();
    for session in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        b.instead = lost.clone();
        let first = b.turn(session);
        b.instead = lost.clone();
        assert_eq!(b.turn(session), first, "the same in every process: {session}");
        homes.insert(first);
        b.instead = lost.clone();
        let seen = Request { last_seen: Some(account(4)), ..b.request(session) };
        assert_eq!(b.run(seen).0, [4]);
    }
    assert!(homes.len() >= 3, "keys spread: {homes:?}");
    assert!(b.table.is_empty());
    assert!(b.ops.iter().all(|op| *op == Op::Look));
    // One that went moves only what it had.
    b.instead = lost.clone();
    let before = b.turn("a");
    let other = (1..=5).find(|id| vec![*id] != before).unwrap();
    b.fleet.set(account(other), Standing::Disabled);
    b.instead = lost;
    assert_eq!(b.turn("a"), before);
}

#[test]
fn b5_a_loser_that_is_told_nothing_reads_again_and_follows() {
    // Another request reserved account 2 meanwhile; the store only says that the race is lost.
    let mut b = Bench::new(3);
    let request = b.request("s");
    let mut step = b.start(request);
    let looked = b.reply(&step);
    step = b.resume(step, looked);
    let other = Op::Reserve { account: account(2), seen: b.table.epoch(), ttl: DAY };
    let keys = b.request("s").keys;
    b.table.answer(homing_core::store::Subject::new(ADA, &keys), other, b.now);
    step = b.resume(step, Reply::Store(Answer::Raced));
    assert_eq!((step.effect, step.note), (Effect::Store(Op::Look), Note::LostRace));
    assert_eq!(b.finish(step), (vec![2], Outcome::Served));
}

#[test]
fn b5_a_loser_that_cannot_follow_goes_on_without_writing() {
    let mut b = Bench::new(4);
    b.turn("s");
    b.fleet.set(account(1), Standing::Disabled);
    let request = b.request("s");
    let mut step = b.start(request);
    for _ in 0..1 {
        let reply = b.reply(&step);
        step = b.resume(step, reply);
    }
    let Effect::Store(Op::Pend { fence, expect, .. }) = step.effect else { panic!("{:?}", step.effect) };
    // Another request proposed account 3, which nobody may use.
    let keys = b.request("s").keys;
    let pend = Op::Pend { fence, expect, next: account(3) };
    b.table.answer(homing_core::store::Subject::new(ADA, &keys), pend, b.now);
    b.fleet.set(account(3), Standing::Disabled);
    step = b.resume(step, Reply::Store(Answer::Raced));
    b.ops.clear();
    let (dialled, outcome) = b.finish(step);
    assert_eq!(outcome, Outcome::Served);
    assert!(dialled == [2] || dialled == [4], "{dialled:?}");
    assert!(!b.ops.iter().any(|op| matches!(op, Op::Pend { .. })), "{:?}", b.ops);
    assert!(matches!(b.ops.last(), Some(Op::Complete { .. })), "its success still counts (B5)");
    assert_eq!(b.table.rows().map(|r| r.account.0).collect::<Vec<_>>(), dialled);
}

#[test]
fn a_turn_that_loses_for_ever_goes_on_without_memory() {
    let mut b = Bench::new(2);
    let request = b.request("s");
    let mut step = b.start(request);
    let mut asked = 0;
    while let Effect::Store(op) = step.effect {
        asked += 1;
        let answer = match op {
            Op::Look => Answer::Looked { view: None, epoch: b.table.epoch() },
            _ => Answer::Raced,
        };
        step = b.resume(step, Reply::Store(answer));
    }
    assert_eq!((asked, step.note), (6, Note::Goes(Reason::Guessed)));
    assert!(matches!(b.finish(step).1, Outcome::Served));
    assert!(b.table.is_empty());
}

#[test]
fn a_completion_that_may_make_no_row_makes_none() {
    let mut b = Bench::new(2);
    let keys = b.request("s").keys;
    let seen = b.table.epoch();
    let op = Op::Complete { fence: None, account: account(1), seen, ttl: DAY, pinned: false, inserts: false };
    let answer = b.table.answer(homing_core::store::Subject::new(ADA, &keys), op, b.now);
    assert!(matches!(answer, Answer::Completed { how: Completion::Stale, .. }), "{answer:?}");
    assert!(b.table.is_empty());
}
