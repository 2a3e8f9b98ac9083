//! The commands and their options.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::admin::{PageRequest, USER_NAME_RULE, is_user_name};

/// Where to look, and what the exit status means.
const AFTER: &str = "\
Configuration: --config FILE, else $HOMING_CONFIG, ./homing.toml, $XDG_CONFIG_HOME/homing/homing.toml; without a file \
the defaults hold. Every key is also a variable: `homing check-config --keys` lists them.

Exit status: 0 done, 1 failed, 2 wrong command line.";

/// A self-hosted gateway for Codex clients that keeps every conversation on its account.
#[derive(Debug, Parser)]
#[command(name = "homing", version, after_help = AFTER, max_term_width = 100, disable_help_subcommand = true)]
pub(super) struct Cli {
    /// Configuration file
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,

    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the gateway until SIGTERM or SIGINT
    Serve,
    /// Show it at work: scripted upstream, real gateway, failures, a crash and a restart
    Demo {
        /// Play once and exit with 0 only if every step was as promised
        #[arg(long)]
        once: bool,
    },
    /// Run the scripted Codex upstream alone, for tests and benchmarks
    ScriptedUpstream(crate::scripted::StandaloneArgs),
    /// Manage the users and their API keys
    Users {
        #[command(subcommand)]
        command: Users,
    },
    /// Look at the upstream accounts
    Accounts {
        #[command(subcommand)]
        command: Accounts,
    },
    /// Look at which session is kept on which account
    Bindings {
        #[command(subcommand)]
        command: Bindings,
    },
    /// Check the configuration and print what holds and where it was set; secrets are ***
    CheckConfig {
        /// Print the reference of all keys instead, as a Markdown table
        #[arg(long)]
        keys: bool,
    },
}

/// How answers are written.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Format {
    /// Print JSON, one object a line
    #[arg(long)]
    pub(super) json: bool,
}

/// The user that a command is about.
#[derive(Clone, Debug, Args)]
pub(super) struct Target {
    /// Name or id of the user
    #[arg(value_parser = user_name)]
    pub(super) name: String,
    #[command(flatten)]
    pub(super) format: Format,
}

#[derive(Debug, Subcommand)]
pub(super) enum Users {
    /// Make a user and show the API key, this once
    Create(Target),
    /// List the users
    List(Format),
    /// Give a user a new API key and show it, this once; the old one is void, the sessions stay
    Reset(Target),
    /// Refuse the user's requests with 403
    Disable(Target),
    /// Admit the user again
    Enable(Target),
    /// Delete a user with all sessions
    Delete(Target),
}

#[derive(Debug, Subcommand)]
pub(super) enum Accounts {
    /// List the accounts and whether they can serve
    List(Format),
}

#[derive(Debug, Subcommand)]
pub(super) enum Bindings {
    /// List the sessions that are kept; identifiers are never stored and not shown
    List {
        /// Most sessions to list; without it all
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
        limit: Option<u64>,
        #[command(flatten)]
        format: Format,
    },
    /// Say where a session's next request would go, and why; reads the session id from standard input
    Explain {
        /// Whose session: a user's name or id, or an account's label
        tenant: String,
        #[command(flatten)]
        format: Format,
    },
}

fn user_name(text: &str) -> Result<String, String> {
    if is_user_name(text) { Ok(text.to_owned()) } else { Err(USER_NAME_RULE.to_owned()) }
}

/// Items asked for at once when a whole list is printed.
pub(super) const PAGE: u64 = PageRequest::MOST as u64;
