//! What real clients sent, byte for byte, through the gateway: every capture, as a managed user and as the client's own login.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use homing_tests::capture::{Caller, Capture, CapturedRequest, replay_as};
use homing_tests::gateway::Gateway;
use homing_tests::raw::End;

const ACCOUNTS: [&str; 3] = ["amber", "birch", "cedar"];

/// The session a captured call names, read independently of the gateway: its strongest signal.
fn session_of(request: &CapturedRequest) -> Option<String> {
    let header = request.header("session-id").or_else(|| request.header("session_id")).map(str::to_owned);
    let body = request.json();
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    let conversation = || body["conversation"]["id"].as_str().map(str::to_owned).or_else(|| text("conversation"));
    header
        .or_else(|| text("session_id"))
        .or_else(|| text("sessionId"))
        .or_else(conversation)
        .or_else(|| text("conversation_id"))
        .or_else(|| text("prompt_cache_key"))
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}

fn gateway() -> Gateway {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    // The captured calls go on from answers of the server they were captured with.
    gateway.upstream().accept_unknown_previous(true);
    gateway
}

/// Replays the model calls of a capture as this caller; each must be served unchanged, and each session by one account.
/// The sessions it named.
fn check(gateway: &Gateway, name: &str, capture: &Capture, caller: &Caller) -> BTreeSet<String> {
    let calls: Vec<&CapturedRequest> = capture.model_calls().collect();
    let from = gateway.upstream().seen();
    let answers = replay_as(gateway.addr(), caller, calls.iter().copied()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let log = gateway.upstream().log_since(from);
    assert_eq!(log.len(), calls.len(), "{name}: one attempt for each call");
    let mut accounts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for ((call, answer), seen) in calls.iter().zip(&answers).zip(&log) {
        assert_eq!((answer.status(), answer.end), (200, End::Complete), "{name}: {}", answer.text());
        assert!(*seen.raw_body == call.wire_body().unwrap()[..], "{name}: K3, the body is forwarded as it came");
        for (header, value) in &call.headers {
            let lower = header.to_ascii_lowercase();
            let passes =
                ["user-agent", "originator", "session-id", "session_id", "thread-id", "accept", "content-type"]
                    .contains(&lower.as_str())
                    || (lower.starts_with("x-codex-") && lower != "x-codex-turn-state");
            if passes {
                assert_eq!(seen.header(header).as_deref(), Some(value.as_str()), "{name}: R6, {header}");
            }
        }
        let account = seen.account.clone().unwrap();
        assert_eq!(seen.header_count("authorization"), 1, "{name}");
        assert_eq!(
            seen.header("chatgpt-account-id"),
            Some(gateway.upstream().account(&account).unwrap().spec.account_id)
        );
        if let Some(session) = session_of(call) {
            accounts.entry(session).or_default().insert(account);
        }
    }
    for (session, accounts) in &accounts {
        assert_eq!(accounts.len(), 1, "{name}: session {session} was served by {accounts:?}");
    }
    assert_eq!(gateway.upstream().violations(), Vec::<String>::new(), "{name}");
    accounts.into_keys().collect()
}

#[test]
fn every_capture_is_served_to_a_managed_user_with_one_account_for_each_session() {
    let gateway = gateway();
    let mut calls = 0;
    for (number, (name, capture)) in Capture::all().unwrap().into_iter().enumerate() {
        let tenant = format!("user-{number}");
        let key = gateway.create_user(&tenant);
        let sessions = check(&gateway, &name, &capture, &Caller::with_key(&key));
        let rows = gateway.bindings().iter().filter(|row| row["tenant"] == *tenant).count();
        assert!(rows <= sessions.len(), "{name}: {rows} rows for {sessions:?}");
        assert_eq!(rows == 0, sessions.is_empty(), "{name}: a row where there is a session, and only there");
        calls += capture.model_calls().count();
    }
    assert!(calls > 90, "{calls} calls were replayed");
}

#[test]
fn every_capture_is_served_to_a_client_with_a_loaded_login() {
    let gateway = gateway();
    let account = gateway.upstream().account("birch").unwrap();
    let caller = Caller { key: account.access_token.clone(), account_id: Some(account.spec.account_id) };
    for (name, capture) in Capture::all().unwrap() {
        check(&gateway, &name, &capture, &caller);
    }
}

#[test]
fn every_other_request_of_a_capture_gets_an_http_answer() {
    let gateway = gateway();
    let key = gateway.create_user("ada");
    for (name, capture) in Capture::all().unwrap() {
        for request in capture.http().filter(|r| !r.is_model_call()) {
            let answers = replay_as(gateway.addr(), &Caller::with_key(&key), [request]);
            let answer = answers.unwrap_or_else(|e| panic!("{name}: {e}")).remove(0);
            let path = request.path.as_deref().unwrap();
            let want: &[u16] = match path {
                "/v1/models" | "/backend-api/codex/models" if request.header("authorization").is_some() => &[200],
                "/v1/models" | "/backend-api/codex/models" => &[401],
                "/v1/responses" => &[200, 405],
                _ => &[404],
            };
            assert!(want.contains(&answer.status()), "{name}: {path}: {} {}", answer.status(), answer.text());
        }
    }
}

#[test]
fn every_websocket_upgrade_is_answered_426() {
    let gateway = gateway();
    let key = gateway.create_user("ada");
    let mut upgrades = 0;
    for (name, capture) in Capture::all().unwrap() {
        for request in capture.requests.iter().filter(|r| r.kind == "ws_upgrade") {
            let answer = replay_as(gateway.addr(), &Caller::with_key(&key), [request]).unwrap().remove(0);
            assert_eq!(answer.status(), 426, "{name}: Codex goes on over HTTP (W4)");
            assert!(answer.header("upgrade").is_some(), "{name}");
            upgrades += 1;
        }
    }
    assert!(upgrades > 30, "{upgrades}");
    assert_eq!(gateway.upstream().seen(), 0);
}

#[test]
fn a_resumed_session_goes_home_across_a_crash() {
    // The first turn, `codex exec resume`, and a resume with another model, each captured on its own.
    let turns = ["custom_http__a_one_turn", "custom_http__b_resume_last", "custom_http__c_resume_model_change"];
    let mut gateway = gateway();
    let key = gateway.create_user("ada");
    let mut by_session: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for name in turns {
        let capture = Capture::load(name).unwrap();
        for call in capture.model_calls() {
            let from = gateway.upstream().seen();
            replay_as(gateway.addr(), &Caller::with_key(&key), [call]).unwrap();
            let session = session_of(call).unwrap();
            by_session.entry(session).or_default().extend(gateway.accounts_since(from));
        }
        gateway.kill9();
        gateway.restart();
    }
    assert!(by_session.values().all(|accounts| accounts.len() == 1), "{by_session:?}");
}
