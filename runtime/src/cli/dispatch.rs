//! The ways from the command line into the rest of the program.

use std::sync::Arc;

use super::Failure;
use crate::config::Config;
use crate::scripted::{StandaloneArgs, run_standalone};
use crate::{admin::Control, demo, gateway, os};

/// Runs the gateway until it is asked to stop.
pub(super) fn serve(config: Config) -> Result<(), Failure> {
    os::block_on(gateway::serve(config)).map_err(|error| Failure(error.to_string()))
}

/// Plays the demonstration.
pub(super) fn demo(once: bool) -> Result<(), Failure> {
    match demo::run(once) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure("demo: a step was not as promised".into())),
        Err(error) => Err(Failure(format!("demo: {error}"))),
    }
}

/// Runs the scripted upstream alone.
pub(super) fn scripted(args: &StandaloneArgs) -> Result<(), Failure> {
    run_standalone(args).map_err(|error| Failure(format!("scripted-upstream: {error}")))
}

/// What the management commands use where no gateway runs: the database alone, under its lock.
pub(super) fn offline_control(config: &Config) -> Result<Arc<dyn Control>, Failure> {
    let operator = os::block_on(gateway::Operator::offline(config.clone()));
    operator.map(|operator| Arc::new(operator) as Arc<dyn Control>).map_err(|error| Failure(error.to_string()))
}
