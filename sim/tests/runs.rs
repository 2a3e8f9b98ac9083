//! Every list of choices is a run in which every rule holds; the same list gives the same trace, byte for byte.

use homing_sim::choose::{Bytes, Listed, Seeded};
use homing_sim::run::{Plan, run};
use homing_sim::sweep::sweep;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

fn traced() -> Plan {
    Plan { trace: true, ..Plan::default() }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("tests/runs.proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_list_of_choices_is_a_run_that_holds(choices in prop::collection::vec(any::<u16>(), 0..120)) {
        let report = run(&Plan { steps: choices.len(), ..Plan::default() }, &mut Listed::new(&choices));
        prop_assert!(report.violation.is_none(), "{:?}\n{}", report.violation, report.command(&Plan::default()));
    }

    #[test]
    fn every_string_of_bytes_is_a_run_that_holds(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let report = run(&Plan { steps: bytes.len(), ..Plan::default() }, &mut Bytes::new(&bytes));
        prop_assert!(report.violation.is_none(), "{:?}\n{}", report.violation, report.command(&Plan::default()));
    }
}

#[test]
fn the_same_choices_give_the_same_trace() {
    for seed in 0..40 {
        let first = run(&traced(), &mut Seeded::new(seed));
        let again = run(&traced(), &mut Seeded::new(seed));
        let replayed = run(&traced(), &mut Listed::new(&first.choices));
        assert_eq!(first.timeline(&traced()), again.timeline(&traced()), "seed {seed}");
        assert_eq!(first.timeline(&traced()), replayed.timeline(&traced()), "seed {seed}, replayed");
    }
}

#[test]
fn different_seeds_are_different_runs() {
    let (a, b) = (run(&traced(), &mut Seeded::new(1)), run(&traced(), &mut Seeded::new(2)));
    assert_ne!(a.timeline(&traced()), b.timeline(&traced()));
}

#[test]
fn a_sweep_holds_and_reaches_every_required_situation() {
    let swept = sweep(&Plan::default(), 1, 3_000, &mut |_| {});
    if let Some((seed, report)) = &swept.failed {
        panic!("seed {seed}: {:?}\n{}", report.violation, report.command(&Plan::default()));
    }
    assert_eq!(swept.missing(), Vec::<&str>::new());
}

#[test]
fn a_sweep_that_did_nothing_is_not_a_sweep() {
    let swept = sweep(&Plan { steps: 1, settle: false, ..Plan::default() }, 1, 5, &mut |_| {});
    assert!(swept.failed.is_none());
    assert!(swept.missing().contains(&"failover"));
}
