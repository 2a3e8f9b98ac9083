//! Kinds of faults that other gateways had, each with its right behaviour here; the names are those of the list of field
//! reports. Further ones stand where their theme is.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::process::Stdio;

use homing::scripted::{AccountSpec, Behaviour, Ending, GatePoint, Options, Rule};
use homing_tests::ask::Ask;
use homing_tests::crowd::{Crowd, account_of};
use homing_tests::gateway::Gateway;
use homing_tests::raw::{End, RawClient};
use serde_json::{Value, json};

fn three() -> (Gateway, String) {
    let gateway = Gateway::with_accounts(&["amber", "birch", "cedar"]).start();
    let key = gateway.create_user("ada");
    (gateway, key)
}

#[test]
fn field_a1_compact_goes_where_the_conversation_is() {
    let (gateway, key) = three();
    let home = gateway.served(&Ask::turn(&key).session("one"));
    for path in ["/v1/responses/compact", "/backend-api/codex/responses/compact"] {
        for _ in 0..2 {
            assert_eq!(gateway.served(&Ask::turn(&key).session("one").path(path).whole()), home, "{path}");
        }
    }
    assert_eq!(gateway.served(&Ask::turn(&key).session("one")), home);
}

#[test]
fn field_a7_no_id_is_put_into_a_body_that_moves() {
    let (gateway, key) = three();
    let ask = Ask::turn(&key).session("one").set("prompt_cache_key", "cache");
    let home = gateway.served(&ask);
    gateway.upstream().fail(Rule::always(Behaviour::usage_limit(3600)).on(&home));
    let (answer, accounts) = gateway.ask(&ask);
    assert_eq!((answer.status(), accounts.len()), (200, 2));
    assert!(gateway.upstream().log().iter().all(|seen| *seen.raw_body == ask.body()[..]), "K3: never rewritten");
}

#[test]
fn field_a14_a_recovered_account_draws_no_session_away() {
    let (gateway, key) = three();
    let ask = Ask::turn(&key).session("one");
    let home = gateway.served(&ask);
    let rule = gateway.upstream().fail(Rule::always(Behaviour::usage_limit(1)).on(&home));
    let (answer, _) = gateway.ask(&ask);
    let other = account_of(&answer);
    gateway.upstream().forgive(rule);
    assert!(gateway.eventually(|g| g.account_state(&home) == "ready"));
    for _ in 0..5 {
        assert_eq!(gateway.served(&ask), other, "B9");
    }
}

#[test]
fn field_a17_new_sessions_spread() {
    let gateway = Gateway::with_accounts(&["amber", "birch", "cedar"])
        .upstream(Options { coalesce: true, ..Options::default() })
        .start();
    let key = gateway.create_user("ada");
    let all: Vec<usize> = (0..200).collect();
    let served = Crowd { addr: gateway.addr(), key: &key }.turns(&all);
    let counts = ["amber", "birch", "cedar"].map(|name| served.iter().filter(|s| *s == name).count());
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*most * 10 <= *least * 13, "{counts:?}");
}

#[test]
fn field_a19_two_conversations_without_ids_are_independent() {
    let (gateway, key) = three();
    let served: BTreeSet<String> = (0..6).map(|_| gateway.served(&Ask::turn(&key))).collect();
    assert_eq!(served.len(), 3, "the same client, address and key is no identity: {served:?}");
}

#[test]
fn field_a22_sealed_content_of_another_account_is_the_upstreams_answer_and_nobodys_fault() {
    let (gateway, key) = three();
    gateway.upstream().reject_foreign_reasoning(true);
    let ask = Ask::turn(&key).session("one").set("include", json!(["reasoning.encrypted_content"]));
    let (answer, accounts) = gateway.ask(&ask);
    let home = accounts[0].clone();
    let done = answer
        .events()
        .into_iter()
        .find(|e| e["item"]["type"] == "reasoning" && e["item"]["encrypted_content"].is_string());
    let item = done.unwrap()["item"].clone();
    let user = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]});
    let next = ask.set("input", json!([item, user]));
    assert_eq!(gateway.served(&next), home, "at home it is read");
    // Forced away, the history cannot be read there: the answer is about the request.
    gateway.upstream().fail(Rule::always(Behaviour::usage_limit(3600)).on(&home));
    let (answer, accounts) = gateway.ask(&next);
    assert_eq!((answer.status(), accounts.len()), (400, 2), "{}", answer.text());
    assert_eq!(answer.json()["error"]["code"], "invalid_encrypted_content");
    assert_eq!(gateway.account_state(&accounts[1]), "ready");
    let bound: Vec<Value> = gateway.bindings();
    assert_eq!(bound[0]["generation"], 1, "a refusal moves nothing");
}

#[test]
fn field_a31_over_long_ids_and_shared_tokens_make_no_sessions() {
    let (gateway, key) = three();
    for n in 0..20 {
        let long = format!("{n}-{}", "x".repeat(8000));
        gateway.served(&Ask::turn(&key).session(&long).set("prompt_cache_key", long.as_str()));
    }
    assert_eq!(gateway.bindings(), Vec::<Value>::new());
}

#[test]
fn field_b15_parallel_first_requests_are_even_from_a_cold_start() {
    let gateway = Gateway::with_accounts(&["amber", "birch", "cedar", "dogwood"]).start();
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::always(Behaviour::held("start", GatePoint::BeforeHeaders)));
    let begin = |n: usize| Ask::turn(&key).session(&n.to_string()).begin(gateway.addr()).unwrap();
    let clients: Vec<_> = (0..32).map(begin).collect();
    assert!(gateway.upstream().wait_at("start", 32));
    gateway.upstream().release("start");
    for mut client in clients {
        assert_eq!(client.response().unwrap().status(), 200);
    }
    let accounts = gateway.accounts_since(0);
    for name in ["amber", "birch", "cedar", "dogwood"] {
        assert_eq!(accounts.iter().filter(|a| *a == name).count(), 8, "{name}");
    }
}

#[test]
fn field_b21_old_sessions_move_when_their_account_is_spent_as_new_ones_do() {
    let (gateway, key) = three();
    let old: Vec<Ask> = (0..6).map(|n| Ask::turn(&key).session(&n.to_string())).collect();
    let homes: Vec<String> = old.iter().map(|ask| gateway.served(ask)).collect();
    gateway.upstream().fail(Rule::always(Behaviour::usage_limit(3600)).on("amber"));
    for (ask, home) in old.iter().zip(homes) {
        let (answer, _) = gateway.ask(ask);
        assert_eq!(answer.status(), 200);
        assert_eq!(account_of(&answer) == home, home != "amber", "only amber's sessions move");
    }
}

#[test]
fn field_c1_a_huge_event_delays_nobody_else() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
    let key = gateway.create_user("ada");
    // The huge event is on its way, and stays so until all the others are done.
    gateway.upstream().fail(Rule::once(Behaviour::BigEvent { bytes: 16 << 20 }));
    let mut big = Ask::turn(&key).begin(gateway.addr()).unwrap();
    assert!(gateway.eventually(|g| g.upstream().seen() == 1));
    for _ in 0..20 {
        assert_eq!(Ask::turn(&key).send(gateway.addr()).unwrap().status(), 200);
    }
    let answer = big.response().unwrap();
    assert_eq!((answer.status(), answer.end), (200, End::Complete));
    assert!(answer.body.len() > 16 << 20);
}

#[test]
fn field_c6_a_200_that_fails_before_output_is_no_success() {
    let (gateway, key) = three();
    gateway.upstream().fail(Rule::always(Behaviour::failed("server_is_overloaded")));
    let (answer, accounts) = gateway.ask(&Ask::turn(&key).session("one"));
    assert_eq!(answer.status(), 503, "{}", answer.text());
    assert_eq!(accounts.iter().collect::<BTreeSet<_>>().len(), 3, "every account was tried");
    assert!(answer.header("retry-after").is_some(), "field B23");
    assert!(gateway.bindings().iter().all(|row| row["state"] != "bound"));
}

#[test]
fn field_c9_a_stream_without_its_end_is_no_success() {
    let (gateway, key) = three();
    gateway.upstream().fail(Rule::once(Behaviour::TruncateAfter { events: 8, ending: Ending::Clean }));
    let (answer, _) = gateway.ask(&Ask::turn(&key).session("one"));
    assert!(matches!(answer.end, End::Cut | End::Reset));
    assert!(gateway.bindings().iter().all(|row| row["state"] != "bound"), "nothing is bound");
}

#[test]
fn field_c12_a_log_that_nobody_reads_ends_nothing() {
    let mut gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    gateway.terminate();
    let mut child = gateway.command().arg("serve").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // The reader goes: every further line meets a closed pipe.
    drop(child.stderr.take());
    let up = gateway.eventually(|g| Ask::turn(&key).send(g.addr()).is_ok_and(|answer| answer.status() == 200));
    let alive = (0..5).all(|_| Ask::turn(&key).send(gateway.addr()).is_ok_and(|answer| answer.status() == 200));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(up && alive);
}

#[test]
fn field_e3_an_account_that_is_out_of_quota_is_refreshed_all_the_same() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::once(Behaviour::usage_limit(3600)));
    assert_eq!(Ask::turn(&key).send(gateway.addr()).unwrap().status(), 429);
    assert_eq!(gateway.account_state("amber"), "spent");
    // Its token ends soon from now on.
    let mut spec = AccountSpec::named("amber");
    spec.lifetime_seconds = 60;
    gateway.upstream().add_account(spec);
    gateway.write_auth_file("amber");
    let refreshed = |g: &Gateway| g.upstream().log().iter().any(|seen| seen.path == "/oauth/token");
    assert!(gateway.eventually(refreshed));
    assert_eq!(gateway.account_state("amber"), "spent");
}

#[test]
fn field_e5_a_token_server_that_hangs_holds_up_nobody_else() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
    let key = gateway.create_user("ada");
    assert!(gateway.upstream().revoke_access("amber"));
    gateway.upstream().fail(Rule::always(Behaviour::HangBeforeHeaders).path("/oauth/token"));
    // This one meets the hanging refresh; its client gives up, and the account is not broken by that.
    let mut stuck = Vec::new();
    for _ in 0..2 {
        stuck.push(Ask::turn(&key).begin(gateway.addr()).unwrap());
    }
    let at_birch = |g: &Gateway| g.accounts_since(0).iter().any(|a| a == "birch");
    assert!(gateway.eventually(at_birch), "the other account serves");
    for client in stuck {
        client.abort().unwrap();
    }
}

#[test]
fn field_e6_any_refusal_of_the_refresh_token_is_final() {
    for code in ["invalid_grant", "refresh_token_expired", "refresh_token_reused", "invalid_refresh_token"] {
        let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
        let key = gateway.create_user("ada");
        assert!(gateway.upstream().revoke_access("amber"));
        let body = json!({"error": {"code": code, "message": "no"}});
        let refusal = Behaviour::Status { code: 400, headers: Vec::new(), body };
        gateway.upstream().fail(Rule::always(refusal).path("/oauth/token"));
        for _ in 0..4 {
            assert_eq!(Ask::turn(&key).send(gateway.addr()).unwrap().status(), 200, "{code}");
        }
        assert_eq!(gateway.account_state("amber"), "needs login", "{code}");
        let asked = gateway.upstream().log().iter().filter(|s| s.path == "/oauth/token").count();
        assert_eq!(asked, 1, "{code}: not asked again");
    }
}

#[test]
fn field_e9_a_token_server_in_trouble_costs_one_account_not_the_pool() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
    let key = gateway.create_user("ada");
    assert!(gateway.upstream().revoke_access("amber"));
    gateway.upstream().fail(Rule::always(Behaviour::status(503)).path("/oauth/token"));
    for _ in 0..4 {
        let answer = Ask::turn(&key).session("one").send(gateway.addr()).unwrap();
        assert_eq!((answer.status(), account_of(&answer)), (200, "birch".to_owned()));
    }
    assert_ne!(gateway.account_state("amber"), "needs login", "that is not known");
}

#[test]
fn field_f2_a_refresh_keeps_what_else_the_file_says() {
    let mut spec = AccountSpec::named("amber");
    spec.lifetime_seconds = 10 * 24 * 3600;
    let gateway = Gateway::with_accounts(&[]).account(spec).toml("accounts", "scan-interval = \"100ms\"").start();
    let key = gateway.create_user("ada");
    let path = gateway.auth_dir().join("amber.json");
    let read = || -> Value { serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap() };
    let mut file = read();
    file["disabled"] = json!(false);
    file["note"] = json!({"mine": [1, 2, 3]});
    std::fs::write(&path, file.to_string()).unwrap();
    assert!(gateway.upstream().revoke_access("amber"));
    assert_eq!(Ask::turn(&key).send(gateway.addr()).unwrap().status(), 200);
    let newer = gateway.upstream().account("amber").unwrap();
    let written = read();
    assert_eq!(written["tokens"]["access_token"], newer.access_token);
    assert_eq!((&written["disabled"], &written["note"]), (&json!(false), &json!({"mine": [1, 2, 3]})));
    assert_eq!(written["OPENAI_API_KEY"], Value::Null);
}

#[test]
fn field_h1_users_are_managed_while_many_streams_run() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::always(Behaviour::held("middle", GatePoint::AfterEvents(6))));
    let begin = |n: usize| Ask::turn(&key).session(&n.to_string()).begin(gateway.addr()).unwrap();
    let clients: Vec<RawClient> = (0..64).map(begin).collect();
    assert!(gateway.upstream().wait_at("middle", 64));
    for n in 0..8 {
        let made = gateway.create_user(&format!("user-{n}"));
        assert_eq!(Ask::get(&made, "/v1/models").send(gateway.addr()).unwrap().status(), 200);
    }
    gateway.upstream().release("middle");
    for mut client in clients {
        assert_eq!(client.response().unwrap().event_types().last().map(String::as_str), Some("response.completed"));
    }
    assert_eq!(gateway.bindings().iter().filter(|row| row["state"] == "bound").count(), 64);
}

#[test]
fn field_h6_turns_of_a_known_session_write_next_to_nothing() {
    let mut gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    gateway.served(&Ask::turn(&key).session("one"));
    let bytes = |g: &Gateway| {
        let size = |name: &str| std::fs::metadata(g.state_dir().join(name)).map_or(0, |m| m.len());
        size("homing.db") + size("homing.db-wal")
    };
    let before = bytes(&gateway);
    for _ in 0..200 {
        gateway.served(&Ask::turn(&key).session("one"));
    }
    // Each commit would add a page of 4 KiB to the log.
    assert!(bytes(&gateway) < before + 20 * 4096, "{} bytes grew to {}", before, bytes(&gateway));
    // B15: what is coalesced is a renewal, never the binding.
    gateway.kill9();
    gateway.restart();
    assert_eq!(gateway.bindings().len(), 1);
}

#[test]
fn field_j4_the_session_header_goes_upstream_as_it_came() {
    let (gateway, key) = three();
    for (name, value) in [("session-id", "one"), ("session_id", "two"), ("thread-id", "three")] {
        gateway.served(&Ask::turn(&key).header(name, value));
        let log = gateway.upstream().log();
        assert_eq!(log.last().unwrap().header(name).as_deref(), Some(value));
    }
}

#[test]
fn field_g9_headers_go_upstream_by_list_alone() {
    let gateway = Gateway::with_accounts(&["amber"]).toml("headers", "pass = [\"x-mine\"]").start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key)
        .header("x-mine", "passes")
        .header("x-other", "stays")
        .header("x-forwarded-for", "10.1.2.3")
        .header("forwarded", "for=10.1.2.3")
        .header("proxy-authorization", "Basic c2VjcmV0")
        .header("origin", "http://somewhere.example")
        .header("te", "trailers")
        // Without it the upstream's events arrive readable.
        .header("accept-encoding", "gzip, br")
        .header("connection", "keep-alive, x-codex-hop")
        .header("x-codex-hop", "named by Connection, so for this hop alone")
        .header("x-codex-anything", "passes")
        .header("openai-beta", "responses=v1")
        .header("originator", "codex_cli_rs")
        .header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    gateway.served(&ask);
    let seen = gateway.upstream().log().remove(0);
    for name in ["x-mine", "x-codex-anything", "openai-beta", "originator", "traceparent"] {
        assert_eq!(seen.header_count(name), 1, "{name}");
    }
    for name in [
        "x-other",
        "x-forwarded-for",
        "forwarded",
        "proxy-authorization",
        "origin",
        "te",
        "accept-encoding",
        "x-codex-hop",
    ] {
        assert_eq!(seen.header_count(name), 0, "{name}");
    }
    assert_eq!(seen.header("host"), Some(gateway.upstream().addr().to_string()));
}
