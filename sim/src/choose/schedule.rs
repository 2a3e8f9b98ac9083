//! How the runs of a sweep are made from their seeds.

use super::{Chooser, Pct, Seeded, Swarm};

/// A way to make a run from a seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Half of the seeds [`Schedule::Seeded`], a quarter each [`Schedule::Swarm`] and [`Schedule::Pct`].
    #[default]
    Mixed,
    /// Dice with drawn weights, in one of the fixed profiles.
    Seeded,
    /// Dice in a drawn world, with some kinds of trouble left out.
    Swarm,
    /// Priorities with a few changes.
    Pct,
}

impl Schedule {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mixed, Self::Seeded, Self::Swarm, Self::Pct];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Seeded => "seeded",
            Self::Swarm => "swarm",
            Self::Pct => "pct",
        }
    }

    /// The schedule with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|schedule| schedule.name() == name)
    }

    /// Who picks in the run of this seed, which has `steps` chosen steps.
    #[must_use]
    pub fn chooser(self, seed: u64, steps: usize) -> Box<dyn Chooser> {
        match (self, seed % 4) {
            (Self::Seeded, _) | (Self::Mixed, 0 | 1) => Box::new(Seeded::new(seed)),
            (Self::Swarm, _) | (Self::Mixed, 2) => Box::new(Swarm::new(seed)),
            (Self::Pct | Self::Mixed, _) => Box::new(Pct::new(seed, steps)),
        }
    }
}
