//! What the commands print. Results go to standard output, progress to standard error.

use std::io::Write as _;

use homing_sim::marks;
use homing_sim::oracle;
use homing_sim::run::{Plan, Report};
use homing_sim::shrink::Shrunk;
use homing_sim::timeline::Line;
use homing_sim::trace::Trace;
use serde_json::{Value, json};

use super::{BROKEN, HOLDS, INCONCLUSIVE, say};

pub(super) fn verdict(report: &Report) -> Value {
    match &report.violation {
        Some(v) => json!({ "oracle": v.oracle, "text": v.text, "step": v.step }),
        None => Value::Null,
    }
}

const fn status(report: &Report) -> u8 {
    if report.violation.is_some() { BROKEN } else { HOLDS }
}

pub(super) fn one(plan: &Plan, report: &Report, as_json: bool) -> u8 {
    if as_json {
        say!("{}", json!({ "command": report.command(plan), "violation": verdict(report), "events": report.lines }));
    } else {
        let _ = write!(std::io::stdout(), "{}", report.timeline(plan));
        if report.violation.is_none() {
            say!("every rule held");
        }
    }
    status(report)
}

/// A run that was recorded.
pub(super) fn recorded(plan: &Plan, report: &Report, trace: &Trace, as_json: bool) -> u8 {
    let mut lines: Vec<Line> = trace.steps.iter().flat_map(|step| &step.events).cloned().collect();
    if let Some(violation) = &report.violation {
        Line::close(&mut lines, violation);
    }
    one(plan, &Report { lines, ..report.clone() }, as_json)
}

pub(super) fn nothing_to_shrink() -> u8 {
    say!("these choices break no rule: there is nothing to shrink");
    INCONCLUSIVE
}

pub(super) fn shrunk(plan: &Plan, was: usize, shrunk: &Shrunk, as_json: bool) -> u8 {
    let status = one(plan, &shrunk.report, as_json);
    if !as_json {
        say!("{was} choices became {} in {} runs", shrunk.report.choices.len(), shrunk.runs);
    }
    status
}

pub(super) fn oracles(as_json: bool) -> u8 {
    for oracle in oracle::ALL {
        if as_json {
            say!("{}", json!({ "id": oracle.id, "says": oracle.says }));
        } else {
            say!("{:<9} {}", oracle.id, oracle.says);
        }
    }
    HOLDS
}

pub(super) fn marks(as_json: bool) -> u8 {
    for mark in &marks::ALL {
        if as_json {
            say!("{}", json!({ "name": mark.name, "says": mark.says, "required": mark.required }));
        } else {
            say!("{:<24} {}", mark.name, mark.says);
        }
    }
    HOLDS
}
