//! Every story goes as it was written down.

use std::fs;
use std::path::{Path, PathBuf};

use homing_sim::plant::Plant;
use homing_sim::scenario::{Golden, Played, Script, compare, play};

fn stories() -> Vec<PathBuf> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let entries = fs::read_dir(place).expect("the stories are next to the tests").flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "txt")).collect();
    files.sort();
    files
}

fn name(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn told(text: &str, plant: Option<Plant>) -> Played {
    play(&Script::read("story.txt", text).expect("the script can be read"), plant)
}

/// After a change that is right: `homing-sim scenario --bless`, and read what it changed.
#[test]
fn every_story_goes_as_it_was_written_down() {
    let stories = stories();
    assert!(stories.len() >= 41, "only {} stories were found", stories.len());
    for file in stories {
        let script = Script::read(&name(&file), &fs::read_to_string(&file).unwrap()).unwrap();
        let played = play(&script, None);
        assert_eq!(played.failed.as_ref().map(ToString::to_string), None, "{}", played.transcript);
        match compare(&file, &played.transcript).unwrap() {
            Golden::Same => {}
            Golden::Missing => panic!("{} was never written down", name(&file)),
            Golden::Differs(how) => panic!("{}:\n{how}", name(&file)),
        }
    }
}

#[test]
fn every_story_says_what_it_shows_and_ends_settled() {
    for file in stories() {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("# "), "{} does not begin with a comment", name(&file));
        assert!(text.lines().any(|line| line.starts_with("expect ")), "{} expects nothing", name(&file));
        assert!(text.ends_with("\nsettle\n"), "{} does not end with settle", name(&file));
    }
}

/// The name of a story begins with the rule it shows.
#[test]
fn every_rule_that_can_be_told_has_a_story() {
    let names: Vec<String> = stories().iter().map(|file| name(file)).collect();
    let rules = (2..=17)
        .map(|n| format!("b{n:02}-"))
        .chain(["r01-", "r02-", "r03-", "r04-", "r05-", "r07-", "t03-"].map(Into::into));
    for rule in rules {
        assert!(names.iter().any(|name| name.starts_with(&rule)), "no story begins with {rule}");
    }
}

#[test]
fn what_was_expected_and_not_seen_is_told_with_its_line() {
    let story = "client a: ask t1/s0 header\nlet a finish\nexpect binding t1/s0 header on account-2 generation 1\n";
    let failed = told(story, None).failed.unwrap();
    assert_eq!(failed.line, 3);
    assert_eq!(
        failed.to_string(),
        "story.txt:3: what was expected was not seen\n    on           expected account-2\n                 found    account-1"
    );
}

#[test]
fn what_cannot_happen_is_told_with_what_can() {
    let failed = told("client a: ask t1/s0 header\nserve a\n", None).failed.unwrap().to_string();
    assert!(failed.starts_with("story.txt:2: serve r0 cannot happen here; what can: answer r0"), "{failed}");
    assert!(!failed.contains("ask"), "{failed}");
}

/// The oracles watch stories too.
#[test]
fn a_planted_bug_breaks_the_story_about_it() {
    let file = stories().into_iter().find(|f| name(f) == "b06-late-completion-after-failover").unwrap();
    let failed = told(&fs::read_to_string(file).unwrap(), Some(Plant::DropsFence)).failed.unwrap();
    assert!(failed.why.starts_with("B6 is broken"), "{failed}");
}

#[test]
fn a_story_is_told_the_same_way_every_time() {
    for file in stories() {
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(told(&text, None), told(&text, None), "{}", name(&file));
    }
}
