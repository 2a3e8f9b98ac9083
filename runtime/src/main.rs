//! `homing`: the gateway's binary. Everything is in the library.

fn main() -> std::process::ExitCode {
    homing::cli::main()
}
