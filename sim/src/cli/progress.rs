//! How far a long command is, on standard error: one line that is written over on a terminal, a line every few seconds where
//! `--progress` asks for it.
#![expect(
    clippy::disallowed_types,
    reason = "how long it takes is said to the person who waits, and is part of no result"
)]

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Says how far it is.
pub(super) struct Progress {
    began: Instant,
    said: Instant,
    terminal: bool,
    asked: bool,
}

impl Progress {
    pub(super) fn new(asked: bool) -> Self {
        let now = Instant::now();
        Self { began: now, said: now, terminal: std::io::stderr().is_terminal(), asked }
    }

    /// Since it began.
    pub(super) fn spent(&self) -> Duration {
        self.began.elapsed()
    }

    /// Says it, if it is time to: `text` is given the seconds so far.
    pub(super) fn at(&mut self, text: impl FnOnce(f64) -> String) {
        let every = if self.terminal { Duration::from_millis(250) } else { Duration::from_secs(5) };
        if !(self.terminal || self.asked) || self.said.elapsed() < every {
            return;
        }
        self.said = Instant::now();
        let text = text(self.spent().as_secs_f64());
        // Where progress cannot be written nobody reads it.
        let _ = if self.terminal {
            write!(std::io::stderr(), "\r{text:<100}")
        } else {
            writeln!(std::io::stderr(), "{text}")
        };
    }

    /// Ends the line on a terminal.
    pub(super) fn end(&self) {
        if self.terminal && self.said > self.began {
            let _ = writeln!(std::io::stderr());
        }
    }
}

/// A count for each second.
pub(super) fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}
