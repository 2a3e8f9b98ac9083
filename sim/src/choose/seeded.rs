//! Random runs in one of the fixed worlds: a kind of step by weight, then one step of that kind.

use super::Chooser;
use crate::action::{Action, CLASSES};
use crate::rng::Rng;
use crate::scope::SWARM;

/// How likely each kind of step is, in the order of [`CLASSES`].
pub(super) type Weights = [u64; CLASSES.len()];

/// Random runs in one of the fixed worlds.
#[derive(Clone, Debug)]
pub struct Seeded {
    rng: Rng,
    /// `None`: every enabled action is as likely as any other.
    weights: Option<Weights>,
}

impl Seeded {
    /// The run of this seed. The weights of the kinds are drawn from it too: each run is another kind of bad day.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let even = rng.one_of(&[0, 0, 0, 1]) == 1;
        let weights = draw_weights(&mut rng);
        Self { rng, weights: (!even).then_some(weights) }
    }
}

impl Chooser for Seeded {
    fn pick(&mut self, enabled: &[Action]) -> Option<usize> {
        pick_by_class(&mut self.rng, &self.weights.unwrap_or_default(), enabled, |a| *a != Action::Setup(SWARM))
    }
}

/// Weights of one run: most of them may be zero, so that some trouble is absent and the rest has room.
pub(super) fn draw_weights(rng: &mut Rng) -> Weights {
    [
        rng.one_of(&[30, 50]),
        rng.one_of(&[8, 20, 40]),
        rng.one_of(&[4, 12, 20]),
        rng.one_of(&[1, 4, 12]),
        rng.one_of(&[0, 6, 16, 30]),
        rng.one_of(&[0, 2, 6, 25]),
        rng.one_of(&[0, 1, 2, 5]),
    ]
}

/// A kind by weight among those that are there, then one of it. Without any weight: one of all that is enabled.
pub(super) fn pick_by_class(
    rng: &mut Rng,
    weights: &Weights,
    enabled: &[Action],
    allowed: impl Fn(&Action) -> bool,
) -> Option<usize> {
    let mut there = [0_u64; CLASSES.len()];
    for action in enabled.iter().filter(|a| allowed(a)) {
        if let Some(count) = there.get_mut(action.class() as usize) {
            *count += 1;
        }
    }
    let weighed = || CLASSES.iter().zip(weights).zip(&there).map(|((class, w), n)| (*class, w * (*n).min(1), *n));
    let total: u64 = weighed().map(|(_, w, _)| w).sum();
    if total == 0 {
        return usize::try_from(rng.below(enabled.len() as u64)).ok();
    }
    let mut drawn = rng.below(total);
    let (class, _, count) = weighed().find(|(_, w, _)| {
        let here = drawn < *w;
        drawn = drawn.saturating_sub(*w);
        here
    })?;
    let nth = usize::try_from(rng.below(count)).ok()?;
    enabled.iter().enumerate().filter(|(_, a)| a.class() == class && allowed(a)).nth(nth).map(|(at, _)| at)
}
