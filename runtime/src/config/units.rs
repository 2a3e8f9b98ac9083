//! Durations and sizes: a whole number and a unit.

use std::{fmt, time::Duration};

use super::setting::{Context, Raw, Setting, within};

const DURATIONS: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
const SIZES: &[(&str, u64)] = &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u64);

impl Size {
    /// A size of so many bytes.
    pub const fn of(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// The number of bytes as a length in memory; what does not fit is the longest length.
    pub fn length(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_units(self.0, SIZES))
    }
}

/// `duration` as it is written in the file, to the millisecond.
pub fn duration_text(duration: Duration) -> String {
    in_units(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX), DURATIONS)
}

/// The number in the largest unit that divides it.
fn in_units(number: u64, units: &[(&str, u64)]) -> String {
    let (unit, factor) =
        units.iter().rev().find(|(_, factor)| number >= *factor && number.is_multiple_of(*factor)).unwrap_or(&units[0]);
    format!("{}{unit}", number / factor)
}

/// Reads a whole number and a unit.
fn with_unit(text: &str, units: &[(&str, u64)], example: &str) -> Result<u64, String> {
    let names = units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(format!("{text:?} is no whole number with a unit; write it like \"{example}\" (units: {names})"));
    }
    let unit = unit.trim_start();
    if unit.is_empty() {
        return Err(format!("{number} has no unit; write it like \"{example}\" (units: {names})"));
    }
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("{text:?} has the unknown unit {unit:?}; write it like \"{example}\" (units: {names})"));
    };
    let value = number.parse::<u64>().ok().and_then(|number| number.checked_mul(*factor));
    value.ok_or_else(|| format!("{text} is more than can be counted"))
}

/// The text of a value with a unit; a bare number gets a hint.
fn unit_text<'a>(raw: &'a Raw, example: &str) -> Result<&'a str, String> {
    match raw {
        Raw::Integer(number) => Err(format!("{number} has no unit; write it in quotes with one, like \"{example}\"")),
        other => other.text(example),
    }
}

impl Setting for Duration {
    const UNIT: &'static str = "duration (ms, s, m, h, d)";

    fn parse(raw: &Raw, context: &Context<'_>) -> Result<Self, String> {
        let read = |text: &str| with_unit(text, DURATIONS, "10s").map(Self::from_millis);
        let text = unit_text(raw, "10s")?;
        within(read(text)?, text, context.bounds, read)
    }

    fn show(&self) -> String {
        format!("{:?}", duration_text(*self))
    }
}

impl Setting for Size {
    const UNIT: &'static str = "size (B, KiB, MiB, GiB, TiB)";

    fn parse(raw: &Raw, context: &Context<'_>) -> Result<Self, String> {
        let read = |text: &str| with_unit(text, SIZES, "64MiB").map(Self);
        let text = unit_text(raw, "64MiB")?;
        within(read(text)?, text, context.bounds, read)
    }

    fn show(&self) -> String {
        format!("\"{self}\"")
    }
}
