//! `bugs`: the bug base is listed, run again, added to.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use homing_sim::bugs::{Case, FOUND, Rerun, read};
use homing_sim::choose::Listed;
use homing_sim::plant::Plant;
use homing_sim::run::{Plan, Report, run};
use homing_sim::shrink::shrink;
use serde_json::json;

use super::{BROKEN, HOLDS, USAGE, list, say};

/// Where the bug base is, from the root of the repository and from this crate.
const PLACES: [&str; 2] = ["sim/bugs/found.jsonl", "bugs/found.jsonl"];

#[derive(Args, Debug)]
pub(super) struct BugsArgs {
    #[command(subcommand)]
    what: What,
    /// The bug base [default: sim/bugs/found.jsonl, else the one that came with this program]
    #[arg(long, global = true)]
    file: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
enum What {
    /// The cases, with their numbers
    List,
    /// Runs cases again; fails if one breaks a rule
    Rerun {
        /// Which, by number; without any, all
        numbers: Vec<usize>,
    },
    /// Puts a schedule that breaks a rule, or broke it before a repair, into the bug base
    Add(AddArgs),
}

#[derive(Args, Debug)]
struct AddArgs {
    /// Choices with dots between; shrunk first, if they still break a rule
    #[arg(long, value_parser = list)]
    choices: Arc<Vec<u16>>,
    /// The defect in one sentence
    #[arg(long)]
    defect: String,
    /// The day it was found, as 2026-12-01
    #[arg(long)]
    date: String,
    /// The rule that was broken; needed where the choices break none any more
    #[arg(long)]
    rule: Option<String>,
}

pub(super) fn bugs(args: &BugsArgs, plant: Option<Plant>, as_json: bool) -> u8 {
    let file = args.file.clone().or_else(|| PLACES.iter().map(PathBuf::from).find(|place| place.is_file()));
    let done = cases(file.as_deref()).and_then(|cases| match &args.what {
        What::List => Ok(print_all(&cases, as_json)),
        What::Rerun { numbers } => rerun(&cases, numbers, as_json),
        What::Add(new) => add(file.as_deref(), new, plant),
    });
    done.unwrap_or_else(|why| {
        let _ = writeln!(io::stderr(), "{why}");
        USAGE
    })
}

fn cases(file: Option<&Path>) -> Result<Vec<Case>, String> {
    let (name, text) = match file {
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
            (file.display().to_string(), text)
        }
        None => ("the bug base of this program".to_owned(), FOUND.to_owned()),
    };
    read(&text).map_err(|error| format!("{name}: {error}"))
}

fn print_all(cases: &[Case], as_json: bool) -> u8 {
    for (number, case) in (1..).zip(cases) {
        if as_json {
            say!("{}", json!({ "number": number, "case": case }));
        } else {
            say!("{number:>3}  {} {:<7} {:>3} steps  {}", case.date, case.rule, case.steps().count(), case.defect);
        }
    }
    HOLDS
}

fn rerun(cases: &[Case], numbers: &[usize], as_json: bool) -> Result<u8, String> {
    if let Some(wrong) = numbers.iter().find(|n| **n == 0 || **n > cases.len()) {
        return Err(format!("there is no case {wrong}: the bug base has {}", cases.len()));
    }
    let chosen = (1..).zip(cases).filter(|(number, _)| numbers.is_empty() || numbers.contains(number));
    let mut broken = 0;
    let mut all = 0;
    for (number, case) in chosen {
        let again = case.rerun();
        all += 1;
        broken += usize::from(!again.holds());
        print(number, case, &again, as_json);
    }
    if !as_json {
        say!("{} of {all} hold", all - broken);
    }
    Ok(if broken == 0 { HOLDS } else { BROKEN })
}

fn print(number: usize, case: &Case, again: &Rerun, as_json: bool) {
    let taken = again.report.choices.len();
    let offered = again.offered.as_ref().map(|text| format!("{text} is possible where it must not be"));
    let broken = again.report.violation.as_ref().map(ToString::to_string).or(offered);
    if as_json {
        say!(
            "{}",
            json!({ "number": number, "rule": case.rule, "steps": case.steps().count(), "taken": taken,
                    "violation": broken, "command": again.report.command(&Plan::default()) })
        );
        return;
    }
    let left = again.left.as_ref().map(|left| format!("; {left}")).unwrap_or_default();
    say!("{number:>3}  {:<7} {taken} of {} steps taken{left}", case.rule, case.steps().count());
    if let Some(broken) = broken {
        say!("     {broken}\n     {}", again.report.command(&Plan::default()));
    }
}

fn add(file: Option<&Path>, new: &AddArgs, plant: Option<Plant>) -> Result<u8, String> {
    let file = file.ok_or("there is no sim/bugs/found.jsonl here: name the bug base with --file")?;
    let plan = Plan { plant, steps: new.choices.len(), ..Plan::default() };
    let report = match shrink(&plan, &new.choices) {
        Some(shrunk) => shrunk.report,
        None => run(&plan, &mut Listed::new(&new.choices)),
    };
    let case = case(new, &report)?;
    let line = case.line().map_err(|error| error.to_string())?;
    let write = || -> io::Result<()> {
        let mut base = OpenOptions::new().append(true).open(file)?;
        writeln!(base, "{line}")
    };
    write().map_err(|error| format!("{}: {error}", file.display()))?;
    say!("{} {} with {} steps: {}", case.date, case.rule, case.actions.len(), file.display());
    Ok(HOLDS)
}

fn case(new: &AddArgs, report: &Report) -> Result<Case, String> {
    let seen = report.violation.as_ref().map(|violation| violation.oracle);
    let rule = match (&new.rule, seen) {
        (Some(rule), Some(seen)) if rule != seen => {
            return Err(format!("--rule {rule}: these choices break {seen}"));
        }
        (Some(rule), _) => rule.clone(),
        (None, Some(seen)) => seen.to_owned(),
        (None, None) => return Err("these choices break no rule now: say with --rule which one they broke".into()),
    };
    let actions = report.actions.iter().map(ToString::to_string).collect();
    Ok(Case { date: new.date.clone(), rule, defect: new.defect.clone(), actions })
}
