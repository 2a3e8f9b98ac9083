//! A run by the texts of its actions: they are read back as what they were, and a schedule that no longer fits is still run.

use homing_sim::action::Action;
use homing_sim::choose::{ByName, Divergence, Schedule, Seeded, Why};
use homing_sim::plant::Plant;
use homing_sim::run::{Plan, run};
use homing_sim::shrink::shrink;
use homing_sim::world::World;

/// Every action a hundred runs offer, chosen or not.
#[test]
fn every_action_that_is_ever_enabled_survives_its_text() {
    let (mut enabled, mut verbs) = (Vec::new(), std::collections::BTreeSet::new());
    for seed in 0..100 {
        let plan = Plan { settle: false, ..Plan::default() };
        let report = run(&plan, Schedule::Mixed.chooser(seed, plan.steps).as_mut());
        let mut world = World::default();
        for action in &report.actions {
            world.enabled(&mut enabled);
            for offered in &enabled {
                assert_eq!(offered.to_string().parse(), Ok(*offered));
                verbs.insert(offered.verb());
            }
            world.apply(*action);
        }
    }
    assert!(verbs.len() >= 30, "only {verbs:?} were offered");
}

#[test]
fn the_texts_of_a_run_are_the_run() {
    for seed in 0..40 {
        let plan = Plan { trace: true, ..Plan::default() };
        let first = run(&plan, &mut Seeded::new(seed));
        let texts: Vec<String> = first.actions.iter().map(Action::to_string).collect();
        let mut named = ByName::new(&texts);
        let again = run(&plan, &mut named);
        assert_eq!(named.divergence(), None);
        assert_eq!(again.choices, first.choices, "seed {seed}");
        assert_eq!(again.timeline(&plan), first.timeline(&plan), "seed {seed}");
    }
}

#[test]
fn what_no_longer_fits_is_left_out_and_told() {
    let texts = ["setup 1", "levitate r0", "ask t1/s0/h", "release r0", "answer r0"];
    let mut named = ByName::new(&texts);
    let report = run(&Plan { settle: false, ..Plan::default() }, &mut named);
    assert_eq!(report.actions.len(), 3, "{:?}", report.actions);
    let first = Divergence { step: 1, text: "levitate r0".into(), why: Why::NoAction };
    assert_eq!(named.divergence(), Some(&first));
    let mut named = ByName::new(&texts[2..]);
    run(&Plan { settle: false, ..Plan::default() }, &mut named);
    assert_eq!(named.divergence().map(|d| d.why), Some(Why::NotEnabled), "before its world was chosen");
}

/// A schedule of another version: some steps have no meaning any more. It is run by its texts and shrunk by its choices.
#[test]
fn a_schedule_of_another_version_shrinks() {
    let plan = Plan { plant: Some(Plant::SoftPins), ..Plan::default() };
    let mut failed = (0..400).map(|seed| run(&plan, &mut Seeded::new(seed)));
    let failed = failed.find(|r| r.violation.as_ref().is_some_and(|v| v.oracle == "R1")).unwrap();
    let mut texts: Vec<String> = failed.actions.iter().map(Action::to_string).collect();
    texts.insert(1, "polish a1".into());
    let again = run(&plan, &mut ByName::new(&texts));
    let small = shrink(&plan, &again.choices).unwrap();
    assert_eq!(small.report.violation.map(|v| v.oracle), Some("R1"));
    assert!(small.report.choices.len() < failed.choices.len());
}
