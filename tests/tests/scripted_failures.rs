//! The scripted upstream failing on command: every behaviour, over raw sockets. Gates, not timings, order the steps.

#![allow(clippy::unwrap_used, reason = "helpers of tests are test code too")]

use homing::scripted::{Account, AccountSpec, Behaviour, Ending, GatePoint, Options, Outcome, Rule, Upstream};
use homing_tests::raw::{End, RawClient, RawResponse, event_data};
use homing_tests::request::{RawRequest, prompt};
use serde_json::{Value, json};

const RESPONSES: &str = "/backend-api/codex/responses";
const TEXT: &str = "Hello from amber on gpt-5.5.";

struct Stage {
    upstream: Upstream,
    account: Account,
}

impl Stage {
    fn new() -> Self {
        let upstream = Upstream::start(Options::default()).unwrap();
        let account = upstream.add_account(AccountSpec::named("amber"));
        Self { upstream, account }
    }

    fn with(behaviour: Behaviour) -> Self {
        let stage = Self::new();
        stage.upstream.fail(Rule::once(behaviour));
        stage
    }

    fn request(&self) -> RawRequest {
        RawRequest::post(RESPONSES, &prompt("hello")).account(&self.account)
    }

    fn client(&self) -> RawClient {
        RawClient::connect(self.upstream.addr()).unwrap()
    }

    fn ask(&self) -> std::io::Result<RawResponse> {
        self.client().exchange(&self.request().bytes())
    }

    fn ends(&self) -> Vec<Outcome> {
        let n = self.upstream.seen();
        self.upstream.wait_ended(n).iter().map(|seen| seen.outcome).collect()
    }

    /// The rule has been used up: the next request is served.
    fn recovers(&self) {
        assert_eq!(self.ask().unwrap().output_text(), TEXT);
    }
}

#[test]
fn a_status_comes_with_its_headers_and_body() {
    let headers = vec![("Retry-After".to_owned(), "3".to_owned())];
    let stage = Stage::with(Behaviour::Status { code: 503, headers, body: json!({"error": {"code": "busy"}}) });
    let response = stage.ask().unwrap();
    assert_eq!((response.status(), response.header("retry-after").as_deref()), (503, Some("3")));
    assert_eq!(response.json()["error"]["code"], "busy");
    stage.recovers();
    stage.upstream.fail(Rule::once(Behaviour::Status { code: 404, headers: Vec::new(), body: json!("") }));
    let empty = stage.ask().unwrap();
    assert_eq!((empty.status(), empty.body.len()), (404, 0));
    stage.upstream.fail(Rule::once(Behaviour::status(529)));
    assert_eq!(stage.ask().unwrap().json()["error"]["code"], "scripted_529");
}

#[test]
fn quota_and_rate_limits_look_like_the_real_ones() {
    let stage = Stage::with(Behaviour::usage_limit(3600));
    let spent = stage.ask().unwrap();
    let error = spent.json()["error"].clone();
    assert_eq!((spent.status(), error["type"].as_str()), (429, Some("usage_limit_reached")));
    assert_eq!((error["resets_in_seconds"].as_u64(), error["plan_type"].as_str()), (Some(3600), Some("team")));
    assert_eq!(spent.header("x-codex-primary-reset-at"), error["resets_at"].as_u64().map(|at| at.to_string()));
    assert_eq!(spent.header("retry-after"), None);
    stage.upstream.fail(Rule::once(Behaviour::UsageLimit { resets_in: None }));
    assert_eq!(stage.ask().unwrap().json()["error"]["resets_at"], Value::Null);
    stage.upstream.fail(Rule::once(Behaviour::RateLimited { retry_after: Some(7) }));
    assert_eq!(stage.ask().unwrap().header("retry-after").as_deref(), Some("7"));
    stage.upstream.fail(Rule::once(Behaviour::RateLimited { retry_after: None }));
    let plain = stage.ask().unwrap();
    assert_eq!((plain.status(), plain.header("retry-after")), (429, None));
    stage.recovers();
}

#[test]
fn a_challenge_is_html_and_a_bad_token_json() {
    let stage = Stage::with(Behaviour::Html403);
    let challenge = stage.ask().unwrap();
    assert_eq!((challenge.status(), challenge.header("content-type").unwrap().starts_with("text/html")), (403, true));
    stage.upstream.fail(Rule::once(Behaviour::Unauthorized));
    let unauthorized = stage.ask().unwrap();
    assert_eq!((unauthorized.status(), unauthorized.json()["error"]["code"].as_str()), (401, Some("token_expired")));
    stage.recovers();
}

#[test]
fn a_stream_fails_before_or_after_output() {
    let stage = Stage::with(Behaviour::failed("server_is_overloaded"));
    let early = stage.ask().unwrap();
    assert_eq!(early.event_types(), ["response.created", "response.in_progress", "response.failed"]);
    let failed = early.events()[2]["response"].clone();
    assert_eq!(
        (failed["status"].as_str(), failed["error"]["code"].as_str()),
        (Some("failed"), Some("server_is_overloaded"))
    );
    assert_eq!(early.end, End::Complete);
    stage.upstream.fail(Rule::once(Behaviour::SseErrorAfter { events: 7, code: "server_error".to_owned() }));
    let late = stage.ask().unwrap();
    assert_eq!((late.events().len(), late.events()[7]["type"].as_str()), (8, Some("error")));
    assert_eq!(late.output_text(), "Hello ");
    stage.upstream.fail(Rule::once(Behaviour::Incomplete));
    let incomplete = stage.ask().unwrap();
    let last = incomplete.events().pop().unwrap();
    assert_eq!(last["type"], "response.incomplete");
    assert_eq!(last["response"]["incomplete_details"]["reason"], "max_output_tokens");
    stage.recovers();
}

#[test]
fn a_stream_is_truncated_cleanly_cut_or_reset() {
    for (ending, end) in [(Ending::Clean, End::Complete), (Ending::Cut, End::Cut), (Ending::Reset, End::Reset)] {
        let stage = Stage::new();
        let rule = Rule::once(Behaviour::TruncateAfter { events: 3, ending });
        stage.upstream.fail(rule);
        // The gate keeps the events and the end apart, so that a reset cannot overtake what was sent before it.
        stage.upstream.fail(Rule::once(Behaviour::held("end", GatePoint::AfterEvents(3))));
        let mut client = stage.client();
        client.send(&stage.request().bytes()).unwrap();
        assert_eq!(client.head().unwrap().status, 200);
        for _ in 0..3 {
            assert!(client.next_event().unwrap().is_some());
        }
        stage.upstream.release("end");
        match end {
            End::Complete => assert!(client.next_event().unwrap().is_none(), "{ending:?}"),
            _ => assert!(client.next_event().unwrap_err().to_string().contains(&format!("{end:?}")), "{ending:?}"),
        }
        assert_eq!(stage.ends(), [Outcome::Broken { events: 3 }], "{ending:?}");
        stage.recovers();
    }
}

#[test]
fn a_body_of_known_length_can_stop_short_too() {
    let stage = Stage::with(Behaviour::TruncateAfter { events: 0, ending: Ending::Cut });
    let request = RawRequest::post("/v1/responses", &json!({"model": "m", "input": "x"})).account(&stage.account);
    let response = stage.client().exchange(&request.bytes()).unwrap();
    assert_eq!((response.status(), response.end), (200, End::Cut));
    assert!(!response.body.is_empty());
}

#[test]
fn a_connection_is_reset_without_an_answer() {
    let stage = Stage::with(Behaviour::ResetBeforeHeaders);
    assert_eq!(stage.ask().unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(stage.ends(), [Outcome::Broken { events: 0 }]);
    stage.recovers();
}

#[test]
fn a_request_hangs_until_the_client_leaves() {
    let stage = Stage::with(Behaviour::HangBeforeHeaders);
    let mut client = stage.client();
    client.send(&stage.request().bytes()).unwrap();
    assert_eq!(stage.upstream.wait_for(1)[0].outcome, Outcome::Open);
    drop(client);
    let log = stage.upstream.wait_ended(1);
    assert_eq!((log[0].outcome, log[0].client_left()), (Outcome::ClientLeft { events: 0 }, true));
    stage.recovers();
}

#[test]
fn an_early_answer_comes_before_the_body_was_sent() {
    let stage = Stage::with(Behaviour::EarlyAnswer { code: 413, body: Value::Null });
    let mut client = stage.client();
    let request = stage.request();
    client.send(&request.head_bytes()).unwrap();
    let response = client.response().unwrap();
    assert_eq!((response.status(), response.header("connection").as_deref()), (413, Some("close")));
    client.send(&request.body_bytes()).unwrap();
    client.finish().unwrap();
    assert!(client.is_closed());
    assert!(stage.upstream.wait_ended(1)[0].raw_body.is_empty());
    stage.recovers();
}

#[test]
fn a_gate_holds_the_headers_an_event_and_the_end() {
    let stage = Stage::new();
    for (gate, at) in
        [("head", GatePoint::BeforeHeaders), ("second", GatePoint::AfterEvents(1)), ("end", GatePoint::BeforeEnd)]
    {
        stage.upstream.fail(Rule::once(Behaviour::held(gate, at)));
    }
    let mut client = stage.client();
    client.send(&stage.request().bytes()).unwrap();
    assert!(stage.upstream.wait_at("head", 1));
    stage.upstream.release("head");
    assert_eq!(client.head().unwrap().status, 200);
    let kind = |event: Option<String>| event_data(&event.unwrap()).unwrap()["type"].as_str().unwrap().to_owned();
    assert_eq!(kind(client.next_event().unwrap()), "response.created");
    assert!(stage.upstream.wait_at("second", 1));
    stage.upstream.release("second");
    assert!(stage.upstream.wait_at("end", 1));
    assert_eq!(stage.ends_now(), [Outcome::Open]);
    stage.upstream.release("end");
    let mut last = String::new();
    while let Some(event) = client.next_event().unwrap() {
        last = event;
    }
    assert_eq!(kind(Some(last)), "response.completed");
    assert_eq!(stage.ends(), [Outcome::Answered { status: 200 }]);
}

impl Stage {
    fn ends_now(&self) -> Vec<Outcome> {
        self.upstream.log().iter().map(|seen| seen.outcome).collect()
    }
}

#[test]
fn a_client_that_leaves_a_held_stream_is_noticed() {
    let stage = Stage::with(Behaviour::held("middle", GatePoint::AfterEvents(4)));
    let mut client = stage.client();
    client.send(&stage.request().bytes()).unwrap();
    assert!(stage.upstream.wait_at("middle", 1));
    client.abort().unwrap();
    assert_eq!(stage.ends(), [Outcome::ClientLeft { events: 4 }]);
    assert!(stage.upstream.wait_at("middle", 0));
    stage.upstream.release("middle");
    stage.upstream.hold("middle");
    stage.upstream.fail(Rule::once(Behaviour::held("middle", GatePoint::BeforeHeaders)));
    let mut again = stage.client();
    again.send(&stage.request().bytes()).unwrap();
    assert!(stage.upstream.wait_at("middle", 1), "the gate was closed again");
}

#[test]
fn manners_change_how_the_same_answer_is_given() {
    let manners = [
        Behaviour::SplitSegments,
        Behaviour::SlowStream { delay_ms: 1 },
        Behaviour::Delay { ms: 1 },
        Behaviour::KeepaliveEvents { count: 3, comments: false },
        Behaviour::KeepaliveEvents { count: 3, comments: true },
    ];
    for manner in manners {
        let stage = Stage::with(manner.clone());
        let response = stage.ask().unwrap();
        assert_eq!((response.end, response.output_text().as_str()), (End::Complete, TEXT), "{manner:?}");
        let keepalives = response.text().matches("event: keepalive\n").count();
        let comments = response.text().matches(": keepalive\n\n").count();
        match manner {
            Behaviour::KeepaliveEvents { comments: false, .. } => assert_eq!(keepalives, 3),
            Behaviour::KeepaliveEvents { comments: true, .. } => assert_eq!((keepalives, comments), (0, 3)),
            _ => assert_eq!((keepalives, comments), (0, 0)),
        }
    }
}

#[test]
fn one_event_can_be_as_large_as_wanted() {
    let stage = Stage::with(Behaviour::BigEvent { bytes: 3_000_000 });
    let response = stage.ask().unwrap();
    assert_eq!((response.end, response.output_text().len()), (End::Complete, 3_000_000 + TEXT.len()));
}

#[test]
fn manners_join_an_outcome() {
    let stage = Stage::with(Behaviour::failed("slow_down"));
    stage.upstream.fail(Rule::once(Behaviour::KeepaliveEvents { count: 2, comments: false }));
    stage.upstream.fail(Rule::once(Behaviour::SplitSegments));
    let kinds = stage.ask().unwrap().event_types();
    assert_eq!(kinds, ["response.created", "response.in_progress", "keepalive", "keepalive", "response.failed"]);
}

#[test]
fn rules_choose_the_account_the_path_and_the_number_of_times() {
    let stage = Stage::new();
    let other = stage.upstream.add_account(AccountSpec::named("birch"));
    stage.upstream.fail(Rule::always(Behaviour::status(500)).on("birch").path("/compact").times(2));
    let compact = |account: &Account| {
        let request = RawRequest::post("/v1/responses/compact", &json!({"model": "m", "input": "x"}));
        stage.client().exchange(&request.account(account).bytes()).unwrap().status()
    };
    assert_eq!(compact(&stage.account), 200);
    let plain = RawRequest::post(RESPONSES, &prompt("x")).account(&other).bytes();
    assert_eq!(stage.client().exchange(&plain).unwrap().status(), 200);
    assert_eq!([compact(&other), compact(&other), compact(&other)], [500, 500, 200]);
    let id = stage.upstream.fail(Rule::always(Behaviour::status(500)));
    assert_eq!(compact(&other), 500);
    assert!(stage.upstream.forgive(id) && !stage.upstream.forgive(id));
    stage.upstream.fail(Rule::always(Behaviour::status(500)));
    stage.upstream.forgive_all();
    assert_eq!(compact(&other), 200);
}

#[test]
fn the_token_endpoint_fails_without_and_with_spending_the_token() {
    let stage = Stage::new();
    let grant = json!({"grant_type": "refresh_token", "refresh_token": stage.account.refresh_token});
    let redeem = || stage.client().exchange(&RawRequest::post("/oauth/token", &grant).bytes());
    stage.upstream.fail(Rule::once(Behaviour::status(503)).path("/oauth/token").on("amber"));
    assert_eq!(redeem().unwrap().status(), 503);
    assert_eq!(stage.upstream.account("amber").unwrap().refresh_token, stage.account.refresh_token);
    stage.upstream.fail(Rule::once(Behaviour::LostAnswer).path("/oauth/token"));
    assert_eq!(redeem().unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    assert_ne!(stage.upstream.account("amber").unwrap().refresh_token, stage.account.refresh_token);
    assert_eq!(redeem().unwrap().json()["error"]["code"], "refresh_token_reused");
    let log = stage.upstream.wait_ended(3);
    let accounts: Vec<_> = log.iter().map(|seen| seen.account.as_deref()).collect();
    assert_eq!(accounts, [Some("amber"), Some("amber"), None], "a spent token is nobody's");
}

#[test]
fn another_process_can_script_it() {
    let stage = Stage::new();
    let mut control = stage.client();
    let mut call = |method: &str, target: &str, body: Value| {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let response = control.exchange(&RawRequest::new(method, target).body(body).bytes()).unwrap();
        (response.status(), response.json())
    };
    let (_, made) = call("POST", "/_script/accounts", json!([{"name": "birch"}]));
    let token = made[0]["auth_json"]["tokens"]["access_token"].as_str().unwrap().to_owned();
    let id = made[0]["auth_json"]["tokens"]["account_id"].as_str().unwrap().to_owned();
    let rule = json!({"account": "birch", "times": 1, "behaviour": {"kind": "usage_limit", "resets_in": 60}});
    let held = json!({"account": "birch", "behaviour": {"kind": "held_gate", "gate": "g", "at": {"after_events": 2}}});
    assert_eq!(call("POST", "/_script/rules", json!([rule, held])).1["ids"].as_array().unwrap().len(), 2);
    let ask = RawRequest::post(RESPONSES, &prompt("x")).bearer(&token).header("chatgpt-account-id", &id);
    assert_eq!(stage.client().exchange(&ask.bytes()).unwrap().status(), 429);
    let mut waiting = stage.client();
    waiting.send(&ask.bytes()).unwrap();
    assert!(stage.upstream.wait_at("g", 1));
    assert_eq!(call("POST", "/_script/gates", json!({"release": "g"})).0, 200);
    assert_eq!(waiting.response().unwrap().end, End::Complete);
    assert_eq!(call("DELETE", "/_script/rules", Value::Null).0, 200);
    stage.ends();
    let (_, log) = call("GET", "/_script/log?since=1", Value::Null);
    assert_eq!((log["total"].as_u64(), log["seen"].as_array().unwrap().len()), (Some(2), 1));
    assert_eq!(log["seen"][0]["account"], "birch");
    assert_eq!(log["seen"][0]["outcome"], json!({"kind": "answered", "status": 200}));
    assert!(!log.to_string().contains(&token), "credentials are hidden");
    assert_eq!(call("POST", "/_script/settings", json!({"deltas": 9, "accept_unknown_previous": true})).0, 200);
    assert_eq!(call("POST", "/_script/revoke", json!({"access": "birch"})).0, 200);
    assert_eq!(stage.client().exchange(&ask.bytes()).unwrap().status(), 401);
    assert_eq!(call("POST", "/_script/rules", json!({"behaviour": {"kind": "nonsense"}})).0, 400);
    assert_eq!(call("POST", "/_script/revoke", json!({"access": "nobody"})).0, 404);
    assert_eq!(call("GET", "/_script/nothing", Value::Null).0, 404);
}
