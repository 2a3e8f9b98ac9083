//! The README names every operation, answer and rule, and only tests that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const README: &str = include_str!("../README.md");
const STORE: &str = include_str!("../src/store.rs");

/// The cells of the table rows under a heading.
fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let (_, section) = README.split_once(&format!("## {heading}\n")).expect("the heading is there");
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with('|')).skip(2);
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// What stands between back quotes.
fn quoted(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split('`').skip(1).step_by(2)
}

/// The variants of an enum in a source file.
fn variants(source: &'static str, name: &str) -> BTreeSet<&'static str> {
    let (_, body) = source.split_once(&format!("pub enum {name} {{\n")).expect("the enum is there");
    let body = body.split("\n}").next().unwrap_or_default();
    let names =
        body.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| line.starts_with(char::is_uppercase));
    names.map(|line| line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()).collect()
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a directory of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

/// The names of all tests of the core.
fn tests() -> BTreeSet<String> {
    let mut files = Vec::new();
    for dir in ["src", "tests"] {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(dir), &mut files);
    }
    let mut names = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(file).expect("a source file");
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        for (attribute, line) in lines.iter().zip(lines.iter().skip(1)) {
            let name = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next());
            names.extend(name.filter(|_| *attribute == "#[test]").map(str::to_owned));
        }
    }
    names
}

#[test]
fn every_operation_and_every_answer_is_in_the_store_s_contract() {
    let rows = rows("The store's contract");
    let operations: BTreeSet<_> = rows.iter().flat_map(|row| quoted(row[0])).collect();
    assert_eq!(operations, variants(STORE, "Op"));
    let answers: BTreeSet<_> = rows.iter().flat_map(|row| quoted(row[2])).collect();
    assert_eq!(answers, variants(STORE, "Answer"));
    assert!(rows.iter().all(|row| row.len() == 4 && !row[3].is_empty()), "a row without what follows");
}

#[test]
fn every_rule_is_held_by_tests_that_exist() {
    let rules: Vec<_> = ["K1", "K2"].map(str::to_owned).into_iter().collect();
    let rules: Vec<_> = rules.into_iter().chain((1..=17).map(|n| format!("B{n}"))).collect();
    let rules: Vec<_> = rules.into_iter().chain([1, 2, 3, 4, 7].map(|n| format!("R{n}"))).collect();
    let rows = rows("Rules and the tests that hold them");
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), rules);
    let known = tests();
    assert!(known.len() > 100, "{} tests were found", known.len());
    for row in rows {
        let named: Vec<_> = quoted(row[2]).collect();
        assert!(!named.is_empty(), "{} has no test", row[0]);
        let missing: Vec<_> = named.iter().filter(|name| !known.contains(**name)).collect();
        assert!(missing.is_empty(), "{}: there is no test {missing:?}", row[0]);
    }
}

/// A test that carries the name of a rule is one that holds it.
#[test]
fn every_test_named_after_a_rule_is_a_rule_s_test() {
    let rules: BTreeSet<_> =
        rows("Rules and the tests that hold them").iter().map(|row| row[0].to_lowercase()).collect();
    for test in tests() {
        let rule = test.split('_').next().unwrap_or_default();
        let (letter, number) = rule.split_at(1.min(rule.len()));
        if ["k", "b", "r"].contains(&letter) && number.parse::<u32>().is_ok() {
            assert!(rules.contains(rule) || ["r5", "r6"].contains(&rule), "{test} names no rule of the README");
        }
    }
}
