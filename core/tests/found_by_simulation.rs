//! The smallest cases of what `homing-sim` found in the core: one for each defect, named by the rule it broke.

use homing_core::failure::Failure;
use homing_core::fleet::{Fleet, Standing};
use homing_core::ids::{AccountId, Epoch, Seq, TenantId};
use homing_core::key::{Keys, SignalKind};
use homing_core::row::{Change, Scope};
use homing_core::settings::{Caps, Settings};
use homing_core::store::{Answer, Completion, Op, Refusal, Subject};
use homing_core::table::Table;
use homing_core::time::{Millis, Time};
use homing_core::turn::{Effect, Env, Outcome, Reason, Renewal, Reply, Request, Step, Turn};

const ADA: TenantId = TenantId(1);
const A: AccountId = AccountId(1);
const B: AccountId = AccountId(2);
const TTL: Millis = Millis::secs(3600);
const START: Time = Time(1_000_000);

struct Bench {
    table: Table,
    fleet: Fleet,
    settings: Settings,
    now: Time,
}

impl Bench {
    fn new() -> Self {
        let mut fleet = Fleet::new();
        for account in [A, B] {
            fleet.set(account, Standing::Usable);
        }
        let settings = Settings { ttl: TTL, ..Settings::default() };
        Self { table: Table::new(Caps::default()), fleet, settings, now: START }
    }

    fn start(&mut self, request: Request) -> Step {
        Turn::start(request, &mut Env { fleet: &mut self.fleet, settings: &self.settings, now: self.now, word: 0 })
    }

    fn go(&mut self, step: Step, reply: Reply) -> Step {
        let mut env = Env { fleet: &mut self.fleet, settings: &self.settings, now: self.now, word: 0 };
        step.turn.resume(reply, &mut env).expect("the reply answers the effect")
    }

    /// The store does what the step asks; its answer.
    fn does(&mut self, step: &Step) -> Answer {
        let Effect::Store(op) = step.effect else { panic!("no store operation: {:?}", step.effect) };
        let request = *step.turn.request();
        self.table.answer(Subject::new(request.tenant, &request.keys), op, self.now)
    }

    /// The store does it and answers, until something else is asked for.
    fn stored(&mut self, mut step: Step) -> Step {
        while let Effect::Store(_) = step.effect {
            let answer = self.does(&step);
            step = self.go(step, Reply::Store(answer));
        }
        step
    }

    /// A session bound to an account.
    fn bound(&mut self, keys: &Keys, account: AccountId) {
        let op =
            Op::Complete { fence: None, account, seen: self.table.epoch(), ttl: TTL, pinned: false, inserts: true };
        let answer = self.table.answer(Subject::new(ADA, keys), op, self.now);
        assert!(matches!(answer, Answer::Completed { how: Completion::Inserted, .. }), "{answer:?}");
    }

    fn renews(&mut self, keys: &Keys, account: AccountId) -> Seq {
        let fence = self.table.session(ADA, keys, self.now).map(|row| row.view().fence);
        let op = Op::Complete { fence, account, seen: self.table.epoch(), ttl: TTL, pinned: false, inserts: true };
        match self.table.answer(Subject::new(ADA, keys), op, self.now) {
            Answer::Completed { how: Completion::Renewed, seq } => seq,
            other => panic!("{other:?}"),
        }
    }
}

fn keys(signals: &[(SignalKind, &str)]) -> Keys {
    Keys::session("user:ada", signals.iter().map(|(kind, value)| (*kind, value.as_bytes())))
}

fn header() -> Keys {
    keys(&[(SignalKind::SessionHeader, "s")])
}

fn request(keys: Keys) -> Request {
    Request { keys, ..Request::new(ADA, START) }
}

fn dials(step: &Step) -> Option<AccountId> {
    match step.effect {
        Effect::Dial { account, .. } => Some(account),
        _ => None,
    }
}

#[test]
fn limits_no_attempt_starts_after_a_store_that_answered_past_the_deadline() {
    let mut b = Bench::new();
    let looks = b.start(request(header()));
    let answer = b.does(&looks);
    let reserves = b.go(looks, Reply::Store(answer));
    let answer = b.does(&reserves);
    b.now = b.now.plus(b.settings.request_deadline);
    let end = b.go(reserves, Reply::Store(answer));
    assert!(matches!(end.effect, Effect::Done(Outcome::Out(_))), "{:?}", end.effect);
}

#[test]
fn limits_no_repeat_starts_past_the_deadline() {
    let mut b = Bench::new();
    let first = b.start(request(Keys::default()));
    let waits = b.go(first, Reply::Failed(Failure::Unreachable));
    assert!(matches!(waits.effect, Effect::Wait(_)));
    b.now = b.now.plus(b.settings.request_deadline);
    let end = b.go(waits, Reply::Waited);
    assert!(matches!(end.effect, Effect::Done(Outcome::Out(_))), "{:?}", end.effect);
}

#[test]
fn b11_an_account_that_goes_while_the_store_answers_is_not_dialled() {
    let mut b = Bench::new();
    let looks = b.start(request(header()));
    let answer = b.does(&looks);
    let reserves = b.go(looks, Reply::Store(answer));
    let answer = b.does(&reserves);
    b.fleet.set(A, Standing::Gone);
    let next = b.go(reserves, Reply::Store(answer));
    let next = b.stored(next);
    assert_eq!(dials(&next), Some(B));
}

#[test]
fn b11_an_account_that_goes_while_a_request_waits_is_not_tried_again() {
    let mut b = Bench::new();
    let first = b.start(request(Keys::default()));
    assert_eq!(dials(&first), Some(A));
    let waits = b.go(first, Reply::Failed(Failure::Unreachable));
    b.fleet.set(A, Standing::Gone);
    assert_eq!(dials(&b.go(waits, Reply::Waited)), Some(B));
}

#[test]
fn r2_two_requests_that_chose_one_probe_do_not_both_make_it() {
    let mut b = Bench::new();
    b.fleet.set(B, Standing::Disabled);
    b.fleet.failed(A, Failure::QuotaSpent { until: Some(START.plus(Millis(1))) }, None, START, START);
    b.now = START.plus(Millis(2));
    let ready = |b: &mut Bench, session| {
        let looks = b.start(request(keys(&[(SignalKind::SessionHeader, session)])));
        let answer = b.does(&looks);
        let reserves = b.go(looks, Reply::Store(answer));
        let answer = b.does(&reserves);
        (reserves, answer)
    };
    let ((one, answer_one), (two, answer_two)) = (ready(&mut b, "one"), ready(&mut b, "two"));
    assert_eq!(dials(&b.go(one, Reply::Store(answer_one))), Some(A));
    assert_eq!(dials(&b.go(two, Reply::Store(answer_two))), None, "the probe is under way");
}

#[test]
fn b15_a_restored_row_is_not_waited_for() {
    let mut b = Bench::new();
    for session in ["1", "2", "3"] {
        b.bound(&keys(&[(SignalKind::SessionHeader, session)]), A);
    }
    let rows: Vec<_> = b.table.rows().cloned().collect();
    (b.table, _) = Table::restore(Caps::default(), b.table.next_id(), rows, []);
    let rests_on = b.renews(&keys(&[(SignalKind::SessionHeader, "3")]), A);
    assert!(rests_on <= b.table.seq(), "{rests_on:?} is beyond every change of this process");
}

#[test]
fn b15_a_turn_found_by_a_new_key_waits_for_that_key() {
    let mut b = Bench::new();
    let shared = keys(&[(SignalKind::PromptCacheKey, "p")]);
    b.bound(&header(), A);
    let attached = b.renews(&keys(&[(SignalKind::SessionHeader, "s"), (SignalKind::PromptCacheKey, "p")]), A);
    assert_eq!(b.renews(&shared, A), attached);
}

#[test]
fn b15_a_renewal_that_is_written_is_waited_for_by_every_turn_behind_it() {
    let mut b = Bench::new();
    b.bound(&header(), A);
    b.table.take_changes();
    b.now = b.now.plus(Millis(TTL.0 / 2));
    let longer = b.renews(&header(), A);
    let (changes, upto) = b.table.take_changes();
    assert!(matches!(changes.as_slice(), [Change::Put(_)]));
    assert_eq!(longer, upto);
    b.now = b.now.plus(Millis(1));
    assert_eq!(b.renews(&header(), A), upto, "the life it adds to is not durable yet");
}

#[test]
fn b6_a_plan_that_reads_again_writes_nothing_back_that_was_erased_since_its_first_reading() {
    let mut b = Bench::new();
    let looks = b.start(request(header()));
    let answer = b.does(&looks);
    let reserves = b.go(looks, Reply::Store(answer));
    b.table.erase(Scope::Tenant(ADA));
    let again = b.go(reserves, Reply::Store(Answer::Unknown));
    let dial = b.stored(again);
    let completes = b.go(dial, Reply::Served { issued: false });
    assert_eq!(b.does(&completes), Answer::Refused(Refusal::Erased));
    assert!(b.table.is_empty());
}

#[test]
fn b11_no_home_moves_to_an_account_erased_since_the_plan() {
    let mut b = Bench::new();
    b.bound(&header(), A);
    b.fleet.set(A, Standing::Disabled);
    let looks = b.start(request(header()));
    let dial = b.stored(looks);
    assert_eq!(dials(&dial), Some(B));
    b.table.erase(Scope::Account(B));
    let completes = b.go(dial, Reply::Served { issued: false });
    assert_eq!(b.does(&completes), Answer::Refused(Refusal::Erased));
    assert_eq!(b.table.session(ADA, &header(), b.now).map(|row| row.account), Some(A));
}

#[test]
fn b10_a_success_whose_write_was_lost_still_brings_its_keys_and_its_life() {
    let mut b = Bench::new();
    let both = keys(&[(SignalKind::SessionHeader, "s"), (SignalKind::PromptCacheKey, "p")]);
    b.bound(&keys(&[(SignalKind::PromptCacheKey, "p")]), A);
    let looks = b.start(request(both));
    let dial = b.stored(looks);
    let completes = b.go(dial, Reply::Served { issued: false });
    b.now = b.now.plus(Millis(TTL.0 / 2));
    let reads = b.go(completes, Reply::Store(Answer::Unknown));
    let end = b.stored(reads);
    assert!(matches!(end.effect, Effect::Commit(seq) if seq == b.table.seq()));
    let row = b.table.session(ADA, &header(), b.now).expect("found by the key it brought");
    assert_eq!(row.expires, b.now.plus(TTL));
}

#[test]
fn b15_a_lost_answer_to_an_insert_is_waited_for() {
    let mut b = Bench::new();
    let gone = Op::Reserve { account: A, seen: Epoch(0), ttl: TTL };
    b.table.answer(Subject::new(ADA, &header()), gone, b.now);
    let looks = b.start(request(header()));
    let dial = b.stored(looks);
    b.now = b.now.plus(TTL);
    let completes = b.go(dial, Reply::Served { issued: false });
    let made = b.does(&completes);
    assert!(matches!(made, Answer::Completed { how: Completion::Inserted, .. }));
    let reads = b.go(completes, Reply::Store(Answer::Unknown));
    let end = b.stored(reads);
    assert!(matches!(end.effect, Effect::Commit(seq) if seq == b.table.seq()), "{:?}", end.effect);
}

#[test]
fn r2_what_an_account_says_to_a_request_that_cannot_be_repeated_counts() {
    let mut b = Bench::new();
    let until = START.plus(Millis::secs(600));
    let dial = b.start(Request { repeatable: false, ..request(Keys::default()) });
    let end = b.go(dial, Reply::Failed(Failure::QuotaSpent { until: Some(until) }));
    assert_eq!(end.effect, Effect::Done(Outcome::Relay));
    assert_eq!(b.fleet.get(A).and_then(|a| a.spent).map(|bar| bar.until), Some(until));
    // A refused credential says nothing before it was renewed.
    let dial = b.start(Request { repeatable: false, ..request(Keys::default()) });
    assert_eq!(dials(&dial), Some(B));
    b.go(dial, Reply::Failed(Failure::Unauthorized));
    assert_eq!(b.fleet.get(B).map(|a| a.standing), Some(Standing::Usable));
}

#[test]
fn b4_a_reserved_account_that_cools_is_joined_and_not_called_a_home() {
    let mut b = Bench::new();
    b.fleet.set(B, Standing::Disabled);
    let op = Op::Reserve { account: A, seen: Epoch(0), ttl: TTL };
    b.table.answer(Subject::new(ADA, &header()), op, b.now);
    b.fleet.failed(A, Failure::Throttled, None, b.now, b.now);
    let looks = b.start(request(header()));
    let dial = b.stored(looks);
    assert_eq!((dials(&dial), dial.turn.reason()), (Some(A), Reason::Joined));
}

#[test]
fn b11_a_late_failure_does_not_make_a_removed_account_a_refused_one() {
    let mut b = Bench::new();
    for (off, failure) in [(Standing::Gone, Failure::AccountRefused), (Standing::Disabled, Failure::Unauthorized)] {
        b.fleet.set(A, off);
        b.fleet.failed(A, failure, None, START, START);
        assert_eq!(b.fleet.get(A).map(|a| a.standing), Some(off));
    }
}

#[test]
fn r2_no_account_needs_a_login_before_its_credential_was_renewed() {
    let mut b = Bench::new();
    b.bound(&header(), A);
    let looks = b.start(request(header()));
    let dial = b.stored(looks);
    let waits = b.go(dial, Reply::Failed(Failure::Server { retry_after: None }));
    let repeat = b.go(waits, Reply::Waited);
    assert_eq!(dials(&repeat), Some(A));
    b.go(repeat, Reply::Failed(Failure::Unauthorized));
    assert_eq!(b.fleet.get(A).map(|a| a.standing), Some(Standing::Usable));
}

#[test]
fn r2_what_is_found_out_of_an_old_credential_is_not_held_against_the_new_one() {
    for (failure, found) in
        [(Failure::Unauthorized, Standing::NeedsLogin), (Failure::AccountRefused, Standing::Refused)]
    {
        for changed in [false, true] {
            let mut b = Bench::new();
            let dial = b.start(request(Keys::default()));
            let renews = b.go(dial, Reply::Failed(Failure::Unauthorized));
            let repeat = b.go(renews, Reply::Refreshed(Renewal::Fresh));
            assert_eq!(dials(&repeat), Some(A));
            if changed {
                // Its owner logs in again while the attempt is under way.
                b.fleet.set(A, Standing::Usable);
            }
            let next = b.go(repeat, Reply::Failed(failure));
            assert_eq!(dials(&next), Some(B), "the request goes on all the same");
            let stands = if changed { Standing::Usable } else { found };
            assert_eq!(b.fleet.get(A).map(|a| a.standing), Some(stands), "{failure:?}");
        }
    }
}

#[test]
fn r2_an_account_that_was_forgotten_and_came_back_is_not_refused_by_an_attempt_from_before() {
    let mut b = Bench::new();
    let dial = b.start(request(Keys::default()));
    b.fleet.remove(A);
    b.fleet.set(A, Standing::Usable);
    b.go(dial, Reply::Failed(Failure::AccountRefused));
    assert_eq!(b.fleet.get(A).map(|a| a.standing), Some(Standing::Usable));
}
