//! `kill -9` at any moment loses nothing that was reported durable (B15).

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use super::files::{child, child_path};
use super::*;

#[test]
fn kill_minus_nine_loses_nothing_reported_durable() {
    let place = place();
    let mut reported = Vec::new();
    // Each life recovers the log that the one before left.
    for life in 0..4_u32 {
        let mut process = child("crash::child_binds", &place.path)
            .env("HOMING_TEST_LIFE", life.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let enough = reported.len() + 200;
        while reported.len() < enough {
            reported.extend(parse(&lines.next().unwrap().unwrap()));
        }
        // SIGKILL, with commits under way. What it said up to its last moment counts.
        process.kill().unwrap();
        process.wait().unwrap();
        reported.extend(lines.filter_map(|line| parse(&line.unwrap())));
        let store = open(&place.path, START);
        store.table().check().unwrap();
        for (account, name) in &reported {
            let view = look(&store, T1, &session(T1, name), START);
            assert_eq!(view.map(|v| v.account), Some(AccountId(*account)), "{name}");
        }
    }
}

fn parse(line: &str) -> Option<(u32, String)> {
    let (account, name) = line.strip_prefix("durable ")?.split_once(' ')?;
    Some((account.parse().ok()?, name.to_owned()))
}

#[test]
#[ignore = "helper process of the test above"]
fn child_binds() {
    let Some(path) = child_path() else { return };
    let life = std::env::var("HOMING_TEST_LIFE").unwrap();
    let store = open(&path, START);
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let (store, life) = (Arc::clone(&store), life.clone());
            smol::spawn(async move {
                for i in 0.. {
                    let name = format!("{life}/{task}/{i}");
                    let account = 1 + task * 1_000 + i % 1_000;
                    let (_, seq) = serve(&store, T1, &session(T1, &name), AccountId(account), START);
                    assert_eq!(store.commit(seq, LONG).await, Commit::Committed);
                    // One write: a line is whole or not there.
                    std::io::stdout().write_all(format!("durable {account} {name}\n").as_bytes()).unwrap();
                }
            })
        })
        .collect();
    smol::block_on(async {
        for task in tasks {
            task.await;
        }
    });
}
