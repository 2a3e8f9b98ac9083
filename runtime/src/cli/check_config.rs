//! `homing check-config`.

use std::io::Write;

use super::{complain, print::Out};
use crate::config::{Config, effective_text};

/// Prints the configuration that holds. Its mistakes were told before, when it was read.
pub(super) fn run<W: Write>(config: &Config, out: &mut Out<W>) {
    match &config.file {
        Some(file) => out.line(&format!("# {}", file.display())),
        None => out.line("# no file; see `homing --help` for where one is looked for"),
    }
    out.text(&effective_text(config));
    for warning in &config.warnings {
        complain("warning: ", warning);
    }
}
