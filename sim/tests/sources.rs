//! What a deterministic simulator may not name: clocks, randomness, threads that sleep, collections whose order differs between runs.

use std::fs;
use std::path::{Path, PathBuf};

const FORBIDDEN: [&str; 9] = [
    "HashMap",
    "HashSet",
    "RandomState",
    "Instant",
    "SystemTime",
    "getrandom",
    "rand::",
    "thread_rng",
    "thread::sleep",
];

/// What may be named all the same, and why.
const ALLOWED: [(&str, &str, &str); 2] = [
    ("sim/src/cli/progress.rs", "Instant", "how long it takes is told to who waits, and is in no result"),
    ("sim/src/explore/seen.rs", "HashSet", "it is asked what it holds, and never gone through; its hasher has no key"),
];

fn sources(under: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(under).expect("the sources are there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn named(text: &str) -> Vec<&'static str> {
    let code = || text.lines().filter(|line| !line.trim_start().starts_with("//"));
    FORBIDDEN.into_iter().filter(|word| code().any(|line| line.contains(word))).collect()
}

#[test]
fn core_and_simulator_name_no_clock_no_randomness_and_no_unordered_collection() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    sources(&root.join("core/src"), &mut files);
    sources(&root.join("sim/src"), &mut files);
    assert!(files.len() > 60, "only {} sources were found", files.len());
    let mut allowed = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        for word in named(&fs::read_to_string(&file).unwrap()) {
            let exception = ALLOWED.iter().find(|(place, what, _)| *place == name && *what == word);
            let (place, what, _) = exception.unwrap_or_else(|| panic!("{name} names {word}"));
            allowed.push((*place, *what));
        }
    }
    let stale = ALLOWED.iter().filter(|(place, what, _)| !allowed.contains(&(*place, *what)));
    assert_eq!(stale.collect::<Vec<_>>(), Vec::<&(&str, &str, &str)>::new(), "allowed, and no longer there");
}

#[test]
fn a_forbidden_word_is_seen_in_code_and_passed_over_in_comments() {
    assert_eq!(named("use std::time::Instant;"), ["Instant"]);
    assert_eq!(named("/// no `HashMap` here\n// nor SystemTime"), Vec::<&str>::new());
}
