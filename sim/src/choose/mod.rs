//! Who picks what happens next. A pick is an index among the enabled actions; every list of indices is a run.

mod by_name;
mod pct;
mod schedule;
mod seeded;
mod swarm;

pub use by_name::{ByName, Divergence, Why};
pub use pct::Pct;
pub use schedule::Schedule;
pub use seeded::Seeded;
pub use swarm::Swarm;

use crate::action::Action;

/// Picks one of the enabled actions, or ends the run.
pub trait Chooser {
    /// An index below `enabled.len()`, or `None` to stop. `enabled` is never empty.
    fn pick(&mut self, enabled: &[Action]) -> Option<usize>;
}

/// A recorded list of choices, each taken modulo the number of enabled actions.
#[derive(Clone, Debug)]
pub struct Listed<'a> {
    left: std::slice::Iter<'a, u16>,
}

impl<'a> Listed<'a> {
    /// The run of this list.
    #[must_use]
    pub fn new(choices: &'a [u16]) -> Self {
        Self { left: choices.iter() }
    }
}

impl Chooser for Listed<'_> {
    fn pick(&mut self, enabled: &[Action]) -> Option<usize> {
        self.left.next().map(|choice| usize::from(*choice) % enabled.len())
    }
}

/// Bytes from a fuzzer: one for each choice.
#[derive(Clone, Debug)]
pub struct Bytes<'a> {
    left: std::slice::Iter<'a, u8>,
}

impl<'a> Bytes<'a> {
    /// The run of these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes.iter() }
    }
}

impl Chooser for Bytes<'_> {
    fn pick(&mut self, enabled: &[Action]) -> Option<usize> {
        self.left.next().map(|byte| usize::from(*byte) % enabled.len())
    }
}

/// Choices as text: numbers with dots between.
///
/// # Errors
/// The part that is no number below 65,536.
pub fn parse(text: &str) -> Result<Vec<u16>, NotChoices> {
    let parts = text.split('.').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().map_err(|_| NotChoices(part.to_owned()))).collect()
}

/// The text of a list of choices.
#[must_use]
pub fn text(choices: &[u16]) -> String {
    choices.iter().map(u16::to_string).collect::<Vec<_>>().join(".")
}

/// A list of choices that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no choice: give numbers from 0 to 65535 with dots between, such as 0.3.1")]
pub struct NotChoices(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_survive_their_text() {
        assert_eq!(parse(&text(&[0, 3, 65535])), Ok(vec![0, 3, 65535]));
        assert_eq!(parse(""), Ok(vec![]));
        assert_eq!(parse("1.x"), Err(NotChoices("x".into())));
        assert_eq!(parse("70000"), Err(NotChoices("70000".into())));
    }
}
