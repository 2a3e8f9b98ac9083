//! Many runs, one for each seed: the first broken rule, and the situations reached with a seed for each.

use std::collections::BTreeMap;

use crate::choose::Seeded;
use crate::marks::ALL;
use crate::run::{Plan, Report, run};

/// What a sweep found.
#[derive(Clone, Debug, Default)]
pub struct Swept {
    /// Runs made.
    pub runs: u64,
    /// The first run that broke a rule, and its seed.
    pub failed: Option<(u64, Report)>,
    /// How often each mark was reached, and the first seed that reached it.
    pub marks: BTreeMap<&'static str, (u64, u64)>,
}

impl Swept {
    /// The required marks that no run reached.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        ALL.iter().filter(|m| m.required && !self.marks.contains_key(m.name)).map(|m| m.name).collect()
    }
}

/// Runs the seeds from `first` on; `progress` is told the number of runs done after each.
pub fn sweep(plan: &Plan, first: u64, runs: u64, progress: &mut dyn FnMut(u64)) -> Swept {
    let mut swept = Swept::default();
    for seed in (first..).take(usize::try_from(runs).unwrap_or(usize::MAX)) {
        let report = run(plan, &mut Seeded::new(seed));
        swept.runs += 1;
        for (mark, count) in report.marks.iter().filter(|(_, count)| *count > 0) {
            swept.marks.entry(mark.name).or_insert((0, seed)).0 += u64::from(count);
        }
        progress(swept.runs);
        if report.violation.is_some() {
            swept.failed = Some((seed, report));
            break;
        }
    }
    swept
}
