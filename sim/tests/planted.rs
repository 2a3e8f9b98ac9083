//! The oracles bite: every planted bug is caught by the oracle it names, and shrinks to a run a person can read.

use std::collections::BTreeSet;

use homing_sim::choose::Seeded;
use homing_sim::explore::explore;
use homing_sim::oracle;
use homing_sim::plant::{PLANTS, Plant};
use homing_sim::run::{Plan, run};
use homing_sim::scope::Scope;
use homing_sim::shrink::shrink;

#[test]
fn every_planted_bug_is_caught_by_its_oracle_and_shrinks() {
    for (plant, oracle) in PLANTS {
        let plan = Plan { plant: Some(plant), ..Plan::default() };
        let caught = (0..400).map(|seed| run(&plan, &mut Seeded::new(seed)));
        let caught = caught.into_iter().find(|r| r.violation.as_ref().is_some_and(|v| v.oracle == oracle));
        let caught = caught.unwrap_or_else(|| panic!("{plant:?} was not caught by {oracle}"));
        let small = shrink(&plan, &caught.choices).unwrap();
        assert_eq!(
            small.report.violation.as_ref().map(|v| v.oracle),
            Some(oracle),
            "{plant:?} shrank to another fault"
        );
        assert!(small.report.choices.len() <= 30, "{plant:?}: {} choices", small.report.choices.len());
        assert!(small.report.choices.len() <= caught.choices.len());
    }
}

#[test]
fn every_plant_names_an_oracle_and_has_its_own_name() {
    let ids: BTreeSet<&str> = oracle::ALL.iter().map(|o| o.id).collect();
    assert_eq!(ids.len(), oracle::ALL.len(), "an id is used twice");
    assert!(PLANTS.iter().all(|(_, oracle)| ids.contains(oracle)));
    let names: BTreeSet<String> = PLANTS.iter().map(|(p, _)| p.name()).collect();
    assert_eq!(names.len(), PLANTS.len());
    assert!(PLANTS.iter().all(|(p, _)| Plant::named(&p.name()) == Some(*p)));
}

#[test]
fn a_run_that_holds_has_nothing_to_shrink() {
    assert!(shrink(&Plan::default(), &[0, 0, 0, 0]).is_none());
}

/// Any change of behaviour shows as a changed number here.
#[test]
fn every_state_of_the_tiny_world_holds() {
    let explored = explore(&Scope::tiny(), None, 200_000);
    assert!(explored.failed.is_none(), "{:#?}", explored.failed.map(|r| r.lines));
    assert!(explored.complete);
    assert_eq!(explored.states, 19_415);
}

#[test]
fn the_exhaustive_search_finds_a_shortest_run() {
    let explored = explore(&Scope::tiny(), Some(Plant::LoserIgnoresWinner), 200_000);
    let failed = explored.failed.expect("two racing first requests are within the scope");
    assert_eq!(failed.violation.map(|v| v.oracle), Some("B4"));
    assert_eq!(failed.choices.len(), 6, "two requests come, both look, both reserve");
}

/// Two processes, one database: any change of behaviour shows as a changed number here too.
#[test]
fn every_state_of_the_tiny_shared_world_holds() {
    let explored = explore(&Scope::tiny_shared(), None, 2_000_000);
    assert!(explored.failed.is_none(), "{:#?}", explored.failed.map(|r| r.lines));
    assert!(explored.complete);
    assert_eq!(explored.states, 11_135);
}
