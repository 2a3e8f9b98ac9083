//! `homing-sim doctor` finds everything in order, a second process of itself included.

use std::process::Command;

fn doctor(args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_homing-sim")).arg("doctor").args(args).output();
    let output = output.expect("the program runs");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_simulator_is_in_order() {
    let (status, said) = doctor(&[]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.lines().all(|line| line.starts_with("ok   ")), "{said}");
    assert!(said.contains("two processes"), "{said}");
}

#[test]
fn two_processes_make_the_same_runs() {
    let (first, again) = (doctor(&["--digest"]), doctor(&["--digest"]));
    assert_eq!(first, again);
    assert_eq!(first.1.trim().len(), 16, "{}", first.1);
}
