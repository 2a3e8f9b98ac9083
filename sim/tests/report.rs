//! The figures of runs are the same every time, and survive their file.

use homing_sim::choose::Schedule;
use homing_sim::plant::Plant;
use homing_sim::report::{Figures, Summary, measure, read};
use homing_sim::run::Plan;

fn figures(plan: &Plan, seeds: u64) -> Vec<Figures> {
    let made = |seed| measure(plan, seed, Schedule::Mixed.chooser(seed, plan.steps).as_mut());
    (0..seeds).map(made).collect()
}

#[test]
fn figures_are_the_same_every_time_and_survive_their_file() {
    let runs = figures(&Plan::default(), 60);
    assert_eq!(runs, figures(&Plan::default(), 60));
    let lines: Vec<String> = runs.iter().map(|run| serde_json::to_string(run).unwrap()).collect();
    assert_eq!(read(&lines.join("\n")).unwrap(), runs);
    let wrong = read(&format!("{}\n{{}}", lines[0])).unwrap_err().to_string();
    assert!(wrong.starts_with("line 2: missing field"), "{wrong}");
}

#[test]
fn figures_agree_with_each_other() {
    for run in figures(&Plan::default(), 60) {
        let ends: u64 = run.outcomes.values().sum();
        assert_eq!(ends, run.attempts.len() as u64, "each request ends in one way: {run:?}");
        assert_eq!(run.outcomes.get("open"), None, "a healed world leaves nothing open: {run:?}");
        assert_eq!(run.failovers, run.moves.iter().sum::<u64>(), "{run:?}");
        assert_eq!(run.converge_steps.len(), run.converge_ms.len());
        assert!(run.heal_steps.is_some_and(|steps| steps < run.steps), "{run:?}");
        assert!(run.writes >= run.failovers, "a move is a write: {run:?}");
    }
}

#[test]
fn a_summary_counts_every_run_and_names_what_broke() {
    let clean = Summary::of(&figures(&Plan::default(), 40));
    assert_eq!((clean.runs, clean.broken.len()), (40, 0));
    let attempts = &clean.spreads.iter().find(|(name, _)| *name == "attempts per request").unwrap().1;
    let digest = attempts.digest().unwrap();
    assert_eq!(digest.count as u64, clean.outcomes.values().sum::<u64>());
    assert!(digest.max >= 2, "somebody was tried twice in 40 runs");
    let planted = Summary::of(&figures(&Plan { plant: Some(Plant::SoftPins), ..Plan::default() }, 40));
    assert!(planted.broken.iter().any(|(_, rule)| rule == "R1"), "{:?}", planted.broken);
}
