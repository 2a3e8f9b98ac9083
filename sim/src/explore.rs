//! Every interleaving of a tiny world, breadth first: states that differ only in what no rule looks at are visited once.

use std::collections::{BTreeSet, VecDeque};

use crate::choose::Listed;
use crate::plant::Plant;
use crate::run::{Plan, Report, run};
use crate::scope::Scope;
use crate::world::World;

/// What an exhaustive search found.
#[derive(Clone, Debug)]
pub struct Explored {
    /// Canonical states visited.
    pub states: usize,
    /// Steps taken between them.
    pub steps: u64,
    /// Whether every state within the scope was visited.
    pub complete: bool,
    /// The shortest run that breaks a rule.
    pub failed: Option<Report>,
}

/// Visits every state of the scope, at most `most` of them.
#[must_use]
pub fn explore(scope: &Scope, plant: Option<Plant>, most: usize) -> Explored {
    let mut found = Explored { states: 1, steps: 0, complete: true, failed: None };
    let first = World::of(scope.clone(), plant);
    let mut seen = BTreeSet::from([first.fingerprint()]);
    let mut edge = VecDeque::from([(first, Vec::<u16>::new())]);
    let mut enabled = Vec::new();
    while let Some((world, path)) = edge.pop_front() {
        world.enabled(&mut enabled);
        for (at, action) in enabled.iter().enumerate() {
            let mut next = world.clone();
            next.apply(*action);
            found.steps += 1;
            let new = seen.insert(next.fingerprint());
            if next.violation().is_none() && !new {
                continue;
            }
            let mut path = path.clone();
            path.push(u16::try_from(at).unwrap_or(u16::MAX));
            if next.violation().is_some() {
                let plan = Plan { scope: Some(scope.clone()), plant, settle: false, trace: true, steps: path.len() };
                found.failed = Some(run(&plan, &mut Listed::new(&path)));
                return found;
            }
            found.states += 1;
            if found.states >= most {
                found.complete = false;
                return found;
            }
            edge.push_back((next, path));
        }
    }
    found
}
