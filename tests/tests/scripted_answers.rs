//! The scripted upstream answering well: raw sockets against it, without a gateway in between.

#![allow(clippy::unwrap_used, reason = "helpers of tests are test code too")]

use std::io::Write as _;

use homing::scripted::{AccountSpec, Options, Outcome, Upstream};
use homing_tests::raw::{End, RawClient, RawResponse};
use homing_tests::request::{RawRequest, prompt};
use serde_json::{Value, json};

const RESPONSES: &str = "/backend-api/codex/responses";

fn started() -> (Upstream, homing::scripted::Account) {
    let upstream = Upstream::start(Options::default()).unwrap();
    let account = upstream.add_account(AccountSpec::named("amber"));
    (upstream, account)
}

fn send(upstream: &Upstream, request: &RawRequest) -> RawResponse {
    RawClient::connect(upstream.addr()).unwrap().exchange(&request.bytes()).unwrap()
}

#[test]
fn a_stream_has_the_events_of_the_real_one() {
    let (upstream, account) = started();
    let response = send(&upstream, &RawRequest::post(RESPONSES, &prompt("hello")).account(&account));
    assert_eq!((response.status(), response.end), (200, End::Complete));
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(response.event_types(), expected);
    let events = response.events();
    let numbers: Vec<u64> = events.iter().map(|e| e["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..15).collect::<Vec<u64>>());
    assert_eq!(response.output_text(), "Hello from amber on gpt-5.5.");
    assert!(response.text().starts_with("event: response.created\ndata: {\"type\":\"response.created\","));
    assert!(events[14]["response"]["usage"]["total_tokens"].as_u64().unwrap() > 0);
    for name in ["x-codex-turn-state", "openai-model", "x-request-id", "x-codex-primary-used-percent", "set-cookie"] {
        assert_eq!(response.head.header_count(name), 1, "{name}");
    }
}

#[test]
fn without_stream_the_whole_object_comes() {
    let (upstream, account) = started();
    let request = RawRequest::post("/v1/responses", &json!({"model": "gpt-5.5", "input": "hello"})).account(&account);
    let response = send(&upstream, &request);
    let object = response.json();
    assert_eq!((response.status(), object["status"].as_str()), (200, Some("completed")));
    assert_eq!(response.output_text(), "Hello from amber on gpt-5.5.");
}

#[test]
fn compaction_gives_one_opaque_item_either_way() {
    let (upstream, account) = started();
    let body = json!({"model": "gpt-5.5", "input": "a long history"});
    let compact = send(&upstream, &RawRequest::post(&format!("{RESPONSES}/compact"), &body).account(&account));
    assert_eq!(compact.json()["output"][0]["type"], "compaction");
    let body = json!({"model": "gpt-5.5", "stream": true, "input": [{"type": "compaction_trigger"}]});
    let trigger = send(&upstream, &RawRequest::post(RESPONSES, &body).account(&account));
    let done: Vec<Value> = trigger.events().into_iter().filter(|e| e["type"] == "response.output_item.done").collect();
    assert_eq!((done.len(), done[0]["item"]["type"].as_str()), (1, Some("compaction")));
}

#[test]
fn a_tool_is_called_once_and_its_output_answered_with_text() {
    let (upstream, account) = started();
    let mut body = prompt("please run echo hi");
    let first = send(&upstream, &RawRequest::post(RESPONSES, &body).account(&account));
    let items = first.events().last().unwrap()["response"]["output"].clone();
    assert_eq!(items[1]["name"], "exec_command");
    assert_eq!(items[1]["arguments"], r#"{"cmd":"echo hi"}"#);
    let output = json!({"type": "function_call_output", "call_id": items[1]["call_id"], "output": "hi"});
    let input = body["input"].as_array_mut().unwrap();
    input.extend([items[0].clone(), items[1].clone(), output]);
    let second = send(&upstream, &RawRequest::post(RESPONSES, &body).account(&account));
    assert_eq!(second.output_text(), "Hello from amber on gpt-5.5.");
}

#[test]
fn the_catalogue_has_both_shapes_and_an_etag() {
    let (upstream, account) = started();
    let ask = |target: &str| send(&upstream, &RawRequest::get(target).account(&account));
    let codex = ask("/backend-api/codex/models?client_version=0.171.0");
    assert!(codex.json()["models"][0]["slug"].is_string());
    let etag = codex.header("etag").unwrap();
    let again = RawRequest::get("/v1/models?client_version=0.171.0").account(&account).header("If-None-Match", &etag);
    assert_eq!(send(&upstream, &again).status(), 304);
    assert_eq!(ask("/v1/models").json()["object"], "list");
    assert_eq!(ask("/backend-api/codex/models").status(), 422);
}

#[test]
fn only_the_right_token_with_its_own_account_is_served() {
    let (upstream, account) = started();
    let other = upstream.add_account(AccountSpec::named("birch"));
    let expired = upstream.add_account(AccountSpec { lifetime_seconds: -10, ..AccountSpec::named("cedar") });
    let ask = || RawRequest::post(RESPONSES, &prompt("hello"));
    let refused = [
        ask(),
        ask().bearer(&account.access_token),
        ask().bearer(&account.access_token).header("chatgpt-account-id", &other.spec.account_id),
        ask().account(&account).header("ChatGPT-Account-ID", &account.spec.account_id),
        ask().account(&account).bearer(&other.access_token),
        ask().account(&expired),
        ask().bearer("nobody").header("chatgpt-account-id", &account.spec.account_id),
    ];
    for request in &refused {
        assert_eq!(send(&upstream, request).status(), 401, "{request:?}");
    }
    assert_eq!(send(&upstream, &ask().account(&account)).status(), 200);
    assert!(upstream.revoke_access("amber"));
    assert_eq!(send(&upstream, &ask().account(&account)).status(), 401);
    let log = upstream.wait_ended(9);
    assert_eq!(log.iter().filter(|seen| seen.account.as_deref() == Some("amber")).count(), 1);
}

#[test]
fn a_refresh_token_is_good_once() {
    let (upstream, account) = started();
    let grant = json!({"client_id": "app", "grant_type": "refresh_token", "refresh_token": account.refresh_token});
    let first = send(&upstream, &RawRequest::post("/oauth/token", &grant));
    assert_eq!(first.status(), 200);
    let tokens = first.json();
    for name in ["access_token", "id_token", "refresh_token"] {
        let held = account.auth_json()["tokens"][name].clone();
        assert!(tokens[name].is_string() && tokens[name] != held, "{name} is rotated");
    }
    let again = send(&upstream, &RawRequest::post("/oauth/token", &grant));
    assert_eq!((again.status(), again.json()["error"]["code"].as_str()), (401, Some("refresh_token_reused")));
    let unknown = json!({"grant_type": "refresh_token", "refresh_token": "rt_nobody"});
    let unknown = send(&upstream, &RawRequest::post("/oauth/token", &unknown));
    assert_eq!((unknown.status(), unknown.json()["error"]["code"].as_str()), (401, Some("refresh_token_invalidated")));
    let form = format!("grant_type=refresh_token&refresh_token={}", tokens["refresh_token"].as_str().unwrap());
    let form = RawRequest::new("POST", "/oauth/token").body(form.into_bytes());
    assert_eq!(send(&upstream, &form).status(), 200);
    let newest = upstream.account("amber").unwrap();
    assert_eq!(send(&upstream, &RawRequest::post(RESPONSES, &prompt("x")).account(&newest)).status(), 200);
}

#[test]
fn a_turn_state_of_another_account_is_a_violation() {
    let (upstream, account) = started();
    let other = upstream.add_account(AccountSpec::named("birch"));
    let ask = || RawRequest::post(RESPONSES, &prompt("hello"));
    let state = send(&upstream, &ask().account(&account)).header("x-codex-turn-state").unwrap();
    let kept = send(&upstream, &ask().account(&account).header("x-codex-turn-state", &state));
    assert_eq!(kept.header("x-codex-turn-state"), Some(state.clone()), "the first value holds for the turn");
    assert!(upstream.violations().is_empty());
    let strayed = send(&upstream, &ask().account(&other).header("x-codex-turn-state", &state));
    assert_eq!((strayed.status(), strayed.json()["error"]["code"].as_str()), (400, Some("invalid_turn_state")));
    assert_eq!(upstream.violations(), ["the turn state of amber was sent to birch"]);
}

#[test]
fn a_previous_response_is_found_by_its_own_account_only() {
    let (upstream, account) = started();
    let other = upstream.add_account(AccountSpec::named("birch"));
    let object =
        send(&upstream, &RawRequest::post("/v1/responses", &json!({"model": "m", "input": "x"})).account(&account));
    let chained = json!({"model": "m", "input": "y", "previous_response_id": object.json()["id"]});
    let ask = |account| send(&upstream, &RawRequest::post("/v1/responses", &chained).account(account));
    assert_eq!(ask(&account).status(), 200);
    let refused = ask(&other);
    assert_eq!(
        (refused.status(), refused.json()["error"]["code"].as_str()),
        (400, Some("previous_response_not_found"))
    );
    assert_eq!(upstream.violations().len(), 1);
    let unknown =
        RawRequest::post("/v1/responses", &json!({"model": "m", "input": "y", "previous_response_id": "resp_x"}));
    assert_eq!(send(&upstream, &unknown.clone().account(&account)).status(), 400);
    upstream.accept_unknown_previous(true);
    assert_eq!(send(&upstream, &unknown.account(&account)).status(), 200);
}

#[test]
fn foreign_reasoning_is_refused_where_that_is_asked_for() {
    let (upstream, account) = started();
    let other = upstream.add_account(AccountSpec::named("birch"));
    let first = send(&upstream, &RawRequest::post(RESPONSES, &prompt("hello")).account(&account));
    let reasoning = first.events().last().unwrap()["response"]["output"][0].clone();
    assert!(reasoning["encrypted_content"].is_string());
    let mut body = prompt("more");
    body["input"].as_array_mut().unwrap().insert(0, reasoning);
    let ask = |account| send(&upstream, &RawRequest::post(RESPONSES, &body).account(account));
    assert_eq!(ask(&other).status(), 200);
    upstream.reject_foreign_reasoning(true);
    assert_eq!(ask(&account).status(), 200);
    let refused = ask(&other);
    assert_eq!((refused.status(), refused.json()["error"]["code"].as_str()), (400, Some("invalid_encrypted_content")));
}

#[test]
fn every_kind_of_request_body_is_read_and_logged_as_it_came() {
    let (upstream, account) = started();
    let plain = prompt("hello").to_string().into_bytes();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let ask = || RawRequest::new("POST", RESPONSES).account(&account);
    let zstd = zstd::encode_all(&plain[..], 1).unwrap();
    let requests = [
        ask().body(plain.clone()).chunked(),
        ask().header("Content-Encoding", "zstd").body(zstd.clone()),
        ask().header("content-encoding", "gzip").body(gzip.finish().unwrap()).chunked(),
    ];
    for request in &requests {
        assert_eq!(send(&upstream, request).status(), 200);
    }
    let log = upstream.wait_ended(3);
    assert!(log.iter().all(|seen| seen.body[..] == plain[..]));
    assert_eq!(log[1].raw_body[..], zstd[..]);
    assert_eq!((log[1].header("CONTENT-ENCODING").as_deref(), log[1].path.as_str()), (Some("zstd"), RESPONSES));
    let unreadable = ask().header("content-encoding", "zstd").body(plain.clone());
    assert_eq!(send(&upstream, &unreadable).status(), 400);
}

#[test]
fn connections_are_kept_and_counted_and_pipelined() {
    let (upstream, account) = started();
    let request = RawRequest::post(RESPONSES, &prompt("hello")).account(&account);
    let mut client = RawClient::connect(upstream.addr()).unwrap();
    client.send(&[request.bytes(), request.bytes()].concat()).unwrap();
    assert_eq!(client.response().unwrap().status(), 200);
    assert_eq!(client.response().unwrap().status(), 200);
    let last = client.exchange(&request.clone().header("Connection", "close").bytes()).unwrap();
    assert_eq!(last.header("connection").as_deref(), Some("close"));
    assert!(client.is_closed());
    let old = send(&upstream, &request.http_1_0());
    assert_eq!((old.end, old.header("transfer-encoding")), (End::UntilClose, None));
    assert_eq!(old.output_text(), "Hello from amber on gpt-5.5.");
    let places: Vec<_> = upstream.wait_ended(4).iter().map(|s| (s.connection, s.on_connection)).collect();
    assert_eq!(places, [(1, 1), (1, 2), (1, 3), (2, 1)]);
}

#[test]
fn a_client_that_expects_100_gets_it() {
    let (upstream, account) = started();
    let request = RawRequest::post(RESPONSES, &prompt("hello")).account(&account).header("Expect", "100-continue");
    let mut client = RawClient::connect(upstream.addr()).unwrap();
    client.send(&request.head_bytes()).unwrap();
    client.send(&request.body_bytes()).unwrap();
    let response = client.response().unwrap();
    assert_eq!((response.status(), response.head.interim), (200, vec![100]));
}

#[test]
fn what_is_no_request_is_refused_and_what_is_unknown_not_found() {
    let (upstream, account) = started();
    let raw = |bytes: &[u8]| {
        let mut client = RawClient::connect(upstream.addr()).unwrap();
        let status = client.exchange(bytes).unwrap().status();
        (status, client.is_closed())
    };
    assert_eq!(raw(b"nonsense\r\n\r\n"), (400, true));
    let head = String::from_utf8(RawRequest::new("POST", RESPONSES).account(&account).head_bytes()).unwrap();
    let head = head.trim_end();
    let both = format!("{head}\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_eq!(raw(both.as_bytes()), (400, true));
    let bad_chunk = format!("{head}\r\ntransfer-encoding: chunked\r\n\r\n\r\n");
    assert_eq!(raw(bad_chunk.as_bytes()), (400, true));
    let unknown = send(&upstream, &RawRequest::get("/backend-api/wham/nothing"));
    assert_eq!((unknown.status(), unknown.body.len()), (404, 0));
    let upgrade = RawRequest::get(RESPONSES).account(&account).header("Upgrade", "websocket");
    assert_eq!(send(&upstream, &upgrade).status(), 426);
    assert_eq!(send(&upstream, &RawRequest::post(RESPONSES, &json!({"input": "x"})).account(&account)).status(), 400);
}

#[test]
fn account_files_hold_what_a_client_expects() {
    let (_upstream, account) = started();
    let dir = tempfile::tempdir().unwrap();
    let path = account.write_auth_file(dir.path(), "auth.json").unwrap();
    let read: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(read["tokens"]["account_id"], account.spec.account_id.as_str());
    let flat = account.write_flat_file(dir.path(), "flat.json").unwrap();
    let flat: Value = serde_json::from_slice(&std::fs::read(flat).unwrap()).unwrap();
    assert_eq!(flat["access_token"], read["tokens"]["access_token"]);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let claims = account.access_token.split('.').nth(1).unwrap();
    let claims = base64::Engine::decode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, claims).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    assert_eq!(claims["https://api.openai.com/auth"]["chatgpt_account_id"], account.spec.account_id.as_str());
    assert_eq!(claims["https://api.openai.com/auth"]["chatgpt_user_id"], account.spec.user_id.as_str());
    assert!(!format!("{account:?}").contains(&account.refresh_token));
}

#[test]
fn the_number_of_deltas_can_be_set_and_writes_coalesced() {
    let options = Options { deltas: Some(50), coalesce: true, open: true, ..Options::default() };
    let upstream = Upstream::start(options).unwrap();
    upstream.add_account(AccountSpec::named("amber"));
    let response = send(&upstream, &RawRequest::post("/v1/responses", &prompt("hello")));
    let deltas = response.event_types().iter().filter(|t| *t == "response.output_text.delta").count();
    assert_eq!((response.status(), response.end, deltas), (200, End::Complete, 50));
    upstream.set_input_tokens(Some(250_000));
    let response = send(&upstream, &RawRequest::post("/v1/responses", &prompt("hello")));
    assert_eq!(response.events().last().unwrap()["response"]["usage"]["input_tokens"], 250_000);
}

#[test]
fn dropping_it_frees_the_port() {
    let (upstream, account) = started();
    let addr = upstream.addr();
    let mut client = RawClient::connect(addr).unwrap();
    let request = RawRequest::post(RESPONSES, &prompt("hello")).account(&account);
    assert_eq!(client.exchange(&request.bytes()).unwrap().status(), 200);
    assert_eq!(upstream.wait_ended(1)[0].outcome, Outcome::Answered { status: 200 });
    drop(upstream);
    assert!(client.is_closed());
    let again = Upstream::start(Options { listen: addr, ..Options::default() }).unwrap();
    assert_eq!(again.addr(), addr);
}

#[test]
fn it_listens_on_loopback_only() {
    let options = Options { listen: "0.0.0.0:0".parse().unwrap(), ..Options::default() };
    assert_eq!(Upstream::start(options).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}
