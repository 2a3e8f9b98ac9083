//! A conversation keeps its account (spec §2, §3). The account of every request is what the scripted upstream saw.

#![allow(clippy::unwrap_used)]

use std::io::Write as _;

use homing::scripted::{Behaviour, GatePoint, Rule};
use homing_tests::ask::Ask;
use homing_tests::gateway::Gateway;
use serde_json::{Value, json};

const ACCOUNTS: [&str; 3] = ["amber", "birch", "cedar"];

/// Sends these requests one after another; each must be served. The accounts that served them.
fn served(gateway: &Gateway, asks: &[Ask]) -> Vec<String> {
    let from = gateway.upstream().seen();
    for ask in asks {
        let answer = ask.send(gateway.addr()).unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    let accounts = gateway.accounts_since(from);
    assert_eq!(accounts.len(), asks.len(), "one attempt for each request");
    accounts
}

/// Every one of the accounts, then the first again: nothing but the round robin moves such requests.
fn is_round_robin(accounts: &[String]) -> bool {
    accounts.windows(2).all(|pair| pair[0] != pair[1])
}

fn all_equal(accounts: &[String]) -> bool {
    accounts.windows(2).all(|pair| pair[0] == pair[1])
}

#[test]
fn a_session_keeps_its_account_over_turns() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let one = served(&gateway, &vec![Ask::turn(&key).session("one"); 4]);
    assert!(all_equal(&one), "{one:?}");
    let two = served(&gateway, &vec![Ask::turn(&key).session("two"); 4]);
    assert!(all_equal(&two) && two[0] != one[0], "another session is another account: {two:?}");
    let rows = gateway.bindings();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows.iter().all(|row| row["state"] == "bound" && row["tenant"] == "ada"), "{rows:?}");
}

#[test]
fn a_session_keeps_its_account_over_a_model_change_and_a_key_reset() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one");
    let mut accounts = served(&gateway, &[ask.clone(), ask.clone().model("gpt-5.4-mini"), ask.clone()]);
    let newer = gateway.reset_key("ada");
    assert_eq!(ask.send(gateway.addr()).unwrap().status(), 401, "the old key is void");
    accounts.extend(served(&gateway, &[Ask::turn(&newer).session("one"), Ask::turn(&newer).session("one")]));
    assert!(all_equal(&accounts), "{accounts:?}");
    assert_eq!(gateway.bindings().len(), 1);
}

#[test]
fn every_spelling_of_a_session_signal_is_one_key() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let turn = || Ask::turn(&key);
    // K2: all kinds are one class, so the same value under another name is the same session.
    let asks = [
        turn().header("session-id", "same"),
        turn().header("session_id", "same"),
        turn().header("Session-Id", "same"),
        turn().header("SESSION_ID", "  same  "),
        turn().set("session_id", "same"),
        turn().set("sessionId", "same"),
        turn().set("conversation", "same"),
        turn().set("conversation", json!({"id": "same"})),
        turn().set("conversation_id", "same"),
        turn().set("prompt_cache_key", "same"),
        turn().path("/backend-api/codex/responses").header("session-id", "same"),
        turn().path("/v1/responses/compact").header("session-id", "same"),
        turn().path("/backend-api/codex/responses/compact").set("prompt_cache_key", "same").whole(),
    ];
    let accounts = served(&gateway, &asks);
    assert!(all_equal(&accounts), "{accounts:?}");
    assert_eq!(gateway.bindings().len(), 1);
}

#[test]
fn the_stronger_signal_decides_and_the_weaker_is_an_alias() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let turn = || Ask::turn(&key);
    let accounts = served(
        &gateway,
        &[
            turn().session("one").set("prompt_cache_key", "cache"),
            turn().set("prompt_cache_key", "cache"),
            turn().session("one"),
        ],
    );
    assert!(all_equal(&accounts), "{accounts:?}");
    let rows = gateway.bindings();
    assert_eq!((rows.len(), &rows[0]["keys"]), (1, &json!(2)), "two keys of one session: {rows:?}");
    // B10: a cache key that a whole application shares does not melt its sessions into one.
    let other = served(&gateway, &vec![turn().session("two").set("prompt_cache_key", "cache"); 2]);
    assert!(all_equal(&other) && other[0] != accounts[0], "{other:?}");
    assert_eq!(gateway.bindings().len(), 2);
}

#[test]
fn the_same_id_under_two_users_is_two_sessions() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let (ada, bob) = (gateway.create_user("ada"), gateway.create_user("bob"));
    let one = served(&gateway, &vec![Ask::turn(&ada).session("same"); 2]);
    let two = served(&gateway, &vec![Ask::turn(&bob).session("same"); 2]);
    let again = served(&gateway, &[Ask::turn(&ada).session("same")]);
    assert!(all_equal(&[one.clone(), again].concat()) && all_equal(&two) && one[0] != two[0], "{one:?} {two:?}");
    let mut tenants: Vec<Value> = gateway.bindings().iter().map(|row| row["tenant"].clone()).collect();
    tenants.sort_by_key(Value::to_string);
    assert_eq!(tenants, [json!("ada"), json!("bob")]);
    // B14: what one user deletes is its own.
    let deleted = gateway.cli_json(&["users", "delete", "bob", "--json"]);
    assert_eq!(deleted[0]["bindings"], 1, "{deleted:?}");
    assert_eq!(gateway.bindings().len(), 1);
}

#[test]
fn no_identity_makes_no_row() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let turn = || Ask::turn(&key);
    // What must never identify a session (spec §2): none of these is a session signal under the session policy.
    let asks = [
        turn(),
        turn().header("thread-id", "t"),
        turn().header("x-codex-conversation-id", "t"),
        turn().header("x-codex-window-id", "t"),
        turn().header("x-client-request-id", "t"),
        turn().set("user", "t").set("metadata", json!({"session_id": "t"})),
        turn().path("/v1/responses/compact").whole(),
    ];
    let accounts = served(&gateway, &asks);
    assert!(is_round_robin(&accounts), "{accounts:?}");
    assert_eq!(gateway.bindings(), Vec::<Value>::new());
}

#[test]
fn what_is_no_identifier_is_no_key_and_fails_nothing() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let turn = || Ask::turn(&key);
    let long = "x".repeat(257);
    let asks = [
        turn().header("session-id", ""),
        turn().header("session-id", "   "),
        turn().header("session-id", &long),
        turn().header("session-id", "tab\tinside"),
        turn().header("session-id", [b'a', 0xff, 0xfe]),
        turn().header("session-id", "next-line\u{85}control"),
        turn().header("session-id", "one").header("session-id", "one"),
        turn().header("session-id", "one").header("session-id", "two"),
        turn().set("session_id", ""),
        turn().set("session_id", long.as_str()),
        turn().set("session_id", "line\nfeed"),
        turn().set("session_id", 7),
        turn().set("session_id", json!(["one"])),
        turn().set("conversation", json!({"id": 7})),
        turn().set("conversation", json!({})),
        turn().set("prompt_cache_key", Value::Null),
        turn().set("nested", json!({"session_id": "one"})),
        turn().bytes(br#"{"model":"gpt-5.5","stream":true,"input":"hello","session_id":"one","session_id":"two"}"#),
    ];
    let accounts = served(&gateway, &asks);
    assert!(is_round_robin(&accounts), "{accounts:?}");
    assert_eq!(gateway.bindings(), Vec::<Value>::new());
    // At the very bound it is one.
    let longest = "x".repeat(256);
    assert!(all_equal(&served(&gateway, &vec![turn().session(&longest); 3])));
    assert_eq!(gateway.bindings().len(), 1);
    // Non-ASCII text is one too.
    assert!(all_equal(&served(&gateway, &vec![turn().session("Gespräch-7"); 3])));
    assert_eq!(gateway.bindings().len(), 2);
}

#[test]
fn a_bad_header_leaves_the_body_signals() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).header("session-id", "one").header("session-id", "two").set("prompt_cache_key", "cache");
    assert!(all_equal(&served(&gateway, &vec![ask; 3])));
}

#[test]
fn a_body_that_is_no_json_is_forwarded() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let answer = Ask::turn(&key).bytes(b"{not json").send(gateway.addr()).unwrap();
    assert_eq!(answer.status(), 400, "the upstream's own answer: {}", answer.text());
    assert!(*gateway.upstream().log()[0].raw_body == b"{not json"[..]);
    // The header still identifies.
    Ask::turn(&key).session("one").bytes(b"{not json").send(gateway.addr()).unwrap();
    assert_eq!(gateway.bindings().iter().filter(|row| row["state"] == "bound").count(), 0, "a refusal binds nothing");
}

#[test]
fn a_compatibility_caller_is_the_tenant_of_its_account() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let token = |name: &str| gateway.upstream().account(name).unwrap().access_token;
    let turn = |token: &str, id: &str| {
        Ask::turn(token).path("/backend-api/codex/responses").header("chatgpt-account-id", "whatever").session(id)
    };
    let one = served(&gateway, &vec![turn(&token("amber"), "same"); 3]);
    let two = served(&gateway, &vec![turn(&token("birch"), "same"); 3]);
    assert!(all_equal(&one) && all_equal(&two) && one[0] != two[0], "two tenants: {one:?} {two:?}");
    let mut tenants: Vec<String> = gateway.bindings().iter().map(|row| row["tenant"].to_string()).collect();
    tenants.sort();
    assert!(tenants[0].contains("amber") && tenants[1].contains("birch") && tenants.len() == 2, "{tenants:?}");
    // R6: the serving account's id goes upstream, never the caller's.
    let log = gateway.upstream().log();
    assert!(log.iter().all(|seen| seen.header_count("chatgpt-account-id") == 1));
    assert!(log.iter().all(|seen| seen.header("chatgpt-account-id").as_deref() != Some("whatever")));
    // The claims of a token are never believed: one that no account holds is unknown, whatever it says.
    let mut forged = token("amber");
    forged.push('x');
    assert_eq!(turn(&forged, "same").send(gateway.addr()).unwrap().status(), 401);
}

#[test]
fn compatibility_can_be_switched_off() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).toml("tenants", "compatibility = false").start();
    let token = gateway.upstream().account("amber").unwrap().access_token;
    assert_eq!(Ask::turn(&token).send(gateway.addr()).unwrap().status(), 401);
}

#[test]
fn compressed_bodies_are_read_and_forwarded_unchanged() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let mut homes = Vec::new();
    for encoding in ["zstd", "gzip", "br", "deflate"] {
        let plain = Ask::turn(&key).set("prompt_cache_key", format!("cache-{encoding}")).body();
        let packed = compress(encoding, &plain);
        let ask = Ask::turn(&key).header("content-encoding", encoding).bytes(packed.clone());
        let from = gateway.upstream().seen();
        let accounts = served(&gateway, &vec![ask; 3]);
        assert!(all_equal(&accounts), "{encoding}: {accounts:?}");
        for seen in gateway.upstream().log_since(from) {
            assert!(*seen.raw_body == packed[..], "{encoding}: K3");
            assert_eq!(seen.header("content-encoding").as_deref(), Some(encoding));
        }
        // The same session, now uncompressed.
        let again = served(&gateway, &[Ask::turn(&key).bytes(plain)]);
        assert_eq!(again[0], accounts[0], "{encoding}");
        homes.push(accounts[0].clone());
    }
    assert_eq!(gateway.bindings().len(), 4, "{homes:?}");
}

#[test]
fn a_body_that_cannot_be_decoded_has_no_signals_and_is_forwarded() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let plain = Ask::turn(&key).set("prompt_cache_key", "cache").body();
    let stacked = compress("gzip", &compress("zstd", &plain));
    let cases: [(&str, Vec<u8>); 4] = [
        ("zstd, gzip", stacked),
        ("unheard-of", plain.clone()),
        ("gzip", b"no gzip".to_vec()),
        // A bomb: valid, and 4 MiB of white space in a few hundred bytes.
        ("zstd", compress("zstd", &[plain, vec![b' '; 4 << 20]].concat())),
    ];
    for (encoding, body) in cases {
        let from = gateway.upstream().seen();
        let answer =
            Ask::turn(&key).header("content-encoding", encoding).bytes(body.clone()).send(gateway.addr()).unwrap();
        let seen = gateway.upstream().log_since(from);
        assert_eq!(seen.len(), 1, "{encoding}: forwarded once, {}", answer.text());
        assert!(*seen[0].raw_body == body[..], "{encoding}: forwarded unchanged");
    }
    assert_eq!(gateway.bindings(), Vec::<Value>::new());
}

#[test]
fn affinity_can_be_switched_off() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).toml("affinity", "session = false").start();
    let key = gateway.create_user("ada");
    assert!(is_round_robin(&served(&gateway, &vec![Ask::turn(&key).session("one"); 4])));
    assert_eq!(gateway.bindings(), Vec::<Value>::new());
}

#[test]
fn a_first_request_that_hangs_up_or_fails_leaves_its_reservation() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one");
    let rule = gateway.upstream().fail(Rule::always(Behaviour::held("start", GatePoint::BeforeHeaders)));
    let client = ask.begin(gateway.addr()).unwrap();
    assert!(gateway.upstream().wait_at("start", 1));
    client.abort().unwrap();
    gateway.upstream().wait_ended(1);
    gateway.upstream().forgive(rule);
    let reserved = gateway.accounts_since(0).remove(0);
    assert_eq!(gateway.bindings()[0]["state"], "reserved");
    // Others come in between; the session still goes where it was reserved (B4).
    served(&gateway, &[Ask::turn(&key), Ask::turn(&key).session("two")]);
    assert_eq!(served(&gateway, &[ask]), [reserved]);
    assert!(gateway.bindings().iter().all(|row| row["state"] == "bound"));
    // So does one whose first request was refused for its own fault.
    let refused = Ask::turn(&key).session("three");
    let fault = Behaviour::Status { code: 422, headers: Vec::new(), body: json!({"error": {"code": "invalid_value"}}) };
    gateway.upstream().fail(Rule::once(fault));
    let (answer, accounts) = gateway.ask(&refused);
    assert_eq!(answer.status(), 422);
    served(&gateway, &[Ask::turn(&key)]);
    assert_eq!(served(&gateway, &[refused]), accounts);
}

#[test]
fn a_tenant_past_its_cap_loses_its_own_rows_alone() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).toml("affinity", "max-rows-per-tenant = 5").start();
    let (ada, bob) = (gateway.create_user("ada"), gateway.create_user("bob"));
    let bobs: Vec<Ask> = (0..3).map(|n| Ask::turn(&bob).session(&n.to_string())).collect();
    let before = served(&gateway, &bobs);
    for n in 0..20 {
        served(&gateway, &[Ask::turn(&ada).session(&n.to_string())]);
    }
    let rows = gateway.bindings();
    let of = |name: &str| rows.iter().filter(|row| row["tenant"] == name).count();
    assert_eq!((of("ada"), of("bob")), (5, 3), "B13, B14");
    assert_eq!(served(&gateway, &bobs), before);
    // The newest of them are those that stay.
    let newest: Vec<Ask> = (15..20).map(|n| Ask::turn(&ada).session(&n.to_string())).collect();
    let once = served(&gateway, &newest);
    assert_eq!(served(&gateway, &newest), once);
}

#[test]
fn a_caller_keeps_its_tenant_while_the_gateway_refreshes_its_token() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let old = gateway.upstream().account("amber").unwrap().access_token;
    let ask = |token: &str| Ask::turn(token).session("one");
    served(&gateway, &[ask(&old)]);
    // The upstream refuses the token, and the gateway gets another one.
    assert!(gateway.upstream().revoke_access("amber"));
    assert_eq!(ask(&old).send(gateway.addr()).unwrap().status(), 200);
    let new = gateway.upstream().account("amber").unwrap().access_token;
    assert_ne!(new, old);
    // The client still has the old one, and will have the new one: the same tenant, the same session.
    served(&gateway, &[ask(&old), ask(&new)]);
    let rows = gateway.bindings();
    assert_eq!(rows.len(), 1, "{rows:?}");
}

#[test]
fn explain_says_where_a_session_goes() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    let home = served(&gateway, &[Ask::turn(&key).session("one")]).remove(0);
    let explain = |id: &str| {
        let mut command = gateway.command();
        command.args(["bindings", "explain", "ada", "--json"]);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(id.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let known = explain("one");
    assert_eq!(known["verdict"], "home", "{known}");
    assert!(known["account"]["label"].to_string().contains(&home), "{known}");
    assert_eq!(explain("another")["verdict"], "no_binding");
    gateway.upstream().fail(Rule::always(Behaviour::usage_limit(3_600)));
    let (refused, _) = gateway.ask(&Ask::turn(&key).session("one"));
    assert_eq!(refused.status(), 429);
    let out = explain("one");
    assert_eq!(out["verdict"], "all_out", "nothing is promised that a request would not get: {out}");
    assert!(out["text"].to_string().contains("429") && out["binding"]["account"] == known["binding"]["account"]);
    let rows = gateway.bindings();
    assert!(!rows.iter().any(|row| row.to_string().contains("one\"")), "no raw identifier: {rows:?}");
}

fn compress(encoding: &str, bytes: &[u8]) -> Vec<u8> {
    match encoding {
        "zstd" => zstd::encode_all(bytes, 3).unwrap(),
        "gzip" => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        "deflate" => {
            let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        "br" => {
            let mut out = Vec::new();
            brotli::BrotliCompress(&mut &bytes[..], &mut out, &brotli::enc::BrotliEncoderParams::default()).unwrap();
            out
        }
        other => panic!("{other}"),
    }
}
