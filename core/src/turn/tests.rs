//! Whole requests: what a turn does, effect by effect, against a real table.

use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

use super::{Effect, Env, Misuse, Outcome, Renewal, Reply, Request, Turn};
use crate::failure::Failure;
use crate::fleet::{Fleet, ModelId, Out, Standing};
use crate::ids::{AccountId, TenantId};
use crate::key::{Keys, SignalKind};
use crate::row::State;
use crate::settings::{Caps, Settings};
use crate::store::{Answer, Op, Subject};
use crate::table::Table;
use crate::time::{Millis, Time};

const ADA: TenantId = TenantId(1);
const SERVER: Failure = Failure::Server { retry_after: None };

/// What an account does with its next attempts; one that is not named serves.
type Script = BTreeMap<u32, Vec<Reply>>;

struct Bench {
    table: Table,
    fleet: Fleet,
    settings: Settings,
    now: Time,
    script: Script,
    renewal: Renewal,
    log: Vec<String>,
}

impl Bench {
    fn new(accounts: u32) -> Self {
        let mut fleet = Fleet::new();
        for id in 1..=accounts {
            fleet.set(AccountId(id), Standing::Usable);
        }
        Self {
            table: Table::new(Caps::default()),
            fleet,
            settings: Settings::default(),
            now: Time(1_000_000),
            script: Script::new(),
            renewal: Renewal::Fresh,
            log: Vec::new(),
        }
    }

    fn fails(&mut self, account: u32, failures: &[Failure]) {
        self.script.entry(account).or_default().extend(failures.iter().map(|f| Reply::Failed(*f)));
    }

    fn request(&self, session: &str) -> Request {
        let signal = (SignalKind::SessionHeader, session.as_bytes());
        let keys = Keys::session("user:1", (!session.is_empty()).then_some(signal));
        Request { keys, ..Request::new(ADA, self.now) }
    }

    /// Drives one request to its end; returns the accounts dialled and the outcome.
    fn run(&mut self, request: Request) -> (Vec<u32>, Outcome) {
        let (mut dialled, table, script) = (Vec::new(), &mut self.table, &mut self.script);
        let mut env = Env { fleet: &mut self.fleet, settings: &self.settings, now: self.now, word: 7 };
        let mut step = Turn::start(request, &mut env);
        loop {
            self.log.push(format!("{:?} <- {:?}", step.effect, step.note));
            let reply = match step.effect {
                Effect::Store(op) => {
                    Reply::Store(table.answer(Subject::new(ADA, &step.turn.request().keys), op, self.now))
                }
                Effect::Dial { account, .. } => {
                    dialled.push(account.0);
                    let next = script.get_mut(&account.0).filter(|s| !s.is_empty()).map(|s| s.remove(0));
                    next.unwrap_or(Reply::Served { issued: false })
                }
                Effect::Stream => Reply::Served { issued: false },
                Effect::Wait(_) => Reply::Waited,
                Effect::Refresh(_) => Reply::Refreshed(self.renewal),
                Effect::Commit(_) => Reply::Committed { in_time: true },
                Effect::Done(outcome) => return (dialled, outcome),
            };
            step = step.turn.resume(reply, &mut env).unwrap();
        }
    }

    fn turn(&mut self, session: &str) -> (Vec<u32>, Outcome) {
        let request = self.request(session);
        self.run(request)
    }

    fn home(&self, session: &str) -> Option<u32> {
        self.table.session(ADA, &self.request(session).keys, self.now).map(|row| row.account.0)
    }

    fn wait(&mut self, secs: u64) {
        self.now = self.now.plus(Millis::secs(secs));
    }
}

#[test]
fn b3_a_session_stays_home_while_others_take_turns() {
    let mut b = Bench::new(3);
    assert_eq!(b.turn("s").0, [1]);
    assert_eq!([b.turn("").0, b.turn("").0], [[2], [3]]);
    for _ in 0..5 {
        assert_eq!(b.turn("s"), (Vec::from([1]), Outcome::Served));
    }
}

#[test]
fn b1_no_identity_makes_no_row_and_b16_off_looks_at_none() {
    let mut b = Bench::new(2);
    b.turn("");
    assert!(b.table.is_empty());
    b.settings.session_affinity = false;
    b.turn("s");
    assert!(b.table.is_empty());
}

#[test]
fn b5_failover_moves_the_home_and_b9_recovery_moves_nothing() {
    let mut b = Bench::new(3);
    b.turn("s");
    b.fails(1, &[Failure::QuotaSpent { until: Some(b.now.plus(Millis::secs(600))) }]);
    assert_eq!(b.turn("s"), (Vec::from([1, 2]), Outcome::Served));
    assert_eq!(b.home("s"), Some(2));
    b.wait(601);
    assert_eq!(b.turn("s").0, [2]);
    assert_eq!(b.fleet.get(AccountId(1)).map(|a| a.eligible(None, b.now)), Some(true));
}

#[test]
fn field_a28_one_depletion_is_one_move() {
    let mut b = Bench::new(4);
    b.turn("s");
    b.fails(1, &[Failure::QuotaSpent { until: Some(b.now.plus(Millis::secs(9_000))) }]);
    let visited: Vec<_> = (0..4).map(|_| b.turn("s").0).collect();
    assert_eq!(visited, [Vec::from([1, 2]), Vec::from([2]), Vec::from([2]), Vec::from([2])]);
}

#[test]
fn field_a2_r2_a_short_hiccup_is_repeated_at_home() {
    let mut b = Bench::new(3);
    b.turn("s");
    b.fails(1, &[SERVER]);
    assert_eq!(b.turn("s").0, [1, 1]);
    assert_eq!(b.home("s"), Some(1));
    b.fails(1, &[SERVER, SERVER]);
    assert_eq!(b.turn("s").0, [1, 1, 2]);
    assert_eq!(b.home("s"), Some(2));
}

#[test]
fn r2_a_retry_after_at_home_is_no_quick_repeat() {
    let mut b = Bench::new(2);
    b.turn("s");
    b.fails(1, &[Failure::Server { retry_after: Some(Millis::secs(9)) }]);
    assert_eq!(b.turn("s").0, [1, 2]);
}

#[test]
fn field_b11_an_unreachable_host_is_tried_again_then_502() {
    let mut b = Bench::new(3);
    b.fails(1, &[Failure::Unreachable, Failure::Unreachable]);
    let before = b.fleet.get(AccountId(1)).cloned();
    assert_eq!(b.turn("s"), (Vec::from([1, 1]), Outcome::Unreachable));
    assert_eq!(b.fleet.get(AccountId(1)).cloned(), before);
}

#[test]
fn r2_401_refreshes_and_repeats_then_needs_login() {
    let mut b = Bench::new(2);
    b.turn("s");
    b.fails(1, &[Failure::Unauthorized]);
    assert_eq!(b.turn("s").0, [1, 1]);
    b.fails(1, &[Failure::Unauthorized, Failure::Unauthorized]);
    assert_eq!(b.turn("s").0, [1, 1, 2]);
    assert_eq!(b.fleet.get(AccountId(1)).unwrap().standing, Standing::NeedsLogin);
}

#[test]
fn field_e9_a_token_server_in_trouble_only_puts_the_account_last() {
    let mut b = Bench::new(2);
    b.renewal = Renewal::Unavailable;
    b.fails(1, &[Failure::Unauthorized]);
    assert_eq!(b.turn("s").0, [1, 2]);
    assert_eq!(b.fleet.get(AccountId(1)).unwrap().standing, Standing::Usable);
    assert!(b.fleet.get(AccountId(1)).unwrap().cools(b.now));
}

#[test]
fn r2_the_request_s_own_fault_is_relayed_without_blame() {
    for failure in [Failure::Request, Failure::ForeignCiphertext] {
        let mut b = Bench::new(3);
        b.turn("s");
        let before = b.fleet.clone();
        b.fails(1, &[failure]);
        assert_eq!(b.turn("s"), (Vec::from([1]), Outcome::Relay));
        assert_eq!((b.fleet.clone(), b.home("s")), (before, Some(1)));
    }
}

#[test]
fn r2_what_may_not_be_sent_twice_is_not() {
    let mut b = Bench::new(3);
    b.fails(1, &[SERVER]);
    let request = Request { repeatable: false, ..b.request("") };
    assert_eq!(b.run(request), (Vec::from([1]), Outcome::Relay));
}

#[test]
fn r3_nothing_is_retried_after_visible_output() {
    let mut b = Bench::new(2);
    let mut env = Env { fleet: &mut b.fleet, settings: &b.settings, now: b.now, word: 0 };
    let request = Request::new(ADA, b.now);
    let step = Turn::start(request, &mut env).turn.resume(Reply::Visible, &mut env).unwrap();
    assert_eq!(step.effect, Effect::Stream);
    let step = step.turn.resume(Reply::Failed(Failure::CutOff), &mut env).unwrap();
    assert_eq!(step.effect, Effect::Done(Outcome::Broken));
}

#[test]
fn r4_attempts_are_bounded_and_the_pool_s_answer_follows() {
    let mut b = Bench::new(8);
    for id in 1..=8 {
        b.fails(id, &[SERVER]);
    }
    assert_eq!(b.turn("s"), (Vec::from([1, 2, 3, 4]), Outcome::Out(Out::Soon { retry_after: Millis::secs(1) })));
    let mut b = Bench::new(2);
    let until = b.now.plus(Millis::secs(9_000));
    for id in 1..=2 {
        b.fails(id, &[Failure::QuotaSpent { until: Some(until) }]);
    }
    assert_eq!(b.turn("s"), (Vec::from([1, 2]), Outcome::Out(Out::Spent { until })));
    assert_eq!(b.turn("s"), (Vec::new(), Outcome::Out(Out::Spent { until })), "known to be spent: not dialled");
}

#[test]
fn r4_a_model_nobody_serves_is_the_upstream_s_answer() {
    let mut b = Bench::new(2);
    for id in 1..=2 {
        b.fails(id, &[Failure::ModelRefused]);
    }
    let request = Request { model: Some(ModelId::of("m")), ..b.request("s") };
    assert_eq!(b.run(request), (Vec::from([1, 2]), Outcome::Relay));
}

#[test]
fn r1_a_pin_is_never_failed_over() {
    let mut b = Bench::new(3);
    b.fails(3, &[SERVER]);
    let request = Request { pin: Some(AccountId(3)), ..b.request("s") };
    assert_eq!(b.run(request), (Vec::from([3]), Outcome::Relay));
}

#[test]
fn b4_a_failed_first_attempt_leaves_the_reservation_and_converges() {
    let mut b = Bench::new(3);
    b.fails(1, &[SERVER]);
    b.fails(2, &[SERVER]);
    b.fails(3, &[SERVER]);
    b.settings.request_retry = 0;
    assert_eq!(b.turn("s").0, [1]);
    let row = b.table.session(ADA, &b.request("s").keys, b.now).unwrap();
    assert_eq!((row.state, row.account), (State::Reserved, AccountId(1)));
    // A second request finds account 1 cooling, proposes another; a third follows that proposal.
    assert_eq!(b.turn("s").0, [2]);
    assert_eq!(b.table.session(ADA, &b.request("s").keys, b.now).unwrap().pending, Some(AccountId(2)));
}

#[test]
fn deadline_starts_no_attempt_late() {
    let mut b = Bench::new(2);
    let request = Request { began: Time(b.now.0 - 600_000), ..b.request("s") };
    assert_eq!(b.run(request).0, Vec::<u32>::new());
}

#[test]
fn unknown_outcomes_are_read_again_never_guessed() {
    let mut b = Bench::new(2);
    let mut env = Env { fleet: &mut b.fleet, settings: &b.settings, now: b.now, word: 0 };
    let signal = (SignalKind::SessionHeader, b"s".as_slice());
    let keys = Keys::session("user:1", [signal]);
    let request = Request { keys, ..Request::new(ADA, b.now) };
    let unknown = Reply::Store(Answer::Unknown);
    let mut step = Turn::start(request, &mut env);
    for _ in 0..2 {
        step = step.turn.resume(unknown, &mut env).unwrap();
        assert_eq!(step.effect, Effect::Store(Op::Look));
    }
    // Twice is enough: the request goes on, without memory.
    step = step.turn.resume(unknown, &mut env).unwrap();
    assert!(matches!(step.effect, Effect::Dial { .. }));
    step = step.turn.resume(Reply::Served { issued: false }, &mut env).unwrap();
    assert_eq!(step.effect, Effect::Done(Outcome::Served));
}

#[test]
fn a_reply_that_answers_nothing_is_refused() {
    let mut b = Bench::new(1);
    let mut env = Env { fleet: &mut b.fleet, settings: &b.settings, now: b.now, word: 0 };
    let request = Request::new(ADA, b.now);
    let step = Turn::start(request, &mut env);
    let misuse = step.turn.resume(Reply::Waited, &mut env).unwrap_err();
    assert_eq!(misuse, Misuse { waiting_for: "dialling", reply: Reply::Waited });
}

#[test]
fn r5_a_client_that_leaves_frees_the_probe_and_blames_nobody() {
    let mut b = Bench::new(1);
    b.fails(1, &[SERVER]);
    b.turn("");
    let cooling = b.fleet.clone();
    let mut env = Env { fleet: &mut b.fleet, settings: &b.settings, now: b.now, word: 0 };
    let request = Request::new(ADA, b.now);
    let step = Turn::start(request, &mut env);
    assert!(matches!(step.effect, Effect::Dial { .. }));
    step.turn.abandon(&mut env);
    assert_eq!(b.fleet.get(AccountId(1)), cooling.get(AccountId(1)));
}

#[test]
fn the_steps_of_a_failover() {
    let mut b = Bench::new(2);
    b.turn("s");
    b.fails(1, &[SERVER, SERVER]);
    b.log.clear();
    b.turn("s");
    insta::assert_snapshot!(b.log.join("\n"));
}
