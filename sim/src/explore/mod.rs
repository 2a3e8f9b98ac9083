//! Every interleaving of a small world, breadth first: states that differ only in names, or in what no rule looks back at, are
//! visited once.
//!
//! A level of the search is expanded in blocks, on several threads; what they find is put together in the order of its parents.
//! Counts and the shortest run that breaks a rule are the same for every number of threads.

pub(crate) mod canon;
mod seen;
pub(crate) mod symmetry;
#[cfg(test)]
mod tests;

use crate::choose::Listed;
use crate::plant::Plant;
use crate::run::{Plan, Report, run};
use crate::scope::Scope;
use crate::world::World;
use seen::Seen;
use symmetry::Symmetry;

/// Parents expanded at once: bounds what is held of states that turn out to be known.
const BLOCK: usize = 1_024;

/// What to visit.
#[derive(Clone, Debug)]
pub struct Search {
    /// The world.
    pub scope: Scope,
    /// A bug to put in.
    pub plant: Option<Plant>,
    /// Most states.
    pub most: usize,
    /// Threads; at least one is used.
    pub jobs: usize,
}

/// What an exhaustive search found.
#[derive(Clone, Debug)]
pub struct Explored {
    /// Canonical states visited.
    pub states: usize,
    /// Steps taken between them.
    pub steps: u64,
    /// Steps to the states that were visited last.
    pub depth: u32,
    /// Worlds waiting to be expanded.
    pub waiting: usize,
    /// Most worlds that waited at once.
    pub widest: usize,
    /// Whether every state within the scope was visited.
    pub complete: bool,
    /// The shortest run that breaks a rule.
    pub failed: Option<Report>,
}

/// How a state was reached first.
#[derive(Clone, Copy, Debug)]
struct Link {
    parent: u32,
    choice: u16,
}

/// A state to expand, by its number.
type Edge = Vec<(u32, World)>;

/// One step out of a state.
struct Next {
    parent: u32,
    choice: u16,
    print: u128,
    /// `None`: a state that was known before the block.
    world: Option<World>,
}

impl Search {
    /// Visits every state of the scope. `each` sees how far it is, after every few thousand states.
    pub fn go(&self, each: &mut dyn FnMut(&Explored)) -> Explored {
        let symmetry = Symmetry::of(&self.scope);
        let first = World::of(self.scope.clone(), self.plant);
        let mut found = Explored { states: 1, steps: 0, depth: 0, waiting: 1, widest: 1, complete: true, failed: None };
        let mut seen = Seen::default();
        seen.insert(first.fingerprint(&symmetry));
        let mut links = vec![Link { parent: 0, choice: 0 }];
        let mut edge: Edge = vec![(0, first)];
        while !edge.is_empty() {
            let mut next: Edge = Vec::new();
            while !edge.is_empty() {
                let block: Edge = edge.drain(..edge.len().min(BLOCK)).collect();
                for step in self.expand(&block, &seen, &symmetry) {
                    found.steps += 1;
                    let Some(world) = step.world else { continue };
                    let broken = world.violation().is_some();
                    if !seen.insert(step.print) && !broken {
                        continue;
                    }
                    let number = u32::try_from(links.len()).unwrap_or(u32::MAX);
                    links.push(Link { parent: step.parent, choice: step.choice });
                    if broken {
                        found.failed = Some(self.report(&links, number));
                        return found;
                    }
                    found.states += 1;
                    if found.states >= self.most {
                        found.complete = false;
                        return found;
                    }
                    next.push((number, world));
                }
                found.waiting = edge.len() + next.len();
                found.widest = found.widest.max(found.waiting);
                each(&found);
            }
            found.depth += u32::from(!next.is_empty());
            edge = next;
        }
        found
    }

    /// Every step out of these states, in their order.
    fn expand(&self, block: &[(u32, World)], seen: &Seen, symmetry: &Symmetry) -> Vec<Next> {
        let jobs = self.jobs.clamp(1, block.len().max(1));
        if jobs == 1 {
            return expand(block, seen, symmetry);
        }
        std::thread::scope(|threads| {
            let parts = block.chunks(block.len().div_ceil(jobs));
            let parts: Vec<_> = parts.map(|part| threads.spawn(|| expand(part, seen, symmetry))).collect();
            let joined =
                parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            joined.flatten().collect()
        })
    }

    /// The run that leads to a state, from the beginning.
    fn report(&self, links: &[Link], number: u32) -> Report {
        let mut choices = Vec::new();
        let mut at = number;
        while at != 0
            && let Some(link) = links.get(at as usize)
        {
            choices.push(link.choice);
            at = link.parent;
        }
        choices.reverse();
        let scope = Some(self.scope.clone());
        let plan = Plan { scope, plant: self.plant, settle: false, trace: true, steps: choices.len() };
        run(&plan, &mut Listed::new(&choices))
    }
}

fn expand(block: &[(u32, World)], seen: &Seen, symmetry: &Symmetry) -> Vec<Next> {
    let (mut out, mut enabled) = (Vec::new(), Vec::new());
    for (parent, world) in block {
        world.enabled(&mut enabled);
        for (choice, action) in (0_u16..).zip(&enabled) {
            let mut next = world.clone();
            next.apply(*action);
            next.forget();
            let print = next.fingerprint(symmetry);
            let keep = next.violation().is_some() || !seen.has(print);
            out.push(Next { parent: *parent, choice, print, world: keep.then_some(next) });
        }
    }
    out
}

/// Visits every state of the scope, at most `most` of them, on one thread.
#[must_use]
pub fn explore(scope: &Scope, plant: Option<Plant>, most: usize) -> Explored {
    Search { scope: scope.clone(), plant, most, jobs: 1 }.go(&mut |_| {})
}
