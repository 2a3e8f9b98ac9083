//! Follows the texts of actions.

use super::Chooser;
use crate::action::Action;

/// A schedule by the texts of its actions: it survives a version whose choices have other numbers. What is not enabled, or is
/// no action of this version, is left out.
#[derive(Clone, Debug)]
pub struct ByName<'a, T> {
    texts: &'a [T],
    at: usize,
    first: Option<Divergence>,
}

/// Where a run left the schedule it was to follow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run left its schedule at step {step}: {text:?} is {why}")]
pub struct Divergence {
    /// The place in the schedule, counted from 0.
    pub step: usize,
    /// What was to happen.
    pub text: String,
    /// Why it could not.
    pub why: Why,
}

/// Why a step of a schedule could not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The text cannot be read.
    #[error("no action of this version")]
    NoAction,
    /// The world does not offer it there.
    #[error("not enabled there")]
    NotEnabled,
}

impl<'a, T: AsRef<str>> ByName<'a, T> {
    /// The run of these texts.
    #[must_use]
    pub const fn new(texts: &'a [T]) -> Self {
        Self { texts, at: 0, first: None }
    }

    /// The first step that could not be taken, if there was one.
    #[must_use]
    pub const fn divergence(&self) -> Option<&Divergence> {
        self.first.as_ref()
    }

    fn step(text: &str, enabled: &[Action]) -> Result<usize, Why> {
        let action: Action = text.parse().map_err(|_| Why::NoAction)?;
        enabled.iter().position(|a| *a == action).ok_or(Why::NotEnabled)
    }
}

impl<T: AsRef<str>> Chooser for ByName<'_, T> {
    fn pick(&mut self, enabled: &[Action]) -> Option<usize> {
        while let Some(text) = self.texts.get(self.at).map(AsRef::as_ref) {
            let step = self.at;
            self.at += 1;
            match Self::step(text, enabled) {
                Ok(at) => return Some(at),
                Err(why) => {
                    self.first.get_or_insert_with(|| Divergence { step, text: text.to_owned(), why });
                }
            }
        }
        None
    }
}
