//! The ways from the command line into the rest of the program.

use std::{net::SocketAddr, sync::Arc};

use super::Failure;
use crate::{admin::Control, config::Config};

/// Runs the gateway until it is asked to stop.
pub(super) fn serve(_config: Config) -> Result<(), Failure> {
    Err(not_built("serve"))
}

/// Plays the demonstration.
pub(super) fn demo(_once: bool) -> Result<(), Failure> {
    Err(not_built("demo"))
}

/// Runs the scripted upstream alone.
pub(super) fn scripted(_listen: SocketAddr) -> Result<(), Failure> {
    Err(not_built("scripted-upstream"))
}

/// What the management commands use where no gateway runs: the database alone, under its lock.
pub(super) fn offline_control(_config: &Config) -> Result<Arc<dyn Control>, Failure> {
    Err(Failure("no gateway runs; start one with `homing serve`".into()))
}

fn not_built(what: &str) -> Failure {
    Failure(format!("{what}: not built yet"))
}
