//! States that are taken for one go on alike, and the search is the same for every number of threads.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;
use crate::scope::Budget;

/// Where the steps out of a world lead.
fn onward(world: &World, symmetry: &Symmetry) -> Vec<(World, u128)> {
    let mut enabled = Vec::new();
    world.enabled(&mut enabled);
    let step = |action: &crate::action::Action| {
        let mut next = world.clone();
        next.apply(*action);
        next.forget();
        assert_eq!(next.violation(), None);
        let print = next.fingerprint(symmetry);
        (next, print)
    };
    enabled.iter().map(step).collect()
}

/// Visits a scope and looks at every `sample`th world that is taken for one already known: its steps have to lead to the same
/// states. Returns the number of worlds compared.
fn compare(scope: &Scope, sample: usize) -> usize {
    let symmetry = Symmetry::of(scope);
    let first = World::of(scope.clone(), None);
    let mut known: BTreeMap<u128, BTreeSet<u128>> = BTreeMap::new();
    let (mut twins, mut compared) = (0_usize, 0);
    let mut edge = VecDeque::from([(first.fingerprint(&symmetry), first)]);
    while let Some((print, world)) = edge.pop_front() {
        let twin = known.contains_key(&print);
        twins += usize::from(twin);
        if twin && !twins.is_multiple_of(sample) {
            continue;
        }
        let steps = onward(&world, &symmetry);
        let prints: BTreeSet<u128> = steps.iter().map(|(_, print)| *print).collect();
        match known.get(&print) {
            Some(first) => {
                assert_eq!(&prints, first, "two worlds with one print go on differently: {world:#?}");
                compared += 1;
            }
            None => {
                known.insert(print, prints);
                edge.extend(steps.into_iter().map(|(next, print)| (print, next)));
            }
        }
    }
    compared
}

#[test]
fn worlds_with_one_print_go_on_alike() {
    let calm = Budget { faults: 0, ..Scope::tiny().budget };
    let two = Scope { tenants: 2, budget: calm, ..Scope::tiny() };
    assert_eq!(Symmetry::of(&two).renamings.len(), 2, "the tenants of this scope may change places");
    let clock = Scope { budget: Budget { ticks: 1, ..calm }, ..Scope::tiny() };
    let small = Scope { budget: Budget { asks: 2, faults: 1, ..Scope::small().budget }, ..Scope::small() };
    let away = Scope {
        outages: true,
        budget: Budget { asks: 1, faults: 3, ..Scope::tiny_shared().budget },
        ..Scope::tiny_shared()
    };
    assert!(small.only_orders_past() && !clock.only_orders_past());
    let tinies = [(&Scope::tiny(), 8), (&Scope::tiny_shared(), 8)];
    for (scope, sample) in tinies.into_iter().chain([(&small, 4), (&two, 2), (&clock, 4), (&away, 2)]) {
        let compared = compare(scope, sample);
        assert!(compared > 500, "only {compared} worlds were compared");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for plant in [None, Some(Plant::ForgetsPending)] {
        let with = |jobs| Search { scope: Scope::tiny(), plant, most: 9_000, jobs }.go(&mut |_| {});
        let (one, three) = (with(1), with(3));
        assert_eq!(format!("{one:?}"), format!("{three:?}"));
        assert_eq!(one.failed.is_some(), plant.is_some());
    }
}
