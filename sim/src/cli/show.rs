//! What the commands print. Results go to standard output, progress to standard error.

use std::io::{IsTerminal as _, Write as _};

use homing_sim::choose::Seeded;
use homing_sim::explore::Explored;
use homing_sim::marks;
use homing_sim::oracle;
use homing_sim::plant::{PLANTS, Plant};
use homing_sim::run::{Plan, Report, run};
use homing_sim::scope::Scope;
use homing_sim::shrink::{Shrunk, shrink};
use homing_sim::sweep::Swept;
use homing_sim::timeline::Line;
use homing_sim::trace::Trace;
use serde_json::{Value, json};

use super::{BROKEN, HOLDS, INCONCLUSIVE};

/// Prints; a reader that closed the pipe has seen enough.
macro_rules! say {
    ($($arg:tt)*) => {{ let _ = writeln!(std::io::stdout(), $($arg)*); }};
}

/// A line of progress on a terminal, at most a hundred times a sweep.
pub(super) struct Progress {
    runs: u64,
    shown: bool,
}

impl Progress {
    pub(super) fn new(runs: u64) -> Self {
        Self { runs, shown: std::io::stderr().is_terminal() }
    }

    pub(super) fn at(&mut self, done: u64) {
        let every = (self.runs / 100).max(1);
        if self.shown && done.is_multiple_of(every) {
            let _ = write!(std::io::stderr(), "\r{done} of {} runs", self.runs);
        }
    }

    pub(super) fn end(&self) {
        if self.shown {
            let _ = writeln!(std::io::stderr());
        }
    }
}

fn verdict(report: &Report) -> Value {
    match &report.violation {
        Some(v) => json!({ "oracle": v.oracle, "text": v.text, "step": v.step }),
        None => Value::Null,
    }
}

const fn status(report: &Report) -> u8 {
    if report.violation.is_some() { BROKEN } else { HOLDS }
}

pub(super) fn one(plan: &Plan, report: &Report, as_json: bool) -> u8 {
    if as_json {
        say!("{}", json!({ "command": report.command(plan), "violation": verdict(report), "events": report.lines }));
    } else {
        let _ = write!(std::io::stdout(), "{}", report.timeline(plan));
        if report.violation.is_none() {
            say!("every rule held");
        }
    }
    status(report)
}

/// A run that was recorded.
pub(super) fn recorded(plan: &Plan, report: &Report, trace: &Trace, as_json: bool) -> u8 {
    let mut lines: Vec<Line> = trace.steps.iter().flat_map(|step| &step.events).cloned().collect();
    lines.extend(report.violation.as_ref().map(Line::verdict));
    one(plan, &Report { lines, ..report.clone() }, as_json)
}

pub(super) fn nothing_to_shrink() -> u8 {
    say!("these choices break no rule: there is nothing to shrink");
    INCONCLUSIVE
}

pub(super) fn shrunk(plan: &Plan, was: usize, shrunk: &Shrunk, as_json: bool) -> u8 {
    let status = one(plan, &shrunk.report, as_json);
    if !as_json {
        say!("{was} choices became {} in {} runs", shrunk.report.choices.len(), shrunk.runs);
    }
    status
}

pub(super) fn swept(plan: &Plan, swept: &Swept, as_json: bool) -> u8 {
    let missing = swept.missing();
    let failed = swept.failed.as_ref();
    let status = match failed {
        Some(_) => BROKEN,
        None if missing.is_empty() => HOLDS,
        None => INCONCLUSIVE,
    };
    if as_json {
        let reached: Vec<Value> = swept
            .marks
            .iter()
            .map(|(name, (count, seed))| json!({ "mark": name, "count": count, "seed": seed }))
            .collect();
        let failed =
            failed.map(|(seed, r)| json!({ "seed": seed, "violation": verdict(r), "command": r.command(plan) }));
        say!("{}", json!({ "runs": swept.runs, "failed": failed, "marks": reached, "missing": missing }));
        return status;
    }
    say!("{} runs of {} steps", swept.runs, plan.steps);
    for mark in &marks::ALL {
        match swept.marks.get(mark.name) {
            Some((count, seed)) => say!("{count:>9}  {:<24} seed {seed}", mark.name),
            None => say!("{:>9}  {:<24} not reached", 0, mark.name),
        }
    }
    match failed {
        Some((seed, report)) => {
            if let Some(violation) = &report.violation {
                say!("seed {seed}: {violation}");
            }
            say!("{}", report.command(plan));
        }
        None if missing.is_empty() => say!("every rule held, every required situation was reached"),
        None => say!("inconclusive: {} required situations were not reached", missing.len()),
    }
    status
}

pub(super) fn explored(scope: &Scope, explored: &Explored, as_json: bool) -> u8 {
    let status = match &explored.failed {
        Some(_) => BROKEN,
        None if explored.complete => HOLDS,
        None => INCONCLUSIVE,
    };
    if as_json {
        let failed = explored.failed.as_ref().map(verdict);
        say!(
            "{}",
            json!({ "scope": scope.name, "states": explored.states, "steps": explored.steps,
                    "complete": explored.complete, "violation": failed })
        );
        return status;
    }
    say!("scope {:?}: {} states, {} steps", scope.name, explored.states, explored.steps);
    match &explored.failed {
        Some(report) => {
            let plan = Plan { scope: Some(scope.clone()), plant: explored.plant, ..Plan::default() };
            let _ = write!(std::io::stdout(), "{}", report.timeline(&plan));
        }
        None if explored.complete => say!("every rule held in every one of them"),
        None => say!("inconclusive: there are more states; raise --states"),
    }
    status
}

pub(super) fn oracles(as_json: bool) -> u8 {
    for oracle in oracle::ALL {
        if as_json {
            say!("{}", json!({ "id": oracle.id, "says": oracle.says }));
        } else {
            say!("{:<9} {}", oracle.id, oracle.says);
        }
    }
    HOLDS
}

pub(super) fn marks(as_json: bool) -> u8 {
    for mark in &marks::ALL {
        if as_json {
            say!("{}", json!({ "name": mark.name, "says": mark.says, "required": mark.required }));
        } else {
            say!("{:<24} {}", mark.name, mark.says);
        }
    }
    HOLDS
}

/// Without a name and without `--all`: the list.
pub(super) fn planted(name: Option<&str>, all: bool, runs: u64, as_json: bool) -> u8 {
    if name.is_none() && !all {
        PLANTS.iter().for_each(|(plant, oracle)| say!("{:<24} is to be caught by {oracle}", plant.name()));
        say!("none was run: name one, or run them with --all");
        return HOLDS;
    }
    let chosen: Vec<_> = PLANTS.iter().filter(|(p, _)| name.is_none_or(|name| p.name() == name)).collect();
    if chosen.is_empty() {
        say!("no planted bug has that name; `homing-sim planted` lists them");
        return super::USAGE;
    }
    let missed = chosen.into_iter().filter(|(plant, oracle)| !caught(*plant, oracle, runs, as_json)).count();
    if missed == 0 { HOLDS } else { BROKEN }
}

fn caught(plant: Plant, oracle: &str, runs: u64, as_json: bool) -> bool {
    let plan = Plan { plant: Some(plant), ..Plan::default() };
    let hit = (0..runs).find_map(|seed| {
        let report = run(&plan, &mut Seeded::new(seed));
        report.violation.as_ref().is_some_and(|v| v.oracle == oracle).then_some((seed, report))
    });
    let small = hit.as_ref().and_then(|(_, report)| shrink(&plan, &report.choices));
    match (&hit, &small) {
        (Some((seed, report)), Some(small)) => {
            let (long, short) = (report.choices.len(), small.report.choices.len());
            if as_json {
                say!(
                    "{}",
                    json!({ "plant": plant.name(), "oracle": oracle, "seed": seed, "choices": long,
                            "shrunk": short, "command": small.report.command(&plan) })
                );
            } else {
                say!("{:<24} {oracle:<7} seed {seed:<5} {long:>3} -> {short:>2} choices", plant.name());
                say!("    {}", small.report.command(&plan));
            }
        }
        _ => say!("{:<24} {oracle:<7} MISSED in {runs} runs", plant.name()),
    }
    hit.is_some()
}
