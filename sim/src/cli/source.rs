//! Which run a command is about: a trace file, a seed, or a list of choices. And where a run is kept.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use homing_sim::choose::{Listed, Schedule};
use homing_sim::run::{Plan, Report};
use homing_sim::scope::Scope;
use homing_sim::trace::{Parting, Trace, follow, record};

use super::USAGE;

/// One run.
#[derive(Args, Debug)]
pub(super) struct SourceArgs {
    /// A trace file; it is followed by the texts of its actions, also where another version wrote it
    #[arg(conflicts_with_all = ["seed", "choices", "scope"])]
    file: Option<PathBuf>,
    /// The run of this seed
    #[arg(long, conflicts_with = "choices")]
    seed: Option<u64>,
    /// The run of these choices: numbers with dots between
    #[arg(long, value_parser = super::list)]
    choices: Option<Arc<Vec<u16>>>,
    /// The named scope the run begins in; without it the first choice names a profile
    #[arg(long, value_parser = super::check::scope)]
    scope: Option<Scope>,
    /// Most chosen steps of a seed's run
    #[arg(long, default_value_t = 80)]
    steps: usize,
    /// How the run is made from its seed: mixed, seeded, swarm or pct
    #[arg(long, default_value = "mixed", value_parser = super::sweep::schedule)]
    schedule: Schedule,
}

/// Where the run goes besides the screen.
#[derive(Args, Debug)]
pub(super) struct TraceArgs {
    /// Write the run to this file, for replay, shrink, show and debug; a sweep or a check writes the run that broke a rule
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

/// A run, as it goes now.
pub(super) struct Loaded {
    pub(super) plan: Plan,
    pub(super) report: Report,
    pub(super) trace: Trace,
    /// The file's run, and where it went another way than now.
    pub(super) recorded: Option<(Trace, Option<Parting>)>,
}

/// Reads a trace file; the error names it.
pub(super) fn read(path: &Path) -> Result<Trace, String> {
    let told = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let file = File::open(path).map_err(|e| told(&format!("it cannot be opened: {e}")))?;
    Trace::read(&mut BufReader::new(file)).map_err(|e| told(&e))
}

impl SourceArgs {
    /// The trace to show: a file's as it stands there, or a run's.
    pub(super) fn trace(&self, plan: &Plan) -> Result<Trace, String> {
        match &self.file {
            Some(path) => read(path),
            None => Ok(self.load(plan)?.trace),
        }
    }

    /// The run as it goes now. The plan brings the planted bug, which a file overrules.
    pub(super) fn load(&self, plan: &Plan) -> Result<Loaded, String> {
        let plan = Plan { scope: self.scope.clone(), steps: self.steps, ..plan.clone() };
        match (&self.file, self.seed, &self.choices) {
            (Some(path), _, _) => {
                let recorded = read(path)?;
                if let Some(plant) = plan.plant.filter(|p| recorded.header.plant != Some(p.name())) {
                    let has = recorded.header.plant.as_deref().unwrap_or("no bug");
                    return Err(format!("--plant {}: the trace has {has} in it; leave --plant out", plant.name()));
                }
                let followed = follow(&recorded).map_err(|e| format!("{}: {e}", path.display()))?;
                let recorded = Some((recorded, followed.parting));
                Ok(Loaded { plan: followed.plan, report: followed.report, trace: followed.trace, recorded })
            }
            (None, Some(seed), _) => {
                let (report, trace) = record(&plan, self.schedule.chooser(seed, self.steps).as_mut());
                Ok(Loaded { plan, report, trace, recorded: None })
            }
            (None, None, Some(choices)) => {
                let plan = Plan { steps: choices.len(), ..plan };
                let (report, trace) = record(&plan, &mut Listed::new(choices));
                Ok(Loaded { plan, report, trace, recorded: None })
            }
            (None, None, None) => Err("no run was named: give a trace file, --seed N or --choices LIST".into()),
        }
    }
}

impl TraceArgs {
    /// Writes the file if one was named. The status of the command, or that the file cannot be written.
    pub(super) fn keep(&self, trace: impl FnOnce() -> Trace, status: u8) -> u8 {
        let Some(path) = &self.trace else { return status };
        let written = File::create(path).and_then(|file| {
            let mut to = BufWriter::new(file);
            trace().write(&mut to)?;
            to.flush()
        });
        match written {
            Ok(()) => status,
            Err(error) => complain(&format!("--trace {}: it cannot be written: {error}", path.display())),
        }
    }

    /// Runs the choices of a report again and writes them.
    pub(super) fn keep_report(&self, plan: &Plan, report: &Report, status: u8) -> u8 {
        let plan = Plan { steps: report.choices.len(), ..plan.clone() };
        self.keep(|| record(&plan, &mut Listed::new(&report.choices)).1, status)
    }
}

/// Tells what is wrong with what was asked for.
pub(super) fn complain(what: &str) -> u8 {
    // Where even the message cannot be written there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "error: {what}");
    USAGE
}
