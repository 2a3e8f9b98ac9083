//! The commands. Exit status: 0 it holds, 1 a rule is broken, 2 inconclusive, 3 usage.

mod bugs;
mod check;
mod corpus;
mod debug;
mod doctor;
mod picture;
mod planted;
mod progress;
mod replay;
mod scenario;
mod show;
mod source;
mod sweep;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, error::ErrorKind};
use homing_sim::choose::{self, Chooser, Listed, Schedule};
use homing_sim::plant::Plant;
use homing_sim::run::Plan;
use homing_sim::trace::record;

use self::source::{SourceArgs, TraceArgs};

/// It holds.
pub(crate) const HOLDS: u8 = 0;
/// A rule is broken.
pub(crate) const BROKEN: u8 = 1;
/// Nothing interesting happened, or not everything was visited.
pub(crate) const INCONCLUSIVE: u8 = 2;
/// The command line cannot be read.
pub(crate) const USAGE: u8 = 3;

/// Prints; a reader that closed the pipe has seen enough.
macro_rules! say {
    ($($arg:tt)*) => {{ let _ = writeln!(std::io::stdout(), $($arg)*); }};
}
use say;

/// Drives Homing's affinity machine through failures, races, crashes and restarts.
#[derive(Parser, Debug)]
#[command(
    name = "homing-sim",
    version,
    after_help = "Exit status: 0 it holds, 1 a rule is broken, 2 inconclusive, 3 usage."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// A bug to put in, by name (see `planted`)
    #[arg(long, global = true, value_parser = plant)]
    plant: Option<Plant>,
    /// Machine-readable output, one JSON document a line
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// One run, as a time line
    Run(RunArgs),
    /// A run once more, as a time line; says where a trace of another version goes another way
    Replay(ReplayArgs),
    /// A smaller run that breaks the same rule
    Shrink(ReplayArgs),
    /// A run as a picture: text, a mermaid diagram, a page to click through
    Show(picture::ShowArgs),
    /// Goes through a run step by step, forth and back, and tries what would have happened otherwise
    Debug(debug::DebugArgs),
    /// Many runs; fails when a rule breaks, inconclusive when a required situation was not reached
    Sweep(sweep::SweepArgs),
    /// Every interleaving of a small world
    Check(check::CheckArgs),
    /// Writes the files a fuzzer of the choices begins with: small runs that reach each situation
    Corpus(corpus::CorpusArgs),
    /// The rules that are watched
    Oracles,
    /// The situations a sweep has to reach
    Marks,
    /// Puts known bugs in and demands that each is caught by its oracle
    Planted(planted::PlantedArgs),
    /// The bug base: schedules that broke a rule once
    Bugs(bugs::BugsArgs),
    /// Whether the simulator itself is in order
    Doctor(doctor::DoctorArgs),
    /// Stories: scripts that are played and compared with their golden transcripts
    Scenario(scenario::ScenarioArgs),
}

#[derive(Args, Debug)]
struct RunArgs {
    /// Which run
    #[arg(long, default_value_t = 0, conflicts_with = "choices")]
    seed: u64,
    /// Choices with dots between, each taken modulo the number of enabled actions
    #[arg(long, value_parser = list)]
    choices: Option<std::sync::Arc<Vec<u16>>>,
    /// A person chooses: reads commands as `debug` does, in a fresh world
    #[arg(long, conflicts_with_all = ["seed", "choices", "schedule", "steps"])]
    human: bool,
    /// Most chosen steps
    #[arg(long, default_value_t = 80)]
    steps: usize,
    /// How the run is made from its seed: mixed, seeded, swarm or pct
    #[arg(long, default_value = "mixed", value_parser = sweep::schedule)]
    schedule: Schedule,
    #[command(flatten)]
    keep: TraceArgs,
}

#[derive(Args, Debug)]
struct ReplayArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    keep: TraceArgs,
}

fn plant(name: &str) -> Result<Plant, String> {
    Plant::named(name).ok_or_else(|| format!("{name:?} is no planted bug; `homing-sim planted` lists them"))
}

fn list(text: &str) -> Result<std::sync::Arc<Vec<u16>>, choose::NotChoices> {
    choose::parse(text).map(std::sync::Arc::new)
}

pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // Where even the message cannot be written there is nobody to tell.
            let _ = error.print();
            return ExitCode::from(if asked { HOLDS } else { USAGE });
        }
    };
    ExitCode::from(command(&cli))
}

fn command(cli: &Cli) -> u8 {
    let plan = Plan { plant: cli.plant, trace: true, ..Plan::default() };
    match &cli.command {
        Command::Run(args) if args.human => debug::human(&plan, &args.keep),
        Command::Run(args) => match &args.choices {
            Some(choices) => {
                one(&Plan { steps: choices.len(), ..plan }, &mut Listed::new(choices), &args.keep, cli.json)
            }
            None => {
                let mut chooser = args.schedule.chooser(args.seed, args.steps);
                one(&Plan { steps: args.steps, ..plan }, chooser.as_mut(), &args.keep, cli.json)
            }
        },
        Command::Replay(args) => replay::replay(&args.source, &args.keep, &plan, cli.json),
        Command::Shrink(args) => replay::smaller(&args.source, &args.keep, &plan, cli.json),
        Command::Show(args) => picture::show(args, &plan),
        Command::Debug(args) => debug::debug(args, &plan),
        Command::Sweep(args) => sweep::sweep(args, cli.plant, cli.json),
        Command::Check(args) => check::check(args, cli.plant, cli.json),
        Command::Corpus(args) => corpus::corpus(args),
        Command::Oracles => show::oracles(cli.json),
        Command::Marks => show::marks(cli.json),
        Command::Bugs(args) => bugs::bugs(args, cli.plant, cli.json),
        Command::Doctor(args) => doctor::doctor(args, cli.json),
        Command::Scenario(args) => scenario::run(args, cli.plant, cli.json),
        Command::Planted(args) => planted::run(args, cli.json),
    }
}

/// One thread for each core.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}

fn one(plan: &Plan, chooser: &mut dyn Chooser, keep: &TraceArgs, json: bool) -> u8 {
    let (report, trace) = record(plan, chooser);
    let status = show::recorded(plan, &report, &trace, json);
    keep.keep(|| trace, status)
}
