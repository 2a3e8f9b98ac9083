//! What a failure leads to (spec §4): every class of the table over HTTP, convergence, whole-pool answers, credentials,
//! broken streams, and what a client that leaves does not do.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt as _;

use homing::scripted::{AccountSpec, Behaviour, Ending, GatePoint, Outcome, Rule};
use homing_tests::ask::Ask;
use homing_tests::gateway::Gateway;
use homing_tests::raw::{End, RawResponse};
use serde_json::{Value, json};

/// A gateway over two accounts, and a session whose home is one of them.
struct Pair {
    gateway: Gateway,
    key: String,
    home: String,
    other: String,
}

impl Pair {
    fn new() -> Self {
        let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
        let key = gateway.create_user("ada");
        let home = gateway.served(&Ask::turn(&key).session("one"));
        let other = if home == "amber" { "birch" } else { "amber" }.to_owned();
        Self { gateway, key, home, other }
    }

    fn turn(&self) -> Ask {
        Ask::turn(&self.key).session("one")
    }

    /// A turn while the home behaves so; the answer, and the attempts as `H` and `O`.
    fn turn_while(&self, behaviour: Behaviour) -> (RawResponse, String) {
        let rule = self.gateway.upstream().fail(Rule::always(behaviour).on(&self.home));
        let (answer, accounts) = self.gateway.ask(&self.turn());
        self.gateway.upstream().forgive(rule);
        (answer, accounts.iter().map(|a| if *a == self.home { 'H' } else { 'O' }).collect())
    }
}

fn json_error(status: u16, kind: &str, code: &str, message: &str) -> Behaviour {
    let body = json!({"error": {"type": kind, "code": code, "message": message, "param": null}});
    Behaviour::Status { code: status, headers: Vec::new(), body }
}

fn with_header(behaviour: Behaviour, name: &str, value: &str) -> Behaviour {
    match behaviour {
        Behaviour::Status { code, mut headers, body } => {
            headers.push((name.to_owned(), value.to_owned()));
            Behaviour::Status { code, headers, body }
        }
        other => other,
    }
}

/// The classes that lead to the next account: what the home does, the attempts that follow, how the home then stands.
fn moving() -> Vec<(&'static str, Behaviour, &'static str, &'static str)> {
    let truncated = |ending| Behaviour::TruncateAfter { events: 2, ending };
    vec![
        ("quota", Behaviour::usage_limit(3600), "HO", "spent"),
        ("quota without a reset", Behaviour::UsageLimit { resets_in: None }, "HO", "spent"),
        ("429 with Retry-After", Behaviour::RateLimited { retry_after: Some(40) }, "HO", "limited"),
        (
            "429 that says when",
            json_error(429, "rate_limit_error", "rate_limit_exceeded", "Please try again in 6m0s."),
            "HO",
            "limited",
        ),
        ("429", Behaviour::RateLimited { retry_after: None }, "HO", "cooling"),
        ("408", Behaviour::status(408), "HHO", "cooling"),
        ("500", Behaviour::status(500), "HHO", "cooling"),
        ("502", Behaviour::status(502), "HHO", "cooling"),
        ("503", Behaviour::status(503), "HHO", "cooling"),
        ("504", Behaviour::status(504), "HHO", "cooling"),
        ("520", Behaviour::status(520), "HHO", "cooling"),
        ("529", Behaviour::status(529), "HHO", "cooling"),
        ("503 with Retry-After", with_header(Behaviour::status(503), "retry-after", "7"), "HO", "cooling"),
        // A kept connection that breaks before its first byte may have been closed while it was idle, so it is replaced first.
        ("reset", Behaviour::ResetBeforeHeaders, "HHHO", "cooling"),
        ("401", Behaviour::Unauthorized, "HHO", "needs login"),
        ("402", Behaviour::status(402), "HO", "refused"),
        (
            "403 about the account",
            json_error(403, "permission_error", "account_deactivated", "This account has been deactivated."),
            "HO",
            "refused",
        ),
        ("403 challenge", Behaviour::Html403, "HO", "cooling"),
        ("404 empty", Behaviour::Status { code: 404, headers: Vec::new(), body: json!("") }, "HO", "cooling"),
        (
            "400 model not supported",
            json_error(
                400,
                "invalid_request_error",
                "model_not_supported",
                "The model is not supported with your plan.",
            ),
            "HO",
            "ready",
        ),
        ("429 not included", json_error(429, "usage_not_included", "usage_not_included", "No."), "HO", "ready"),
        ("stream: overloaded", Behaviour::failed("server_is_overloaded"), "HHO", "cooling"),
        ("stream: slow down", Behaviour::failed("slow_down"), "HHO", "cooling"),
        ("stream: server error", Behaviour::failed("server_error"), "HHO", "cooling"),
        ("stream: quota", Behaviour::failed("usage_limit_reached"), "HO", "spent"),
        ("stream: error event", Behaviour::SseErrorAfter { events: 2, code: "server_error".into() }, "HHO", "cooling"),
        ("stream ends early", truncated(Ending::Clean), "HHO", "cooling"),
        ("stream is cut", truncated(Ending::Cut), "HHO", "cooling"),
        ("stream is reset", truncated(Ending::Reset), "HHO", "cooling"),
    ]
}

#[test]
fn every_failure_of_an_account_moves_the_session_and_it_stays_there() {
    for (name, behaviour, attempts, state) in moving() {
        let pair = Pair::new();
        let (answer, seen) = pair.turn_while(behaviour);
        assert_eq!((answer.status(), seen.as_str()), (200, attempts), "{name}: {}", answer.text());
        // R3: what the client sees comes from the attempt that served, and from nothing else.
        assert_eq!(answer.output_text(), format!("Hello from {} on gpt-5.5.", pair.other), "{name}");
        let types = answer.event_types();
        assert_eq!(types.iter().filter(|t| *t == "response.created").count(), 1, "{name}");
        assert_eq!(pair.gateway.account_state(&pair.home), state, "{name}");
        // B9: it stays where it succeeded, whatever becomes of its old home.
        for _ in 0..2 {
            assert_eq!(pair.gateway.served(&pair.turn()), pair.other, "{name}");
        }
        assert_eq!(pair.gateway.upstream().violations(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn one_hiccup_is_repeated_at_home() {
    let pair = Pair::new();
    for behaviour in [
        Behaviour::status(500),
        Behaviour::failed("server_is_overloaded"),
        Behaviour::ResetBeforeHeaders,
        Behaviour::TruncateAfter { events: 2, ending: Ending::Cut },
    ] {
        pair.gateway.upstream().fail(Rule::once(behaviour.clone()).on(&pair.home));
        let (answer, accounts) = pair.gateway.ask(&pair.turn());
        assert_eq!((answer.status(), accounts), (200, vec![pair.home.clone(); 2]), "{behaviour:?}");
    }
    assert_eq!(pair.gateway.account_state(&pair.home), "ready");
    assert_eq!(pair.gateway.bindings()[0]["generation"], 1, "the home never moved");
}

#[test]
fn a_fault_of_the_request_is_relayed_unchanged_and_blames_nobody() {
    let pair = Pair::new();
    let faults = [
        json_error(400, "invalid_request_error", "context_length_exceeded", "Too long."),
        json_error(400, "invalid_request_error", "previous_response_not_found", "Not found."),
        json_error(400, "invalid_request_error", "invalid_encrypted_content", "Could not be verified."),
        json_error(404, "invalid_request_error", "model_not_found", "No such model."),
        json_error(413, "invalid_request_error", "request_too_large", "Too large."),
        json_error(422, "invalid_request_error", "invalid_value", "No."),
        Behaviour::Status { code: 400, headers: Vec::new(), body: json!("plain words") },
    ];
    for fault in faults {
        let fault = with_header(fault, "x-request-id", "req_of_the_upstream");
        let Behaviour::Status { code, body, .. } = fault.clone() else { unreachable!() };
        let (answer, seen) = pair.turn_while(fault);
        assert_eq!((answer.status(), seen.as_str(), answer.end), (code, "H", End::Complete), "{body}");
        match body {
            Value::String(text) => assert_eq!(answer.text(), text),
            body => assert_eq!(answer.json(), body),
        }
        assert_eq!(answer.header("x-request-id").as_deref(), Some("req_of_the_upstream"));
        assert_eq!(pair.gateway.account_state(&pair.home), "ready");
    }
    // Inside a stream the upstream's answer stays a stream: Codex reads more from it than from a status.
    let (answer, seen) = pair.turn_while(Behaviour::failed("context_length_exceeded"));
    assert_eq!((answer.status(), seen.as_str(), answer.end), (200, "H", End::Complete));
    assert_eq!(answer.event_types(), ["response.created", "response.in_progress", "response.failed"]);
    assert_eq!(pair.gateway.account_state(&pair.home), "ready");
    assert_eq!(pair.gateway.served(&pair.turn()), pair.home);
}

#[test]
fn field_b26_a_model_that_one_account_lacks_bars_that_model_alone() {
    let pair = Pair::new();
    let lacks = json_error(400, "invalid_request_error", "x", "The 'gpt-9' model is not supported when using Codex.");
    pair.gateway.upstream().fail(Rule::always(lacks).on(&pair.home).times(1));
    // Another session with its home on the same account, by its model.
    let two = Ask::turn(&pair.key).session("two");
    while pair.gateway.served(&two.clone().session("unused").without("session-id")) != pair.other {}
    let (answer, accounts) = pair.gateway.ask(&two.model("gpt-9"));
    assert_eq!(answer.status(), 200, "{accounts:?}");
    assert_eq!(accounts, [pair.home.clone(), pair.other.clone()]);
    // The other model still goes there, this one does not.
    assert_eq!(pair.gateway.served(&pair.turn()), pair.home);
    for _ in 0..3 {
        assert_eq!(pair.gateway.served(&Ask::turn(&pair.key).model("gpt-9")), pair.other);
    }
}

#[test]
fn a_model_that_no_account_has_is_relayed() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
    let key = gateway.create_user("ada");
    let lacks = json_error(400, "invalid_request_error", "x", "The 'gpt-9' model is not supported when using Codex.");
    gateway.upstream().fail(Rule::always(lacks));
    let ask = Ask::turn(&key).model("gpt-9");
    let (answer, accounts) = gateway.ask(&ask);
    assert_eq!((answer.status(), accounts.len()), (400, 2), "{}", answer.text());
    assert!(answer.text().contains("not supported when using Codex"), "the upstream's own words: {}", answer.text());
    // Known by now: the same sense without another attempt.
    let (answer, accounts) = gateway.ask(&ask);
    assert_eq!((answer.status(), accounts.len()), (400, 0), "{}", answer.text());
    assert_eq!(answer.json()["error"]["code"], "model_not_supported");
    gateway.upstream().forgive_all();
    gateway.served(&Ask::turn(&key));
}

#[test]
fn racing_first_requests_of_a_session_go_to_one_account() {
    let gateway = Gateway::with_accounts(&["amber", "birch", "cedar", "dogwood"]).start();
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::always(Behaviour::held("start", GatePoint::BeforeHeaders)));
    let ask = Ask::turn(&key).session("one");
    let clients: Vec<_> = (0..8).map(|_| ask.begin(gateway.addr()).unwrap()).collect();
    assert!(gateway.upstream().wait_at("start", 8));
    gateway.upstream().release("start");
    for mut client in clients {
        assert_eq!(client.response().unwrap().status(), 200);
    }
    let accounts = gateway.accounts_since(0);
    assert_eq!(accounts.len(), 8);
    assert!(accounts.iter().all(|a| *a == accounts[0]), "B4: {accounts:?}");
    assert_eq!(gateway.bindings().len(), 1);
}

#[test]
fn requests_that_must_leave_together_converge() {
    let gateway = Gateway::with_accounts(&["amber", "birch", "cedar", "dogwood"]).start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one");
    let home = gateway.served(&ask);
    gateway.upstream().fail(Rule::always(Behaviour::held("out", GatePoint::BeforeHeaders)).on(&home));
    gateway.upstream().fail(Rule::always(Behaviour::usage_limit(3600)).on(&home));
    let from = gateway.upstream().seen();
    let clients: Vec<_> = (0..8).map(|_| ask.begin(gateway.addr()).unwrap()).collect();
    assert!(gateway.upstream().wait_at("out", 8), "all eight are at home");
    gateway.upstream().release("out");
    for mut client in clients {
        assert_eq!(client.response().unwrap().status(), 200);
    }
    let accounts = gateway.accounts_since(from);
    let moved: Vec<_> = accounts.iter().filter(|a| **a != home).collect();
    assert_eq!((accounts.len(), moved.len()), (16, 8));
    assert!(moved.iter().all(|a| *a == moved[0]), "B5: one replacement for all: {moved:?}");
    assert_eq!(gateway.served(&ask), *moved[0]);
    assert_eq!(gateway.bindings()[0]["generation"], 2, "field A28: exactly one move");
}

#[test]
fn a_replacement_that_fails_is_replaced_too() {
    let gateway = Gateway::with_accounts(&["amber", "birch", "cedar"]).start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one");
    let home = gateway.served(&ask);
    gateway.upstream().fail(Rule::always(Behaviour::usage_limit(3600)).on(&home));
    let others: Vec<&str> = ["amber", "birch", "cedar"].into_iter().filter(|a| *a != home).collect();
    // Whichever comes first of the two fails as well.
    let next = {
        let probe = gateway.upstream().fail(Rule::once(Behaviour::usage_limit(3600)));
        let (answer, accounts) = gateway.ask(&ask);
        gateway.upstream().forgive(probe);
        assert_eq!(answer.status(), 200);
        accounts
    };
    assert_eq!(next.len(), 3, "{next:?}");
    assert!(others.contains(&next[1].as_str()) && others.contains(&next[2].as_str()) && next[1] != next[2]);
    assert_eq!(gateway.served(&ask), next[2]);
}

#[test]
fn at_most_request_retry_accounts_follow_the_first() {
    let gateway =
        Gateway::with_accounts(&["amber", "birch", "cedar", "dogwood"]).toml("routing", "request-retry = 1").start();
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::always(Behaviour::status(500)));
    let (answer, accounts) = gateway.ask(&Ask::turn(&key).session("one"));
    assert_eq!(accounts.len(), 2, "{accounts:?}");
    assert_eq!(answer.status(), 503, "{}", answer.text());
}

#[test]
fn spent_everywhere_is_429_that_says_when_to_come_back() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one");
    gateway.served(&ask);
    gateway.upstream().fail(Rule::always(Behaviour::usage_limit(3600)).on("amber"));
    gateway.upstream().fail(Rule::always(Behaviour::usage_limit(7200)).on("birch"));
    for attempts in [2, 0] {
        let (answer, accounts) = gateway.ask(&ask);
        assert_eq!((answer.status(), accounts.len()), (429, attempts), "{}", answer.text());
        let error = &answer.json()["error"];
        assert_eq!(error["type"], "usage_limit_reached");
        let seconds = error["resets_in_seconds"].as_u64().unwrap();
        assert!((3500..=3600).contains(&seconds), "the earliest of both: {seconds}");
        assert!(error["resets_at"].is_u64());
        assert_eq!(answer.header("retry-after"), None);
        assert_eq!(answer.header("x-should-retry").as_deref(), Some("false"));
    }
    // The answer is the same where the refusals came inside streams (W1: never as response.failed).
    let streamed = Gateway::with_accounts(&["amber"]).start();
    let key = streamed.create_user("ada");
    streamed.upstream().fail(Rule::always(Behaviour::failed("usage_limit_reached")));
    let (answer, _) = streamed.ask(&Ask::turn(&key));
    assert_eq!((answer.status(), &answer.json()["error"]["type"]), (429, &json!("usage_limit_reached")));
}

#[test]
fn an_account_that_is_back_within_a_minute_is_worth_waiting_for() {
    for (behaviour, longest) in [
        (Behaviour::RateLimited { retry_after: Some(20) }, 20),
        (Behaviour::usage_limit(30), 31),
        (Behaviour::status(500), 60),
    ] {
        let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
        let key = gateway.create_user("ada");
        gateway.upstream().fail(Rule::always(behaviour.clone()));
        let (answer, _) = gateway.ask(&Ask::turn(&key).session("one"));
        assert_eq!(answer.status(), 503, "{behaviour:?}");
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=longest).contains(&wait), "{behaviour:?}: {wait}");
        // Codex gives up on that code instead of waiting.
        assert_ne!(answer.json()["error"]["code"], "server_is_overloaded");
    }
}

#[test]
fn soft_cooling_only_orders() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one");
    let rule = gateway.upstream().fail(Rule::always(Behaviour::status(500)));
    assert_eq!(gateway.ask(&ask).0.status(), 503);
    assert_eq!(gateway.account_state("amber"), "cooling");
    gateway.upstream().forgive(rule);
    assert_eq!(gateway.served(&ask), "amber", "nothing else is left, so it is tried");
    assert_eq!(gateway.account_state("amber"), "ready", "a success lifts it");
}

#[test]
fn an_upstream_out_of_reach_is_502_and_no_accounts_fault() {
    // Port 1 on loopback: nobody listens there.
    let gateway = Gateway::with_accounts(&["amber", "birch"])
        .toml("upstream", "url = \"http://127.0.0.1:1/backend-api/codex\"")
        .start();
    let key = gateway.create_user("ada");
    for _ in 0..4 {
        let answer = Ask::turn(&key).session("one").send(gateway.addr()).unwrap();
        assert_eq!(answer.status(), 502, "{}", answer.text());
    }
    for name in ["amber", "birch"] {
        assert_eq!(gateway.account_state(name), "ready", "field B11: the host's fault is no account's");
    }
}

#[test]
fn field_c10_an_upstream_that_never_answers_is_given_up() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).toml("upstream", "head-timeout = \"1s\"").start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one");
    let home = gateway.served(&ask);
    gateway.upstream().fail(Rule::always(Behaviour::HangBeforeHeaders).on(&home));
    let (answer, accounts) = gateway.ask(&ask);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_ne!(accounts.last(), Some(&home));
}

#[test]
fn a_401_reads_the_file_again_before_anything_else() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).toml("accounts", "scan-interval = \"1h\"").start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one");
    let home = gateway.served(&ask);
    // The Codex CLI logged in anew and wrote the file; the gateway has not looked yet.
    assert!(gateway.upstream().revoke_access(&home));
    gateway.upstream().add_account(AccountSpec::named(&home));
    gateway.write_auth_file(&home);
    let from = gateway.upstream().seen();
    let answer = ask.send(gateway.addr()).unwrap();
    assert_eq!((answer.status(), answer.output_text()), (200, format!("Hello from {home} on gpt-5.5.")));
    let paths: Vec<String> = gateway.upstream().log_since(from).into_iter().map(|s| s.path).collect();
    assert_eq!(paths.len(), 2, "no refresh: {paths:?}");
    assert_eq!(gateway.account_state(&home), "ready");
}

#[test]
fn a_401_refreshes_once_writes_the_file_back_and_repeats() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).toml("accounts", "scan-interval = \"1h\"").start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one");
    let home = gateway.served(&ask);
    let path = gateway.auth_dir().join(format!("{home}.json"));
    let mut file: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    file["something_unknown"] = json!({"kept": true});
    std::fs::write(&path, file.to_string()).unwrap();
    let spent = gateway.upstream().account(&home).unwrap().refresh_token;
    // Six requests meet the 401 at the same time.
    let rules = [Behaviour::held("refused", GatePoint::BeforeHeaders), Behaviour::Unauthorized];
    for behaviour in rules {
        gateway.upstream().fail(Rule::always(behaviour).on(&home).path("/responses").times(6));
    }
    let clients: Vec<_> = (0..6).map(|_| ask.begin(gateway.addr()).unwrap()).collect();
    assert!(gateway.upstream().wait_at("refused", 6));
    gateway.upstream().release("refused");
    for mut client in clients {
        assert_eq!(client.response().unwrap().output_text(), format!("Hello from {home} on gpt-5.5."));
    }
    let log = gateway.upstream().log();
    assert_eq!(log.iter().filter(|s| s.path == "/oauth/token").count(), 1, "one refresh for all six");
    let now = gateway.upstream().account(&home).unwrap();
    let written: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(written["tokens"]["access_token"], now.access_token);
    assert_eq!(written["tokens"]["refresh_token"], now.refresh_token);
    assert_ne!(now.refresh_token, spent);
    assert_eq!(written["something_unknown"], json!({"kept": true}));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(gateway.account_state(&home), "ready");
}

#[test]
fn a_401_that_no_refresh_cures_moves_on_until_a_new_login() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).toml("accounts", "scan-interval = \"100ms\"").start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one");
    let home = gateway.served(&ask);
    assert!(gateway.upstream().revoke_access(&home) && gateway.upstream().revoke_refresh(&home));
    let answer = ask.send(gateway.addr()).unwrap();
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert!(!answer.output_text().contains(&home));
    assert_eq!(gateway.account_state(&home), "needs login");
    gateway.upstream().add_account(AccountSpec::named(&home));
    gateway.write_auth_file(&home);
    assert!(gateway.eventually(|g| g.account_state(&home) == "ready"), "a new login brings it back");
}

#[test]
fn field_e2_a_refresh_token_is_never_sent_again_after_a_lost_answer() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one");
    let home = gateway.served(&ask);
    assert!(gateway.upstream().revoke_access(&home));
    gateway.upstream().fail(Rule::once(Behaviour::LostAnswer).path("/oauth/token"));
    for _ in 0..3 {
        let answer = ask.send(gateway.addr()).unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert!(!answer.output_text().contains(&home));
    }
    let log = gateway.upstream().log();
    assert_eq!(log.iter().filter(|s| s.path == "/oauth/token").count(), 1);
    assert_eq!(gateway.account_state(&home), "needs login");
}

#[test]
fn a_stream_that_breaks_after_output_is_broken_off_visibly() {
    for ending in [Ending::Clean, Ending::Cut, Ending::Reset] {
        let pair = Pair::new();
        let (answer, seen) = pair.turn_while(Behaviour::TruncateAfter { events: 6, ending });
        assert_eq!((answer.status(), seen.as_str()), (200, "H"), "{ending:?}: nothing is retried after output (R3)");
        assert!(matches!(answer.end, End::Cut | End::Reset), "{ending:?}: W2, not {:?}", answer.end);
        assert!(!answer.event_types().iter().any(|t| t == "response.completed"), "{ending:?}");
        assert_eq!(pair.gateway.account_state(&pair.home), "ready", "{ending:?}: a break says nothing of the account");
        assert_eq!(pair.gateway.served(&pair.turn()), pair.home, "{ending:?}");
    }
}

#[test]
fn an_answer_that_is_no_stream_is_never_passed_on_in_half() {
    let pair = Pair::new();
    let rule = Rule::always(Behaviour::TruncateAfter { events: 0, ending: Ending::Cut }).on(&pair.home);
    pair.gateway.upstream().fail(rule);
    let (answer, accounts) = pair.gateway.ask(&pair.turn().whole());
    assert_eq!((answer.status(), answer.end), (200, End::Complete), "{accounts:?}");
    assert_eq!(answer.output_text(), format!("Hello from {} on gpt-5.5.", pair.other));
}

#[test]
fn a_failure_after_output_is_shown_not_retried_and_counts() {
    let pair = Pair::new();
    let failed = Behaviour::SseFailed { code: "usage_limit_reached".to_owned(), after: 6 };
    let (answer, seen) = pair.turn_while(failed);
    assert_eq!((answer.status(), seen.as_str(), answer.end), (200, "H", End::Complete));
    assert_eq!(answer.event_types().last().map(String::as_str), Some("response.failed"));
    assert_eq!(pair.gateway.account_state(&pair.home), "spent");
    assert_eq!(pair.gateway.served(&pair.turn()), pair.other);
}

#[test]
fn an_incomplete_answer_is_a_success() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::once(Behaviour::Incomplete));
    let (answer, _) = gateway.ask(&Ask::turn(&key).session("one"));
    assert_eq!(answer.event_types().last().map(String::as_str), Some("response.incomplete"));
    assert_eq!(gateway.bindings()[0]["state"], "bound");
}

#[test]
fn field_b6_clients_that_hang_up_cancel_the_call_and_blame_nobody() {
    let pair = Pair::new();
    let upstream = pair.gateway.upstream();
    for (gate, at) in [("head", GatePoint::BeforeHeaders), ("middle", GatePoint::AfterEvents(6))] {
        let from = upstream.seen();
        let rule = upstream.fail(Rule::always(Behaviour::held(gate, at)).on(&pair.home));
        let clients: Vec<_> = (0..10).map(|_| pair.turn().begin(pair.gateway.addr()).unwrap()).collect();
        assert!(upstream.wait_at(gate, 10));
        for client in clients {
            client.abort().unwrap();
        }
        // The gate is never opened: each call ends because its client left.
        let log = upstream.wait_ended(from + 10);
        let left = log.iter().filter(|s| s.number >= from && s.client_left()).count();
        assert_eq!(left, 10, "R5, at {gate}");
        upstream.forgive(rule);
    }
    assert_eq!(pair.gateway.account_state(&pair.home), "ready");
    assert_eq!(pair.gateway.served(&pair.turn()), pair.home);
    assert_eq!(pair.gateway.bindings()[0]["generation"], 1);
}

#[test]
fn field_c3_the_next_answer_holds_nothing_of_a_cancelled_one() {
    let pair = Pair::new();
    let upstream = pair.gateway.upstream();
    let rule = upstream.fail(Rule::always(Behaviour::held("middle", GatePoint::AfterEvents(6))).on(&pair.home));
    let client = pair.turn().begin(pair.gateway.addr()).unwrap();
    assert!(upstream.wait_at("middle", 1));
    client.abort().unwrap();
    upstream.forgive(rule);
    upstream.wait_ended(2);
    let log = upstream.log();
    let cancelled = log.last().unwrap();
    assert!(matches!(cancelled.outcome, Outcome::ClientLeft { .. }));
    for _ in 0..3 {
        let (answer, _) = pair.gateway.ask(&pair.turn());
        let created: Vec<String> = answer.events().iter().map(|e| e["response"]["id"].to_string()).collect();
        let ids: std::collections::BTreeSet<_> = created.into_iter().filter(|id| id != "null").collect();
        assert_eq!(ids.len(), 1, "events of one response alone: {ids:?}");
    }
    let connections: Vec<u64> = upstream.log_since(cancelled.number + 1).iter().map(|s| s.connection).collect();
    assert!(!connections.contains(&cancelled.connection), "the cancelled call's connection is not used again");
}

#[test]
fn field_a16_turn_state_goes_back_to_its_account_alone() {
    let pair = Pair::new();
    let first = pair.gateway.ask(&pair.turn()).0;
    let token = first.header("x-codex-turn-state").expect("W3: turn state passes to the client");
    let with_token = pair.turn().header("x-codex-turn-state", &token);
    let sent = |gateway: &Gateway, from: u64| -> Vec<(Option<String>, Option<String>)> {
        let log = gateway.upstream().log_since(from).into_iter();
        log.map(|s| (s.account.clone(), s.header("x-codex-turn-state"))).collect()
    };
    let from = pair.gateway.upstream().seen();
    assert_eq!(pair.gateway.served(&with_token), pair.home);
    assert_eq!(sent(&pair.gateway, from), [(Some(pair.home.clone()), Some(token.clone()))], "unchanged to its issuer");
    // The plan goes elsewhere: the token stays behind.
    pair.gateway.upstream().fail(Rule::always(Behaviour::usage_limit(3600)).on(&pair.home));
    let from = pair.gateway.upstream().seen();
    assert_eq!(pair.gateway.ask(&with_token).0.status(), 200);
    let want = [(Some(pair.home.clone()), Some(token.clone())), (Some(pair.other.clone()), None)];
    assert_eq!(sent(&pair.gateway, from), want);
    // It never chooses a home, and no other tenant can use it.
    let bob = pair.gateway.create_user("bob");
    let from = pair.gateway.upstream().seen();
    pair.gateway.served(&Ask::turn(&bob).header("x-codex-turn-state", &token));
    assert_eq!(sent(&pair.gateway, from), [(Some(pair.other.clone()), None)]);
    // A token that nobody issued is dropped.
    let from = pair.gateway.upstream().seen();
    pair.gateway.served(&pair.turn().header("x-codex-turn-state", "made-up"));
    assert_eq!(sent(&pair.gateway, from), [(Some(pair.other.clone()), None)]);
    assert_eq!(pair.gateway.upstream().violations(), Vec::<String>::new());
}
