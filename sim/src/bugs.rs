//! The bug base: schedules that broke a rule once, one a line, run again for ever.
//!
//! What is kept are the texts of the actions, not the choices: these change their meaning whenever something new can happen.
//! A text behind `!` says what must not be possible there: some defects show only in what is on offer.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::choose::{ByName, Chooser, Divergence};
use crate::run::{Plan, Report, run};

/// The cases that come with this version.
pub const FOUND: &str = include_str!("../bugs/found.jsonl");

/// One case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The day it was found: 2026-12-01.
    pub date: String,
    /// The rule that was broken.
    pub rule: String,
    /// The defect in one sentence.
    pub defect: String,
    /// The shrunk schedule: the texts of its actions, the choice of the world first. With `!` before it: what must not be
    /// possible there.
    pub actions: Vec<String>,
}

/// A line of the bug base that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is no case.
    #[error("line {line}: {error}: a case is one JSON object with date, rule, defect and actions")]
    NoCase {
        /// Counted from 1.
        line: usize,
        /// What the reader says.
        error: serde_json::Error,
    },
    /// A field cannot be what it is.
    #[error("line {line}: {field} {value:?}: {fix}")]
    Field {
        /// Counted from 1.
        line: usize,
        /// Which.
        field: &'static str,
        /// What stands there.
        value: String,
        /// What should.
        fix: &'static str,
    },
}

/// A case that was run again.
#[derive(Debug)]
pub struct Rerun {
    /// The run; healed and settled at the end.
    pub report: Report,
    /// The first step that could not be taken. A version without the defect may go another way from there on.
    pub left: Option<Divergence>,
    /// What was possible where it must not be.
    pub offered: Option<String>,
}

impl Rerun {
    /// Whether the case holds.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.report.violation.is_none() && self.offered.is_none()
    }
}

/// Reads a bug base: a case a line; empty lines and lines that begin with `#` are passed over.
///
/// # Errors
/// The first line that is no case.
pub fn read(text: &str) -> Result<Vec<Case>, Unreadable> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|(line, text)| {
            let case: Case = serde_json::from_str(text).map_err(|error| Unreadable::NoCase { line, error })?;
            case.check(line)?;
            Ok(case)
        })
        .collect()
}

impl Case {
    fn check(&self, line: usize) -> Result<(), Unreadable> {
        let wrong = |field, value: &str, fix| Err(Unreadable::Field { line, field, value: value.to_owned(), fix });
        if !is_date(&self.date) {
            return wrong("date", &self.date, "write it as 2026-12-01");
        }
        if !crate::oracle::ALL.iter().any(|oracle| oracle.id == self.rule) {
            return wrong("rule", &self.rule, "name one that `homing-sim oracles` lists");
        }
        if self.defect.trim().is_empty() {
            return wrong("defect", &self.defect, "say in one sentence what was wrong");
        }
        if self.actions.is_empty() {
            return wrong("actions", "[]", "give the texts of the schedule's actions");
        }
        Ok(())
    }

    /// The line of the bug base.
    ///
    /// # Errors
    /// A field cannot be what it is.
    pub fn line(&self) -> Result<String, Unreadable> {
        self.check(0)?;
        serde_json::to_string(self).map_err(|error| Unreadable::NoCase { line: 0, error })
    }

    /// The texts of the actions, without what must not be possible.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        self.actions.iter().map(String::as_str).filter(|text| !text.starts_with('!'))
    }

    /// Runs it again, in this version of everything.
    #[must_use]
    pub fn rerun(&self) -> Rerun {
        let texts: Vec<&str> = self.steps().collect();
        let mut chooser = Watchful { follows: ByName::new(&texts), left: &self.actions, offered: None };
        // One more than there are: it is asked once more behind the last, where something may have to be impossible as well.
        let report = run(&Plan { steps: texts.len() + 1, ..Plan::default() }, &mut chooser);
        let Watchful { follows, offered, .. } = chooser;
        Rerun { report, left: follows.divergence().cloned(), offered }
    }
}

/// Follows a case and looks at what is on offer where something must not be.
struct Watchful<'a> {
    follows: ByName<'a, &'a str>,
    left: &'a [String],
    offered: Option<String>,
}

impl Chooser for Watchful<'_> {
    fn pick(&mut self, enabled: &[Action]) -> Option<usize> {
        while let Some((text, rest)) = self.left.split_first() {
            self.left = rest;
            let Some(unwanted) = text.strip_prefix('!') else { break };
            if enabled.iter().any(|action| action.to_string() == unwanted) {
                self.offered.get_or_insert_with(|| unwanted.to_owned());
            }
        }
        self.follows.pick(enabled)
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |part: &str, digits: usize| part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
    match parts.as_slice() {
        [year, month, day] => {
            let within = |part: &str, most: u32| part.parse().is_ok_and(|n: u32| n >= 1 && n <= most);
            number(year, 4) && number(month, 2) && number(day, 2) && within(month, 12) && within(day, 31)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_dates() {
        assert!(is_date("2026-12-01"));
        assert!(
            !["", "2026-12", "26-12-01", "2026-13-01", "2026-12-32", "2026-1-1", "2026-+1-01"].into_iter().any(is_date)
        );
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        let said = |text: &str| read(text).map_or_else(|error| error.to_string(), |_| "nothing".into());
        let case = r#"{"date":"2026-12-01","rule":"B5","defect":"d","actions":["setup 0"]}"#;
        assert_eq!(read(&format!("# why\n\n{case}\n")).map(|cases| cases.len()).ok(), Some(1));
        assert!(said("\n{").starts_with("line 2: "));
        assert!(said(&case.replace("B5", "B99")).contains("rule \"B99\": name one"));
        assert!(said(&case.replace("2026-12-01", "today")).contains("date \"today\": write it as"));
        assert!(said(&case.replace("[\"setup 0\"]", "[]")).contains("actions"));
        assert!(said(&case.replace("\"d\"", "\" \"")).contains("defect"));
        assert!(said(&case.replace("date", "day")).contains("line 1: unknown field `day`"));
    }
}
