//! The configuration: one TOML file, every key also an environment variable.
//!
//! [`keys`] is the one table: it declares each key with its type, default, bounds and meaning, and from it come
//! the typed structs, the reader, `homing check-config --keys` and the README's table.
//! A variable beats the file, the file beats the default; an empty variable counts as not set.

mod check;
mod file;
pub mod keys;
mod mistakes;
mod paths;
mod reader;
mod secret;
mod setting;
mod show;
mod sources;
mod units;
mod values;

#[cfg(test)]
mod tests;

pub use keys::{
    Accounts, Admin, Affinity, Config, Headers, KEYS, Key, Limits, Listen, Log, Routing, State, Tenants, Upstream,
};
pub use mistakes::{Mistake, Mistakes, Place};
pub use reader::Effective;
pub use secret::Secret;
pub use setting::Bounds;
pub use show::{effective_text, reference};
pub use sources::Sources;
pub use units::{Size, duration_text};
pub use values::{HeaderNames, HostNames, Level, LogFormat, StoreKind, Url};

/// Reads the configuration of this process: the file that `--config` named or the search finds, then the variables.
///
/// # Errors
/// [`Mistakes`] with every mistake found, each with its line or variable and the fix.
pub fn load(file: Option<&std::path::Path>) -> Result<Config, Mistakes> {
    Sources::of_process(file).and_then(|sources| sources.load())
}
