//! The time line a person reads.

mod named;

use homing_sim::choose::{Listed, Seeded};
use homing_sim::plant::Plant;
use homing_sim::run::{Plan, run};

fn plan() -> Plan {
    Plan { trace: true, settle: false, ..Plan::default() }
}

/// A first request, a failure at home with its quick repeat, the move to the next account, and the end once that is durable.
#[test]
fn a_failover_from_request_to_durable_end() {
    let choices = named::choices([
        "Setup(1)",
        "Ask(t1/s0/h)",
        "Answer",
        "Answer",
        "Serve",
        "Answer",
        "Commit",
        "Commit",
        "Release",
        "Ask(t1/s0/h)",
        "Answer",
        "Fail(TurnId(1), Server)",
        "Wake",
        "Fail(TurnId(1), Server)",
        "Answer",
        "Serve",
        "Answer",
        "Commit",
        "Commit",
        "Release",
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
