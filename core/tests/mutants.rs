//! What is said of mutants is said of code that is there.

use std::fs;
use std::path::Path;

const LIST: &str = include_str!("../MUTANTS.md");

/// The listed mutants: the file under `core/`, what was changed, and why no test can tell.
fn listed() -> Vec<(&'static str, &'static str, &'static str)> {
    let rows = LIST.lines().filter_map(|line| line.strip_prefix("| `core/"));
    let cells = rows.map(|row| row.split_once("` | ").expect("a name and a reason"));
    let named = cells.map(|(name, reason)| (name.split_once(": ").expect("a file and a change"), reason));
    named.map(|((file, change), reason)| (file, change, reason.trim_end_matches('|').trim())).collect()
}

/// The function or type that a mutant is in; `None` where it is in a constant.
fn place(change: &str) -> Option<&str> {
    let path = match change.rsplit_once(" in ") {
        Some((_, path)) => path,
        None => change.strip_prefix("replace ")?.split([' ', '<']).next()?,
    };
    let name = path.rsplit("::").next()?;
    name.starts_with(|c: char| c.is_alphabetic()).then_some(name)
}

#[test]
fn every_listed_mutant_names_code_that_exists_and_a_reason() {
    for (file, change, reason) in listed() {
        let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
        let source = source.unwrap_or_else(|error| panic!("{file}: {error}"));
        if let Some(name) = place(change) {
            assert!(source.contains(&format!("fn {name}")), "{file} has no function {name}: {change}");
        }
        assert!(reason.len() > 20, "{change}: no reason");
    }
}

#[test]
fn no_mutant_is_listed_twice() {
    let mut names: Vec<_> = listed().into_iter().map(|(file, change, _)| (file, change)).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
