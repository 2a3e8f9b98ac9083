//! `planted`: known bugs are put in, and each has to be caught by its oracle in its world.

use std::io::Write as _;

use clap::Args;
use homing_sim::plant::{Missed, PLANTS, Planted, Proof, plan, prove};
use serde_json::json;

use super::progress::Progress;
use super::{BROKEN, HOLDS, USAGE, say};

#[derive(Args, Debug)]
pub(super) struct PlantedArgs {
    /// One bug, by name
    name: Option<String>,
    /// All of them
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// Most runs for each
    #[arg(short = 'n', long, default_value_t = 5_000)]
    runs: u64,
}

/// Without a name and without `--all`: the list.
pub(super) fn run(args: &PlantedArgs, as_json: bool) -> u8 {
    if args.name.is_none() && !args.all {
        list(as_json);
        return HOLDS;
    }
    let named = |planted: &&Planted| args.name.as_ref().is_none_or(|name| planted.plant.name() == *name);
    let chosen: Vec<&Planted> = PLANTS.iter().filter(named).collect();
    if chosen.is_empty() {
        let _ = writeln!(std::io::stderr(), "no planted bug has that name; `homing-sim planted` lists them");
        return USAGE;
    }
    let mut missed = 0;
    for planted in &chosen {
        let time = Progress::new(false);
        let proof = prove(planted, args.runs);
        missed += usize::from(proof.is_err());
        match proof {
            Ok(proof) => caught(planted, &proof, &time, as_json),
            Err(why) => not_caught(planted, &why, as_json),
        }
    }
    if !as_json {
        say!("{} of {} planted bugs were caught by the oracle they name", chosen.len() - missed, chosen.len());
    }
    if missed == 0 { HOLDS } else { BROKEN }
}

fn list(as_json: bool) {
    for planted in &PLANTS {
        if as_json {
            say!(
                "{}",
                json!({ "plant": planted.plant.name(), "oracle": planted.oracle, "world": planted.world,
                        "field": planted.field })
            );
        } else {
            let name = planted.plant.name();
            say!("{name:<24} {:<7} in {:<8} {}", planted.oracle, planted.world, planted.field);
        }
    }
    if !as_json {
        say!("none was run: name one, or run them with --all");
    }
}

fn caught(planted: &Planted, proof: &Proof, time: &Progress, as_json: bool) {
    let (long, short) = (proof.report.choices.len(), proof.shrunk.report.choices.len());
    let (name, command) = (planted.plant.name(), proof.shrunk.report.command(&plan(planted)));
    if as_json {
        // How long it took is left out: the same choices give the same document.
        say!(
            "{}",
            json!({ "plant": name, "oracle": planted.oracle, "world": planted.world, "field": planted.field,
                    "seed": proof.seed, "runs": proof.runs, "steps": proof.steps, "choices": long, "shrunk": short,
                    "shrinking_runs": proof.shrunk.runs, "command": command })
        );
        return;
    }
    let millis = time.spent().as_millis();
    say!(
        "{name:<24} {:<7} in {:<8} after {:>4} runs, {:>6} steps; {long:>3} -> {short:>2} choices; {millis} ms",
        planted.oracle,
        planted.world,
        proof.runs,
        proof.steps
    );
    say!("    {command}");
}

fn not_caught(planted: &Planted, why: &Missed, as_json: bool) {
    let name = planted.plant.name();
    if as_json {
        say!(
            "{}",
            json!({ "plant": name, "oracle": planted.oracle, "world": planted.world, "missed": why.to_string() })
        );
    } else {
        say!("{name:<24} {:<7} in {:<8} MISSED: {why}", planted.oracle, planted.world);
    }
}
