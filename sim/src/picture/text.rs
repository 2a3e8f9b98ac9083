//! The time line in fixed columns, with a legend, and with the row as it stands after every operation of the store.

use std::fmt::Write as _;

use super::headline;
use crate::snapshot::{RowState, Snapshot};
use crate::timeline::{CODES, Line};
use crate::trace::Trace;

/// The whole run: the command that shows it again, the legend, one line for each event, the verdict.
#[must_use]
pub fn text(trace: &Trace) -> String {
    let mut out = format!("{}\n\n", trace.header.command);
    let used: std::collections::BTreeSet<&str> =
        trace.steps.iter().flat_map(|step| &step.events).map(|line| line.code.as_str()).collect();
    for (code, means) in CODES.iter().filter(|(code, _)| used.contains(code)) {
        let _ = writeln!(out, "  {code}  {means}");
    }
    let _ = writeln!(out, "\n{}", Line::heading());
    for step in &trace.steps {
        for line in &step.events {
            let _ = writeln!(out, "{line}{}", row_after(line, &step.state));
        }
    }
    match &trace.verdict.broken {
        Some(broken) => {
            let _ = writeln!(out, "\n{}: {}", headline(trace), broken.text);
            let _ = writeln!(out, "what has to hold: {}", broken.says);
        }
        None => {
            let _ = writeln!(out, "\n{}", headline(trace));
        }
    }
    out
}

/// The row behind an operation of the store, where the line says which one.
fn row_after(line: &Line, state: &Snapshot) -> String {
    let row = line.row.filter(|_| line.code == "s=").and_then(|id| state.rows.iter().find(|row| row.row == id));
    row.map(|row| format!("  [{}]", row_text(row))).unwrap_or_default()
}

/// A row and its binding in a few words.
pub(super) fn row_text(row: &RowState) -> String {
    format!("row {} {}", row.row, binding_text(row))
}

/// A binding in a few words.
pub(crate) fn binding_text(row: &RowState) -> String {
    let pending = row.pending.map(|a| format!("->a{a}")).unwrap_or_default();
    let ends = row.ends_ms.div_ceil(1_000);
    format!("g{} {} a{}{pending} ends +{ends}s", row.generation, row.state, row.account)
}
