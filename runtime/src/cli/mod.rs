//! The command line of the homing binary.
//!
//! Exit status: 0 done, 1 failed (also: mistakes in the configuration), 2 the command line itself is wrong.
//! What went wrong is on standard error, each line as `homing: <what>: <value> ...; <fix>`.

mod args;
mod check_config;
mod dispatch;
mod manage;
mod print;
mod remote;

#[cfg(test)]
mod tests;

use std::{
    io::{self, IsTerminal, Read, Write},
    process::ExitCode,
};

use clap::Parser;

use self::args::{Cli, Command};
use crate::{
    config::{self, Config, Mistakes},
    logging,
};

/// Why a command failed, in words that name the fix. May have several lines.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

impl Failure {
    /// A failure of something that tells itself.
    pub fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl From<Mistakes> for Failure {
    fn from(mistakes: Mistakes) -> Self {
        Self::of(mistakes)
    }
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // Ends the process with status 2 on a wrong command line, with 0 after --help and --version.
    let cli = Cli::parse();
    let mut out = print::Out::new(io::stdout().lock());
    let result = run(&cli, &mut out);
    // A closed standard output is the reader's choice (`| head`), no failure.
    let result = result.and_then(|()| out.finish().map_err(|error| Failure(format!("standard output: {error}"))));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            complain("", &failure.0);
            ExitCode::FAILURE
        }
    }
}

/// Does what the command line asks for.
fn run<W: Write>(cli: &Cli, out: &mut print::Out<W>) -> Result<(), Failure> {
    let config = || config::load(cli.config.as_deref());
    match &cli.command {
        Command::Serve => serve(config()?),
        Command::Demo { once } => dispatch::demo(*once),
        Command::ScriptedUpstream(args) => dispatch::scripted(args),
        Command::CheckConfig { keys: true } => {
            out.text(&config::reference());
            Ok(())
        }
        Command::CheckConfig { keys: false } => {
            check_config::run(&config()?, out);
            Ok(())
        }
        Command::Users { command } => manage::users(&config()?, command, out),
        Command::Accounts { command } => manage::accounts(&config()?, command, out),
        Command::Bindings { command } => manage::bindings(&config()?, command, &mut session_id, out),
    }
}

fn serve(config: Config) -> Result<(), Failure> {
    logging::start(&config.log).map_err(Failure::of)?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    dispatch::serve(config)
}

/// Reads the session identifier for `bindings explain` from standard input, where no process list shows it.
fn session_id() -> Result<String, Failure> {
    let mut input = io::stdin();
    if input.is_terminal() {
        let _ = write!(io::stderr(), "session id: ");
        let mut line = String::new();
        input.read_line(&mut line).map_err(|error| Failure(format!("standard input: {error}")))?;
        return one_id(line.into_bytes());
    }
    let mut bytes = Vec::new();
    (&mut input).take(8192).read_to_end(&mut bytes).map_err(|error| Failure(format!("standard input: {error}")))?;
    one_id(bytes)
}

/// The identifier in what was read: without the end of the line, everything else as it is.
fn one_id(bytes: Vec<u8>) -> Result<String, Failure> {
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| Failure("session id: not UTF-8 text, so no key (K1); give the id itself".into()))?;
    let id = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    if id.is_empty() {
        let fix = "give it on standard input, as in: printf %s \"$ID\" | homing bindings explain USER";
        return Err(Failure(format!("session id: nothing was read; {fix}")));
    }
    Ok(id.to_owned())
}

/// Writes lines to standard error, each with the program's name. That nobody may be listening is no failure.
fn complain(kind: &str, text: &str) {
    let mut stderr = io::stderr().lock();
    for line in text.lines() {
        let _ = writeln!(stderr, "homing: {kind}{line}");
    }
}
