//! What the fuzzer begins with, replayed: every rule holds, and together the files reach every required situation.

use std::collections::BTreeSet;

use homing_sim::corpus::{plan, replay};
use homing_sim::marks::ALL;
use homing_sim::run::Plan;

const AGAIN: &str = "if World::enabled changed, delete the files and run: homing-sim corpus sim/fuzz/corpus/choices";

#[test]
fn the_corpus_holds_and_reaches_every_required_situation() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/choices");
    let mut files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!((64..=200).contains(&files.len()), "{} files; {AGAIN}", files.len());
    let mut reached = BTreeSet::new();
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        assert!(bytes.len() <= 160, "{} is long", file.display());
        let healed = replay(&Plan::default(), &bytes);
        assert_eq!(healed.violation, None, "{}\n{}", file.display(), healed.command(&Plan::default()));
        let report = replay(&plan(), &bytes);
        reached.extend(report.marks.iter().filter(|(_, count)| *count > 0).map(|(mark, _)| mark.name));
    }
    let missing: Vec<_> = ALL.iter().filter(|m| m.required && !reached.contains(m.name)).map(|m| m.name).collect();
    assert_eq!(missing, Vec::<&str>::new(), "{AGAIN}");
}
