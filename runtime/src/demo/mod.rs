//! The demonstration: scripted upstream, real gateway, a crash and a restart, in one table.

mod client;
mod play;
mod stage;
mod table;

use std::io;

pub use stage::DemoError;
use stage::Stage;
use table::Table;

/// Plays the demonstration; whether every step was as promised. Without `once` the gateway stays up afterwards, until the
/// process is interrupted, for whoever wants to try it by hand.
///
/// # Errors
/// Whatever kept a step from being played at all.
pub fn run(once: bool) -> Result<bool, DemoError> {
    println!("Homing, shown on a scripted upstream: three made-up accounts, everything on this machine.\n");
    let mut stage = Stage::set()?;
    let mut table = Table::new(io::stdout())?;
    play::play(&mut stage, &mut table)?;
    let kept = table.sum()?;
    if !once {
        stay(&stage)?;
    }
    Ok(kept)
}

fn stay(stage: &Stage) -> Result<(), DemoError> {
    println!("\nThe gateway stays up at http://{} until you press Ctrl-C. Try it:\n", stage.addr());
    println!("  curl -N http://{}/v1/responses -H 'authorization: Bearer {}' \\", stage.addr(), stage.key("ada")?);
    println!("    -H 'content-type: application/json' -H 'session-id: my-session' \\");
    println!("    -d '{{\"model\":\"gpt-5.5\",\"stream\":true,\"input\":\"hello\"}}'\n");
    println!("  homing --config {} bindings list", stage.config().display());
    let mut stops = crate::os::Stops::listen()?;
    crate::os::block_on(stops.next());
    Ok(())
}
