//! The file: which key stands on which line.

use std::{collections::BTreeMap, ops::Range, path::Path};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{KEYS, Mistake, Place, mistakes::did_you_mean, setting::Raw};

/// The values of the file, by section and name, each with its line.
pub(super) type Values = BTreeMap<(&'static str, &'static str), (Raw, usize)>;

/// Reads `text`, the file `path`; what it cannot place becomes a mistake.
pub(super) fn parse(text: &str, path: &Path, mistakes: &mut Vec<Mistake>) -> Values {
    // Editors on some systems put a byte order mark in front.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = |span: Range<usize>| text.as_bytes().iter().take(span.start).filter(|byte| **byte == b'\n').count() + 1;
    let mut mistake = |line: usize, text: String| {
        mistakes.push(Mistake { place: Place::File { path: path.into(), line }, text });
    };
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let message = error.message().replace('\n', ", ");
        mistake(error.span().map_or(0, line), format!("not TOML: {message}; correct this line"));
    }
    let mut values = Values::new();
    for (name, section) in table.get_ref() {
        let at = line(name.span());
        let Some(known) = KEYS.iter().map(|key| key.section).find(|section| section == name.get_ref()) else {
            mistake(at, unknown_at_top(name.get_ref(), section.get_ref()));
            continue;
        };
        let Some(entries) = section.get_ref().as_table() else {
            mistake(at, format!("`{known}` is a table; write [{known}] on a line of its own and its keys below"));
            continue;
        };
        for (name, value) in entries {
            let at = line(name.span());
            match KEYS.iter().find(|key| key.section == known && key.name == name.get_ref()) {
                Some(key) => drop(values.insert((known, key.name), (raw(value), at))),
                None => mistake(at, unknown_in(known, name.get_ref())),
            }
        }
    }
    values
}

/// Where to look where no better hint is at hand.
const LIST: &str = "; `homing check-config --keys` lists all";

/// The message for a name at the top that is no section.
fn unknown_at_top(name: &str, value: &DeValue<'_>) -> String {
    if value.is_table() {
        let hint = did_you_mean(name, KEYS.iter().map(|key| key.section)).unwrap_or_else(|| LIST.into());
        return format!("unknown section [{name}]{hint}");
    }
    let homes: Vec<_> = KEYS.iter().filter(|key| key.name == name).map(|key| format!("[{}]", key.section)).collect();
    if homes.is_empty() {
        return format!("unknown key `{name}` outside of any section{LIST}");
    }
    format!("`{name}` stands outside of any section; put it below {}", homes.join(" or "))
}

/// The message for a name that `section` does not have.
fn unknown_in(section: &str, name: &str) -> String {
    let hint = did_you_mean(name, KEYS.iter().filter(|key| key.section == section).map(|key| key.name));
    let elsewhere = KEYS.iter().find(|key| key.name == name).map(|key| format!("; it belongs below [{}]", key.section));
    let hint = hint.or(elsewhere).unwrap_or_else(|| LIST.into());
    format!("unknown key `{name}` in [{section}]{hint}")
}

/// The value as the kinds of settings read it.
fn raw(value: &Spanned<DeValue<'_>>) -> Raw {
    match value.get_ref() {
        DeValue::String(text) => Raw::String(text.to_string()),
        DeValue::Boolean(value) => Raw::Boolean(*value),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Raw::Integer(number.to_string()),
            Err(_) => Raw::Integer(number.as_str().to_owned()),
        },
        DeValue::Array(items) => {
            let texts: Option<Vec<String>> =
                items.iter().map(|item| Some(item.get_ref().as_str()?.to_owned())).collect();
            texts.map_or(Raw::Other("an array of other things than strings"), Raw::Strings)
        }
        DeValue::Float(_) => Raw::Other("a number with a fraction"),
        DeValue::Datetime(_) => Raw::Other("a date or time"),
        DeValue::Table(_) => Raw::Other("a table"),
    }
}
