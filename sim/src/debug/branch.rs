//! One line of history: a world after every step.

use std::rc::Rc;

use crate::action::Action;
use crate::choose::{Chooser, Listed};
use crate::run::{Plan, Taken, watched};
use crate::snapshot::Snapshot;
use crate::timeline::Line;
use crate::trace::{Trace, record};
use crate::world::World;

/// A world and how it came about.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The world.
    pub world: World,
    /// The step that led here.
    pub taken: Taken,
}

impl Moment {
    /// What was observed in the step that led here, the broken rule behind it.
    #[must_use]
    pub fn lines(&self, before: Option<&Self>) -> Vec<Line> {
        let mut lines: Vec<Line> = self.world.seen().iter().map(|seen| Line::of(self.world.steps(), seen)).collect();
        let new = before.is_none_or(|before| before.world.violation().is_none());
        if let Some(violation) = self.world.violation().filter(|_| new) {
            Line::close(&mut lines, violation);
        }
        lines
    }

    /// The state as a person looks at it.
    #[must_use]
    pub fn state(&self) -> Snapshot {
        self.world.snapshot()
    }

    /// What can happen next.
    #[must_use]
    pub fn enabled(&self) -> Vec<Action> {
        let mut enabled = Vec::new();
        self.world.enabled(&mut enabled);
        enabled
    }
}

/// All moments of one history. Copies share them.
#[derive(Clone, Debug)]
pub struct Branch {
    plan: Plan,
    first: Rc<Moment>,
    /// All of them, the first among them.
    moments: Vec<Rc<Moment>>,
}

impl Branch {
    /// The history of a run.
    pub fn of(plan: &Plan, chooser: &mut dyn Chooser) -> Self {
        let mut moments = Vec::new();
        watched(plan, chooser, &mut |world, taken| moments.push(Rc::new(Moment { world: world.clone(), taken })));
        let fresh = || Rc::new(Moment { world: World::new(plan.plant), taken: Taken::default() });
        let first = moments.first().cloned().unwrap_or_else(fresh);
        Self { plan: plan.clone(), first, moments }
    }

    /// The moment at a place; the beginning where there is none.
    #[must_use]
    pub fn at(&self, at: usize) -> &Moment {
        self.moments.get(at).unwrap_or(&self.first)
    }

    /// The last moment's place; 0 is the beginning.
    #[must_use]
    pub fn last(&self) -> usize {
        self.moments.len().saturating_sub(1)
    }

    /// The moment at a place, if there is one.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&Moment> {
        self.moments.get(at).map(Rc::as_ref)
    }

    /// The first moment after this many steps.
    #[must_use]
    pub fn find(&self, step: u32) -> Option<usize> {
        self.moments.iter().position(|moment| moment.world.steps() == step)
    }

    /// Whether everything up to here was chosen: a healed world goes its own way.
    #[must_use]
    pub fn chosen(&self, at: usize) -> bool {
        self.moments.iter().take(at + 1).skip(1).all(|moment| moment.taken.choice.is_some())
    }

    /// The history up to a place, and another step behind it. `None` where no such action can happen there.
    #[must_use]
    pub fn fork(&self, at: usize, number: usize) -> Option<Self> {
        let from = self.get(at)?;
        let action = from.enabled().get(number).copied()?;
        let mut world = from.world.clone();
        world.apply(action);
        let taken = Taken { action: Some(action), choice: u16::try_from(number).ok() };
        let mut moments = self.moments.get(..=at)?.to_vec();
        moments.push(Rc::new(Moment { world, taken }));
        Some(Self { moments, ..self.clone() })
    }

    /// The history up to a place, and then the trouble ends and the world has to settle.
    #[must_use]
    pub fn heal(&self, at: usize) -> Self {
        let mut moments: Vec<_> = self.moments.iter().take(at + 1).cloned().collect();
        if let Some(from) = self.get(at) {
            let mut world = from.world.clone();
            world.settle(&mut |world, action| {
                let taken = Taken { action, choice: None };
                moments.push(Rc::new(Moment { world: world.clone(), taken }));
            });
        }
        Self { moments, ..self.clone() }
    }

    /// The choices of all steps.
    #[must_use]
    pub fn choices(&self) -> Vec<u16> {
        self.moments.iter().filter_map(|moment| moment.taken.choice).collect()
    }

    /// The trace of the whole history.
    #[must_use]
    pub fn trace(&self) -> Trace {
        let choices = self.choices();
        let plan = Plan { steps: choices.len(), settle: !self.chosen(self.last()), ..self.plan.clone() };
        record(&plan, &mut Listed::new(&choices)).1
    }
}
