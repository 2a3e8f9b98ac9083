//! The official `openai` Python SDK through the real gateway.

use std::collections::BTreeSet;

use homing::scripted::{Behaviour, Ending, Rule};
use homing_tests::gateway::Gateway;
use homing_tests::sdk::{self, Answer, Call};
use serde_json::json;

const ACCOUNTS: [&str; 3] = ["amber", "birch", "cedar"];

fn completed(answers: &[Answer]) {
    for answer in answers {
        let says = answer.text.as_deref().is_some_and(|text| text.starts_with("Hello from "));
        assert!(answer.status.as_deref() == Some("completed") && says, "{answer:?}");
    }
}

#[test]
fn a_named_conversation_keeps_its_account_streamed_and_not() {
    let mut gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let named = |call: Call| call.with("prompt_cache_key", "conversation-1");
    let calls = [
        named(Call::new("hello")),
        named(Call::new("hello").streamed()),
        named(Call::new("hello").with("model", "gpt-6-sol")),
        Call::new("hello").with("extra_headers", json!({"session-id": "conversation-1"})),
    ];
    let answers = sdk::call(gateway.addr(), &key, &calls);
    completed(&answers);
    assert!(answers[0].events.is_empty() && answers[0].id.is_some());
    let events = &answers[1].events;
    assert_eq!(events.first().map(String::as_str), Some("response.created"));
    assert_eq!(events.last().map(String::as_str), Some("response.completed"));
    assert!(events.iter().any(|event| event == "response.output_text.delta"), "{events:?}");

    gateway.kill9();
    gateway.restart();
    completed(&sdk::call(gateway.addr(), &key, &[named(Call::new("hello").streamed())]));

    // K2: the same value is the same session, as a header and in the body.
    let served = gateway.accounts_since(0);
    assert_eq!(served.len(), 5);
    assert_eq!(served.iter().collect::<BTreeSet<_>>().len(), 1, "{served:?}");
    assert_eq!(gateway.bindings().len(), 1);
    assert_eq!(gateway.upstream().violations(), Vec::<String>::new());
}

#[test]
fn calls_without_a_name_take_turns_and_leave_no_row() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let calls = [Call::new("hello"), Call::new("hello").streamed(), Call::new("hello")];
    completed(&sdk::call(gateway.addr(), &key, &calls));
    let served = gateway.accounts_since(0);
    assert_eq!(served.iter().collect::<BTreeSet<_>>().len(), 3, "one each: {served:?}");
    assert_eq!(gateway.bindings().len(), 0, "B1");
}

#[test]
fn the_same_name_under_two_users_is_two_conversations() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    for name in ["ada", "bob"] {
        let key = gateway.create_user(name);
        let call = Call::new("hello").with("prompt_cache_key", "shared");
        completed(&sdk::call(gateway.addr(), &key, &[call.clone(), call]));
    }
    let served = gateway.accounts_since(0);
    assert!(served[0] == served[1] && served[2] == served[3] && served[0] != served[2], "B14: {served:?}");
    assert_eq!(gateway.bindings().len(), 2);
}

#[test]
fn errors_reach_the_sdk_as_its_own() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let error = |key: &str| {
        let answer = sdk::call(gateway.addr(), key, &[Call::new("hello")]).remove(0);
        (answer.error.unwrap_or_default(), answer.http_status)
    };
    assert_eq!(error("hmg_nobody"), ("AuthenticationError".to_owned(), Some(401)));
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::always(Behaviour::usage_limit(3600)));
    assert_eq!(error(&key), ("RateLimitError".to_owned(), Some(429)), "R4: every account is spent");
}

#[test]
fn a_broken_stream_is_an_error_and_no_short_answer() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::always(Behaviour::TruncateAfter { events: 8, ending: Ending::Cut }).times(1));
    let answers = sdk::call(gateway.addr(), &key, &[Call::new("hello").streamed()]);
    assert_eq!(answers[0].error.as_deref(), Some("APIConnectionError"), "W2: {answers:?}");
}
