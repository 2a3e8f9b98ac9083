//! `homing-sim sweep`.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::time::Duration;

use clap::Args;
use homing_sim::choose::Schedule;
use homing_sim::marks;
use homing_sim::plant::Plant;
use homing_sim::run::Plan;
use homing_sim::sweep::{Sweep, Swept};
use serde_json::{Value, json};

use super::progress::{Progress, rate};
use super::source::TraceArgs;
use super::{BROKEN, HOLDS, INCONCLUSIVE, USAGE, cores, say, show};

/// A shorter run goes through too little to mean anything.
const STEPS_MIN: usize = 50;

/// Runs where the time alone decides how many.
const NO_END: u64 = u64::MAX / 2;

#[derive(Args, Debug)]
pub(super) struct SweepArgs {
    /// How many runs [default: 2000, or no end with --for or --until-covered]
    #[arg(short = 'n', long)]
    runs: Option<u64>,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Chosen steps of each run; at least 50
    #[arg(long, default_value_t = 80)]
    steps: usize,
    /// How runs are made: mixed, seeded, swarm or pct
    #[arg(long, default_value = "mixed", value_parser = schedule)]
    schedule: Schedule,
    /// Stops after this long: 60s, 10m or 2h
    #[arg(long = "for", value_parser = span, value_name = "TIME")]
    time: Option<Duration>,
    /// Stops once every required situation was reached
    #[arg(long)]
    until_covered: bool,
    /// Threads [default: one for each core]; the results do not depend on it
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Says every few seconds how far it is, also where standard error is no terminal
    #[arg(long)]
    progress: bool,
    #[command(flatten)]
    keep: TraceArgs,
}

pub(super) fn schedule(name: &str) -> Result<Schedule, String> {
    let names = || Schedule::ALL.map(Schedule::name).join(", ");
    Schedule::named(name).ok_or_else(|| format!("{name:?} is no schedule: give one of {}", names()))
}

fn span(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (count, unit) = text.split_at(split);
    let seconds = match unit {
        "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3_600),
        _ => None,
    };
    let seconds = seconds.and_then(|unit: u64| count.parse::<u64>().ok()?.checked_mul(unit)).filter(|s| *s > 0);
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| format!("{text:?} is no time: give a number and s, m or h, such as 60s"))
}

pub(super) fn sweep(args: &SweepArgs, plant: Option<Plant>, as_json: bool) -> u8 {
    if args.steps < STEPS_MIN {
        let _ = writeln!(
            std::io::stderr(),
            "error: --steps {} is too short for a sweep: give {STEPS_MIN} or more, or use `homing-sim run`",
            args.steps
        );
        return USAGE;
    }
    let open = args.time.is_some() || args.until_covered;
    let sweep = Sweep {
        plan: Plan { steps: args.steps, plant, ..Plan::default() },
        schedule: args.schedule,
        first: args.seed,
        runs: args.runs.unwrap_or(if open { NO_END } else { 2_000 }),
        jobs: args.jobs.map_or_else(cores, usize::from),
    };
    let mut progress = Progress::new(args.progress);
    let swept = sweep.go(&mut |swept| {
        progress.at(|seconds| {
            let missing = swept.missing().len();
            format!(
                "{} runs in {seconds:.0} s, {:.0} a second, {missing} required situations to reach",
                swept.runs,
                rate(swept.runs, seconds)
            )
        });
        let over = args.time.is_some_and(|time| progress.spent() >= time);
        let covered = args.until_covered && swept.missing().is_empty();
        if over || covered { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    progress.end();
    if as_json {
        print_json(&sweep, &swept)
    } else {
        print(&sweep, &swept, progress.spent())
    }
    match &swept.failed {
        Some((_, report)) => args.keep.keep_report(&sweep.plan, report, status(&swept)),
        None => status(&swept),
    }
}

fn status(swept: &Swept) -> u8 {
    match &swept.failed {
        Some(_) => BROKEN,
        None if swept.missing().is_empty() => HOLDS,
        None => INCONCLUSIVE,
    }
}

fn print_json(sweep: &Sweep, swept: &Swept) {
    let reached: Vec<Value> =
        swept.marks.iter().map(|(name, (count, seed))| json!({ "mark": name, "count": count, "seed": seed })).collect();
    let failed = swept
        .failed
        .as_ref()
        .map(|(seed, r)| json!({ "seed": seed, "violation": show::verdict(r), "command": r.command(&sweep.plan) }));
    say!(
        "{}",
        json!({ "runs": swept.runs, "steps": swept.steps, "schedule": sweep.schedule.name(), "failed": failed,
                "marks": reached, "missing": swept.missing() })
    );
}

fn print(sweep: &Sweep, swept: &Swept, time: Duration) {
    for mark in &marks::ALL {
        match swept.marks.get(mark.name) {
            Some((count, seed)) => say!("{count:>9}  {:<24} seed {seed}", mark.name),
            None => say!("{:>9}  {:<24} not reached", 0, mark.name),
        }
    }
    let seconds = time.as_secs_f64();
    say!(
        "{} runs ({}) of {} chosen steps, {} steps in all, in {seconds:.1} s: {:.0} runs a second",
        swept.runs,
        sweep.schedule.name(),
        sweep.plan.steps,
        swept.steps,
        rate(swept.runs, seconds)
    );
    let missing = swept.missing();
    match &swept.failed {
        Some((seed, report)) => {
            if let Some(violation) = &report.violation {
                say!("seed {seed}: {violation}");
            }
            say!("{}", report.command(&sweep.plan));
        }
        None if missing.is_empty() => say!("every rule held, every required situation was reached"),
        None => say!("inconclusive: {} required situations were not reached", missing.len()),
    }
}
