//! The accounts as they come and go.

use homing_core::failure::Failure;
use homing_core::fleet::{Fleet, ModelId, Standing};
use homing_core::ids::AccountId;
use homing_core::time::{Millis, Time};

const A: AccountId = AccountId(1);
const B: AccountId = AccountId(2);
const NOW: Time = Time(1_000);
const SERVER: Failure = Failure::Server { retry_after: None };

fn pair() -> Fleet {
    let mut fleet = Fleet::new();
    [B, A].iter().for_each(|id| fleet.set(*id, Standing::Usable));
    fleet
}

fn model(n: usize) -> Option<ModelId> {
    Some(ModelId::of(&format!("model-{n}")))
}

fn ids(fleet: &Fleet) -> Vec<AccountId> {
    fleet.iter().map(|account| account.id).collect()
}

#[test]
fn b11_a_forgotten_account_comes_back_with_a_clean_slate() {
    let mut fleet = pair();
    fleet.failed(A, Failure::QuotaSpent { until: None }, None, NOW, NOW);
    fleet.remove(A);
    assert_eq!((ids(&fleet), fleet.get(A)), (vec![B], None));
    fleet.set(A, Standing::Usable);
    assert_eq!(ids(&fleet), [A, B], "in the order of their ids");
    assert!(fleet.get(A).is_some_and(|account| account.spent.is_none() && account.eligible(None, NOW)));
}

#[test]
fn r2_a_failure_that_began_before_the_window_does_not_open_another() {
    let mut fleet = pair();
    let until = |fleet: &Fleet| fleet.get(A).and_then(|a| a.cooling).map(|bar| bar.until);
    fleet.failed(A, SERVER, None, NOW, NOW);
    let first = NOW.plus(Millis::secs(2));
    let later = NOW.plus(Millis::secs(3));
    fleet.failed(A, SERVER, None, Time(NOW.0 - 1), later);
    assert_eq!(until(&fleet), Some(first), "it belongs to the window that is over");
    fleet.failed(A, SERVER, None, NOW, later);
    assert_eq!(until(&fleet), Some(later.plus(Millis::secs(4))), "it began as the window opened");
}

#[test]
fn r2_a_refused_model_is_remembered_for_an_hour() {
    let mut fleet = pair();
    fleet.failed(A, Failure::ModelRefused, model(1), NOW, NOW);
    let hour = Millis::secs(3_600);
    let serves = |fleet: &Fleet, at| fleet.get(A).is_some_and(|a| a.eligible(model(1), at));
    assert!(!serves(&fleet, Time(NOW.plus(hour).0 - 1)) && serves(&fleet, NOW.plus(hour)));
    fleet.failed(A, Failure::ModelRefused, None, NOW, NOW);
    assert!(fleet.get(A).is_some_and(|a| a.eligible(None, NOW)), "no model, nothing to remember");
}

#[test]
fn r2_a_model_refused_again_takes_no_second_place_and_pushes_out_no_other() {
    let mut fleet = pair();
    fleet.failed(A, Failure::ModelRefused, model(0), NOW, NOW);
    for _ in 0..40 {
        fleet.failed(A, Failure::ModelRefused, model(1), NOW, NOW);
    }
    let refused = |fleet: &Fleet, n| fleet.get(A).is_some_and(|a| !a.eligible(model(n), NOW));
    assert!(refused(&fleet, 0) && refused(&fleet, 1));
    (2..32).for_each(|n| fleet.failed(A, Failure::ModelRefused, model(n), NOW, NOW));
    assert!((0..32).all(|n| refused(&fleet, n)), "thirty-two have room");
    fleet.failed(A, Failure::ModelRefused, model(32), NOW, NOW);
    assert!(!refused(&fleet, 0) && (1..33).all(|n| refused(&fleet, n)), "the oldest makes room");
}
