//! `homing`: the gateway's binary. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    homing::cli::main()
}
