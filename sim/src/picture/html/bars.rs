//! Bindings as bars: one column for each row of the store, a new piece with each generation, account or state.

use super::super::diagram::Diagram;
use crate::snapshot::{RowState, Snapshot};
use crate::trace::{Step, Trace};

/// One piece of a bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The line at which it begins.
    pub(super) from: usize,
    /// The line before which it ends.
    pub(super) until: usize,
    /// The binding.
    pub(super) row: RowState,
    /// It stands on the disk, and no process is up that knows it.
    pub(super) only_disk: bool,
}

/// All pieces of one row.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    /// Which row.
    pub(super) row: u64,
    /// Whose.
    pub(super) tenant: u32,
    /// Which column it stands in: bars that follow each other share one.
    pub(super) column: usize,
    /// From top to bottom.
    pub(super) pieces: Vec<Piece>,
}

/// How many columns the bars need.
pub(super) fn columns(bars: &[Bar]) -> usize {
    bars.iter().map(|bar| bar.column + 1).max().unwrap_or_default()
}

/// The bars, by row.
pub(super) fn bars(trace: &Trace, diagram: &Diagram<'_>) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    for (at, step) in trace.steps.iter().enumerate() {
        let (line, ends) = diagram.rows_of(at);
        for bar in &mut bars {
            close(bar, step, line);
        }
        for (row, only_disk) in standing(&step.state) {
            extend(&mut bars, row, only_disk, change_line(step, row.row, line), ends);
        }
    }
    bars.sort_by_key(|bar| bar.row);
    place(&mut bars);
    bars
}

/// Each bar takes the first column in which nothing stands any more.
fn place(bars: &mut [Bar]) {
    let mut free_from: Vec<usize> = Vec::new();
    bars.sort_by_key(|bar| (bar.pieces.first().map(|p| p.from), bar.row));
    for bar in bars {
        let (Some(first), Some(last)) = (bar.pieces.first(), bar.pieces.last()) else { continue };
        let column = free_from.iter().position(|free| *free <= first.from).unwrap_or_else(|| {
            free_from.push(0);
            free_from.len() - 1
        });
        bar.column = column;
        if let Some(free) = free_from.get_mut(column) {
            *free = last.until;
        }
    }
}

/// What stands: the table's rows, or the disk's where no process is up.
fn standing(state: &Snapshot) -> impl Iterator<Item = (&RowState, bool)> {
    let down = state.store == "down";
    let rows = if down { &state.durable } else { &state.rows };
    rows.iter().map(move |row| (row, down))
}

/// The line of the step at which the row changed, else its first.
fn change_line(step: &Step, row: u64, first: usize) -> usize {
    let changes = step.events.iter().position(|l| l.code == "s~" && l.row == Some(row));
    first + changes.unwrap_or_default()
}

/// A row that does not stand any more ends at the line that says so.
fn close(bar: &mut Bar, step: &Step, first: usize) {
    let gone = !standing(&step.state).any(|(row, _)| row.row == bar.row);
    let at = change_line(step, bar.row, first);
    if let Some(piece) = bar.pieces.last_mut().filter(|piece| gone && piece.until == first) {
        piece.until = at.max(piece.from + 1);
    }
}

fn extend(bars: &mut Vec<Bar>, row: &RowState, only_disk: bool, changed: usize, ends: usize) {
    let at = bars.iter().position(|bar| bar.row == row.row).unwrap_or_else(|| {
        bars.push(Bar { row: row.row, tenant: row.tenant, column: 0, pieces: Vec::new() });
        bars.len() - 1
    });
    let Some(bar) = bars.get_mut(at) else { return };
    let same = |piece: &Piece| {
        let (a, b) = (&piece.row, row);
        (a.generation, a.account, a.pending, &a.state) == (b.generation, b.account, b.pending, &b.state)
            && piece.only_disk == only_disk
    };
    match bar.pieces.last_mut() {
        Some(piece) if same(piece) && piece.until + 1 >= changed.min(ends) => piece.until = ends,
        last => {
            if let Some(piece) = last {
                piece.until = piece.until.max(changed.min(ends)).max(piece.from + 1);
            }
            bar.pieces.push(Piece { from: changed, until: ends.max(changed + 1), row: row.clone(), only_disk });
        }
    }
}
