//! Captures of real clients, replayed straight to the scripted upstream: it accepts what every client sends.

#![allow(clippy::unwrap_used, reason = "helpers of tests are test code too")]

use homing::scripted::{AccountSpec, Options, Upstream};
use homing_tests::capture::{Caller, Capture, replay, replay_as};
use homing_tests::raw::End;

#[test]
fn every_captured_model_call_is_served() {
    let upstream = Upstream::start(Options::default()).unwrap();
    upstream.accept_unknown_previous(true);
    let account = upstream.add_account(AccountSpec::named("amber"));
    let caller = Caller { key: account.access_token.clone(), account_id: Some(account.spec.account_id) };
    let mut replayed = 0;
    for (name, capture) in Capture::all().unwrap() {
        let calls: Vec<_> = capture.model_calls().collect();
        // The client that had no key sent no Authorization field either; it has nothing to be served for.
        let responses = replay_as(upstream.addr(), &caller, calls.iter().copied()).unwrap();
        for (call, response) in calls.iter().zip(responses) {
            assert_eq!((response.status(), response.end), (200, End::Complete), "{name}: {}", response.text());
            if call.json()["stream"] == true {
                assert_eq!(response.event_types().last().unwrap(), "response.completed", "{name}");
            }
        }
        replayed += calls.len();
    }
    assert_eq!(replayed, 95);
    let log = upstream.wait_ended(95);
    assert!(log.iter().all(|seen| seen.answered() && seen.json()["model"].is_string()));
}

#[test]
fn what_arrives_is_what_was_captured() {
    let upstream = Upstream::start(Options { open: true, ..Options::default() }).unwrap();
    upstream.add_account(AccountSpec::named("amber"));
    for name in
        ["custom_http__d_tool_call", "chatgpt_split__ws_upgrade_426", "openai_py__headers", "opencode__responses_a"]
    {
        let capture = Capture::load(name).unwrap();
        let first = upstream.seen();
        let responses = replay(upstream.addr(), "the-key", &capture).unwrap();
        let log = upstream.wait_ended(first + responses.len() as u64);
        let seen = &log[usize::try_from(first).unwrap()..];
        assert_eq!(seen.len(), capture.http().count(), "{name}");
        for (seen, captured) in seen.iter().zip(capture.http()) {
            assert_eq!((Some(&seen.path), seen.query.as_ref()), (captured.path.as_ref(), captured.query.as_ref()));
            assert_eq!(seen.json(), captured.json(), "{name}");
            assert_eq!(seen.headers.len(), captured.headers.len(), "{name}");
            for ((name, value), (captured_name, captured_value)) in seen.headers.iter().zip(&captured.headers) {
                assert_eq!(name, captured_name);
                match name.to_ascii_lowercase().as_str() {
                    "authorization" => assert_eq!(value, b"Bearer the-key"),
                    "content-length" => assert_eq!(*value, seen.raw_body.len().to_string().into_bytes()),
                    _ => assert_eq!(value, captured_value.as_bytes()),
                }
            }
        }
    }
}
