//! Health and choice, one rule at a time.

use std::vec::Vec;

use super::{Choice, Fleet, ModelId, Out, Standing, Tried};
use crate::failure::Failure;
use crate::ids::{AccountId, PoolId};
use crate::time::{Millis, Time};

const A: AccountId = AccountId(1);
const B: AccountId = AccountId(2);
const C: AccountId = AccountId(3);
const T0: Time = Time(10_000_000);
const SERVER: Failure = Failure::Server { retry_after: None };

fn fleet() -> Fleet {
    let mut fleet = Fleet::new();
    for id in [B, A, C] {
        fleet.set(id, Standing::Usable);
    }
    fleet
}

fn choice(home: Option<AccountId>, tried: &Tried, now: Time) -> Choice<'_> {
    Choice { home, settled: home.is_some(), ..Choice::any(PoolId::DEFAULT, tried, now) }
}

fn pick(fleet: &mut Fleet, home: Option<AccountId>, tried: &Tried, now: Time) -> Option<AccountId> {
    fleet.choose(&choice(home, tried, now)).map(|p| p.account)
}

fn turn(fleet: &mut Fleet, n: usize, now: Time) -> Vec<Option<AccountId>> {
    (0..n).map(|_| pick(fleet, None, &Tried::default(), now)).collect()
}

#[test]
fn b1_round_robin_over_the_healthy_ones() {
    let mut f = fleet();
    assert_eq!(turn(&mut f, 4, T0), [Some(A), Some(B), Some(C), Some(A)]);
    f.set(B, Standing::Disabled);
    assert_eq!(turn(&mut f, 3, T0), [Some(C), Some(A), Some(C)]);
}

#[test]
fn field_a17_new_sessions_spread_evenly() {
    let mut f = fleet();
    let picks = turn(&mut f, 200, T0);
    let counts = [A, B, C].map(|id| picks.iter().filter(|p| **p == Some(id)).count());
    assert!(counts.iter().all(|n| (66..=67).contains(n)), "{counts:?}");
}

#[test]
fn b2_a_home_that_is_not_eligible_is_not_brought_back() {
    for standing in [Standing::Disabled, Standing::Gone, Standing::NeedsLogin, Standing::Refused] {
        let mut f = fleet();
        f.set(A, standing);
        assert_ne!(pick(&mut f, Some(A), &Tried::default(), T0), Some(A), "{standing:?}");
    }
    let mut f = fleet();
    f.failed(A, Failure::QuotaSpent { until: Some(T0.plus(Millis::secs(9))) }, None, T0, T0);
    assert_ne!(pick(&mut f, Some(A), &Tried::default(), T0), Some(A));
}

#[test]
fn b3_a_home_comes_first_and_does_not_turn_the_round_robin() {
    let mut f = fleet();
    assert_eq!(pick(&mut f, Some(C), &Tried::default(), T0), Some(C));
    assert_eq!(pick(&mut f, None, &Tried::default(), T0), Some(A));
}

#[test]
fn r1_a_pin_is_the_only_choice() {
    let mut f = fleet();
    let tried = Tried::default();
    let pinned = |f: &mut Fleet| f.choose(&Choice { pin: Some(B), ..choice(Some(A), &tried, T0) });
    assert_eq!(pinned(&mut f).map(|p| p.account), Some(B));
    f.set(B, Standing::NeedsLogin);
    assert_eq!(pinned(&mut f), None);
}

#[test]
fn r2_soft_cooling_only_orders_and_grows_once_a_window() {
    let mut f = fleet();
    f.failed(A, SERVER, None, T0, T0);
    f.failed(A, SERVER, None, T0, T0.plus(Millis(10)));
    let first = f.get(A).unwrap().cooling.unwrap();
    assert_eq!(first.until, T0.plus(Millis::secs(2)), "two failures at once are one window");
    assert_eq!(turn(&mut f, 2, T0), [Some(B), Some(C)]);
    for (n, wait) in [(1, 4), (2, 8), (3, 16)] {
        let now = f.get(A).unwrap().cooling.unwrap().until;
        f.failed(A, SERVER, None, now, now);
        assert_eq!(f.get(A).unwrap().cooling.unwrap().until, now.plus(Millis::secs(wait)), "strike {n}");
    }
    for _ in 0..20 {
        let now = f.get(A).unwrap().cooling.unwrap().until;
        f.failed(A, SERVER, None, now, now);
        assert!(f.get(A).unwrap().cooling.unwrap().until <= now.plus(Millis::secs(300)));
    }
    f.succeeded(A, f.get(A).unwrap().cooling.unwrap().until);
    assert_eq!(f.get(A).unwrap().cooling, None);
}

#[test]
fn r2_a_success_that_began_before_the_failure_lifts_nothing() {
    let mut f = fleet();
    f.failed(A, SERVER, None, T0, T0);
    f.succeeded(A, Time(T0.0 - 1));
    assert!(f.get(A).unwrap().cools(T0));
}

#[test]
fn r2_if_all_cool_the_soonest_is_tried_by_one_probe_at_a_time() {
    let mut f = fleet();
    for (id, at) in [(A, 2), (B, 1), (C, 3)] {
        let now = T0.plus(Millis(at));
        f.failed(id, SERVER, None, now, now);
    }
    let now = T0.plus(Millis(10));
    assert_eq!(pick(&mut f, Some(A), &Tried::default(), now), Some(B));
    f.probe(B);
    assert_eq!(pick(&mut f, Some(A), &Tried::default(), now), Some(A));
    f.probe(A);
    f.probe(C);
    assert_eq!(pick(&mut f, Some(A), &Tried::default(), now), None);
    assert_eq!(f.out(PoolId::DEFAULT, None, now), Out::Soon { retry_after: Millis(1_991) });
    f.probed(B);
    assert_eq!(pick(&mut f, None, &Tried::default(), now), Some(B));
}

#[test]
fn r2_spent_quota_bars_until_its_reset_then_one_probe_finds_out() {
    let mut f = fleet();
    let reset = T0.plus(Millis::secs(3600));
    f.failed(A, Failure::QuotaSpent { until: Some(reset) }, None, T0, T0);
    assert!(!f.get(A).unwrap().eligible(None, Time(reset.0 - 1)));
    let tried = Tried::default();
    let home = choice(Some(A), &tried, reset);
    let probe = f.choose(&home).unwrap();
    assert!(probe.probe && probe.account == A);
    f.probe(A);
    assert_ne!(f.choose(&home).unwrap().account, A);
    f.probed(A);
    f.succeeded(A, reset);
    assert!(!f.choose(&home).unwrap().probe);
}

#[test]
fn field_b14_every_bar_ends() {
    let mut f = fleet();
    f.failed(A, Failure::QuotaSpent { until: None }, None, T0, T0);
    f.failed(B, Failure::RateLimited { retry_after: Millis::secs(90) }, None, T0, T0);
    assert!(!f.get(A).unwrap().eligible(None, T0) && !f.get(B).unwrap().eligible(None, T0));
    let later = T0.plus(Millis::secs(301));
    assert!(f.get(A).unwrap().eligible(None, later) && f.get(B).unwrap().eligible(None, later));
}

#[test]
fn field_b26_a_refused_model_does_not_bar_the_account() {
    let mut f = fleet();
    let (sol, luna) = (ModelId::of("sol"), ModelId::of("luna"));
    f.failed(A, Failure::ModelRefused, Some(sol), T0, T0);
    assert!(!f.get(A).unwrap().eligible(Some(sol), T0));
    assert!(f.get(A).unwrap().eligible(Some(luna), T0) && f.get(A).unwrap().eligible(None, T0));
    for i in 0..100 {
        f.failed(A, Failure::ModelRefused, Some(ModelId::of(&std::format!("{i}"))), T0, T0);
    }
    assert!(f.get(A).unwrap().refused_models.len() <= 32);
}

#[test]
fn field_b11_a_host_that_cannot_be_reached_is_no_accounts_fault() {
    let mut f = fleet();
    let before = f.clone();
    for failure in [Failure::Unreachable, Failure::Request, Failure::ForeignCiphertext, Failure::CutOff] {
        f.failed(A, failure, None, T0, T0);
    }
    assert_eq!(f, before);
}

#[test]
fn r4_the_whole_pool_answers() {
    let none = None;
    assert_eq!(Fleet::new().out(PoolId::DEFAULT, none, T0), Out::Empty);
    let mut f = fleet();
    for id in [A, B, C] {
        f.failed(id, Failure::QuotaSpent { until: Some(T0.plus(Millis::secs(7200 + u64::from(id.0)))) }, none, T0, T0);
    }
    assert_eq!(f.out(PoolId::DEFAULT, none, T0), Out::Spent { until: T0.plus(Millis::secs(7201)) });
    f.failed(C, Failure::RateLimited { retry_after: Millis::secs(5) }, none, T0, T0);
    assert_eq!(
        f.out(PoolId::DEFAULT, none, T0),
        Out::Spent { until: T0.plus(Millis::secs(7201)) },
        "spent and limited is spent"
    );
    f.set(AccountId(4), Standing::Usable);
    f.failed(AccountId(4), Failure::RateLimited { retry_after: Millis::secs(45) }, none, T0, T0);
    assert_eq!(f.out(PoolId::DEFAULT, none, T0), Out::Soon { retry_after: Millis::secs(45) });
    for id in [A, B, C, AccountId(4)] {
        f.set(id, Standing::NeedsLogin);
    }
    assert_eq!(f.out(PoolId::DEFAULT, none, T0), Out::Later);
}

#[test]
fn a_model_that_every_usable_account_refuses_is_no_matter_of_waiting() {
    let model = Some(ModelId::of("m"));
    let mut f = fleet();
    f.set(C, Standing::Disabled);
    f.failed(A, Failure::ModelRefused, model, T0, T0);
    assert_ne!(f.out(PoolId::DEFAULT, model, T0), Out::NoModel, "one account may still have it");
    f.failed(B, Failure::ModelRefused, model, T0, T0);
    assert_eq!(f.out(PoolId::DEFAULT, model, T0), Out::NoModel);
    assert_ne!(f.out(PoolId::DEFAULT, Some(ModelId::of("other")), T0), Out::NoModel);
    f.set(A, Standing::NeedsLogin);
    f.set(B, Standing::NeedsLogin);
    assert_eq!(f.out(PoolId::DEFAULT, model, T0), Out::Later, "nobody is left to refuse it");
}

#[test]
fn r2_a_failure_within_the_window_adds_nothing_and_one_at_its_end_does() {
    let cools_until = |f: &Fleet| f.get(A).and_then(|a| a.cooling).map(|bar| bar.until);
    let mut f = fleet();
    f.failed(A, SERVER, None, T0, T0);
    let end = T0.plus(Millis::secs(2));
    assert_eq!(cools_until(&f), Some(end));
    // Began and ended within the window: the same trouble.
    let within = Time(end.0 - 1);
    f.failed(A, SERVER, None, T0, within);
    assert_eq!(cools_until(&f), Some(end));
    // The window is over at its very end: another trouble, held twice as long.
    f.failed(A, SERVER, None, T0, end);
    assert_eq!(cools_until(&f), Some(end.plus(Millis::secs(4))));
}

#[test]
fn r2_a_pick_that_was_no_probe_does_not_become_one() {
    let mut f = fleet();
    let tried = Tried::default();
    let chosen = choice(None, &tried, T0);
    let pick = f.choose(&chosen).unwrap();
    assert!(!pick.probe && f.stands(pick, &chosen));
    let reset = T0.plus(Millis::secs(5));
    f.failed(pick.account, Failure::QuotaSpent { until: Some(reset) }, None, T0, T0);
    let later = choice(None, &tried, reset);
    assert!(!f.stands(pick, &later), "who goes now finds out: that is chosen anew");
    assert!(f.stands(super::Pick { probe: true, ..pick }, &later));
}
