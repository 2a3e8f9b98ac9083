//! `debug`, and `run --human`: a session at the terminal, or from a pipe.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use clap::Args;
use homing_sim::choose::Listed;
use homing_sim::debug::{Branch, Flow, Session};
use homing_sim::run::Plan;

use super::source::{SourceArgs, TraceArgs, complain};
use super::{BROKEN, HOLDS, say};

#[derive(Args, Debug)]
pub(super) struct DebugArgs {
    #[command(flatten)]
    source: SourceArgs,
}

/// Goes through a known run.
pub(super) fn debug(args: &DebugArgs, plan: &Plan) -> u8 {
    let loaded = match args.source.load(plan) {
        Ok(loaded) => loaded,
        Err(why) => return complain(&why),
    };
    if let Some((recorded, Some(parting))) = &loaded.recorded {
        super::replay::tell_parting(recorded, parting, HOLDS);
    }
    let choices = &loaded.report.choices;
    let plan = Plan { steps: choices.len(), ..loaded.plan };
    talk(&mut Session::new(Branch::of(&plan, &mut Listed::new(choices))));
    HOLDS
}

/// A fresh world, in which a person chooses. The status is that of what they chose.
pub(super) fn human(plan: &Plan, keep: &TraceArgs) -> u8 {
    let plan = Plan { steps: 0, settle: false, ..plan.clone() };
    let mut session = Session::new(Branch::of(&plan, &mut Listed::new(&[])));
    talk(&mut session);
    let trace = session.branch().trace();
    let status = if trace.verdict.holds { HOLDS } else { BROKEN };
    keep.keep(|| trace, status)
}

/// Reads commands until there are no more. A terminal gets a prompt; otherwise what was read is repeated, so that the output
/// can be read on its own.
fn talk(session: &mut Session) {
    let input = std::io::stdin();
    let terminal = input.is_terminal();
    let mut lines = input.lock().lines();
    let _ = write!(std::io::stdout(), "{}", session.greeting());
    loop {
        if terminal {
            let _ = write!(std::io::stdout(), "{}", session.prompt());
            let _ = std::io::stdout().flush();
        }
        let Some(Ok(line)) = lines.next() else { return };
        if !terminal {
            say!("> {}", line.trim());
        }
        let (said, flow) = session.enter(&line);
        let _ = write!(std::io::stdout(), "{said}");
        if flow == Flow::Over {
            return;
        }
    }
}
