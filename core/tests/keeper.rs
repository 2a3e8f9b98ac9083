//! When the keeper of a process wants to be asked again (B13, B15).

use homing_core::keeper::{Chore, Done, Keeper, Rules};
use homing_core::time::{Millis, Time};

const RULES: Rules = Rules { sweep_every: Millis(30), drain_for: Millis(60) };

/// A keeper whose first sweep is done.
fn swept() -> Keeper {
    let mut keeper = Keeper::new(RULES, Time(0));
    assert_eq!(keeper.chore(Time(0)), Some(Chore::Sweep));
    keeper.done(Done::Swept { more: false }, Time(0)).expect("it answers the sweep");
    keeper
}

#[test]
fn a_drain_without_requests_goes_on_at_once() {
    let mut keeper = swept();
    assert!(!keeper.draining());
    keeper.drain(Time(5));
    assert_eq!((keeper.draining(), keeper.wakes()), (true, Some(Time(0))), "now, not at the drain's end");
    assert_eq!(keeper.chore(Time(5)), Some(Chore::Flush));
}

#[test]
fn a_drain_is_over_with_its_last_request() {
    let mut keeper = swept();
    keeper.began();
    keeper.drain(Time(5));
    assert_eq!((keeper.wakes(), keeper.chore(Time(64))), (Some(Time(65)), None));
    keeper.ended();
    assert_eq!((keeper.wakes(), keeper.chore(Time(64))), (Some(Time(0)), Some(Chore::Flush)));
}
