//! The scope that is visited as a whole: any change of behaviour shows as a changed number here.

use homing_sim::explore::Search;
use homing_sim::scope::{Budget, Scope};

#[test]
fn small_has_what_it_has_to_have() {
    let Scope { processes, tenants, accounts, budget, spans, ref settings, .. } = Scope::small();
    let Budget { asks, ticks, faults, lost_replies, crashes, .. } = budget;
    assert!(processes >= 2 && tenants >= 2 && accounts >= 2 && asks >= 3);
    assert!(crashes >= 1 && lost_replies >= 1 && faults >= crashes + lost_replies, "both in the same run");
    assert!(ticks >= 1 && spans.iter().any(|span| *span > settings.ttl), "a step past a whole life");
}

#[test]
fn every_state_of_small_holds() {
    let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let explored = Search { scope: Scope::small(), plant: None, most: 4_000_000, jobs }.go(&mut |_| {});
    assert!(explored.failed.is_none(), "{:#?}", explored.failed.map(|r| r.lines));
    assert!(explored.complete);
    assert_eq!((explored.states, explored.steps, explored.depth), (1_336_125, 3_531_292, 27));
}
