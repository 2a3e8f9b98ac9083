//! Sweeps: the same for every number of threads, and every way to make runs finds what it should.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use homing_sim::action::Action;
use homing_sim::choose::{Listed, Schedule};
use homing_sim::plant::Plant;
use homing_sim::run::{Plan, run};
use homing_sim::scope::{Knob, SWARM};
use homing_sim::shrink::shrink;
use homing_sim::sweep::{Sweep, Swept};

fn of(schedule: Schedule, runs: u64) -> Sweep {
    Sweep { plan: Plan::default(), schedule, first: 0, runs, jobs: 2 }
}

fn go(sweep: &Sweep) -> Swept {
    sweep.go(&mut |_| ControlFlow::Continue(()))
}

/// All that came of a sweep, as text.
fn parts(swept: &Swept) -> String {
    format!("{swept:?}")
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for plant in [None, Some(Plant::DropsFence), Some(Plant::SharesTenants)] {
        let with =
            |jobs| go(&Sweep { plan: Plan { plant, ..Plan::default() }, jobs, first: 7, ..of(Schedule::Mixed, 500) });
        let one = with(1);
        assert_eq!(one.failed.is_some(), plant.is_some(), "{plant:?}");
        for jobs in [2, 3, 8] {
            assert_eq!(parts(&with(jobs)), parts(&one), "{plant:?} on {jobs} threads");
        }
    }
}

#[test]
fn the_first_failing_seed_is_the_lowest() {
    let plan = Plan { plant: Some(Plant::DropsFence), ..Plan::default() };
    let swept = go(&Sweep { plan: plan.clone(), jobs: 4, ..of(Schedule::Mixed, 2_000) });
    let (seed, report) = swept.failed.unwrap();
    assert!(report.violation.is_some());
    assert_eq!(swept.runs, seed + 1, "the seeds before it were all run");
    for earlier in 0..seed {
        let mut chooser = Schedule::Mixed.chooser(earlier, plan.steps);
        assert_eq!(run(&plan, chooser.as_mut()).violation, None, "seed {earlier}");
    }
}

#[test]
fn a_sweep_ends_where_it_is_told_to() {
    let mut looks = 0;
    let swept = of(Schedule::Mixed, u64::MAX / 2).go(&mut |swept| {
        looks += 1;
        if swept.missing().is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(looks > 1 && swept.missing().is_empty());
    assert!(swept.runs < 3_000, "{} runs to reach everything", swept.runs);
    let again = of(Schedule::Mixed, swept.runs);
    assert_eq!(parts(&go(&again)), parts(&swept), "it ends behind a whole batch, whoever was first");
}

#[test]
fn every_schedule_holds_and_is_made_of_whole_runs() {
    for schedule in Schedule::ALL {
        let swept = go(&of(schedule, 400));
        if let Some((seed, report)) = &swept.failed {
            panic!("{} seed {seed}: {:?}\n{}", schedule.name(), report.violation, report.command(&Plan::default()));
        }
        assert_eq!(swept.runs, 400);
        let chosen = swept.runs * Plan::default().steps as u64;
        assert!(swept.steps > chosen, "{}: {} steps, {chosen} of them chosen", schedule.name(), swept.steps);
        assert_eq!(Schedule::named(schedule.name()), Some(schedule));
    }
}

/// The first choices name the drawn world: the list alone is the run.
#[test]
fn a_drawn_world_is_in_the_choices() {
    let plan = Plan { trace: true, ..Plan::default() };
    let (mut worlds, mut values) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..200 {
        let report = run(&plan, Schedule::Swarm.chooser(seed, plan.steps).as_mut());
        let (setup, drawn) = report.actions.split_at(1);
        assert_eq!(setup, [Action::Setup(SWARM)]);
        let drawn: Vec<Action> = drawn.iter().take(Knob::ALL.len()).copied().collect();
        values.extend(drawn.iter().filter_map(|a| if let Action::Draw(k, v) = a { Some((*k, *v)) } else { None }));
        worlds.insert(drawn);
        if seed < 20 {
            let again = run(&plan, &mut Listed::new(&report.choices));
            assert_eq!(again.timeline(&plan), report.timeline(&plan), "seed {seed}");
        }
    }
    assert!(worlds.len() > 190, "{} different worlds of 200", worlds.len());
    let all: usize = Knob::ALL.iter().map(|knob| knob.options().len()).sum();
    assert_eq!(values.len(), all, "every value of every part is drawn");
}

/// Each way of making runs finds bugs on its own, and what it finds shrinks like any other list of choices.
#[test]
fn every_schedule_finds_planted_bugs() {
    for schedule in [Schedule::Seeded, Schedule::Swarm, Schedule::Pct] {
        for (plant, oracle) in [
            (Plant::LoserIgnoresWinner, "B4"),
            (Plant::RetriesAfterVisible, "R3"),
            (Plant::ForgetsPending, "B5"),
            (Plant::RevivesExpired, "B8"),
        ] {
            let plan = Plan { plant: Some(plant), ..Plan::default() };
            let found = (0..2_000).map(|seed| run(&plan, schedule.chooser(seed, plan.steps).as_mut()));
            let found = found.into_iter().find(|r| r.violation.as_ref().is_some_and(|v| v.oracle == oracle));
            let found = found.unwrap_or_else(|| panic!("{} misses {plant:?}", schedule.name()));
            let small = shrink(&plan, &found.choices).unwrap();
            assert_eq!(small.report.violation.map(|v| v.oracle), Some(oracle));
            assert!(small.report.choices.len() <= 30, "{plant:?}: {:?}", small.report.actions);
        }
    }
}
