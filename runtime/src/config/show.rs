//! The configuration as text: what holds, and the reference of all keys.

use std::fmt::Write;

use super::{Bounds, Config, KEYS};

/// The configuration that holds, as TOML with the origin of each value; secrets are `***`.
pub fn effective_text(config: &Config) -> String {
    let mut out = String::new();
    let mut section = "";
    for entry in &config.effective {
        if entry.key.section != section {
            section = entry.key.section;
            let blank = if out.is_empty() { "" } else { "\n" };
            let _ = writeln!(out, "{blank}[{section}]");
        }
        let (name, place) = (entry.key.name, &entry.place);
        let _ = match entry.value.as_str() {
            "" => writeln!(out, "# {name} is not set"),
            value => writeln!(out, "{name} = {value}  # {place}"),
        };
    }
    out
}

/// All keys as a Markdown table: key, variable, default, kind with unit and bounds, meaning.
pub fn reference() -> String {
    let mut out = String::from("| key | variable | default | takes | meaning |\n| --- | --- | --- | --- | --- |\n");
    for key in KEYS {
        let default = if key.default.is_empty() { "none".to_owned() } else { format!("`{}`", key.default) };
        let bounds = match key.bounds {
            Bounds::Any => String::new(),
            Bounds::Range { least, most } => format!(", {least} to {most}"),
        };
        let (path, variable, unit, doc) = (key.path(), key.variable(), key.unit, key.doc.trim());
        let _ = writeln!(out, "| `{path}` | `{variable}` | {default} | {unit}{bounds} | {doc} |");
    }
    out
}
