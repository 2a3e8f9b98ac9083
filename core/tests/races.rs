//! A store that is raced (PostgreSQL): the loser is told only that it lost, and reads again in a new statement (B4, B5).

mod world;

use homing_core::fleet::Standing;
use homing_core::store::{Answer, Completion, Op, Subject};
use homing_core::turn::{Effect, Note, Outcome, Reason, Reply};
use world::{A, ADA, B, C, TTL, World, header};

#[test]
fn b4_a_loser_that_is_told_nothing_reads_again_and_follows() {
    let mut w = World::new();
    let step = w.start(w.request("s"));
    let looked = w.does(&step);
    let step = w.go(step, Reply::Store(looked));
    assert!(matches!(step.effect, Effect::Store(Op::Reserve { .. })));
    w.reserved(&header("s"), B);
    let step = w.go(step, Reply::Store(Answer::Raced));
    assert_eq!((step.effect, step.note), (Effect::Store(Op::Look), Note::LostRace));
    let end = w.finish(step);
    assert_eq!((end.dialled, end.reason, end.outcome), (vec![B], Reason::Joined, Outcome::Served));
}

/// A home that may not be used, and a request that has proposed another account and is told that it lost.
fn loses_to(w: &mut World, winner: homing_core::ids::AccountId) -> homing_core::turn::Step {
    w.bound(&header("s"), A);
    w.fleet.set(A, Standing::Disabled);
    let step = w.start(w.request("s"));
    let looked = w.does(&step);
    let step = w.go(step, Reply::Store(looked));
    let Effect::Store(Op::Pend { fence, expect, .. }) = step.effect else { panic!("{:?}", step.effect) };
    let pend = Op::Pend { fence, expect, next: winner };
    w.table.answer(Subject::new(ADA, &header("s")), pend, w.now);
    step
}

#[test]
fn b5_the_loser_of_a_failover_follows_the_winner() {
    let mut w = World::new();
    let step = loses_to(&mut w, C);
    let step = w.go(step, Reply::Store(Answer::Raced));
    let end = w.finish(step);
    assert_eq!((end.dialled, end.reason), (vec![C], Reason::Converged));
    assert_eq!(w.home(&header("s")), Some(C));
}

#[test]
fn b5_a_loser_that_cannot_follow_goes_on_without_writing_and_its_success_still_counts() {
    let mut w = World::new();
    let step = loses_to(&mut w, C);
    w.fleet.set(C, Standing::Disabled);
    let step = w.go(step, Reply::Store(Answer::Raced));
    let end = w.finish(step);
    assert_eq!((end.dialled, end.reason), (vec![B], Reason::FailedOver));
    assert!(!end.notes.iter().any(|note| matches!(note, Note::Diverts { .. })), "{:?}", end.notes);
    assert_eq!(w.home(&header("s")), Some(B));
}

#[test]
fn a_turn_that_loses_for_ever_goes_on_without_memory() {
    let mut w = World::new();
    let mut step = w.start(w.request("s"));
    let mut asked = 0;
    while let Effect::Store(op) = step.effect {
        asked += 1;
        let answer = match op {
            Op::Look => Answer::Looked { view: None, epoch: w.table.epoch() },
            _ => Answer::Raced,
        };
        step = w.go(step, Reply::Store(answer));
    }
    assert_eq!((asked, step.note), (6, Note::Goes(Reason::Guessed)));
    assert_eq!(w.finish(step).outcome, Outcome::Served);
    assert!(w.table.is_empty());
}

#[test]
fn a_completion_that_may_make_no_row_makes_none() {
    let mut w = World::new();
    let seen = w.table.epoch();
    let op = Op::Complete { fence: None, account: A, seen, ttl: TTL, pinned: false, inserts: false };
    let answer = w.table.answer(Subject::new(ADA, &header("s")), op, w.now);
    assert!(matches!(answer, Answer::Completed { how: Completion::Stale, .. }), "{answer:?}");
    assert!(w.table.is_empty());
}
