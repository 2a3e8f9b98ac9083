//! The conformance suite (T1) on a real SQLite file, really reopened.

mod faults;
mod sqlite;

use homing_conformance::{Broken, Fault, StoreUnderTest, run, script};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use faults::Slip;
use sqlite::{Pace, Sqlite};

/// Scripts of this many steps at most.
const STEPS: usize = 80;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// The disk takes what the script says, change by change: a crash comes between any two commits.
    #[test]
    fn sqlite_is_the_model_at_every_commit(script in script(STEPS)) {
        run(&script, &mut Sqlite::new(Pace::ByHand)).map_err(|e| TestCaseError::fail(e.to_string()))?;
    }

    /// The writer thread takes what it finds: a crash comes in the midst of it.
    #[test]
    fn sqlite_is_the_model_whatever_its_thread_does(script in script(STEPS)) {
        run(&script, &mut Sqlite::new(Pace::Thread)).map_err(|e| TestCaseError::fail(e.to_string()))?;
    }
}

/// What the suite says of a store at the first script that finds fault with it; always the same scripts.
fn found(mut store: impl StoreUnderTest) -> Option<String> {
    let mut runner = TestRunner::deterministic();
    (0..150).find_map(|_| {
        let script = script(STEPS).new_tree(&mut runner).ok()?.current();
        run(&script, &mut store).err().map(|e| e.difference)
    })
}

#[test]
fn every_slip_of_the_adapter_is_found() {
    let missed: Vec<_> = Slip::ALL.into_iter().filter(|slip| found(Sqlite::with_slip(*slip)).is_none()).collect();
    assert_eq!(missed, []);
}

#[test]
fn every_fault_of_a_store_is_found() {
    let missed: Vec<_> = Fault::ALL
        .into_iter()
        .filter(|fault| found(Broken::new(Sqlite::new(Pace::ByHand), *fault)).is_none())
        .collect();
    assert_eq!(missed, []);
}
