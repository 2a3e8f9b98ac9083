//! Writing and reading the file.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use super::{FORMAT, Header, Step, Trace, Verdict};

/// One line.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Out<'a> {
    Trace(&'a Header),
    Step(&'a Step),
    Verdict(&'a Verdict),
}

/// One line, read back. A line of another kind comes from a newer version and is left out.
#[derive(Deserialize)]
struct In {
    trace: Option<Header>,
    step: Option<Step>,
    verdict: Option<Verdict>,
}

/// A file that is no trace.
#[derive(Debug, thiserror::Error)]
pub enum BadTrace {
    /// It could not be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A line is not what it has to be.
    #[error("line {line} is no line of a trace: {why}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        why: serde_json::Error,
    },
    /// It does not begin like a trace.
    #[error("it does not begin with the line {{\"trace\": …}}: give a file that --trace wrote")]
    Headless,
    /// A newer program wrote it.
    #[error("its format is {format}, this version reads up to {FORMAT}: use the version that wrote it, {program:?}")]
    Newer {
        /// Of the file.
        format: u32,
        /// The version that wrote it.
        program: String,
    },
    /// The last line is missing.
    #[error("it ends after {steps} steps without a verdict: it is not whole, write it again")]
    Cut {
        /// The beginning among them.
        steps: usize,
    },
}

impl Trace {
    /// Writes the file.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut line = |out: Out<'_>| -> io::Result<()> {
            serde_json::to_writer(&mut *to, &out)?;
            to.write_all(b"\n")
        };
        line(Out::Trace(&self.header))?;
        self.steps.iter().try_for_each(|step| line(Out::Step(step)))?;
        line(Out::Verdict(&self.verdict))
    }

    /// The file as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        // Writing to memory does not fail.
        let _ = self.write(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads a file. What a newer version added to a line is left out.
    ///
    /// # Errors
    /// [`BadTrace`], with the line.
    pub fn read(from: &mut dyn BufRead) -> Result<Self, BadTrace> {
        let (mut header, mut steps, mut verdict) = (None::<Header>, Vec::new(), None);
        for (text, line) in from.lines().zip(1..) {
            let text = text?;
            if text.trim().is_empty() {
                continue;
            }
            let read: In = serde_json::from_str(&text).map_err(|why| match &header {
                None => BadTrace::Headless,
                Some(_) => BadTrace::Line { line, why },
            })?;
            match &header {
                None => header = Some(begin(read.trace)?),
                Some(_) => {
                    steps.extend(read.step);
                    verdict = read.verdict.or(verdict);
                }
            }
        }
        let header = header.ok_or(BadTrace::Headless)?;
        let verdict = verdict.ok_or(BadTrace::Cut { steps: steps.len() })?;
        Ok(Self { header, steps, verdict })
    }
}

fn begin(header: Option<Header>) -> Result<Header, BadTrace> {
    let header = header.ok_or(BadTrace::Headless)?;
    if header.format > FORMAT {
        return Err(BadTrace::Newer { format: header.format, program: header.program });
    }
    Ok(header)
}
