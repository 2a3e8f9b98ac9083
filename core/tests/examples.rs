//! The examples do what they say, and stay short enough to be read at once.

#[path = "../examples/threads.rs"]
#[expect(dead_code, reason = "its main prints what is asserted here")]
mod threads;
#[path = "../examples/tokio.rs"]
#[expect(dead_code, reason = "its main prints what is asserted here")]
mod with_tokio;

const STORY: [&str; 2] = ["raced: 1 account", "moved: true, 1 account"];

#[test]
fn plain_threads_race_to_one_account_and_move_together() {
    assert_eq!(threads::story(), STORY);
}

#[test]
fn tokio_tasks_race_to_one_account_and_move_together() {
    assert_eq!(with_tokio::story(), STORY);
}

#[test]
fn each_example_is_shorter_than_a_hundred_lines() {
    let sources = [include_str!("../examples/threads.rs"), include_str!("../examples/tokio.rs")];
    let lines = sources.map(|source| source.lines().count());
    assert!(lines.iter().all(|count| *count < 100), "{lines:?}");
}
