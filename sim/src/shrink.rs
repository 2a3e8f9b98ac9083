//! A smaller list of choices that does the same, such as break a rule: ranges are deleted, then values are lowered, until nothing
//! helps.

use crate::choose::Listed;
use crate::run::{Plan, Report, run};

/// What came of it.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smallest run found.
    pub report: Report,
    /// How many runs it took.
    pub runs: u32,
}

/// Most runs one shrinking may take.
const RUNS_MAX: u32 = 20_000;

/// Shrinks a failing list to one that breaks the same rule. `None` where the list breaks no rule.
#[must_use]
pub fn shrink(plan: &Plan, choices: &[u16]) -> Option<Shrunk> {
    let plan = Plan { steps: choices.len(), ..plan.clone() };
    let oracle = run(&plan, &mut Listed::new(choices)).violation?.oracle;
    shrink_while(&plan, choices, &|report| report.violation.as_ref().is_some_and(|v| v.oracle == oracle))
}

/// Shrinks a list to one whose run still has the property. `None` where that of the list has not.
#[must_use]
pub fn shrink_while(plan: &Plan, choices: &[u16], has: &dyn Fn(&Report) -> bool) -> Option<Shrunk> {
    let plan = Plan { steps: choices.len(), ..plan.clone() };
    let report = run(&plan, &mut Listed::new(choices));
    if !has(&report) {
        return None;
    }
    let mut best = Shrunk { report, runs: 1 };
    loop {
        let size = measure(&best.report.choices);
        delete_ranges(&plan, has, &mut best);
        lower_values(&plan, has, &mut best);
        if measure(&best.report.choices) == size || best.runs >= RUNS_MAX {
            return Some(best);
        }
    }
}

fn measure(choices: &[u16]) -> (usize, u64) {
    (choices.len(), choices.iter().map(|c| u64::from(*c)).sum())
}

/// Runs the candidate; keeps it if it has the property and is smaller.
fn accept(plan: &Plan, has: &dyn Fn(&Report) -> bool, candidate: &[u16], best: &mut Shrunk) -> bool {
    if best.runs >= RUNS_MAX {
        return false;
    }
    best.runs += 1;
    let report = run(plan, &mut Listed::new(candidate));
    let same = has(&report);
    let smaller = measure(&report.choices) < measure(&best.report.choices);
    if same && smaller {
        best.report = report;
    }
    same && smaller
}

fn delete_ranges(plan: &Plan, has: &dyn Fn(&Report) -> bool, best: &mut Shrunk) {
    let mut width = best.report.choices.len().div_ceil(2).max(1);
    loop {
        let mut start = 0;
        while start < best.report.choices.len() {
            let mut candidate = best.report.choices.clone();
            candidate.drain(start..(start + width).min(candidate.len()));
            if !accept(plan, has, &candidate, best) {
                start += width;
            }
        }
        if width == 1 {
            return;
        }
        width = width.div_ceil(2);
    }
}

fn lower_values(plan: &Plan, has: &dyn Fn(&Report) -> bool, best: &mut Shrunk) {
    let mut at = 0;
    while at < best.report.choices.len() {
        let Some(value) = best.report.choices.get(at).copied() else { return };
        let lower = [0, value / 2, value.saturating_sub(1)];
        let helped = lower.iter().filter(|v| **v < value).any(|lower| {
            let mut candidate = best.report.choices.clone();
            if let Some(place) = candidate.get_mut(at) {
                *place = *lower;
            }
            accept(plan, has, &candidate, best)
        });
        if !helped {
            at += 1;
        }
    }
}
