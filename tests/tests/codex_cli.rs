//! The official Codex CLI through the real gateway: which account serves each turn, as the scripted upstream saw it.

#![allow(clippy::unwrap_used, reason = "helpers of tests are test code too")]

use std::collections::BTreeSet;

use homing::scripted::{Behaviour, Rule, Seen};
use homing_tests::codex::{CURRENT, Codex, OLD, Route, Turn};
use homing_tests::gateway::Gateway;

const ACCOUNTS: [&str; 3] = ["amber", "birch", "cedar"];

/// Model calls of the conversation that `turn` belongs to.
fn calls(gateway: &Gateway, turn: &Turn) -> Vec<Seen> {
    let id = turn.thread_id();
    assert!(!id.is_empty(), "the client named its conversation: {turn:?}");
    let of_it = |seen: &Seen| seen.header("session-id").or_else(|| seen.header("session_id")) == Some(id.clone());
    gateway.upstream().log().into_iter().filter(|seen| seen.path.ends_with("/responses") && of_it(seen)).collect()
}

/// The accounts that served it so far.
fn homes(gateway: &Gateway, turn: &Turn) -> BTreeSet<String> {
    calls(gateway, turn).into_iter().filter_map(|seen| seen.account).collect()
}

/// The only account that served it.
fn home(gateway: &Gateway, turn: &Turn) -> String {
    let homes = homes(gateway, turn);
    assert_eq!(homes.len(), 1, "one account served the whole conversation: {homes:?}");
    homes.into_iter().next().unwrap()
}

/// The account that the last answer names, as the user reads it.
fn named_in(turn: &Turn) -> String {
    let message = turn.message();
    let found = ACCOUNTS.iter().find(|name| message.contains(*name));
    found.unwrap_or_else(|| panic!("no account in {message:?}")).to_string()
}

#[test]
fn a_conversation_keeps_its_account_over_resume_a_model_change_and_a_tool_call() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let ada = Codex::new(CURRENT, Route::Provider, gateway.addr(), &gateway.create_user("ada"));
    let bob = Codex::new(CURRENT, Route::Provider, gateway.addr(), &gateway.create_user("bob"));

    let first = ada.exec("hello").expect_completed();
    let other = bob.exec("hello").expect_completed();
    assert_ne!(named_in(&first), named_in(&other), "new conversations take turns over the accounts");

    let resumed = ada.resume("and again").expect_completed();
    assert_eq!(resumed.thread_id(), first.thread_id());
    let changed = ada.resume_on("gpt-6-sol", "on another model").expect_completed();
    assert!(changed.message().contains("gpt-6-sol"), "{:?}", changed.message());
    let called = ada.resume("please run echo hi").expect_completed();
    let commands = called.commands();
    assert!(commands.iter().any(|(command, output)| command.contains("echo hi") && output == "hi\n"), "{commands:?}");

    // B3: whatever the model, every call of the conversation went home; so did the neighbour's.
    let home = home(&gateway, &first);
    for turn in [&first, &resumed, &changed, &called] {
        assert_eq!(named_in(turn), home);
    }
    let calls = calls(&gateway, &first);
    let models: BTreeSet<_> = calls.iter().map(|seen| seen.json()["model"].to_string()).collect();
    assert_eq!(models.into_iter().collect::<Vec<_>>(), ["\"gpt-5.5\"", "\"gpt-6-sol\""]);
    assert!(calls.len() >= 5, "four turns, one of them with a tool's answer");
    assert_eq!(named_in(&bob.resume("still there?").expect_completed()), named_in(&other));
    assert_eq!(gateway.upstream().violations(), Vec::<String>::new());
}

#[test]
fn a_kill_between_two_turns_loses_no_home() {
    let mut gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let users: Vec<Codex> = (0..3).map(|_| Codex::new(CURRENT, Route::Provider, gateway.addr(), &key)).collect();
    let before: Vec<Turn> = users.iter().map(|user| user.exec("hello").expect_completed()).collect();
    let homes: BTreeSet<String> = before.iter().map(named_in).collect();
    assert_eq!(homes.len(), 3, "three conversations over three accounts");

    gateway.kill9();
    gateway.restart();

    // In another order, so that turns over the accounts would not bring them home by chance.
    for (user, turn) in users.iter().zip(&before).rev() {
        let after = user.resume("and again").expect_completed();
        assert_eq!(named_in(&after), named_in(turn), "B15: the home was on disk when the answer ended");
        assert_eq!(home(&gateway, turn), named_in(turn));
    }
    assert_eq!(gateway.upstream().violations(), Vec::<String>::new());
}

#[test]
fn a_spent_account_is_left_once_and_not_returned_to() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let ada = Codex::new(CURRENT, Route::Provider, gateway.addr(), &gateway.create_user("ada"));
    let first = ada.exec("hello").expect_completed();
    let old = named_in(&first);

    let spent = gateway.upstream().fail(Rule::always(Behaviour::usage_limit(3600)).on(&old));
    let moved = ada.resume("and again").expect_completed();
    let new = named_in(&moved);
    assert_ne!(new, old, "the user notices nothing of the spent account");

    assert!(gateway.upstream().forgive(spent));
    let stayed = ada.resume("and again").expect_completed();
    assert_eq!(named_in(&stayed), new, "B9");
    assert_eq!(homes(&gateway, &first), BTreeSet::from([old, new]));
    assert_eq!(gateway.upstream().violations(), Vec::<String>::new());
}

#[test]
fn a_new_key_keeps_the_conversation() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let mut ada = Codex::new(CURRENT, Route::Provider, gateway.addr(), &gateway.create_user("ada"));
    let first = ada.exec("hello").expect_completed();
    ada.use_key(&gateway.reset_key("ada"));
    let second = ada.resume("and again").expect_completed();
    assert_eq!(home(&gateway, &first), named_in(&second), "B12");
}

#[test]
fn an_old_version_keeps_its_account_too() {
    let mut gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let ada = Codex::new(OLD, Route::Provider, gateway.addr(), &key);
    let first = ada.exec("hello").expect_completed();
    let other = Codex::new(OLD, Route::Provider, gateway.addr(), &key).exec("hello").expect_completed();
    assert_ne!(named_in(&first), named_in(&other));

    gateway.kill9();
    gateway.restart();
    let _ = ada.resume_on("gpt-6-sol", "please run echo hi").expect_completed();
    assert_eq!(home(&gateway, &first), named_in(&first));
    let seen = calls(&gateway, &first);
    assert!(
        seen.len() >= 3 && seen.iter().all(|s| s.header_count("session_id") == 1),
        "its header is the underscored one"
    );
}

#[test]
fn the_built_in_provider_goes_on_over_http() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let ada = Codex::new(CURRENT, Route::BuiltIn, gateway.addr(), &gateway.create_user("ada"));
    let first = ada.exec("hello").expect_completed();
    let second = ada.resume("and again").expect_completed();
    assert_eq!(second.thread_id(), first.thread_id());
    assert_eq!(home(&gateway, &first), named_in(&second));
}
