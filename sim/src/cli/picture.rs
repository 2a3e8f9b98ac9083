//! `show`: a run as a picture, on standard output or in a file.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use homing_sim::picture;
use homing_sim::run::Plan;

use super::HOLDS;
use super::source::{SourceArgs, complain};

/// What to show and how.
#[derive(Args, Debug)]
pub(super) struct ShowArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// In which form
    #[arg(long = "as", value_enum, default_value_t = Form::Text)]
    form: Form,
    /// Write it to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// A time line in fixed columns
    Text,
    /// A sequence diagram for an issue or a README
    Mermaid,
    /// One self-contained page to click through
    Html,
}

/// Showing succeeds also where the run breaks a rule: the picture was asked for, not the verdict.
pub(super) fn show(args: &ShowArgs, plan: &Plan) -> u8 {
    let trace = match args.source.trace(plan) {
        Ok(trace) => trace,
        Err(why) => return complain(&why),
    };
    let picture = match args.form {
        Form::Text => picture::text(&trace),
        Form::Mermaid => picture::mermaid(&trace),
        Form::Html => picture::html(&trace),
    };
    match &args.output {
        None => {
            // A reader that closed the pipe has seen enough.
            let _ = std::io::stdout().write_all(picture.as_bytes());
            HOLDS
        }
        Some(path) => match std::fs::write(path, picture) {
            Ok(()) => HOLDS,
            Err(error) => complain(&format!("-o {}: it cannot be written: {error}", path.display())),
        },
    }
}
