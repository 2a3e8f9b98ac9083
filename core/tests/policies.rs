//! Which policy applies, pools and draining accounts, and what is done where no store answers (spec §2, B8, B16, B17, R2, T3).

mod world;

use homing_core::failure::Failure;
use homing_core::fleet::{Out, Standing};
use homing_core::ids::{AccountId, PoolId};
use homing_core::key::{Keys, Policy};
use homing_core::row::{Change, EpochScope, Scope, State};
use homing_core::store::{Answer, Completion, Op, Refusal, Subject};
use homing_core::time::Millis;
use homing_core::turn::{Effect, Note, Outcome, Reason, Reply, Request};
use world::{A, ADA, B, C, SERVER, START, TTL, World, conversation, dials, header};

const TEAM: PoolId = PoolId(5);
const DAY: Millis = Millis::secs(24 * 3_600);
const SERVED: Reply = Reply::Served { issued: false };

impl World {
    /// The conversation policy is on.
    fn conversing() -> Self {
        let mut world = Self::new();
        world.settings.conversation = Some(DAY);
        world
    }

    /// A request that names a session and a conversation.
    fn talk(&self, session: &str, thread: &str) -> Request {
        Request { conversation: Some(conversation(PoolId::DEFAULT, thread)), ..self.request(session) }
    }

    /// A request up to its dial.
    fn dialled(&mut self, request: Request) -> homing_core::turn::Step {
        let step = self.start(request);
        self.stored(step)
    }
}

fn thread(name: &str) -> Keys {
    conversation(PoolId::DEFAULT, name)
}

#[test]
fn a_conversation_counts_instead_of_the_session_where_its_policy_is_on() {
    let mut w = World::conversing();
    w.bound(&header("s"), B);
    let end = w.run(w.talk("s", "t"));
    assert_eq!((end.dialled, end.reason), (vec![A], Reason::Reserved), "also on a miss no session is read");
    assert_eq!((w.home(&thread("t")), w.home(&header("s"))), (Some(A), Some(B)));
    let row = w.row(&thread("t")).unwrap();
    assert_eq!((row.policy(), row.pool, row.expires), (Policy::Conversation, Some(PoolId::DEFAULT), START.plus(DAY)));
    assert_eq!(w.run(w.talk("another", "t")).reason, Reason::Home);
    assert_eq!(w.run(w.request("s")).dialled, [B], "a request without one goes by its session");
}

#[test]
fn a_conversation_is_nothing_where_its_policy_is_off() {
    let mut w = World::new();
    w.run(w.talk("s", "t"));
    assert_eq!((w.home(&thread("t")), w.home(&header("s"))), (None, Some(A)));
    assert_eq!(w.row(&header("s")).map(|row| (row.policy(), row.pool)), Some((Policy::Session, None)));
}

#[test]
fn b16_either_policy_is_switched_off_alone() {
    let mut w = World::conversing();
    w.settings.session_affinity = false;
    w.run(w.talk("s", "t"));
    w.run(w.request("s"));
    assert_eq!((w.home(&thread("t")), w.home(&header("s"))), (Some(A), None));
}

#[test]
fn b16_a_plan_admitted_before_makes_no_reservation_once_the_policy_is_off() {
    let mut w = World::new();
    let looks = w.start(w.request("s"));
    w.settings.session_affinity = false;
    let dial = w.stored(looks);
    assert_eq!((dials(&dial), dial.turn.reason()), (Some(A), Reason::Unremembered));
    assert_eq!(w.finish(dial).outcome, Outcome::Served);
    assert!(w.table.is_empty(), "nor does its success make a row");
}

#[test]
fn b16_a_plan_admitted_before_still_binds_what_it_reserved() {
    let mut w = World::new();
    let dial = w.dialled(w.request("s"));
    w.settings.session_affinity = false;
    w.finish(dial);
    assert_eq!(w.row(&header("s")).map(|row| row.state), Some(State::Bound));
}

#[test]
fn b8_a_turn_longer_than_the_time_to_live_still_gets_its_session_a_home() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    let dial = w.dialled(w.request("s"));
    w.wait(TTL);
    let end = w.finish(dial);
    assert!(end.notes.contains(&Note::Wrote(Completion::Inserted)));
    assert_eq!(w.home(&header("s")), Some(A));
}

#[test]
fn b8_an_expired_conversation_gets_nothing_from_an_old_plan() {
    let mut w = World::conversing();
    w.run(w.talk("s", "t"));
    let dial = w.dialled(w.talk("s", "t"));
    w.wait(DAY);
    let end = w.finish(dial);
    assert!(end.notes.contains(&Note::Wrote(Completion::Stale)), "{:?}", end.notes);
    assert_eq!(w.home(&thread("t")), None);
}

#[test]
fn b8_a_conversation_that_had_no_row_gets_one() {
    let mut w = World::conversing();
    let looks = w.start(w.talk("s", "t"));
    let answer = w.does(&looks);
    let reserves = w.go(looks, Reply::Store(answer));
    let dial = w.go(reserves, Reply::Store(Answer::Refused(Refusal::Full)));
    let end = w.finish(dial);
    assert!(end.notes.contains(&Note::Wrote(Completion::Inserted)));
}

#[test]
fn a_pool_that_is_deleted_takes_its_conversations_alone() {
    let mut w = World::new();
    let ours = conversation(TEAM, "t");
    let seen = w.table.epoch();
    for keys in [&ours, &thread("t"), &header("s")] {
        w.bound(keys, A);
    }
    w.table.take_changes();
    assert_eq!(w.table.erase(Scope::Pool(TEAM)), 1);
    assert_eq!(w.table.take_changes().0[0], Change::Erased(EpochScope::Pool(TEAM), w.table.epoch()));
    assert_eq!([&ours, &thread("t"), &header("s")].map(|keys| w.home(keys)), [None, Some(A), Some(A)]);
    // B6: a plan from before the deletion writes nothing back, and no other pool is held up.
    let reserve = |w: &mut World, keys: &Keys, seen| {
        w.table.answer(Subject::new(ADA, keys), Op::Reserve { account: A, seen, ttl: TTL }, START)
    };
    assert_eq!(reserve(&mut w, &ours, seen), Answer::Refused(Refusal::Erased));
    assert!(matches!(reserve(&mut w, &thread("new"), seen), Answer::Reserved(_)));
    assert!(matches!(reserve(&mut w, &header("new"), seen), Answer::Reserved(_)));
    let now = w.table.epoch();
    assert!(matches!(reserve(&mut w, &ours, now), Answer::Reserved(_)));
}

#[test]
fn b17_a_home_outside_the_pool_is_left_by_the_next_success() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    w.fleet.assign(B, &[TEAM]);
    w.fleet.assign(C, &[TEAM, PoolId(6)]);
    let moved = Request { pool: TEAM, ..w.request("s") };
    let end = w.run(moved);
    assert_eq!((end.dialled, end.reason), (vec![B], Reason::FailedOver));
    assert_eq!(w.home(&header("s")), Some(B));
}

#[test]
fn accounts_that_no_pool_names_are_in_the_default_pool() {
    let mut w = World::new();
    w.fleet.assign(A, &[TEAM]);
    w.fleet.assign(AccountId(99), &[TEAM]);
    let of = |w: &World, pool| w.fleet.iter().filter(|a| a.is_in(pool)).map(|a| a.id).collect::<Vec<_>>();
    assert_eq!((of(&w, TEAM), of(&w, PoolId::DEFAULT)), (vec![A], vec![B, C]));
    w.fleet.assign(A, &[]);
    assert_eq!(of(&w, PoolId::DEFAULT), [A, B, C]);
}

#[test]
fn r4_the_answer_is_that_of_the_callers_pool() {
    let mut w = World::new();
    w.fleet.assign(A, &[TEAM]);
    w.fleet.set(A, Standing::NeedsLogin);
    assert_eq!(w.run(Request { pool: TEAM, ..w.request("s") }).outcome, Outcome::Out(Out::Later));
    assert_eq!(w.run(Request { pool: PoolId(6), ..w.request("s") }).outcome, Outcome::Out(Out::Empty));
    assert_eq!(w.run(w.request("s")).outcome, Outcome::Served);
}

#[test]
fn r2_a_draining_account_serves_its_homes_and_takes_nobody_new() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    w.reserved(&header("r"), A);
    w.fleet.set(A, Standing::Draining);
    assert_eq!(w.run(w.request("s")).dialled, [A]);
    assert_eq!(w.run(w.request("new")).dialled, [B]);
    assert_eq!(w.run(w.request("r")).dialled, [C], "a reservation is no home");
    assert_eq!(w.run(Request::new(ADA, START)).dialled, [B]);
    // What fails there counts as it does anywhere.
    w.fails(A, &[Failure::AccountRefused]);
    assert_eq!(w.run(w.request("s")).dialled, [A, C]);
    assert_eq!(w.fleet.get(A).map(|a| a.standing), Some(Standing::Refused));
}

#[test]
fn r2_a_draining_account_that_is_barred_is_not_tried() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    w.fleet.set(A, Standing::Draining);
    w.fleet.failed(A, Failure::QuotaSpent { until: None }, None, START, START);
    assert_eq!(w.run(w.request("s")).dialled, [B]);
}

/// The store says nothing, three times: the step that goes on without it.
fn unanswered(w: &mut World, request: Request) -> homing_core::turn::Step {
    let mut step = w.start(request);
    for _ in 0..3 {
        assert_eq!(step.effect, Effect::Store(Op::Look));
        step = w.go(step, Reply::Store(Answer::Unknown));
    }
    step
}

#[test]
fn t3_without_a_store_the_home_seen_last_is_preferred() {
    let mut w = World::new();
    let request = Request { last_seen: Some(C), ..w.request("s") };
    let dial = unanswered(&mut w, request);
    assert_eq!((dials(&dial), dial.turn.reason()), (Some(C), Reason::Guessed));
    let end = w.go(dial, SERVED);
    assert_eq!((end.effect, w.table.len()), (Effect::Done(Outcome::Served), 0), "nothing is bound from a guess");
    w.fleet.failed(C, SERVER, None, START, START);
    assert_ne!(dials(&unanswered(&mut w, request)), Some(C), "not while it cools");
}

#[test]
fn t3_without_a_store_every_process_guesses_the_same_account() {
    let guesses = |w: &mut World| -> Vec<_> {
        (0..64)
            .map(|n| {
                let request = w.request(&format!("s{n}"));
                dials(&unanswered(w, request)).unwrap()
            })
            .collect()
    };
    let (mut one, mut two) = (World::new(), World::new());
    two.run(two.request("turns the round robin"));
    let all = guesses(&mut one);
    assert_eq!(all, guesses(&mut two));
    let counts = [A, B, C].map(|id| all.iter().filter(|guess| **guess == id).count());
    assert!(counts.iter().all(|n| (10..=35).contains(n)), "they spread: {counts:?}");
    // An account that goes moves only the sessions it had.
    one.fleet.set(B, Standing::Gone);
    let without = guesses(&mut one);
    assert!(all.iter().zip(&without).all(|(before, after)| if *before == B { *after != B } else { before == after }));
}

/// Processes of two versions side by side have to guess alike.
#[test]
fn t3_a_guess_is_the_same_in_every_version() {
    let mut w = World::new();
    let guess = |w: &mut World, n: u32| {
        let request = w.request(&format!("session {n}"));
        dials(&unanswered(w, request)).map_or(0, |account| account.0)
    };
    let guesses: String = (0..32).map(|n| guess(&mut w, n).to_string()).collect();
    assert_eq!(guesses, "31222313122331112112123322333223");
}

#[test]
fn t3_a_guess_does_not_turn_the_round_robin_and_fails_over() {
    let mut w = World::new();
    let request = Request { last_seen: Some(C), ..w.request("s") };
    let dial = unanswered(&mut w, request);
    let next = w.go(dial, Reply::Failed(Failure::Throttled));
    assert!(matches!(dials(&next), Some(A | B)), "{:?}", next.effect);
    assert_eq!(next.turn.reason(), Reason::Guessed);
    assert_eq!(w.run(Request::new(ADA, START)).dialled, [A], "it is still the first one's turn");
}

#[test]
fn r2_a_model_that_the_pool_refuses_is_not_offered_to_other_pools() {
    let mut w = World::new();
    let pool = PoolId(7);
    w.fleet.assign(A, &[pool]);
    w.fails(A, &[Failure::ModelRefused]);
    let model = Some(homing_core::fleet::ModelId::of("m"));
    let end = w.run(Request { pool, model, ..w.request("s") });
    assert_eq!((end.dialled, end.outcome), (vec![A], Outcome::Relay), "the others would serve it, but not this pool");
}
