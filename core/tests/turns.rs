//! Whole requests, step by step: what a turn shows of itself, and how failures lead from one account to the next (R2, R4).

mod world;

use homing_core::failure::Failure;
use homing_core::fleet::{Fleet, ModelId, Out, Standing};
use homing_core::ids::{AccountId, PoolId};
use homing_core::settings::ATTEMPTS_MAX;
use homing_core::store::{Answer, Op, Refusal, Subject};
use homing_core::time::{Millis, Time};
use homing_core::turn::{Effect, Note, Outcome, Reason, Renewal, Reply, Request, Step};
use world::{A, ADA, B, C, SERVER, START, World, dials, header};

const SERVED: Reply = Reply::Served { issued: false };

fn limited(secs: u64) -> Failure {
    Failure::RateLimited { retry_after: Millis::secs(secs) }
}

/// A fleet of one account that failed so at the start.
fn failed(failures: &[Failure]) -> Fleet {
    let mut fleet = Fleet::new();
    fleet.set(A, Standing::Usable);
    failures.iter().for_each(|failure| fleet.failed(A, *failure, None, START, START));
    fleet
}

#[test]
fn a_turn_shows_where_it_is_and_what_it_knows() {
    let mut w = World::new();
    w.bound(&header("s"), B);
    let looks = w.start(w.request("s"));
    assert_eq!((looks.turn.account(), looks.turn.attempts(), looks.turn.row()), (None, 0, None));
    let dial = w.stored(looks);
    assert_eq!((dial.turn.account(), dial.turn.attempts()), (Some(B), 1));
    assert_eq!(dial.turn.row().copied(), w.row(&header("s")).map(|row| row.view()));
    assert_eq!(dial.effect, Effect::Dial { account: B, attempt: 1 });
    let waits = w.go(dial, Reply::Failed(SERVER));
    let again = w.go(waits, Reply::Waited);
    assert_eq!((again.effect, again.turn.attempts()), (Effect::Dial { account: B, attempt: 2 }, 2));
    assert!(!again.turn.settled());
    let streams = w.go(again, Reply::Visible);
    assert!(!streams.turn.settled(), "a client that leaves now cancels the attempt");
    let completes = w.go(streams, SERVED);
    assert!(completes.turn.settled(), "from here on a client that leaves changes nothing (B15)");
    let commits = w.stored(completes);
    assert!(commits.turn.settled());
    assert!(w.go(commits, Reply::Committed { in_time: true }).turn.settled());
}

#[test]
fn a_wrong_reply_is_told_what_the_turn_waits_for() {
    let mut w = World::new();
    let mut waits_for = |step: &Step, reply| step.turn.clone().resume(reply, &mut w.env()).map_err(|e| e.waiting_for);
    let mut other = World::new();
    let mut told = Vec::new();
    let mut tell = |step: &Step| told.push(waits_for(step, Reply::Waited).expect_err("nothing waits"));
    let pins = other.start(Request { anchors: 1, ..other.request("s") });
    tell(&pins);
    let looks = other.start(other.request("s"));
    tell(&looks);
    let answer = other.does(&looks);
    let reserves = other.go(looks, Reply::Store(answer));
    tell(&reserves);
    let dial = other.stored(reserves);
    tell(&dial);
    let refreshes = other.go(dial.clone(), Reply::Failed(Failure::Unauthorized));
    tell(&refreshes);
    let pends = other.go(dial.clone(), Reply::Failed(Failure::Throttled));
    tell(&pends);
    let streams = other.go(dial, Reply::Visible);
    tell(&streams);
    let completes = other.go(streams, SERVED);
    tell(&completes);
    let rereads = other.go(completes.clone(), Reply::Store(Answer::Unknown));
    tell(&rereads);
    let commits = other.stored(completes);
    tell(&commits);
    tell(&other.go(commits, Reply::Committed { in_time: true }));
    let plain = other.start(Request::new(ADA, START));
    tell(&other.go(plain, Reply::Served { issued: true }));
    let unreachable = other.start(Request::new(ADA, START));
    let waiting = other.go(unreachable, Reply::Failed(Failure::Unreachable));
    told.push(waits_for(&waiting, Reply::Visible).expect_err("it waits"));
    let names = [
        "looking for pins",
        "reading its row",
        "reserving",
        "dialling",
        "refreshing a credential",
        "recording a replacement",
        "streaming",
        "writing a success",
        "reading its row",
        "waiting for durability",
        "done",
        "recording a pin",
        "waiting to try again",
    ];
    assert_eq!(told, names);
}

#[test]
fn every_reason_has_its_own_name() {
    let named = [
        (Reason::NoIdentity, "no-identity"),
        (Reason::Pinned, "pinned"),
        (Reason::Home, "home"),
        (Reason::Reserved, "reserved"),
        (Reason::Joined, "joined"),
        (Reason::FailedOver, "failed-over"),
        (Reason::Converged, "converged"),
        (Reason::Unremembered, "unremembered"),
        (Reason::Guessed, "guessed"),
    ];
    assert!(named.iter().all(|(reason, name)| reason.name() == *name));
}

#[test]
fn r2_each_account_has_its_own_repeat_and_its_own_renewal() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    w.fails(A, &[SERVER, SERVER]);
    w.fails(B, &[Failure::Unauthorized]);
    let looks = w.start(w.request("s"));
    let mut step = w.stored(looks);
    let mut seen = Vec::new();
    for reply in [Reply::Failed(SERVER), Reply::Waited, Reply::Failed(SERVER)] {
        step = w.go(step, reply);
        seen.push(dials(&step));
    }
    step = w.stored(step);
    assert_eq!((seen, dials(&step)), (vec![None, Some(A), None], Some(B)));
    step = w.go(step, Reply::Failed(Failure::Unauthorized));
    assert_eq!(step.effect, Effect::Refresh(B), "the repeat on A does not count for B");
    step = w.go(step, Reply::Refreshed(Renewal::Fresh));
    step = w.go(step, Reply::Failed(Failure::Unauthorized));
    step = w.stored(step);
    assert_eq!(dials(&step), Some(C));
    assert_eq!(w.fleet.get(B).map(|a| a.standing), Some(Standing::NeedsLogin));
    // The renewal of B's credential says nothing of C's.
    step = w.go(step, Reply::Failed(Failure::Unauthorized));
    assert_eq!(step.effect, Effect::Refresh(C));
}

#[test]
fn limits_no_account_is_tried_twice_by_one_request_but_for_its_repeat() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    // A failure without blame: nothing but the request's own memory keeps it from the same account.
    [A, B, C].iter().for_each(|id| w.fails(*id, &[Failure::CutOff]));
    let end = w.run(w.request("s"));
    assert_eq!((end.dialled, end.outcome), (vec![A, B, C], Outcome::Out(Out::Soon { retry_after: Millis::secs(1) })));
}

#[test]
fn r2_a_repeat_waits_a_random_time_below_the_setting() {
    for (word, wait) in [(7, 7), (249, 249), (250, 0), (u64::MAX, u64::MAX % 250)] {
        let mut w = World::new();
        let dial = w.start(Request::new(ADA, START));
        let mut env = w.env();
        env.word = word;
        let waits = dial.turn.resume(Reply::Failed(Failure::Unreachable), &mut env).unwrap();
        assert_eq!((waits.effect, waits.note), (Effect::Wait(Millis(wait)), Note::Repeats(Failure::Unreachable)));
    }
    let mut w = World::new();
    w.settings.quick_repeat = Millis(0);
    let dial = w.start(Request::new(ADA, START));
    assert_eq!(w.go(dial, Reply::Failed(Failure::Unreachable)).effect, Effect::Wait(Millis(0)));
}

#[test]
fn b4_after_a_refused_reservation_nothing_more_is_proposed() {
    let mut w = World::new();
    let looks = w.start(w.request("s"));
    let answer = w.does(&looks);
    let reserves = w.go(looks, Reply::Store(answer));
    let dial = w.go(reserves, Reply::Store(Answer::Refused(Refusal::Full)));
    assert_eq!((dials(&dial), dial.turn.reason()), (Some(A), Reason::Unremembered));
    let next = w.go(dial, Reply::Failed(Failure::Throttled));
    assert_eq!((dials(&next), next.turn.reason()), (Some(B), Reason::Unremembered));
    // Its success may still make a row.
    assert!(matches!(w.go(next, SERVED).effect, Effect::Store(Op::Complete { fence: None, account: B, .. })));
}

/// A request that has chosen `A` for its new session and waits for the reservation's answer, and that answer.
fn reserving(w: &mut World, session: &str) -> (Step, Answer) {
    let looks = w.start(w.request(session));
    let answer = w.does(&looks);
    let reserves = w.go(looks, Reply::Store(answer));
    let answer = w.does(&reserves);
    (reserves, answer)
}

#[test]
fn r2_an_account_that_begins_to_cool_while_the_store_answers_comes_last() {
    let mut w = World::new();
    let (reserves, answer) = reserving(&mut w, "s");
    w.fleet.failed(A, SERVER, None, START, START);
    let pends = w.go(reserves, Reply::Store(answer));
    assert_eq!(pends.note, Note::Diverts { from: A, to: B });
}

#[test]
fn r2_an_account_whose_quota_came_back_while_the_store_answers_is_probed_by_one() {
    let mut w = World::new();
    let (reserves, answer) = reserving(&mut w, "s");
    w.fleet.failed(A, Failure::QuotaSpent { until: Some(START.plus(Millis(1))) }, None, START, START);
    w.wait(Millis(1));
    let dial = w.go(reserves, Reply::Store(answer));
    assert_eq!(dials(&dial), Some(A));
    assert!(w.fleet.get(A).is_some_and(|a| !a.eligible(None, w.now)), "nobody else goes there meanwhile");
    w.go(dial, SERVED);
    assert!(w.fleet.get(A).is_some_and(|a| a.eligible(None, w.now)));
}

#[test]
fn r2_two_requests_that_chose_one_cooling_account_do_not_both_probe_it() {
    let mut w = World::new();
    [B, C].iter().for_each(|id| w.fleet.set(*id, Standing::Disabled));
    w.fleet.failed(A, Failure::Throttled, None, START, START);
    let (one, answer_one) = reserving(&mut w, "1");
    let (two, answer_two) = reserving(&mut w, "2");
    assert_eq!(dials(&w.go(one, Reply::Store(answer_one))), Some(A));
    let waits = w.go(two, Reply::Store(answer_two));
    assert!(matches!(waits.effect, Effect::Done(Outcome::Out(Out::Soon { .. }))), "{:?}", waits.effect);
}

#[test]
fn b5_what_another_request_agreed_on_is_followed_before_it_is_anybody_s_turn() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    let row = w.row(&header("s")).map(|row| row.view()).unwrap();
    let op = Op::Pend { fence: row.fence, expect: None, next: C };
    assert!(matches!(w.table.answer(Subject::new(ADA, &header("s")), op, w.now), Answer::Pended(_)));
    w.fleet.set(A, Standing::Disabled);
    let end = w.run(w.request("s"));
    assert_eq!((end.dialled, end.reason), (vec![C], Reason::Converged));
    assert_eq!(w.run(Request::new(ADA, START)).dialled, [B], "nor does it turn the round robin");
}

#[test]
fn b5_a_loser_that_follows_nobody_goes_on_without_writing() {
    let mut w = World::new();
    w.bound(&header("s"), A);
    w.fleet.set(A, Standing::Disabled);
    let looks = w.start(w.request("s"));
    let answer = w.does(&looks);
    let pends = w.go(looks, Reply::Store(answer));
    let dial = w.go(pends, Reply::Store(Answer::Lost(None)));
    assert_eq!((dials(&dial), dial.turn.reason()), (Some(B), Reason::FailedOver));
    let next = w.go(dial, Reply::Failed(Failure::Throttled));
    assert_eq!(dials(&next), Some(C), "no reservation, no proposal");
}

#[test]
fn b15_a_completion_unknown_for_good_ends_undurable() {
    let mut w = World::new();
    let mut step = w.start(w.request("s"));
    for _ in 0..2 {
        step = w.go(step, Reply::Store(Answer::Unknown));
    }
    let dial = w.stored(step);
    // Readings before the attempt do not count for those behind it.
    let mut step = w.go(dial, SERVED);
    for _ in 0..2 {
        step = w.go(step, Reply::Store(Answer::Unknown));
        assert_eq!((step.effect, step.note), (Effect::Store(Op::Look), Note::ReadsAgain));
    }
    let end = w.go(step, Reply::Store(Answer::Unknown));
    assert_eq!((end.effect, end.note), (Effect::Done(Outcome::Served), Note::EndsUndurable));
}

#[test]
fn b6_a_success_that_may_make_no_row_ends_at_once() {
    let mut w = World::new();
    let looks = w.start(w.request("s"));
    let dial = w.stored(looks);
    let completes = w.go(dial, SERVED);
    let end = w.go(completes, Reply::Store(Answer::Refused(Refusal::Erased)));
    assert_eq!((end.effect, end.note), (Effect::Done(Outcome::Served), Note::Unwritten(Refusal::Erased)));
}

#[test]
fn r4_a_model_that_the_pool_refuses_is_the_upstream_s_answer_whoever_else_serves_it() {
    let mut w = World::new();
    w.fleet.assign(A, &[PoolId(5)]);
    w.fleet.assign(B, &[PoolId(5)]);
    w.fleet.set(B, Standing::Disabled);
    w.fails(A, &[Failure::ModelRefused]);
    let request = Request { pool: PoolId(5), model: Some(ModelId::of("m")), ..w.request("s") };
    assert_eq!(w.run(request).outcome, Outcome::Relay);
}

#[test]
fn b15_a_commit_that_comes_late_lets_the_event_out_all_the_same() {
    for (in_time, note) in [(true, Note::Ends), (false, Note::EndsUndurable)] {
        let mut w = World::new();
        let dial = w.start(w.request("s"));
        let dial = w.stored(dial);
        let completes = w.go(dial, SERVED);
        let commits = w.stored(completes);
        let end = w.go(commits, Reply::Committed { in_time });
        assert_eq!((end.effect, end.note), (Effect::Done(Outcome::Served), note));
    }
}

/// A completion whose outcome is unknown, and what the plan reads then: whose row it takes for its own.
#[test]
fn b15_only_a_binding_of_its_own_account_may_be_the_row_of_a_lost_write() {
    let reads = |w: &mut World| {
        let (reserves, _) = reserving(w, "s");
        // Its reservation was refused, so it knows of no row.
        let dial = w.go(reserves, Reply::Store(Answer::Refused(Refusal::Full)));
        w.table.erase(homing_core::row::Scope::Tenant(ADA));
        let completes = w.go(dial, SERVED);
        w.go(completes, Reply::Store(Answer::Unknown))
    };
    let goes_on = |prepare: &dyn Fn(&mut World)| {
        let mut w = World::new();
        let step = reads(&mut w);
        prepare(&mut w);
        let answer = w.does(&step);
        let next = w.go(step, Reply::Store(answer));
        (next.effect, w.row(&header("s")).map(|row| row.seq))
    };
    let (effect, seq) = goes_on(&|w| w.bound(&header("s"), A));
    assert_eq!(Some(effect), seq.map(Effect::Commit), "it waits for the row");
    let others: [&dyn Fn(&mut World); 2] =
        [&|w: &mut World| w.bound(&header("s"), B), &|w: &mut World| w.reserved(&header("s"), A)];
    for prepare in others {
        let (effect, _) = goes_on(prepare);
        assert!(matches!(effect, Effect::Store(Op::Complete { fence: None, account: A, .. })), "{effect:?}");
    }
}

#[test]
fn r4_no_request_tries_more_accounts_than_there_is_room_to_remember() {
    let mut w = World::new();
    (1..=12).for_each(|id| w.fleet.set(AccountId(id), Standing::Usable));
    (1..=12).for_each(|id| w.fails(AccountId(id), &[Failure::Throttled]));
    w.settings.request_retry = u8::MAX;
    let end = w.run(Request::new(ADA, START));
    assert_eq!((end.dialled.len(), ATTEMPTS_MAX), (8, 8));
}

#[test]
fn limits_the_deadline_itself_is_too_late() {
    for (left, dialled) in [(1, vec![A]), (0, vec![])] {
        let mut w = World::new();
        let request = Request::new(ADA, START);
        w.wait(Millis(w.settings.request_deadline.0 - left));
        assert_eq!(w.run(request).dialled, dialled, "{left} ms before the deadline");
    }
}

#[test]
fn r2_a_repeat_is_not_made_on_an_account_that_was_barred_meanwhile() {
    for bar in [Failure::QuotaSpent { until: None }, limited(90)] {
        let mut w = World::new();
        let dial = w.start(Request::new(ADA, START));
        let waits = w.go(dial, Reply::Failed(Failure::Unreachable));
        w.fleet.failed(A, bar, None, START, START);
        assert_eq!(dials(&w.go(waits, Reply::Waited)), Some(B), "{bar:?}");
    }
}

#[test]
fn r2_a_refresh_that_was_refused_needs_a_login() {
    let mut w = World::new();
    let dial = w.start(Request::new(ADA, START));
    let refreshes = w.go(dial, Reply::Failed(Failure::Unauthorized));
    assert_eq!(dials(&w.go(refreshes, Reply::Refreshed(Renewal::Refused))), Some(B));
    assert_eq!(w.fleet.get(A).map(|a| a.standing), Some(Standing::NeedsLogin));
}

#[test]
fn r3_a_failure_the_upstream_stated_after_visible_output_counts() {
    let mut w = World::new();
    let dial = w.start(Request::new(ADA, START));
    let streams = w.go(dial, Reply::Visible);
    let end = w.go(streams, Reply::Failed(Failure::QuotaSpent { until: None }));
    assert_eq!(
        (end.effect, end.note),
        (Effect::Done(Outcome::Broken), Note::BrokeOff(Failure::QuotaSpent { until: None }))
    );
    assert!(w.fleet.get(A).is_some_and(|a| a.spent.is_some()));
}

#[test]
fn r1_what_a_pinned_account_answers_goes_to_the_client() {
    for failure in [Failure::QuotaSpent { until: None }, Failure::Throttled, Failure::ModelRefused, Failure::CutOff] {
        let mut w = World::new();
        w.fails(C, &[failure]);
        let end = w.run(Request { pin: Some(C), ..w.request("s") });
        assert_eq!((end.dialled, end.outcome), (vec![C], Outcome::Relay), "{failure:?}");
    }
}

#[test]
fn r2_of_two_rate_limits_the_longer_one_counts() {
    for failures in [[limited(90), limited(5)], [limited(5), limited(90)]] {
        let fleet = failed(&failures);
        assert_eq!(fleet.get(A).and_then(|a| a.limited).map(|bar| bar.until), Some(START.plus(Millis::secs(90))));
    }
}

#[test]
fn r2_a_stated_pause_longer_than_the_first_cooling_is_kept() {
    let until = |pause| {
        let fleet = failed(&[Failure::Server { retry_after: pause }]);
        fleet.get(A).and_then(|a| a.cooling).map(|bar| bar.until.since(START))
    };
    let pauses = [None, Some(Millis::secs(1)), Some(Millis::secs(9))].map(until);
    assert_eq!(pauses, [2, 2, 9].map(|secs| Some(Millis::secs(secs))));
}

#[test]
fn r2_a_reset_that_has_passed_is_taken_for_five_minutes() {
    let until = |until| failed(&[Failure::QuotaSpent { until }]).get(A).and_then(|a| a.spent).map(|bar| bar.until);
    let unknown = Some(START.plus(Millis::secs(300)));
    assert_eq!([None, Some(START), Some(Time(0))].map(until), [unknown; 3]);
    assert_eq!(until(Some(START.plus(Millis(1)))), Some(START.plus(Millis(1))));
}

#[test]
fn r4_up_to_a_minute_is_worth_waiting_for() {
    let out = |failure| failed(&[failure]).out(PoolId::DEFAULT, None, START);
    assert_eq!(out(limited(60)), Out::Soon { retry_after: Millis::secs(60) });
    assert_eq!(out(Failure::RateLimited { retry_after: Millis(60_001) }), Out::Later);
    assert_eq!(out(Failure::RateLimited { retry_after: Millis(1) }), Out::Soon { retry_after: Millis::secs(1) });
    let spent = |ms| Failure::QuotaSpent { until: Some(START.plus(Millis(ms))) };
    assert_eq!(out(spent(60_000)), Out::Soon { retry_after: Millis::secs(60) });
    assert_eq!(out(spent(60_001)), Out::Spent { until: START.plus(Millis(60_001)) });
}

#[test]
fn r4_quota_that_comes_back_now_is_no_longer_why() {
    let until = START.plus(Millis::secs(1));
    let fleet = failed(&[Failure::QuotaSpent { until: Some(until) }, limited(600)]);
    assert_eq!(fleet.out(PoolId::DEFAULT, None, START), Out::Spent { until });
    assert_eq!(fleet.out(PoolId::DEFAULT, None, until), Out::Later);
}

#[test]
fn r4_an_account_is_back_when_all_that_is_held_against_it_has_ended() {
    let fleet = failed(&[limited(20), SERVER, Failure::QuotaSpent { until: Some(START.plus(Millis::secs(40))) }]);
    let soon = |at| fleet.out(PoolId::DEFAULT, None, START.plus(Millis::secs(at)));
    assert_eq!(soon(0), Out::Soon { retry_after: Millis::secs(40) });
    assert_eq!(soon(39), Out::Soon { retry_after: Millis::secs(1) });
    assert_eq!(soon(50), Out::Soon { retry_after: Millis::secs(1) });
}

#[test]
fn seconds_are_rounded_up_and_times_do_not_run_over() {
    assert_eq!([0, 1, 1_000, 1_001].map(|ms| Millis(ms).ceil_secs()), [0, 1, 1, 2]);
    assert_eq!([Millis(1).min(Millis(2)), Millis(2).min(Millis(1))], [Millis(1); 2]);
    assert_eq!((Time(1).since(Time(2)), Time(2).since(Time(1))), (Millis(0), Millis(1)));
    assert_eq!((Time::NEVER.plus(Millis(1)), Millis::secs(u64::MAX)), (Time::NEVER, Millis(u64::MAX)));
}
