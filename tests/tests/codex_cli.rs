//! The official Codex CLI through the real gateway. The account of every turn is what the scripted upstream saw.

#![allow(clippy::unwrap_used, reason = "helpers of tests are test code too")]

use std::collections::BTreeSet;

use homing::scripted::{Behaviour, Rule, Seen};
use homing_tests::codex::{CURRENT, Codex, OLD, Route, Turn};
use homing_tests::gateway::Gateway;

const ACCOUNTS: [&str; 3] = ["amber", "birch", "cedar"];

/// A gateway over three accounts.
fn started() -> Gateway {
    Gateway::with_accounts(&ACCOUNTS).start()
}

/// A user of it with the CLI of that version.
fn user(gateway: &Gateway, version: &str, name: &str) -> Codex {
    Codex::new(version, Route::Provider, gateway.addr(), &gateway.create_user(name))
}

/// Plays one turn that must be completed; with it the accounts that the upstream saw its model calls on, in order.
fn play(gateway: &Gateway, turn: impl FnOnce() -> Turn) -> (Turn, Vec<String>) {
    let from = gateway.upstream().seen();
    let turn = turn().expect_completed();
    let accounts = gateway.accounts_since(from);
    let last = accounts.last().unwrap_or_else(|| panic!("the turn came without a model call: {turn:?}"));
    assert!(turn.message().contains(last.as_str()), "the user reads the answer of {last}: {:?}", turn.message());
    (turn, accounts)
}

/// The same, where one account must have served every call.
fn served(gateway: &Gateway, turn: impl FnOnce() -> Turn) -> (Turn, String) {
    let (turn, accounts) = play(gateway, turn);
    let only: BTreeSet<_> = accounts.iter().collect();
    assert_eq!(only.len(), 1, "one account serves every call of a turn: {accounts:?}");
    (turn, accounts[0].clone())
}

/// Model calls of the conversation that `turn` belongs to.
fn calls(gateway: &Gateway, turn: &Turn) -> Vec<Seen> {
    let id = turn.thread_id();
    assert!(!id.is_empty(), "the client names its conversation: {turn:?}");
    let of_it = |seen: &Seen| seen.header("session-id").or_else(|| seen.header("session_id")) == Some(id.clone());
    gateway.upstream().log().into_iter().filter(|seen| seen.path.ends_with("/responses") && of_it(seen)).collect()
}

fn no_violations(gateway: &Gateway) {
    assert_eq!(gateway.upstream().violations(), Vec::<String>::new());
}

#[test]
fn a_conversation_keeps_its_account_over_resume_a_model_change_and_a_tool_call() {
    let gateway = started();
    let (ada, bob) = (user(&gateway, CURRENT, "ada"), user(&gateway, CURRENT, "bob"));
    let (first, home) = served(&gateway, || ada.exec("hello"));
    let (_, other) = served(&gateway, || bob.exec("hello"));
    assert_ne!(home, other, "new conversations take turns over the accounts");

    let (resumed, account) = served(&gateway, || ada.resume("and again"));
    assert_eq!((resumed.thread_id(), &account), (first.thread_id(), &home), "B3");
    let (changed, account) = served(&gateway, || ada.resume_on("gpt-6-sol", "on another model"));
    assert!(changed.message().contains("gpt-6-sol"), "{:?}", changed.message());
    assert_eq!(account, home, "B3: another model, the same home");

    let (called, account) = served(&gateway, || ada.resume("please run echo hi"));
    let commands = called.commands();
    assert!(commands.iter().any(|(command, output)| command.contains("echo hi") && output == "hi\n"), "{commands:?}");
    assert_eq!(account, home, "the call and the one that carries the tool's output");
    assert_eq!(served(&gateway, || bob.resume("still there?")).1, other);

    let calls = calls(&gateway, &first);
    let models: BTreeSet<_> = calls.iter().map(|seen| seen.json()["model"].to_string()).collect();
    assert_eq!(models.into_iter().collect::<Vec<_>>(), ["\"gpt-5.5\"", "\"gpt-6-sol\""]);
    assert!(calls.len() >= 5, "four turns, one of them with a tool's output: {}", calls.len());
    no_violations(&gateway);
}

#[test]
fn a_kill_between_two_turns_loses_no_home() {
    let mut gateway = started();
    let key = gateway.create_user("ada");
    let users: Vec<Codex> = (0..3).map(|_| Codex::new(CURRENT, Route::Provider, gateway.addr(), &key)).collect();
    let before: Vec<_> = users.iter().map(|user| served(&gateway, || user.exec("hello"))).collect();
    let homes: BTreeSet<_> = before.iter().map(|(_, home)| home).collect();
    assert_eq!(homes.len(), 3, "three conversations over three accounts");

    gateway.kill9();
    gateway.restart();

    // In another order, so that turns over the accounts would not bring them home by chance.
    for (user, (turn, home)) in users.iter().zip(&before).rev() {
        let (resumed, account) = served(&gateway, || user.resume("and again"));
        assert_eq!(&account, home, "B15: the home was on disk when the answer ended");
        assert_eq!(resumed.thread_id(), turn.thread_id());
    }
    no_violations(&gateway);
}

#[test]
fn a_spent_account_is_left_once_and_not_returned_to() {
    let gateway = started();
    let ada = user(&gateway, CURRENT, "ada");
    let (_, old) = served(&gateway, || ada.exec("hello"));

    let spent = gateway.upstream().fail(Rule::always(Behaviour::usage_limit(3600)).on(&old));
    let (_, accounts) = play(&gateway, || ada.resume("and again"));
    assert_eq!(accounts.len(), 2, "the user notices nothing of the spent account: {accounts:?}");
    assert_eq!(accounts[0], old);
    let new = &accounts[1];
    assert_ne!(new, &old);

    assert!(gateway.upstream().forgive(spent));
    let (_, account) = served(&gateway, || ada.resume("and again"));
    assert_eq!(&account, new, "B9");
    no_violations(&gateway);
}

#[test]
fn a_new_key_keeps_the_conversation() {
    let gateway = started();
    let mut ada = user(&gateway, CURRENT, "ada");
    let (_, home) = served(&gateway, || ada.exec("hello"));
    ada.use_key(&gateway.reset_key("ada"));
    assert_eq!(served(&gateway, || ada.resume("and again")).1, home, "B12");
}

#[test]
fn an_old_version_keeps_its_account_too() {
    let mut gateway = started();
    let (ada, bob) = (user(&gateway, OLD, "ada"), user(&gateway, OLD, "bob"));
    let (first, home) = served(&gateway, || ada.exec("hello"));
    assert_ne!(served(&gateway, || bob.exec("hello")).1, home);

    gateway.kill9();
    gateway.restart();
    let (_, account) = served(&gateway, || ada.resume_on("gpt-6-sol", "please run echo hi"));
    assert_eq!(account, home);
    let seen = calls(&gateway, &first);
    assert!(seen.len() >= 3 && seen.iter().all(|s| s.header_count("session_id") == 1), "its header is underscored");
    no_violations(&gateway);
}

#[test]
fn the_built_in_provider_goes_on_over_http() {
    let gateway = started();
    let ada = Codex::new(CURRENT, Route::BuiltIn, gateway.addr(), &gateway.create_user("ada"));
    let (first, home) = served(&gateway, || ada.exec("hello"));
    let (second, account) = served(&gateway, || ada.resume("and again"));
    assert_eq!((second.thread_id(), account), (first.thread_id(), home));
}
