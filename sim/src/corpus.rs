//! What a fuzzer of the choices begins with: for every situation, one small run of each schedule that reaches it, as bytes.

use crate::choose::{Bytes, Schedule};
use crate::marks::{ALL, Mark};
use crate::run::{Plan, Report, run};
use crate::shrink::shrink_while;

/// Most seeds tried for one file.
const SEEDS: u64 = 20_000;

/// One file of the corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// What it is called: the situation and the schedule that reached it.
    pub name: String,
    /// The choices, a byte each.
    pub bytes: Vec<u8>,
}

/// The runs of a corpus: without the healing at the end, which reaches some situations by itself.
#[must_use]
pub fn plan() -> Plan {
    Plan { settle: false, ..Plan::default() }
}

/// The run of some bytes, for as long as there are any.
#[must_use]
pub fn replay(plan: &Plan, bytes: &[u8]) -> Report {
    run(&Plan { steps: bytes.len(), ..plan.clone() }, &mut Bytes::new(bytes))
}

/// The whole corpus. Situations that some schedule does not reach within a few thousand runs have fewer files.
#[must_use]
pub fn corpus() -> Vec<Seed> {
    let schedules = [Schedule::Seeded, Schedule::Swarm, Schedule::Pct];
    let mut all: Vec<Seed> = ALL.iter().flat_map(|m| schedules.into_iter().filter_map(|s| reach(m, s))).collect();
    // Where two situations come together one file does.
    all.sort_by(|a, b| (&a.bytes, &a.name).cmp(&(&b.bytes, &b.name)));
    all.dedup_by(|a, b| a.bytes == b.bytes);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The smallest run found that reaches a situation.
fn reach(mark: &Mark, schedule: Schedule) -> Option<Seed> {
    let plan = plan();
    let there = |report: &Report| report.marks.count(mark.name) > 0 && report.violation.is_none();
    let mut reports = (0..SEEDS).map(|seed| run(&plan, schedule.chooser(seed, plan.steps).as_mut()));
    let found = reports.find(there)?;
    let small = shrink_while(&plan, &found.choices, &there)?;
    let bytes = small.report.choices.iter().map(|choice| u8::try_from(*choice)).collect::<Result<_, _>>().ok()?;
    Some(Seed { name: format!("{}-{}", mark.name, schedule.name()), bytes })
}
