//! The demonstration's table: one line a step, readable in 100 columns.

use std::io::{self, Write};

/// One line of the table.
pub(super) struct Line {
    /// What happens.
    pub(super) what: String,
    /// Which account served, if one did.
    pub(super) account: String,
    /// Why it went there, or what was promised.
    pub(super) why: String,
    /// Whether it was as promised.
    pub(super) kept: bool,
}

/// Prints lines as they come and counts promises.
pub(super) struct Table<W> {
    out: W,
    steps: usize,
    broken: usize,
}

const WHAT: usize = 46;
const ACCOUNT: usize = 9;

impl<W: Write> Table<W> {
    pub(super) fn new(mut out: W) -> io::Result<Self> {
        writeln!(out, "     {:<WHAT$} {:<ACCOUNT$} why", "what happens", "account")?;
        writeln!(out, "     {:-<WHAT$} {:-<ACCOUNT$} {:-<36}", "", "", "")?;
        Ok(Self { out, steps: 0, broken: 0 })
    }

    pub(super) fn heading(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "\n  {text}")
    }

    pub(super) fn line(&mut self, line: &Line) -> io::Result<()> {
        self.steps += 1;
        self.broken += usize::from(!line.kept);
        let mark = if line.kept { "ok  " } else { "FAIL" };
        writeln!(self.out, "{mark} {:<WHAT$} {:<ACCOUNT$} {}", line.what, line.account, line.why)
    }

    /// The last line; whether every promise was kept.
    pub(super) fn sum(&mut self) -> io::Result<bool> {
        let kept = self.steps - self.broken;
        writeln!(self.out, "\n{kept} of {} steps as promised.", self.steps)?;
        Ok(self.broken == 0)
    }
}
