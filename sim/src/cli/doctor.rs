//! `doctor`: whether the simulator itself is in order.

use std::io::Write as _;
use std::process::Command;

use clap::Args;
use homing_sim::action::CLASSES;
use homing_sim::doctor::{Finding, RUNS, digest, examine};
use homing_sim::scope::{PROFILES, Scope};
use serde_json::json;

use super::{BROKEN, HOLDS, say};

#[derive(Args, Debug)]
pub(super) struct DoctorArgs {
    /// Prints the digest of the determinism check and nothing else: what a second process is asked
    #[arg(long, hide = true)]
    digest: bool,
}

pub(super) fn doctor(args: &DoctorArgs, as_json: bool) -> u8 {
    if args.digest {
        say!("{:016x}", digest());
        return HOLDS;
    }
    let mut findings = vec![Finding::of("versions", Ok(versions())), Finding::of("limits", Ok(limits()))];
    findings.extend(examine());
    findings.push(Finding::of("two processes", two_processes()));
    for finding in &findings {
        if as_json {
            say!("{}", json!({ "name": finding.name, "says": finding.says, "healthy": finding.healthy }));
        } else {
            say!("{} {:<14} {}", if finding.healthy { "ok  " } else { "FAIL" }, finding.name, finding.says);
        }
    }
    if findings.iter().all(|finding| finding.healthy) { HOLDS } else { BROKEN }
}

fn versions() -> String {
    format!("homing-sim {}, for {} on {}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH, std::env::consts::OS)
}

fn limits() -> String {
    let scopes: Vec<&str> = Scope::all().iter().map(|scope| scope.name).collect();
    format!("{PROFILES} profiles, scopes {}, {} kinds of steps", scopes.join(", "), CLASSES.len())
}

/// Another process of this program makes the same runs: what depends on addresses, hash keys or the time of day shows here.
fn two_processes() -> Result<String, String> {
    let here = format!("{:016x}", digest());
    let program = std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
    let other = Command::new(&program).args(["doctor", "--digest"]).output();
    let other = other.map_err(|error| format!("{}: {error}", program.display()))?;
    let there = String::from_utf8_lossy(&other.stdout).trim().to_owned();
    if !other.status.success() {
        return Err(format!("the second process ended with {}", other.status));
    }
    if here == there {
        Ok(format!("{RUNS} runs, in this process and in another: digest {here}"))
    } else {
        Err(format!("the traces of {RUNS} runs differ between two processes: {here} and {there}"))
    }
}
