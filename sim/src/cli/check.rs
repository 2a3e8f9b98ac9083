//! `homing-sim check`.

use std::io::Write as _;

use clap::Args;
use homing_sim::explore::{Explored, Search};
use homing_sim::plant::Plant;
use homing_sim::run::Plan;
use homing_sim::scope::Scope;
use serde_json::json;

use super::progress::{Progress, rate};
use super::source::TraceArgs;
use super::{BROKEN, HOLDS, INCONCLUSIVE, cores, say, show};

#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    /// Which world: tiny, tiny-shared, small or night
    #[arg(long, default_value = "tiny", value_parser = scope)]
    scope: Scope,
    /// Most states; a million of them take about 3 GiB
    #[arg(long, default_value_t = 4_000_000)]
    states: usize,
    /// Threads [default: one for each core]; the results do not depend on it
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Says every few seconds how far it is, also where standard error is no terminal
    #[arg(long)]
    progress: bool,
    #[command(flatten)]
    keep: TraceArgs,
}

/// A scope by its name.
pub(super) fn scope(name: &str) -> Result<Scope, String> {
    let all = || Scope::all().iter().map(|scope| scope.name).collect::<Vec<_>>().join(", ");
    Scope::named(name).ok_or_else(|| format!("{name:?} is no scope: give one of {}", all()))
}

pub(super) fn check(args: &CheckArgs, plant: Option<Plant>, as_json: bool) -> u8 {
    let jobs = args.jobs.map_or_else(cores, usize::from);
    let search = Search { scope: args.scope.clone(), plant, most: args.states, jobs };
    let mut progress = Progress::new(args.progress);
    let explored = search.go(&mut |found| {
        progress.at(|seconds| {
            let speed = rate(found.states as u64, seconds);
            format!(
                "{} states in {seconds:.0} s, {speed:.0} a second, {} steps deep, {} wait, {}",
                found.states,
                found.depth,
                found.waiting,
                memory()
            )
        });
    });
    progress.end();
    let seconds = progress.spent().as_secs_f64();
    if as_json {
        print_json(&search, &explored)
    } else {
        print(&search, &explored, seconds)
    }
    match &explored.failed {
        Some(report) => args.keep.keep_report(&plan(&search), report, BROKEN),
        None if explored.complete => HOLDS,
        None => INCONCLUSIVE,
    }
}

/// How a broken run of the search is run again.
fn plan(search: &Search) -> Plan {
    Plan { scope: Some(search.scope.clone()), plant: search.plant, settle: false, trace: true, ..Plan::default() }
}

fn print_json(search: &Search, explored: &Explored) {
    let failed = explored.failed.as_ref().map(show::verdict);
    say!(
        "{}",
        json!({ "scope": search.scope.name, "states": explored.states, "steps": explored.steps,
                "depth": explored.depth, "widest": explored.widest, "complete": explored.complete,
                "violation": failed })
    );
}

fn print(search: &Search, explored: &Explored, seconds: f64) {
    say!("scope {:?}: {}", search.scope.name, search.scope.says());
    say!(
        "{} states, {} steps between them, at most {} steps deep, at most {} waiting at once",
        explored.states,
        explored.steps,
        explored.depth,
        explored.widest
    );
    say!("{seconds:.1} s, {:.0} states a second, {}", rate(explored.states as u64, seconds), memory());
    match &explored.failed {
        Some(report) => {
            let _ = write!(std::io::stdout(), "{}", report.timeline(&plan(search)));
        }
        None if explored.complete => say!("every rule held in every one of them"),
        None => say!("inconclusive: there are more states; raise --states"),
    }
}

/// The most memory this process has held, where the system tells.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    kib.map_or_else(|| "memory unknown".into(), |kib: u64| format!("{} MiB at most", kib / 1024))
}
