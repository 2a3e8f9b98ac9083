//! `homing-sim check`.

use std::io::Write as _;

use clap::Args;
use homing_sim::explore::explore;
use homing_sim::plant::Plant;
use homing_sim::scope::Scope;
use serde_json::json;

use super::{BROKEN, HOLDS, INCONCLUSIVE, say, show};

#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    /// Which world
    #[arg(long, default_value = "tiny", value_parser = ["tiny", "small"])]
    scope: String,
    /// Most states
    #[arg(long, default_value_t = 2_000_000)]
    states: usize,
}

pub(super) fn check(args: &CheckArgs, plant: Option<Plant>, as_json: bool) -> u8 {
    let scope = if args.scope == "small" { Scope::small() } else { Scope::tiny() };
    let explored = explore(&scope, plant, args.states);
    let status = match &explored.failed {
        Some(_) => BROKEN,
        None if explored.complete => HOLDS,
        None => INCONCLUSIVE,
    };
    if as_json {
        let failed = explored.failed.as_ref().map(show::verdict);
        say!(
            "{}",
            json!({ "scope": scope.name, "states": explored.states, "steps": explored.steps,
                    "complete": explored.complete, "violation": failed })
        );
        return status;
    }
    say!("scope {:?}: {} states, {} steps", scope.name, explored.states, explored.steps);
    match &explored.failed {
        Some(report) => report.lines.iter().for_each(|line| say!("{line}")),
        None if explored.complete => say!("every rule held in every one of them"),
        None => say!("inconclusive: there are more states; raise --states"),
    }
    status
}
