//! Who picks what happens next. A pick is an index among the enabled actions; every list of indices is a run.

use crate::action::{Action, Class};
use crate::rng::Rng;

/// Picks one of the enabled actions, or ends the run.
pub trait Chooser {
    /// An index below `enabled.len()`, or `None` to stop. `enabled` is never empty.
    fn pick(&mut self, enabled: &[Action]) -> Option<usize>;
}

/// Random runs: a kind of step by weight, then one step of that kind.
#[derive(Clone, Debug)]
pub struct Seeded {
    rng: Rng,
    /// `None`: every enabled action is as likely as any other.
    weights: Option<[u64; 7]>,
}

const CLASSES: [Class; 7] =
    [Class::Progress, Class::Client, Class::House, Class::Time, Class::Trouble, Class::Operator, Class::Crash];

impl Seeded {
    /// The run of this seed. The weights of the kinds are drawn from it too: each run is another kind of bad day.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut draw = |from: &[u64]| from.get(rng.below(from.len() as u64) as usize).copied().unwrap_or(1);
        let even = draw(&[0, 0, 0, 1]) == 1;
        let weights = [
            draw(&[30, 50]),
            draw(&[8, 20, 40]),
            draw(&[4, 12, 20]),
            draw(&[1, 4, 12]),
            draw(&[0, 6, 16, 30]),
            draw(&[0, 2, 6, 25]),
            draw(&[0, 1, 2, 5]),
        ];
        Self { rng, weights: (!even).then_some(weights) }
    }
}

impl Chooser for Seeded {
    fn pick(&mut self, enabled: &[Action]) -> Option<usize> {
        let of = |class: Class| enabled.iter().filter(move |a| a.class() == class).count() as u64;
        let weights = self.weights.unwrap_or_default();
        let weights = CLASSES.iter().zip(weights).map(|(class, w)| (*class, w * of(*class).min(1)));
        let total: u64 = weights.clone().map(|(_, w)| w).sum();
        if total == 0 {
            return usize::try_from(self.rng.below(enabled.len() as u64)).ok();
        }
        let mut drawn = self.rng.below(total);
        let class = weights.clone().find(|(_, w)| {
            let here = drawn < *w;
            drawn = drawn.saturating_sub(*w);
            here
        });
        let class = class.map_or(Class::Progress, |(class, _)| class);
        let nth = self.rng.below(of(class)) as usize;
        enabled.iter().enumerate().filter(|(_, a)| a.class() == class).nth(nth).map(|(at, _)| at)
    }
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
