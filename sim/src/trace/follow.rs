//! A recorded run again, by the texts of its actions, and where it goes another way now.

use super::{Step, Trace, Unknown, record};
use crate::action::Action;
use crate::choose::{ByName, Chooser, Why};
use crate::run::{Plan, Report};

/// What became of a recorded run.
#[derive(Clone, Debug)]
pub struct Followed {
    /// The plan it was run by.
    pub plan: Plan,
    /// The run as it goes now.
    pub report: Report,
    /// Everything of it.
    pub trace: Trace,
    /// Where it parts from the file, if it does.
    pub parting: Option<Parting>,
}

/// The first place where a run is no longer what was recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Parting {
    /// An action cannot be taken any more. It and others like it were left out.
    #[error("step {step}: {text} is {why}; enabled are {}", .enabled.join(", "))]
    Action {
        /// The recorded step's number.
        step: u32,
        /// The recorded action.
        text: String,
        /// Why it cannot.
        why: Why,
        /// What can happen there instead.
        enabled: Vec<String>,
    },
    /// The same actions, but something else happens.
    #[error("step {step}: the same action, but other events; recorded was {was:?}, now it is {now:?}")]
    Event {
        /// The step's number.
        step: u32,
        /// The first recorded event that is another one now.
        was: String,
        /// The event in its place.
        now: String,
    },
}

impl Parting {
    /// Whether the recorded actions could not all be taken.
    #[must_use]
    pub const fn left_out(&self) -> bool {
        matches!(self, Self::Action { .. })
    }
}

/// Runs a recorded run again. What it cannot follow it leaves out, and says so.
///
/// # Errors
/// The scope or the planted bug this version does not have.
pub fn follow(trace: &Trace) -> Result<Followed, Unknown> {
    let plan = trace.plan()?;
    let texts = trace.texts();
    let mut chooser = Following { names: ByName::new(&texts), offered: None };
    let (report, now) = record(&plan, &mut chooser);
    let parting = chooser.parting(trace).or_else(|| other_events(&trace.steps, &now.steps));
    Ok(Followed { plan, report, trace: now, parting })
}

/// Follows the texts, and keeps what was on offer where the first of them could not be taken.
struct Following<'a> {
    names: ByName<'a, &'a str>,
    offered: Option<Vec<String>>,
}

impl Chooser for Following<'_> {
    fn pick(&mut self, enabled: &[Action]) -> Option<usize> {
        let picked = self.names.pick(enabled);
        if self.names.divergence().is_some() && self.offered.is_none() {
            self.offered = Some(enabled.iter().map(ToString::to_string).collect());
        }
        picked
    }
}

impl Following<'_> {
    fn parting(self, trace: &Trace) -> Option<Parting> {
        let first = self.names.divergence()?;
        let step = trace.steps.iter().filter(|s| s.choice.is_some()).nth(first.step);
        Some(Parting::Action {
            step: step.map_or(0, |s| s.step),
            text: first.text.clone(),
            why: first.why,
            enabled: self.offered.unwrap_or_default(),
        })
    }
}

fn other_events(was: &[Step], now: &[Step]) -> Option<Parting> {
    let texts =
        |step: &Step| step.events.iter().map(|l| format!("{} {} {}", l.code, l.who, l.what)).collect::<Vec<_>>();
    let nothing = Step::default();
    (0..was.len().max(now.len())).find_map(|at| {
        let (was, now) = (was.get(at).unwrap_or(&nothing), now.get(at).unwrap_or(&nothing));
        let (old, new) = (texts(was), texts(now));
        let at = (0..old.len().max(new.len())).find(|at| old.get(*at) != new.get(*at))?;
        let text = |of: &[String]| of.get(at).cloned().unwrap_or_else(|| "nothing".into());
        Some(Parting::Event { step: was.step.max(now.step), was: text(&old), now: text(&new) })
    })
}
