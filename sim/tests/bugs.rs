//! What once broke a rule holds, and goes on meaning what it meant.

use homing_sim::bugs::{Case, FOUND, read};
use homing_sim::plant::Plant;
use homing_sim::run::{Plan, run};

#[test]
fn what_once_broke_a_rule_holds() {
    let cases = read(FOUND).unwrap();
    assert!(cases.len() >= 9, "the bug base was not read: {} cases", cases.len());
    for case in cases {
        let again = case.rerun();
        assert!(again.holds(), "{} again: {}: {again:?}", case.rule, case.defect);
        // A repaired core may go another way near the end. One that goes another way early has lost its case.
        let (taken, steps) = (again.report.choices.len(), case.steps().count());
        assert!(taken * 4 >= steps * 3, "only {taken} of {steps} steps could be taken: {}", case.defect);
    }
}

/// A case is the run it was made from, also for somebody who numbers choices differently.
#[test]
fn a_case_is_written_down_and_read_back() {
    let plan = Plan { plant: Some(Plant::DropsFence), ..Plan::default() };
    let seeds = (0..200).map(|seed| run(&plan, &mut homing_sim::choose::Seeded::new(seed)));
    let broken = seeds.into_iter().find(|report| report.violation.is_some()).unwrap();
    let case = Case {
        date: "2026-12-01".into(),
        rule: broken.violation.as_ref().unwrap().oracle.into(),
        defect: "The fence was dropped.".into(),
        actions: broken.actions.iter().map(ToString::to_string).collect(),
    };
    let read = read(&case.line().unwrap()).unwrap();
    assert_eq!(read, [case]);
    let again = read[0].rerun();
    assert_eq!(again.left, None);
    assert_eq!(again.report.actions, broken.actions);
    assert_eq!(again.report.violation, None, "without the planted bug it holds");
}

/// Some defects show only in what is on offer.
#[test]
fn what_must_not_be_possible_is_looked_for() {
    let case = |actions: &[&str]| Case {
        date: "2026-12-01".into(),
        rule: "B15".into(),
        defect: "An end went out too early.".into(),
        actions: actions.iter().map(|text| (*text).to_owned()).collect(),
    };
    let held = case(&["setup 1", "ask t1/s0/h", "!serve r0", "answer r0", "!release r0"]).rerun();
    assert!(held.holds());
    assert_eq!(held.report.choices.len(), 3);
    let offered = case(&["setup 1", "ask t1/s0/h", "!answer r0", "answer r0"]).rerun();
    assert_eq!(offered.offered.as_deref(), Some("answer r0"));
    assert!(!offered.holds());
    let at_the_end = case(&["setup 1", "ask t1/s0/h", "!answer r0"]).rerun();
    assert_eq!(at_the_end.offered.as_deref(), Some("answer r0"));
}
