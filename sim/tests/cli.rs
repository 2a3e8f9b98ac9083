//! The command line: what it refuses, what it says, how it ends.

use std::process::{Command, Output};

fn sim(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_homing-sim")).args(args).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_sweep_of_short_runs_is_refused() {
    let out = sim(&["sweep", "-n", "1", "--steps", "49"]);
    assert_eq!(out.status.code(), Some(3));
    let said = text(&out.stderr);
    assert!(said.contains("--steps 49") && said.contains("50"), "{said}");
}

#[test]
fn a_sweep_says_what_it_reached_and_how_fast() {
    let out = sim(&["sweep", "--until-covered"]);
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert!(said.contains("failover") && said.contains("runs a second"), "{said}");
    assert_eq!(text(&out.stderr), "", "without a terminal nothing is said of the progress unless it is asked for");
    let out = sim(&["sweep", "-n", "3", "--json"]);
    assert_eq!(out.status.code(), Some(2), "three runs do not reach everything");
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(json["runs"], 3);
    assert!(json["missing"].as_array().is_some_and(|m| !m.is_empty()));
}

#[test]
fn a_sweep_that_finds_a_bug_prints_the_command_that_shows_it() {
    let out = sim(&["sweep", "-n", "500", "--plant", "soft-pins", "--jobs", "2"]);
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{said}");
    let command = said.lines().last().unwrap();
    let args: Vec<&str> = command.split(' ').collect();
    assert_eq!(args[..2], ["homing-sim", "replay"], "{command}");
    let again = sim(&args[1..]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stdout).contains("R1 is broken"));
}

#[test]
fn what_cannot_be_read_is_named() {
    for (args, named) in [
        (["sweep", "--for", "60"], "60s"),
        (["sweep", "--schedule", "chess"], "swarm"),
        (["sweep", "--jobs", "0"], "--jobs"),
    ] {
        let out = sim(&args);
        assert_eq!(out.status.code(), Some(3), "{args:?}");
        let said = text(&out.stderr);
        assert!(said.contains(args[1]) && said.contains(named), "{said}");
    }
}
