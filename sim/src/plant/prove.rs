//! Proves that a planted bug is caught: by the oracle it names, in the world it names, and in a run a person can read.

use super::Planted;
use crate::action::Action;
use crate::choose::{Chooser, Seeded};
use crate::run::{Plan, Report, run};
use crate::scope::{PROFILES, Scope};
use crate::shrink::{Shrunk, shrink};

/// A planted bug that was caught.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The seed of the run that caught it.
    pub seed: u64,
    /// Runs until then.
    pub runs: u64,
    /// Steps of all of them.
    pub steps: u64,
    /// The run.
    pub report: Report,
    /// The smallest run found that breaks the same rule.
    pub shrunk: Shrunk,
}

/// A planted bug that was not caught by its oracle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missed {
    /// No profile has the name.
    #[error("there is no world {0:?}")]
    NoWorld(&'static str),
    /// Its oracle saw nothing; others may have.
    #[error("not caught in {runs} runs{}", if others.is_empty() { String::new() } else { format!(", though {} objected", others.join(", ")) })]
    InRuns {
        /// How many.
        runs: u64,
        /// The oracles that objected first.
        others: Vec<&'static str>,
    },
}

/// What a run with this bug is like.
#[must_use]
pub fn plan(planted: &Planted) -> Plan {
    Plan { plant: Some(planted.plant), ..Plan::default() }
}

/// Runs the seeds from 0 on, at most `runs` of them, until the oracle objects; then shrinks that run.
///
/// # Errors
/// It did not.
pub fn prove(planted: &Planted, runs: u64) -> Result<Proof, Missed> {
    let profile = (0..PROFILES).find(|n| Scope::profile(*n).name == planted.world);
    let profile = profile.ok_or(Missed::NoWorld(planted.world))?;
    let plan = plan(planted);
    let (mut steps, mut others) = (0, Vec::new());
    for seed in 0..runs {
        let report = run(&plan, &mut Within { profile, dice: Seeded::new(seed) });
        steps += u64::from(report.steps);
        match report.violation.as_ref().map(|violation| violation.oracle) {
            Some(oracle) if oracle == planted.oracle => {
                let shrunk = shrink(&plan, &report.choices).ok_or(Missed::InRuns { runs: seed + 1, others })?;
                return Ok(Proof { seed, runs: seed + 1, steps, report, shrunk });
            }
            Some(other) if !others.contains(&other) => others.push(other),
            Some(_) | None => {}
        }
    }
    Err(Missed::InRuns { runs, others })
}

/// Dice in one of the fixed worlds.
struct Within {
    profile: u8,
    dice: Seeded,
}

impl Chooser for Within {
    fn pick(&mut self, enabled: &[Action]) -> Option<usize> {
        let setup = enabled.iter().position(|action| *action == Action::Setup(self.profile));
        setup.or_else(|| self.dice.pick(enabled))
    }
}
