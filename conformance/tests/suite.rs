//! The suite accepts every manner of store that it allows, and finds every fault.

use homing_conformance::{
    Act, At, Broken, Fault, Identity, Manner, Reference, Script, Step, StoreUnderTest, Who, run, script,
};
use homing_core::settings::Caps;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

fn conforms(script: &Script, store: &mut impl StoreUnderTest) -> Result<(), TestCaseError> {
    run(script, store).map_err(|e| TestCaseError::fail(e.to_string()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_table_is_its_own_model(script in script(80)) {
        conforms(&script, &mut Reference::new(Manner::Plain))?;
    }

    #[test]
    fn a_loser_may_be_told_no_more_than_that(script in script(80)) {
        conforms(&script, &mut Reference::new(Manner::Races))?;
    }

    #[test]
    fn an_unknown_outcome_is_one_of_two(script in script(80)) {
        conforms(&script, &mut Reference::new(Manner::LosesReplies))?;
    }

    #[test]
    fn a_store_may_count_in_its_own_way(script in script(80)) {
        conforms(&script, &mut Reference::new(Manner::OwnNumbers))?;
    }

    #[test]
    fn what_was_not_reported_durable_may_be_lost(script in script(80)) {
        conforms(&script, &mut Reference::new(Manner::WritesBehind))?;
    }
}

#[test]
fn scripts_reach_every_answer() {
    let mut runner = TestRunner::deterministic();
    let mut store = Reference::new(Manner::Plain);
    for _ in 0..400 {
        run(&script(80).new_tree(&mut runner).unwrap().current(), &mut store).unwrap();
    }
    let wanted = [
        "Apart",
        "At",
        "Confirmed",
        "Foreign",
        "Found",
        "Inserted",
        "Looked false",
        "Looked true",
        "Lost false",
        "Lost true",
        "Moved",
        "Nowhere",
        "Pended",
        "Recorded",
        "Refused Erased",
        "Refused KeyTaken",
        "Renewed",
        "Reserved",
        "Stale",
    ];
    assert_eq!(store.given().iter().collect::<Vec<_>>(), wanted);
}

/// The first of 400 scripts, always the same ones, that finds the fault.
fn found(manner: Manner, fault: Fault) -> Option<String> {
    let mut runner = TestRunner::deterministic();
    (0..400).find_map(|_| {
        let script = script(80).new_tree(&mut runner).ok()?.current();
        run(&script, &mut Broken::new(Reference::new(manner), fault)).err().map(|e| e.difference)
    })
}

#[test]
fn every_fault_is_found() {
    let missed: Vec<_> = Fault::ALL.into_iter().filter(|fault| found(Manner::WritesBehind, *fault).is_none()).collect();
    assert_eq!(missed, []);
}

/// The order of two operations at once may show only at the next start: by what had been written on the way.
#[test]
fn an_order_that_shows_later_is_no_disagreement() {
    let who = Who { tenant: 0, identity: Identity::Session(vec![(0, 0)]), anchors: vec![] };
    // A shorter life than the row has: nothing is written but that it was renewed, and that only by the next write.
    let renew = Act::Complete { at: At::Seen, ttl: 60, pinned: false, inserts: true, issued: None };
    let script = Script {
        caps: Caps { total: 12, tenant: 6 },
        steps: vec![
            Step::Serve(0, who.clone(), 0, 3_600),
            Step::Turn(1, Act::Begin(who)),
            Step::Turn(1, Act::Look),
            Step::Race(vec![(0, renew), (1, Act::Pend(1))]),
            Step::Restart,
        ],
    };
    for manner in [Manner::Plain, Manner::Races, Manner::WritesBehind] {
        run(&script, &mut Reference::new(manner)).unwrap();
    }
}

#[test]
fn a_store_that_claims_less_is_judged_by_less() {
    // Where numbers are a store's own, what a success rests on is not compared: a crash says it, in a store that writes behind.
    assert_eq!(found(Manner::OwnNumbers, Fault::NoWait), None);
    assert!(found(Manner::OwnNumbers, Fault::NoFence).is_some());
}
