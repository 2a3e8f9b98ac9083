//! What many runs were like: how often requests were tried, how often sessions moved and how soon they settled, what was written,
//! how requests ended. A run's figures are one line of JSON; the report is made of such lines.

mod figures;
mod spread;

pub use figures::{Figures, Unreadable, measure, read};
pub use spread::Spread;

use std::collections::BTreeMap;

/// The figures of many runs together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many runs.
    pub runs: u64,
    /// What was measured, with its name and unit.
    pub spreads: Vec<(&'static str, Spread)>,
    /// How requests ended.
    pub outcomes: BTreeMap<String, u64>,
    /// The situations reached, in how many runs.
    pub marks: BTreeMap<String, u64>,
    /// The seeds of the runs that broke a rule, and which.
    pub broken: Vec<(u64, String)>,
}

impl Summary {
    /// Puts the figures of runs together; their order does not matter but for `broken`.
    #[must_use]
    pub fn of(runs: &[Figures]) -> Self {
        let spread = |values: &dyn Fn(&Figures) -> Vec<u64>| Spread::of(runs.iter().flat_map(values).collect());
        let spreads = vec![
            ("attempts per request", spread(&|run| run.attempts.clone())),
            ("moves per session", spread(&|run| run.moves.clone())),
            ("failovers per run", spread(&|run| vec![run.failovers])),
            ("steps to converge", spread(&|run| run.converge_steps.clone())),
            ("ms to converge", spread(&|run| run.converge_ms.clone())),
            ("steps to end when healed", spread(&|run| run.heal_steps.into_iter().collect())),
            ("evictions per run", spread(&|run| vec![run.evictions])),
            ("writes per 100 requests", spread(&|run| run.writes_per_100().into_iter().collect())),
            ("steps per run", spread(&|run| vec![run.steps])),
        ];
        let mut summary = Self { runs: runs.len() as u64, spreads, ..Self::default() };
        for run in runs {
            for (how, count) in &run.outcomes {
                *summary.outcomes.entry(how.clone()).or_default() += count;
            }
            for mark in &run.marks {
                *summary.marks.entry(mark.clone()).or_default() += 1;
            }
            summary.broken.extend(run.broken.clone().map(|rule| (run.seed, rule)));
        }
        summary
    }
}
