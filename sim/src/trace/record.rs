//! Runs a plan and keeps everything.

use super::{Broken, FORMAT, Header, Step, Trace, Verdict};
use crate::choose::{Chooser, text};
use crate::names::plain;
use crate::oracle;
use crate::run::{Plan, Report, Taken, watched};
use crate::timeline::Line;
use crate::world::World;

/// Runs a plan like [`crate::run::run`] and records it.
pub fn record(plan: &Plan, chooser: &mut dyn Chooser) -> (Report, Trace) {
    let mut recorder = Recorder::default();
    let report = watched(plan, chooser, &mut |world, taken| recorder.take(world, taken));
    let trace = recorder.end(plan, &report);
    (report, trace)
}

/// Collects the steps of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    steps: Vec<Step>,
    broken: Option<Broken>,
}

impl Recorder {
    pub(crate) fn take(&mut self, world: &World, taken: Taken) {
        if let (None, Some(v)) = (&self.broken, world.violation()) {
            let says = oracle::ALL.iter().find(|o| o.id == v.oracle).map_or("", |o| o.says);
            self.broken = Some(Broken {
                oracle: v.oracle.into(),
                says: says.into(),
                text: plain(&v.text),
                step: v.step,
                at: self.steps.len(),
                event: v.event,
            });
        }
        self.steps.push(step(world, taken));
    }

    pub(crate) fn end(self, plan: &Plan, report: &Report) -> Trace {
        let header = Header {
            format: FORMAT,
            program: env!("CARGO_PKG_VERSION").into(),
            scope: plan.scope.as_ref().map(|s| s.name.into()),
            plant: plan.plant.map(|p| p.name()),
            settle: plan.settle,
            choices: text(&report.choices),
            command: report.command(plan),
        };
        Trace { header, steps: self.steps, verdict: Verdict { holds: self.broken.is_none(), broken: self.broken } }
    }
}

fn step(world: &World, taken: Taken) -> Step {
    let mut enabled = Vec::new();
    world.enabled(&mut enabled);
    Step {
        step: world.steps(),
        action: taken.action.map(|a| a.to_string()),
        choice: taken.choice,
        events: world.seen().iter().map(|seen| Line::of(world.steps(), seen)).collect(),
        state: world.snapshot(),
        enabled: enabled.iter().map(ToString::to_string).collect(),
    }
}
