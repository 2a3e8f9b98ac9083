//! `report`: what many runs were like, in distributions.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use homing_sim::choose::Schedule;
use homing_sim::plant::Plant;
use homing_sim::report::{Figures, Spread, Summary, measure, read};
use homing_sim::run::Plan;
use serde_json::{Value, json};

use super::progress::Progress;
use super::{BROKEN, HOLDS, USAGE, say, sweep::schedule};

/// The longest bar of a histogram.
const BAR: usize = 50;

#[derive(Args, Debug)]
pub(super) struct ReportArgs {
    /// Figures that were written with --out; without it, runs are made
    #[arg(conflicts_with_all = ["runs", "seed", "steps", "schedule", "out"])]
    file: Option<PathBuf>,
    /// How many runs
    #[arg(short = 'n', long, default_value_t = 1_000)]
    runs: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Chosen steps of each run
    #[arg(long, default_value_t = 80)]
    steps: usize,
    /// How runs are made: mixed, seeded, swarm or pct
    #[arg(long, default_value = "mixed", value_parser = schedule)]
    schedule: Schedule,
    /// Writes the figures of each run to this file, a line of JSON each
    #[arg(long)]
    out: Option<PathBuf>,
}

pub(super) fn report(args: &ReportArgs, plant: Option<Plant>, as_json: bool) -> u8 {
    let figures = match &args.file {
        Some(file) => load(file),
        None => make(args, plant),
    };
    match figures {
        Ok(figures) => print(&Summary::of(&figures), as_json),
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}");
            USAGE
        }
    }
}

fn load(file: &Path) -> Result<Vec<Figures>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    read(&text).map_err(|error| format!("{}: {error}", file.display()))
}

fn make(args: &ReportArgs, plant: Option<Plant>) -> Result<Vec<Figures>, String> {
    let plan = Plan { steps: args.steps, plant, ..Plan::default() };
    let mut progress = Progress::new(false);
    let mut all = Vec::new();
    for seed in (args.seed..).take(usize::try_from(args.runs).unwrap_or(usize::MAX)) {
        all.push(measure(&plan, seed, args.schedule.chooser(seed, args.steps).as_mut()));
        progress.at(|seconds| format!("{} of {} runs in {seconds:.0} s", all.len(), args.runs));
    }
    progress.end();
    if let Some(out) = &args.out {
        let text = all.iter().try_fold(String::new(), |mut text, figures| {
            text.push_str(&serde_json::to_string(figures)?);
            text.push('\n');
            Ok::<_, serde_json::Error>(text)
        });
        let text = text.map_err(|error| error.to_string())?;
        std::fs::write(out, text).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    Ok(all)
}

fn print(summary: &Summary, as_json: bool) -> u8 {
    if as_json {
        say!("{}", document(summary));
    } else {
        let _ = std::io::stdout().write_all(page(summary).as_bytes());
    }
    if summary.broken.is_empty() { HOLDS } else { BROKEN }
}

fn document(summary: &Summary) -> Value {
    let spreads: Vec<Value> = summary
        .spreads
        .iter()
        .map(|(name, spread)| json!({ "name": name, "digest": spread.digest(), "histogram": spread.histogram() }))
        .collect();
    json!({ "runs": summary.runs, "figures": spreads, "outcomes": summary.outcomes, "marks": summary.marks,
            "broken": summary.broken })
}

fn page(summary: &Summary) -> String {
    let mut page = format!("{} runs\n", summary.runs);
    for (name, spread) in &summary.spreads {
        histogram(&mut page, name, spread);
    }
    let total: u64 = summary.outcomes.values().sum();
    let _ = writeln!(page, "\nhow {total} requests ended");
    for (how, count) in &summary.outcomes {
        let _ = writeln!(page, "{count:>10}  {how}");
    }
    let _ = writeln!(page, "\nsituations, by the runs that reached them");
    for (mark, count) in &summary.marks {
        let _ = writeln!(page, "{count:>10}  {mark}");
    }
    for (seed, rule) in &summary.broken {
        let _ = writeln!(page, "\nseed {seed} broke {rule}");
    }
    page
}

fn histogram(page: &mut String, name: &str, spread: &Spread) {
    let Some(digest) = spread.digest() else {
        let _ = writeln!(page, "\n{name}: nothing was measured");
        return;
    };
    let (min, median, p90, max) = (digest.min, digest.median, digest.p90, digest.max);
    let _ = writeln!(page, "\n{name}: min {min}, median {median}, p90 {p90}, max {max} ({} values)", digest.count);
    let rows = spread.histogram();
    let most = rows.iter().map(|(_, _, count)| *count).max().unwrap_or(1).max(1);
    for (from, to, count) in rows {
        let range = if from == to { from.to_string() } else { format!("{from}-{to}") };
        // What is there is seen, however little it is.
        let bar = if count == 0 { 0 } else { (count * BAR / most).max(1) };
        let _ = writeln!(page, "{range:>16} {count:>8} {}", "#".repeat(bar));
    }
}
