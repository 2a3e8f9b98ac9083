//! Sessions through a pipe, as golden transcripts.

use std::io::Write as _;
use std::process::{Command, Stdio};

use homing_sim::choose::ByName;
use homing_sim::plant::Plant;
use homing_sim::run::Plan;
use homing_sim::scope::Scope;
use homing_sim::trace::record;

/// A file of a broken run: the loser of a race is told that it won.
fn broken(name: &str) -> String {
    let texts = ["ask t1/s0/h", "answer r0", "ask t1/s0/h", "answer r1", "answer r0", "answer r1"];
    let plan = Plan {
        steps: texts.len(),
        scope: Some(Scope::tiny()),
        plant: Some(Plant::LoserIgnoresWinner),
        settle: false,
        trace: true,
    };
    let (report, trace) = record(&plan, &mut ByName::new(&texts));
    assert!(report.violation.is_some_and(|v| v.oracle == "B4"));
    let path = file(name);
    std::fs::write(&path, trace.to_text()).expect("it can be written");
    path
}

fn debug(name: &str, typed: &[&str]) -> (String, Option<i32>) {
    session(&["debug", &broken(name)], typed)
}

/// What a session prints, and how it ends.
fn session(args: &[&str], typed: &[&str]) -> (String, Option<i32>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_homing-sim"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("it has an input");
    // A session that is over does not read on.
    let _ = input.write_all(format!("{}\n", typed.join("\n")).as_bytes());
    drop(input);
    let out = child.wait_with_output().expect("it ends");
    (String::from_utf8_lossy(&out.stdout).into_owned(), out.status.code())
}

/// What a golden file holds must not depend on the numbers of choices: `0.0.1` becomes `CHOICES`.
fn unnumbered(said: &str) -> String {
    let word = |word: &str| {
        let numbers =
            word.contains('.') && word.split('.').all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        if numbers { "CHOICES".to_owned() } else { word.to_owned() }
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    said.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn file(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn forth_and_back_through_a_broken_run() {
    let typed = [
        "step 2",
        "list",
        "run until turn r1",
        "diff",
        "back",
        "back 9",
        "goto 5",
        "rows",
        "turns",
        "accounts",
        "state",
        "run",
        "diff",
        "verdict",
        "step",
        "goto 99",
        "quit",
        "step",
    ];
    let (said, status) = debug("broken-1.trace", &typed);
    assert_eq!(status, Some(0), "looking at a broken run succeeds");
    assert!(!said.contains("> step\nstep"), "behind quit nothing is read");
    insta::assert_snapshot!(said);
}

#[test]
fn another_choice_is_a_fork_that_can_be_undone_and_healed() {
    let typed = [
        "goto 3",
        "do lose-reply r0",
        "choices",
        "undo",
        "choices",
        "redo",
        "diff",
        "do 99",
        "do serve r9",
        "heal",
        "do 0",
        "heal",
        "undo",
        "undo",
        "undo",
        "redo",
    ];
    insta::assert_snapshot!(unnumbered(&debug("broken-2.trace", &typed).0));
}

#[test]
fn breakpoints_stop_until_they_are_forgotten() {
    let typed = [
        "break event row 1 t1 made",
        "break mark lost-race",
        "break oracle B4",
        "run",
        "run",
        "run",
        "goto 0",
        "unbreak 0",
        "unbreak 7",
        "breaks",
        "run",
        "run until event nothing like it",
        "run",
    ];
    insta::assert_snapshot!(debug("broken-3.trace", &typed).0);
}

#[test]
fn what_is_no_command_is_told_and_the_session_goes_on() {
    let typed = ["dance", "step far", "break mark nirvana", "save", "help", "step"];
    let (said, status) = debug("broken-4.trace", &typed);
    assert_eq!(status, Some(0));
    insta::assert_snapshot!(said);
}

#[test]
fn a_person_chooses_in_a_fresh_world() {
    let path = file("human.trace");
    let save = format!("save {path}");
    let typed = ["do setup 1", "do ask t1/s0/h", "list", "0", "0", "do serve r0", "choices", &save];
    let (said, status) = session(&["run", "--human"], &typed);
    assert_eq!(status, Some(0), "what was chosen breaks no rule");
    insta::assert_snapshot!(unnumbered(&said.replace(&path, "FILE")));
    let (again, _) = session(&["debug", &path], &["run until event u+ r0"]);
    assert!(again.contains("u+ r0   served by a1"), "{again}");
}

#[test]
fn what_a_person_chose_may_break_a_rule() {
    let path = file("human-broken.trace");
    let args = ["run", "--human", "--plant", "loser-ignores-winner", "--trace", &path];
    let typed = [
        "do setup 1",
        "do ask t1/s0/h",
        "do ask t1/s0/h",
        "do answer r0",
        "do answer r1",
        "do answer r0",
        "do answer r1",
    ];
    let (said, status) = session(&args, &typed);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("B4 is broken at step 7"), "{said}");
    let kept = std::fs::read_to_string(&path).expect("the run was kept");
    assert!(kept.contains("\"holds\":false"));
}

#[test]
fn a_fork_that_was_saved_is_the_same_history_again() {
    let path = file("fork.trace");
    let save = format!("save {path}");
    debug("broken-5.trace", &["goto 3", "do lose-reply r0", "heal", &save]);
    let (again, _) = session(&["debug", &path], &[]);
    assert!(again.contains("38 steps; every rule holds"), "{again}");
    let replayed = Command::new(env!("CARGO_BIN_EXE_homing-sim")).args(["replay", &path]).output();
    let replayed = replayed.expect("the program starts");
    assert_eq!(replayed.status.code(), Some(0));
    let said = String::from_utf8_lossy(&replayed.stdout).into_owned();
    assert!(said.contains("everything ended and settled"), "{said}");
}
