//! `homing-sim`: the simulator's command line.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
