//! `replay` and `shrink`: a run that is known, once more.

use std::io::Write as _;

use homing_sim::run::Plan;
use homing_sim::shrink::shrink;
use homing_sim::trace::{Parting, Trace};

use super::source::{Loaded, SourceArgs, TraceArgs, complain};
use super::{INCONCLUSIVE, show};

/// The run again, as a time line. A file's run that cannot be followed is inconclusive, unless a rule broke.
pub(super) fn replay(source: &SourceArgs, keep: &TraceArgs, plan: &Plan, json: bool) -> u8 {
    let loaded = match source.load(plan) {
        Ok(loaded) => loaded,
        Err(why) => return complain(&why),
    };
    let status = show::recorded(&loaded.plan, &loaded.report, &loaded.trace, json);
    let status = match &loaded.recorded {
        Some((recorded, Some(parting))) => tell_parting(recorded, parting, status),
        _ => status,
    };
    keep.keep(|| loaded.trace, status)
}

/// A smaller run that breaks the same rule.
pub(super) fn smaller(source: &SourceArgs, keep: &TraceArgs, plan: &Plan, json: bool) -> u8 {
    let loaded = match source.load(plan) {
        Ok(loaded) => loaded,
        Err(why) => return complain(&why),
    };
    if let Loaded { recorded: Some((recorded, Some(parting))), .. } = &loaded {
        tell_parting(recorded, parting, 0);
    }
    let choices = &loaded.report.choices;
    match shrink(&loaded.plan, choices) {
        Some(shrunk) => {
            let status = show::shrunk(&loaded.plan, choices.len(), &shrunk, json);
            keep.keep_report(&loaded.plan, &shrunk.report, status)
        }
        None => show::nothing_to_shrink(),
    }
}

/// Says on standard error where the recorded run went another way.
pub(super) fn tell_parting(recorded: &Trace, parting: &Parting, status: u8) -> u8 {
    let mut to = std::io::stderr();
    let _ = writeln!(to, "the trace was written by version {}", recorded.header.program);
    let _ = writeln!(to, "the run parts from it at {parting}");
    if parting.left_out() {
        let _ = writeln!(to, "what cannot be taken was left out");
    }
    let was = recorded.verdict.broken.as_ref().map_or("no rule", |b| b.oracle.as_str());
    let _ = writeln!(to, "recorded was that {was} broke");
    if status == super::HOLDS && parting.left_out() { INCONCLUSIVE } else { status }
}
