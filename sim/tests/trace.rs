//! Trace files: what is written is read back, followed by its texts, and where it no longer fits that is told.

use std::process::{Command, Output};

use homing_sim::choose::Seeded;
use homing_sim::plant::Plant;
use homing_sim::run::{Plan, run};
use homing_sim::trace::{BadTrace, FORMAT, Parting, Trace, Unknown, follow, record};

fn broken() -> (Plan, Trace) {
    let plan = Plan { plant: Some(Plant::SoftPins), ..Plan::default() };
    let found = (0..400).find_map(|seed| {
        let (report, trace) = record(&plan, &mut Seeded::new(seed));
        report.violation.is_some_and(|v| v.oracle == "R1").then_some(trace)
    });
    (plan, found.expect("some seed breaks R1"))
}

fn read(text: &str) -> Result<Trace, BadTrace> {
    Trace::read(&mut text.as_bytes())
}

#[test]
fn what_is_written_is_read_back() {
    for seed in 0..20 {
        let (_, trace) = record(&Plan::default(), &mut Seeded::new(seed));
        assert_eq!(read(&trace.to_text()).unwrap(), trace, "seed {seed}");
    }
    let (_, trace) = broken();
    assert_eq!(read(&trace.to_text()).unwrap(), trace);
}

#[test]
fn recording_changes_nothing_and_the_same_run_gives_the_same_bytes() {
    for seed in 0..20 {
        let traced = Plan { trace: true, ..Plan::default() };
        let (report, trace) = record(&traced, &mut Seeded::new(seed));
        let plain = run(&traced, &mut Seeded::new(seed));
        assert_eq!(report.choices, plain.choices);
        assert_eq!(report.violation, plain.violation);
        let lines: Vec<_> = trace.steps.iter().flat_map(|step| step.events.clone()).collect();
        assert_eq!(lines, plain.lines, "seed {seed}");
        assert_eq!(trace.to_text(), record(&traced, &mut Seeded::new(seed)).1.to_text());
    }
}

#[test]
fn the_verdict_names_the_very_event() {
    let (_, trace) = broken();
    let verdict = trace.verdict.broken.as_ref().unwrap();
    let line = &trace.steps[verdict.at].events[verdict.event];
    assert_eq!((line.code.as_str(), line.step), ("u>", verdict.step), "R1 objects to an attempt: {line}");
    assert!(verdict.says.contains("pin"), "{verdict:?}");
}

#[test]
fn a_recorded_run_is_followed_to_the_same_end() {
    let (_, trace) = broken();
    let followed = follow(&trace).unwrap();
    assert_eq!(followed.parting, None);
    assert_eq!(followed.trace, trace);
}

#[test]
fn an_action_that_is_not_enabled_any_more_is_told_with_what_is() {
    let (_, mut trace) = broken();
    trace.steps[2].action = Some("serve r7".into());
    let followed = follow(&trace).unwrap();
    let Some(Parting::Action { step, text, enabled, .. }) = &followed.parting else { panic!("{:?}", followed.parting) };
    assert_eq!((*step, text.as_str()), (2, "serve r7"));
    assert_eq!(enabled, &trace.steps[1].enabled);
    let said = followed.parting.as_ref().unwrap().to_string();
    assert!(said.starts_with("step 2: serve r7 is not enabled there; enabled are "), "{said}");
}

#[test]
fn other_events_under_the_same_actions_are_told() {
    let (_, mut trace) = broken();
    let at = (2..).find(|at| !trace.steps[*at].events.is_empty()).unwrap();
    trace.steps[at].events[0].what = "something else".into();
    let followed = follow(&trace).unwrap();
    let Some(Parting::Event { step, was, .. }) = &followed.parting else { panic!("{:?}", followed.parting) };
    assert_eq!(*step, trace.steps[at].step);
    assert!(was.contains("something else"));
}

/// What a later version adds to lines, and lines of kinds it adds, do not keep this one from reading.
#[test]
fn additions_of_a_later_version_are_left_out() {
    let (_, trace) = broken();
    let mut text = trace.to_text().replace("\"policy\":true", "\"policy\":true,\"weather\":\"fine\"");
    text.push_str("{\"epilogue\":{\"applause\":3}}\n");
    assert_eq!(read(&text).unwrap(), trace);
}

#[test]
fn what_is_no_trace_is_told_with_the_line() {
    let (_, trace) = broken();
    let text = trace.to_text();
    let said = |text: &str| read(text).unwrap_err().to_string();
    assert!(said("").contains("--trace"));
    assert!(said("hello\n").contains("--trace"));
    assert!(said("{\"step\":{}}\n").contains("--trace"));
    let newer = text.replacen(&format!("\"format\":{FORMAT}"), "\"format\":99", 1);
    assert!(said(&newer).contains("99") && said(&newer).contains(env!("CARGO_PKG_VERSION")));
    let cut: String = text.lines().take(4).map(|line| format!("{line}\n")).collect();
    assert!(said(&cut).contains("3 steps"), "{}", said(&cut));
    let half = &text[..text.len() / 2];
    assert!(said(half).contains("line "), "{}", said(half));
}

#[test]
fn a_scope_or_a_bug_of_another_version_is_named() {
    let (_, mut trace) = broken();
    trace.header.plant = Some("eats-rows".into());
    assert_eq!(follow(&trace).unwrap_err(), Unknown::Plant("eats-rows".into()));
    trace.header.plant = None;
    trace.header.scope = Some("galaxy".into());
    assert_eq!(follow(&trace).unwrap_err(), Unknown::Scope("galaxy".into()));
}

fn sim(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_homing-sim")).args(args).output().expect("the program starts")
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn file(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn a_sweep_writes_what_it_found_and_the_file_replays_shrinks_and_shows() {
    let path = file("found.trace");
    let out = sim(&["sweep", "-n", "500", "--plant", "loses-writes", "--jobs", "1", "--trace", &path]);
    assert_eq!(out.status.code(), Some(1));
    let replayed = sim(&["replay", &path]);
    assert_eq!(replayed.status.code(), Some(1), "{}", said(&replayed.stderr));
    assert_eq!(said(&replayed.stderr), "", "it does not part from the file");
    assert!(said(&replayed.stdout).contains("B15 is broken"));
    let small = file("small.trace");
    let shrunk = sim(&["shrink", &path, "--trace", &small]);
    assert_eq!(shrunk.status.code(), Some(1));
    let lines = |path: &str| std::fs::read_to_string(path).unwrap().lines().count();
    assert!(lines(&small) < lines(&path));
    let shown = sim(&["show", &small, "--as", "html"]);
    assert_eq!(shown.status.code(), Some(0), "showing succeeds, whatever is shown");
    assert!(said(&shown.stdout).contains("B15 is broken"));
}

/// An older version knew an action that this one does not: the rest is followed, and the failure is still there to shrink.
#[test]
fn a_file_of_an_older_version_replays_and_shrinks_by_its_texts() {
    let (_, mut trace) = broken();
    trace.header.program = "0.0.1".into();
    trace.header.choices = "9.9.9".into();
    let mut odd = trace.steps[1].clone();
    odd.action = Some("polish a1".into());
    trace.steps.insert(2, odd);
    let path = file("older.trace");
    std::fs::write(&path, trace.to_text()).unwrap();
    let replayed = sim(&["replay", &path]);
    assert_eq!(replayed.status.code(), Some(1));
    let told = said(&replayed.stderr);
    assert!(told.contains("0.0.1") && told.contains("polish a1 is no action of this version"), "{told}");
    let shrunk = sim(&["shrink", &path]);
    assert_eq!(shrunk.status.code(), Some(1));
    assert!(said(&shrunk.stdout).contains("R1 is broken"));
}

#[test]
fn a_check_writes_a_file_that_replays_in_its_scope() {
    let path = file("check.trace");
    let out = sim(&["check", "--plant", "loser-ignores-winner", "--trace", &path]);
    assert_eq!(out.status.code(), Some(1), "{}", said(&out.stderr));
    let command = said(&out.stdout).lines().find(|l| l.starts_with("homing-sim replay")).unwrap().to_owned();
    assert!(command.contains("--scope tiny"), "{command}");
    let args: Vec<&str> = command.split(' ').skip(1).collect();
    for replayed in [sim(&["replay", &path]), sim(&args)] {
        assert_eq!(replayed.status.code(), Some(1), "{}", said(&replayed.stderr));
        assert!(said(&replayed.stdout).contains("B4 is broken"));
    }
}

#[test]
fn what_cannot_be_read_or_written_is_named() {
    for (args, named) in [
        (vec!["replay"], "--seed N"),
        (vec!["show", "/nowhere/run.trace"], "/nowhere/run.trace"),
        (vec!["replay", "--seed", "1", "--scope", "galaxy"], "galaxy"),
        (vec!["run", "--trace", "/nowhere/run.trace"], "/nowhere/run.trace"),
        (vec!["show", "--seed", "1", "-o", "/nowhere/page.html"], "/nowhere/page.html"),
    ] {
        let out = sim(&args);
        assert_eq!(out.status.code(), Some(3), "{args:?}");
        assert!(said(&out.stderr).contains(named), "{args:?}: {}", said(&out.stderr));
    }
}
