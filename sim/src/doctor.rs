//! Whether the simulator itself is in order: the same choices give the same bytes, every rule has an oracle that was heard, every
//! list names what is there.

use std::collections::BTreeSet;

use crate::bugs;
use crate::choose::{Chooser, Listed, Schedule};
use crate::marks;
use crate::oracle;
use crate::plant::{PLANTS, Plant, prove};
use crate::run::{Plan, Report, run};
use crate::scope::{PROFILES, Scope};

/// Runs of the determinism check.
pub const RUNS: u64 = 60;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub name: &'static str,
    /// What was found, or what is wrong.
    pub says: String,
    /// Whether it is as it should be.
    pub healthy: bool,
}

impl Finding {
    /// A finding from what was found or what is wrong.
    #[must_use]
    pub fn of(name: &'static str, found: Result<String, String>) -> Self {
        let healthy = found.is_ok();
        Self { name, says: found.unwrap_or_else(|wrong| wrong), healthy }
    }
}

/// One number for the traces of the runs that the determinism check makes: equal in every process and on every machine.
#[must_use]
pub fn digest() -> u64 {
    (0..RUNS).fold(0xcbf2_9ce4_8422_2325, |digest, seed| fnv(digest, traced(seed).timeline(&plan()).as_bytes()))
}

fn fnv(digest: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn plan() -> Plan {
    Plan { trace: true, ..Plan::default() }
}

fn traced(seed: u64) -> Report {
    run(&plan(), Schedule::Mixed.chooser(seed, plan().steps).as_mut())
}

/// All that can be looked at in one process.
#[must_use]
pub fn examine() -> Vec<Finding> {
    vec![
        Finding::of("determinism", determinism()),
        Finding::of("clean", clean()),
        Finding::of("alarm", alarm()),
        Finding::of("oracles", oracles()),
        Finding::of("marks", required_marks()),
        Finding::of("planted", planted()),
        Finding::of("bug base", bug_base()),
    ]
}

/// The same seed twice, and the choices it made once more.
fn determinism() -> Result<String, String> {
    for seed in 0..RUNS {
        let (first, again) = (traced(seed), traced(seed));
        let mut listed: Box<dyn Chooser> = Box::new(Listed::new(&first.choices));
        let replayed = run(&Plan { steps: first.choices.len(), ..plan() }, listed.as_mut());
        let text = first.timeline(&plan());
        if again.timeline(&plan()) != text {
            return Err(format!("seed {seed} gave two different traces: {}", first.command(&plan())));
        }
        if replayed.timeline(&plan()) != text {
            return Err(format!("the choices of seed {seed} gave another trace: {}", first.command(&plan())));
        }
    }
    Ok(format!("{RUNS} runs twice and once more by their choices: the same bytes"))
}

/// A sweep in small.
fn clean() -> Result<String, String> {
    for seed in 0..RUNS {
        let report = run(&Plan::default(), Schedule::Mixed.chooser(seed, Plan::default().steps).as_mut());
        if let Some(violation) = &report.violation {
            return Err(format!("seed {seed}: {violation}\n{}", report.command(&Plan::default())));
        }
    }
    Ok(format!("{RUNS} runs, every rule held"))
}

/// A known bug is heard.
fn alarm() -> Result<String, String> {
    let canary = Plant::DropsFence.planted().ok_or("the canary is not in the catalogue")?;
    let proof = prove(canary, 200).map_err(|missed| format!("{}: {missed}", canary.plant.name()))?;
    Ok(format!("{} caught by {} after {} runs", canary.plant.name(), canary.oracle, proof.runs))
}

fn oracles() -> Result<String, String> {
    let ids: BTreeSet<&str> = oracle::ALL.iter().map(|oracle| oracle.id).collect();
    if ids.len() != oracle::ALL.len() {
        return Err("two oracles have one name".into());
    }
    let deaf: Vec<&str> = ids.into_iter().filter(|id| PLANTS.iter().all(|planted| planted.oracle != *id)).collect();
    if deaf.is_empty() {
        Ok(format!("{} rules are watched, each oracle has a planted bug", oracle::ALL.len()))
    } else {
        Err(format!("no planted bug names {}", deaf.join(", ")))
    }
}

fn required_marks() -> Result<String, String> {
    let names: BTreeSet<&str> = marks::ALL.iter().map(|mark| mark.name).collect();
    let required = marks::ALL.iter().filter(|mark| mark.required).count();
    if names.len() != marks::ALL.len() {
        return Err("two marks have one name".into());
    }
    if required == 0 {
        Err("no mark is required".into())
    } else {
        Ok(format!("{required} of {} are required", names.len()))
    }
}

fn planted() -> Result<String, String> {
    let worlds: BTreeSet<&str> = (0..PROFILES).map(|n| Scope::profile(n).name).collect();
    for planted in &PLANTS {
        let name = planted.plant.name();
        if !worlds.contains(planted.world) {
            return Err(format!("{name} names the world {:?}, which is no profile", planted.world));
        }
        if !oracle::ALL.iter().any(|oracle| oracle.id == planted.oracle) {
            return Err(format!("{name} names the oracle {:?}, which is none", planted.oracle));
        }
        if Plant::named(&name) != Some(planted.plant) {
            return Err(format!("two planted bugs are called {name}"));
        }
    }
    Ok(format!("{} bugs in {} worlds; `planted --all` proves them", PLANTS.len(), worlds.len()))
}

fn bug_base() -> Result<String, String> {
    let cases = bugs::read(bugs::FOUND).map_err(|error| error.to_string())?;
    match cases.iter().find(|case| !case.rerun().holds()) {
        Some(broken) => Err(format!("{} again: {}", broken.rule, broken.defect)),
        None => Ok(format!("{} cases hold", cases.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulator_is_in_order() {
        for finding in examine() {
            assert!(finding.healthy, "{}: {}", finding.name, finding.says);
        }
    }

    #[test]
    fn the_digest_is_the_same_twice_and_depends_on_every_byte() {
        assert_eq!(digest(), digest());
        assert_ne!(fnv(0, b"a"), fnv(0, b"b"));
        assert_ne!(fnv(0, b"ab"), fnv(0, b"ba"));
    }
}
