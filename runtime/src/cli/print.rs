//! Standard output: tables and JSON lines, and a reader who may leave at any time.

use std::io::{self, Write};

use serde::Serialize;

/// Standard output. After a failed write nothing more is written and `is_closed` says so.
pub(super) struct Out<W: Write> {
    to: io::BufWriter<W>,
    failed: Option<io::Error>,
}

impl<W: Write> Out<W> {
    pub(super) fn new(to: W) -> Self {
        Self { to: io::BufWriter::new(to), failed: None }
    }

    /// Writes `text` as it is.
    pub(super) fn text(&mut self, text: &str) {
        if self.failed.is_none() {
            self.failed = self.to.write_all(text.as_bytes()).err();
        }
    }

    /// Writes a line.
    pub(super) fn line(&mut self, text: &str) {
        self.text(text);
        self.text("\n");
    }

    /// Writes `data` as one line of JSON.
    pub(super) fn json<T: Serialize>(&mut self, data: &T) {
        match serde_json::to_string(data) {
            Ok(text) => self.line(&text),
            Err(error) => self.failed = self.failed.take().or_else(|| Some(error.into())),
        }
    }

    /// Whether writing on is of no use.
    pub(super) fn is_closed(&self) -> bool {
        self.failed.is_some()
    }

    /// Writes out what is buffered.
    ///
    /// # Errors
    /// The first failure, unless it was that the reader left.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let result = self.failed.take().map_or(Ok(()), Err).and_then(|()| self.to.flush());
        // Whatever is still buffered is not tried again on the way out.
        let _ = self.to.into_parts();
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

/// Lines of columns, each as wide as its widest cell. Control characters from outside do not reach the terminal.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let clean = |cell: &str| cell.chars().map(|c| if c.is_control() { '?' } else { c }).collect::<String>();
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rows = std::iter::once(&head).chain(rows);
    let rows: Vec<Vec<String>> = rows.map(|row| row.iter().map(|cell| clean(cell)).collect()).collect();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..head.len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}
