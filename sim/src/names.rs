//! The short names of things in everything a person reads: `r3` a request, `a1` an account, `t2` a tenant, `p0` a process,
//! `row 5`, `g1` a generation.

mod condense;

use crate::world::BEGINNING;

/// Prefixes of numbered names as the core writes them, and what a person reads in their place.
const NUMBERED: [(&str, &str); 11] = [
    ("TurnId(", "r"),
    ("AccountId(", "a"),
    ("TenantId(", "t"),
    ("ProcessId(", "p"),
    ("PoolId(", "pool "),
    ("RowId(", "row "),
    ("Generation(", "g"),
    ("Epoch(", "epoch "),
    ("Seq(", "change "),
    ("Time(", "time "),
    ("Millis(", ""),
];

/// The text with every numbered name in its short form: `Diverts { from: AccountId(1) }` becomes `Diverts { from: a1 }`, a time
/// becomes what it is since the run began, and a row a few words.
#[must_use]
pub fn plain(text: &str) -> String {
    condense::condense(&short(text))
}

fn short(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, long, short)) = first_name(rest) {
        let (before, from) = rest.split_at(at);
        let inside = &from[long.len()..];
        let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
        out.push_str(before);
        if digits > 0 && inside.as_bytes().get(digits) == Some(&b')') {
            out.push_str(&short_form(long, short, &inside[..digits]));
            rest = &inside[digits + 1..];
        } else {
            out.push_str(long);
            rest = inside;
        }
    }
    out.push_str(rest);
    out
}

fn short_form(long: &str, short: &str, digits: &str) -> String {
    match (long, digits.parse::<u64>()) {
        ("Time(", Ok(time)) if time >= BEGINNING.0 => format!("+{}", span(time - BEGINNING.0)),
        // A clock may be behind the world's; what is days before the beginning is no time of the run.
        ("Time(", Ok(time)) if time + BEHIND_MAX > BEGINNING.0 => format!("-{}", span(BEGINNING.0 - time)),
        ("Millis(", Ok(millis)) => span(millis),
        _ => format!("{short}{digits}"),
    }
}

fn span(millis: u64) -> String {
    if millis.is_multiple_of(1_000) { format!("{}s", millis / 1_000) } else { format!("{millis}ms") }
}

/// How far before the beginning a time of the run may be, in milliseconds: two days.
const BEHIND_MAX: u64 = 2 * 24 * 3_600 * 1_000;

fn first_name(text: &str) -> Option<(usize, &'static str, &'static str)> {
    NUMBERED.iter().filter_map(|(long, short)| Some((text.find(long)?, *long, *short))).min()
}

/// The numbers behind a short prefix in a text that went through [`plain`], each once: the `3` of `r3` for the prefix `r`.
#[must_use]
pub fn numbers(text: &str, prefix: &str) -> Vec<u64> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(prefix) {
        let before = text[..at].chars().next_back();
        let digits: String = text[at + prefix.len()..].chars().take_while(char::is_ascii_digit).collect();
        if !before.is_some_and(char::is_alphanumeric)
            && let Ok(number) = digits.parse()
            && !found.contains(&number)
        {
            found.push(number);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_names_become_short() {
        assert_eq!(plain("Diverts { from: AccountId(1), to: AccountId(12) }"), "Diverts { from: a1, to: a12 }");
        assert_eq!(plain("TurnId(0) wrote Some(RowId(7))"), "r0 wrote Some(row 7)");
        assert_eq!(plain("until: Some(Time(1000056000)) and Millis(40)"), "until: Some(+56s) and 40ms");
        assert_eq!(plain("Time(999910000)"), "-90s", "a clock that is behind");
        assert_eq!(plain("Time(7) is before the run"), "time 7 is before the run");
        assert_eq!(plain("Seq(x) and TurnId( and é"), "Seq(x) and TurnId( and é");
    }

    #[test]
    fn numbers_are_found_behind_whole_prefixes_only() {
        assert_eq!(numbers("r1 leaves a2 for a3, ar4 and r1 stay", "r"), [1]);
        assert_eq!(numbers("row 5 went to row 6", "row "), [5, 6]);
    }
}
