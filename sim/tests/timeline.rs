//! The time line a person reads.

use homing_sim::choose::{Listed, Seeded};
use homing_sim::plant::Plant;
use homing_sim::run::{Plan, run};

fn plan() -> Plan {
    Plan { trace: true, settle: false, ..Plan::default() }
}

/// A first request, a failure at home with its quick repeat, the move to the next account, and the end once that is durable.
#[test]
fn a_failover_from_request_to_durable_end() {
    let choices = steps(&[
        "setup 1",
        "ask t1/s0/h",
        "answer",
        "answer",
        "serve",
        "answer",
        "commit",
        "commit",
        "release",
        "ask t1/s0/h",
        "answer",
        "fail r1 server",
        "wake",
        "fail r1 server",
        "answer",
        "serve",
        "answer",
        "commit",
        "commit",
        "release",
    ]);
    let report = run(&plan(), &mut Listed::new(&choices));
    insta::assert_snapshot!(report.timeline(&plan()));
}

#[test]
fn the_first_line_reproduces_the_run_and_a_broken_rule_ends_it() {
    let broken = Plan { plant: Some(Plant::SoftPins), ..plan() };
    let report = (0..200)
        .map(|s| run(&broken, &mut Seeded::new(s)))
        .find(|r| r.violation.as_ref().is_some_and(|v| v.oracle == "R1"))
        .unwrap();
    let text = report.timeline(&broken);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("homing-sim replay --plant soft-pins --choices "), "{first}");
    let choices = homing_sim::choose::parse(first.rsplit(' ').next().unwrap()).unwrap();
    let again = run(&broken, &mut Listed::new(&choices));
    assert_eq!(again.timeline(&broken), text);
    assert!(text.lines().last().unwrap().contains("R1 is broken"), "{text}");
}

/// Finds the choices by the names of the actions, so that the story above reads as one.
fn steps(names: &[&str]) -> Vec<u16> {
    let (mut world, mut enabled, mut choices) = (homing_sim::world::World::default(), Vec::new(), Vec::new());
    for name in names {
        world.enabled(&mut enabled);
        let at = enabled.iter().position(|a| a.to_string().starts_with(name));
        let at = at.unwrap_or_else(|| panic!("{name} is not enabled: {enabled:?}"));
        choices.push(u16::try_from(at).unwrap_or(u16::MAX));
        world.apply(enabled[at]);
    }
    choices
}
