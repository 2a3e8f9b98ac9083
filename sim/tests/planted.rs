//! The oracles bite: every planted bug is caught by the oracle it names, and shrinks to a run a person can read.

use std::collections::BTreeSet;

use homing_sim::explore::explore;
use homing_sim::oracle;
use homing_sim::plant::{Missed, PLANTS, Plant, Planted, prove};
use homing_sim::run::Plan;
use homing_sim::scope::{PROFILES, Scope};
use homing_sim::shrink::shrink;

#[test]
fn every_planted_bug_is_caught_by_its_oracle_and_shrinks() {
    for planted in &PLANTS {
        let proof = prove(planted, 600).unwrap_or_else(|missed| panic!("{:?}: {missed}", planted.plant));
        let small = &proof.shrunk.report;
        let broken = small.violation.as_ref().map(|v| v.oracle);
        assert_eq!(broken, Some(planted.oracle), "{:?} shrank to another fault", planted.plant);
        assert!(small.choices.len() <= 30, "{:?}: {} choices", planted.plant, small.choices.len());
        assert!(small.choices.len() <= proof.report.choices.len());
    }
}

/// An alarm that was never heard is no alarm.
#[test]
fn every_oracle_has_a_planted_bug() {
    let deaf = oracle::ALL.iter().filter(|oracle| PLANTS.iter().all(|planted| planted.oracle != oracle.id));
    assert_eq!(deaf.map(|oracle| oracle.id).collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(PLANTS.len() >= 28, "only {} bugs are planted", PLANTS.len());
}

#[test]
fn every_plant_names_an_oracle_and_a_world_and_has_its_own_name() {
    let ids: BTreeSet<&str> = oracle::ALL.iter().map(|o| o.id).collect();
    assert_eq!(ids.len(), oracle::ALL.len(), "an id is used twice");
    assert!(PLANTS.iter().all(|planted| ids.contains(planted.oracle)));
    let worlds: Vec<&str> = (0..PROFILES).map(|n| Scope::profile(n).name).collect();
    assert!(PLANTS.iter().all(|planted| worlds.contains(&planted.world)));
    let names: BTreeSet<String> = PLANTS.iter().map(|planted| planted.plant.name()).collect();
    assert_eq!(names.len(), PLANTS.len());
    assert!(PLANTS.iter().all(|p| Plant::named(&p.plant.name()) == Some(p.plant)));
    assert!(PLANTS.iter().all(|p| !p.field.is_empty()));
}

/// What no oracle was told to look for is not found: a proof is no formality.
#[test]
fn a_bug_that_names_the_wrong_oracle_is_missed() {
    let wrong = Planted { oracle: "B14", ..*Plant::SoftPins.planted().unwrap() };
    let missed = prove(&wrong, 20).unwrap_err().to_string();
    assert!(missed.starts_with("not caught in 20 runs, though R1"), "{missed}");
    let nowhere = Planted { world: "nowhere", ..wrong };
    assert_eq!(prove(&nowhere, 20).unwrap_err(), Missed::NoWorld("nowhere"));
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
    assert_eq!(explored.states, 10_974);
}
