//! One run: a chooser drives a world for some steps, then the world is healed and has to settle.

use crate::action::Action;
use crate::choose::{Chooser, text};
use crate::marks::Marks;
use crate::plant::Plant;
use crate::scope::Scope;
use crate::timeline::Line;
use crate::world::{Violation, World};

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Most chosen steps.
    pub steps: usize,
    /// The world; `None`: the first choice names a profile.
    pub scope: Option<Scope>,
    /// A bug to put in.
    pub plant: Option<Plant>,
    /// Whether the world is healed at the end and has to settle.
    pub settle: bool,
    /// Whether the time line is kept.
    pub trace: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self { steps: 80, scope: None, plant: None, settle: true, trace: false }
    }
}

/// How a run went.
#[derive(Clone, Debug)]
pub struct Report {
    /// The choices that were made: they replay the run.
    pub choices: Vec<u16>,
    /// What they meant: the action of each choice. Their texts replay the run in a version that numbers them differently.
    pub actions: Vec<Action>,
    /// Steps taken, those after the choices included.
    pub steps: u32,
    /// The rule that broke, if one did.
    pub violation: Option<Violation>,
    /// The situations reached.
    pub marks: Marks,
    /// The time line, if it was asked for.
    pub lines: Vec<Line>,
}

impl Report {
    /// The one command that shows the run again.
    #[must_use]
    pub fn command(&self, plan: &Plan) -> String {
        let plant = plan.plant.map(|p| format!(" --plant {}", p.name())).unwrap_or_default();
        let scope = plan.scope.as_ref().map(|s| format!(" --scope {}", s.name)).unwrap_or_default();
        format!("homing-sim replay{plant}{scope} --choices {}", text(&self.choices))
    }

    /// The whole trace as text: the command that reproduces it, then one line for each event.
    #[must_use]
    pub fn timeline(&self, plan: &Plan) -> String {
        let mut out = format!("{}\n{}\n", self.command(plan), Line::heading());
        for line in &self.lines {
            out.push_str(&line.to_string());
            out.push('\n');
        }
        out
    }
}

/// Runs a world to its end, or to the first rule that breaks.
pub fn run(plan: &Plan, chooser: &mut dyn Chooser) -> Report {
    let mut lines = Vec::new();
    let report = watched(plan, chooser, &mut |world, _| {
        if plan.trace {
            lines.extend(world.seen().iter().map(|seen| Line::of(world.steps(), seen)));
        }
    });
    if let (true, Some(violation)) = (plan.trace, &report.violation) {
        Line::close(&mut lines, violation);
    }
    Report { lines, ..report }
}

/// What a watcher is told of the step that was just taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// What happened; `None` where something was only observed: at the beginning, the healing, the end.
    pub action: Option<Action>,
    /// Which choice that was; `None` where nobody chose.
    pub choice: Option<u16>,
}

/// Runs a world like [`run`]. The watcher sees the world at the beginning and after every step; the report has no lines.
pub fn watched(plan: &Plan, chooser: &mut dyn Chooser, watch: &mut dyn FnMut(&World, Taken)) -> Report {
    let mut world = match &plan.scope {
        Some(scope) => World::of(scope.clone(), plan.plant),
        None => World::new(plan.plant),
    };
    let (mut choices, mut actions, mut enabled) = (Vec::new(), Vec::new(), Vec::new());
    watch(&world, Taken::default());
    while choices.len() < plan.steps && world.violation().is_none() {
        world.enabled(&mut enabled);
        let picked = if enabled.is_empty() { None } else { chooser.pick(&enabled) };
        let Some((at, action)) = picked.and_then(|at| Some((at, *enabled.get(at)?))) else { break };
        let choice = u16::try_from(at).unwrap_or(u16::MAX);
        choices.push(choice);
        actions.push(action);
        world.apply(action);
        watch(&world, Taken { action: Some(action), choice: Some(choice) });
    }
    if plan.settle && world.violation().is_none() {
        world.settle(&mut |world, action| watch(world, Taken { action, choice: None }));
    }
    let (steps, violation, marks) = (world.steps(), world.violation().cloned(), world.marks().clone());
    Report { choices, actions, steps, violation, marks, lines: Vec::new() }
}
