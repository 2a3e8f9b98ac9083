//! Schedules by priority with a few changes (probabilistic concurrency testing): whoever has the highest priority goes on until
//! it waits or is put last at one of a few drawn steps. Races that need few preemptions are found far sooner than by dice.

use std::collections::BTreeMap;

use super::Chooser;
use crate::action::{Action, Class};
use crate::event::{ProcessId, TurnId};
use crate::rng::Rng;

/// Most changes of priority in one run.
const CHANGES_MAX: u64 = 6;

/// Who may go on: each request, the clients together, the disk, a process that is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Actor {
    Turn(TurnId),
    Clients,
    Disk,
    Process(ProcessId),
}

/// Priority schedules.
#[derive(Clone, Debug)]
pub struct Pct {
    rng: Rng,
    step: u64,
    /// Steps at which whoever would go on is put last.
    changes: Vec<u64>,
    /// Given on first sight; the higher goes first.
    priorities: BTreeMap<Actor, u64>,
    /// Who is put last gets this, and the next one less.
    last: u64,
    /// How often trouble happens, and what nobody waits for (operators, clocks, housekeeping), in 64ths of the steps.
    trouble: u64,
    chores: u64,
}

impl Pct {
    /// The run of this seed, its changes within the first `steps` steps.
    #[must_use]
    pub fn new(seed: u64, steps: usize) -> Self {
        let mut rng = Rng::new(seed);
        let count = rng.below(CHANGES_MAX + 1);
        let changes = (0..count).map(|_| rng.below(steps as u64)).collect();
        let trouble = rng.one_of(&[0, 4, 10, 20]);
        let chores = rng.one_of(&[2, 6, 12]);
        Self { rng, step: 0, changes, priorities: BTreeMap::new(), last: CHANGES_MAX, trouble, chores }
    }

    fn priority(&mut self, actor: Actor) -> u64 {
        let drawn = CHANGES_MAX + 1 + self.rng.word() / 2;
        *self.priorities.entry(actor).or_insert(drawn)
    }

    /// The actor that goes first among the owners of these actions.
    fn first(&mut self, actions: &[(usize, Actor)]) -> Option<Actor> {
        let mut best: Option<(u64, Actor)> = None;
        for (_, actor) in actions {
            if best.is_none_or(|(_, known)| known != *actor) {
                let candidate = (self.priority(*actor), *actor);
                best = best.max(Some(candidate));
            }
        }
        best.map(|(_, actor)| actor)
    }

    fn one_of(&mut self, mut actions: impl Iterator<Item = usize> + Clone) -> Option<usize> {
        let count = actions.clone().count() as u64;
        let nth = usize::try_from(self.rng.below(count)).ok()?;
        actions.nth(nth)
    }

    fn among(&mut self, actions: &[(usize, Actor)], change: bool) -> Option<usize> {
        let mut actor = self.first(actions)?;
        if change {
            self.priorities.insert(actor, self.last);
            self.last = self.last.saturating_sub(1);
            actor = self.first(actions)?;
        }
        self.one_of(actions.iter().filter(move |(_, a)| *a == actor).map(|(at, _)| *at))
    }
}

impl Chooser for Pct {
    fn pick(&mut self, enabled: &[Action]) -> Option<usize> {
        let change = self.changes.contains(&self.step);
        self.step += 1;
        let (mut calm, mut trouble, mut chores) = (Vec::new(), Vec::new(), Vec::new());
        for (at, action) in enabled.iter().enumerate() {
            match actor(action) {
                None => chores.push(at),
                Some(actor) if action.is_fault() => trouble.push((at, actor)),
                Some(actor) => calm.push((at, actor)),
            }
        }
        if self.rng.below(64) < self.chores && !chores.is_empty() {
            return self.one_of(chores.iter().copied());
        }
        if self.rng.below(64) < self.trouble && !trouble.is_empty() {
            return self.among(&trouble, change);
        }
        if calm.is_empty() {
            return self.one_of(0..enabled.len());
        }
        self.among(&calm, change)
    }
}

/// Whose step it is; `None` for what happens to everybody at any time.
const fn actor(action: &Action) -> Option<Actor> {
    match (action.turn(), action) {
        (Some(turn), _) => Some(Actor::Turn(turn)),
        (None, Action::Commit) => Some(Actor::Disk),
        (None, Action::Restart(process) | Action::Sync(process)) => Some(Actor::Process(*process)),
        (None, _) => match action.class() {
            Class::Client | Class::Progress => Some(Actor::Clients),
            Class::House | Class::Time | Class::Trouble | Class::Operator | Class::Crash => None,
        },
    }
}
