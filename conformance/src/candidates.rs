//! The models that explain everything seen so far.
//!
//! Mostly that is one. After operations that ran at once several orders of them may explain the answers and the rows and yet
//! differ in what was written on the way; what comes later tells them apart.

use homing_core::store::Answer;
use homing_core::time::Time;

use crate::agree::{Agree, Verdict};
use crate::model::Model;
use crate::store::{Call, Observed, Promises};

/// One model, and what its rows are called in the store.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) model: Model,
    pub(crate) agree: Agree,
}

impl Candidate {
    pub(crate) fn compare(&mut self, seen: &Observed, now: Time) -> Result<(), String> {
        self.model.table.check()?;
        self.agree.observed(&Observed::of(&self.model.table, now), seen)
    }

    /// Performs an operation that the store performed too. `seen` is the store afterwards, where it may not say how it went.
    pub(crate) fn answer(
        &mut self,
        call: &Call,
        there: &Answer,
        seen: Option<&Observed>,
        now: Time,
    ) -> Result<(Answer, Verdict), String> {
        let without = seen.map(|_| self.clone());
        let here = self.model.answer(call, now);
        let verdict = self.agree.answers(&here, there);
        match (verdict, seen, without) {
            (Verdict::Different, ..) => {
                Err(format!("the answer to {:?}: the model says {here:?}, the store {there:?}", call.op))
            }
            (Verdict::Unknown, Some(seen), Some(without)) => {
                if self.compare(seen, now).is_err() {
                    *self = without;
                    self.compare(seen, now).map_err(|e| format!("the outcome was unknown, and it is neither: {e}"))?;
                }
                Ok((here, verdict))
            }
            _ => Ok((here, verdict)),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Candidates(Vec<Candidate>);

impl Candidates {
    pub(crate) fn new(model: Model, promises: Promises) -> Self {
        Self(vec![Candidate { model, agree: Agree::new(promises) }])
    }

    /// Has every candidate go on; those that disagree with the store are none any more. The outcome is the first one's.
    ///
    /// # Errors
    /// The first one's disagreement, when none is left.
    pub(crate) fn each<T>(&mut self, mut f: impl FnMut(&mut Candidate) -> Result<T, String>) -> Result<T, String> {
        let (mut outcome, mut wrong) = (None, None);
        self.0.retain_mut(|candidate| match f(candidate) {
            Ok(value) => {
                outcome.get_or_insert(value);
                true
            }
            Err(difference) => {
                wrong.get_or_insert(difference);
                false
            }
        });
        outcome.ok_or_else(|| wrong.unwrap_or_else(|| "no model is left".to_owned()))
    }

    /// One that explains everything.
    pub(crate) fn first(&self) -> Option<&Candidate> {
        self.0.first()
    }

    /// Puts what each candidate may have become in its place.
    pub(crate) fn branch(&mut self, f: impl Fn(&Candidate) -> Vec<Candidate>) {
        let mut after: Vec<Candidate> = Vec::new();
        for candidate in self.0.iter().flat_map(f) {
            // Rows, counts and the like are those of the store: the tables are the same if what they wrote is.
            if after.iter().all(|known| known.model.history != candidate.model.history) {
                after.push(candidate);
            }
        }
        self.0 = after;
    }

    /// Keeps the first alone: a store with numbers of its own is asked with the names that one model knows.
    pub(crate) fn settle(&mut self) {
        self.0.truncate(1);
    }
}
