//! How one value is read, whatever it comes from.

use std::path::{Path, PathBuf};

/// The least and the greatest value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// Whatever the kind takes.
    Any,
    /// From `least` to `most`, both allowed, written as values of the kind.
    Range {
        /// The least value allowed.
        least: &'static str,
        /// The greatest value allowed.
        most: &'static str,
    },
}

/// A value before it is understood.
#[derive(Clone, Debug)]
pub(super) enum Raw {
    /// The text of a variable or of a default: any kind may be written so.
    Text(String),
    /// A TOML string.
    String(String),
    /// A TOML integer, as written.
    Integer(String),
    /// A TOML boolean.
    Boolean(bool),
    /// A TOML array of strings.
    Strings(Vec<String>),
    /// Another TOML value: its type.
    Other(&'static str),
}

impl Raw {
    /// What it is, for a mistake that must not show the value.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::String(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Boolean(_) => "a boolean",
            Self::Strings(_) => "an array",
            Self::Other(name) => name,
        }
    }

    /// The text of a variable or a quoted string; else what was wanted and what was found.
    pub(super) fn text(&self, example: &str) -> Result<&str, String> {
        match self {
            Self::Text(text) | Self::String(text) => Ok(text),
            other => Err(format!("{} where a quoted string belongs; write it like \"{example}\"", other.type_name())),
        }
    }
}

/// What a value may refer to.
#[derive(Debug)]
pub(super) struct Context<'a> {
    /// The bounds of the key.
    pub(super) bounds: Bounds,
    /// The user's home directory, for `~`.
    pub(super) home: Option<&'a Path>,
    /// `XDG_STATE_HOME`, or `~/.local/state`.
    pub(super) state_home: Option<PathBuf>,
    /// The state directory, once it is known, for `<state>` in defaults.
    pub(super) state: Option<&'a Path>,
    /// Where relative paths start: the file's directory for values of the file, else the working directory.
    pub(super) base: &'a Path,
}

/// A kind of value.
pub(super) trait Setting: Sized {
    /// The kind and its unit, for the reference.
    const UNIT: &'static str;

    /// Understands `raw`; else says what is wrong and what would be right, without naming the key.
    fn parse(raw: &Raw, context: &Context<'_>) -> Result<Self, String>;

    /// The value as it would be written in the file; secrets masked.
    fn show(&self) -> String;

    /// The value as a path, if it is one.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// What holds where neither a value nor a default is given, if the kind allows that.
    fn absent() -> Option<Self> {
        None
    }
}

impl<T: Setting> Setting for Option<T> {
    const UNIT: &'static str = T::UNIT;

    fn parse(raw: &Raw, context: &Context<'_>) -> Result<Self, String> {
        T::parse(raw, context).map(Some)
    }

    fn show(&self) -> String {
        self.as_ref().map(T::show).unwrap_or_default()
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// Checks `value` against the bounds, which `read` understands.
pub(super) fn within<T: PartialOrd>(
    value: T,
    shown: &str,
    bounds: Bounds,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, String> {
    let Bounds::Range { least, most } = bounds else { return Ok(value) };
    if value < read(least)? {
        return Err(format!("{shown} is too small; choose {least} to {most}"));
    }
    if value > read(most)? {
        return Err(format!("{shown} is too large; choose {least} to {most}"));
    }
    Ok(value)
}
