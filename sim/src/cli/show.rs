//! What the commands print. Results go to standard output, progress to standard error.

use std::io::Write as _;

use homing_sim::choose::Seeded;
use homing_sim::marks;
use homing_sim::oracle;
use homing_sim::plant::{PLANTS, Plant};
use homing_sim::run::{Plan, Report, run};
use homing_sim::shrink::{Shrunk, shrink};
use serde_json::{Value, json};

use super::{BROKEN, HOLDS, INCONCLUSIVE, say};

pub(super) fn verdict(report: &Report) -> Value {
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
