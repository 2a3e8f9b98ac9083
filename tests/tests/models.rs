//! `GET /v1/models` in its two shapes (field J8).

#![allow(clippy::unwrap_used)]

use homing::scripted::{Behaviour, Rule};
use homing_tests::ask::Ask;
use homing_tests::gateway::Gateway;

#[test]
fn field_j8_with_client_version_it_is_the_upstreams_catalogue() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    for path in ["/v1/models?client_version=0.155.0", "/backend-api/codex/models?client_version=0.155.0"] {
        let answer = Ask::get(&key, path).header("if-none-match", "\"other\"").send(gateway.addr()).unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let models = answer.json()["models"].as_array().cloned().unwrap();
        assert!(models.iter().all(|m| m["slug"].is_string()) && !models.is_empty());
        assert!(answer.header("etag").is_some());
    }
    let log = gateway.upstream().log();
    assert!(log.iter().all(|s| s.query.as_deref() == Some("client_version=0.155.0")), "the client's own version");
    assert!(log.iter().all(|s| s.path == "/backend-api/codex/models"));
    assert_eq!(gateway.bindings().len(), 0);
}

#[test]
fn field_j8_without_client_version_it_is_the_openai_shape() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let answer = Ask::get(&key, "/v1/models").send(gateway.addr()).unwrap();
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let list = answer.json();
    assert_eq!(list["object"], "list");
    let models = list["data"].as_array().unwrap();
    assert!(!models.is_empty());
    assert!(models.iter().all(|m| m["object"] == "model" && m["id"].is_string() && m["created"].is_u64()), "{list}");
    assert_eq!(answer.header("content-type").as_deref(), Some("application/json"));
    let query = gateway.upstream().log()[0].query.clone().unwrap();
    assert!(query.starts_with("client_version="), "the upstream needs one: {query}");
}

#[test]
fn the_catalogue_comes_from_another_account_where_one_fails() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::always(Behaviour::status(503)).on("amber"));
    for _ in 0..3 {
        let answer = Ask::get(&key, "/v1/models").send(gateway.addr()).unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
}

#[test]
fn a_catalogue_that_did_not_change_is_304() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let ask = Ask::get(&key, "/v1/models?client_version=0.155.0");
    let tag = ask.send(gateway.addr()).unwrap().header("etag").unwrap();
    let not_modified = serde_json::json!("");
    let behaviour =
        Behaviour::Status { code: 304, headers: vec![("etag".to_owned(), tag.clone())], body: not_modified };
    gateway.upstream().fail(Rule::once(behaviour));
    let answer = ask.header("if-none-match", &tag).send(gateway.addr()).unwrap();
    assert_eq!((answer.status(), answer.header("etag")), (304, Some(tag)));
}

#[test]
fn it_needs_a_credential() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    assert_eq!(Ask::get("hmg_wrong", "/v1/models").send(gateway.addr()).unwrap().status(), 401);
}
