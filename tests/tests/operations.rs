//! What an operator does: users, the management API, health, an orderly stop.

#![allow(clippy::unwrap_used)]

use homing::scripted::{Behaviour, GatePoint, Rule};
use homing_tests::ask::Ask;
use homing_tests::gateway::{ADMIN_KEY, Gateway};
use homing_tests::raw::{End, RawClient, RawResponse};
use serde_json::{Value, json};

/// A request to the management API on the admin listener.
fn manage(gateway: &Gateway, method: &str, path: &str, body: Option<Value>) -> RawResponse {
    manage_at(gateway.admin_addr(), method, path, body)
}

fn manage_at(addr: std::net::SocketAddr, method: &str, path: &str, body: Option<Value>) -> RawResponse {
    let body = body.map(|b| b.to_string()).unwrap_or_default();
    let request = format!(
        "{method} /v0/management{path} HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer {ADMIN_KEY}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    RawClient::connect(addr).unwrap().exchange(request.as_bytes()).unwrap()
}

#[test]
fn a_users_life_on_the_command_line() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    assert!(key.starts_with("hmg_") && key.len() > 40, "256 bits");
    gateway.served(&Ask::turn(&key).session("one"));

    let again = gateway.cli(&["users", "create", "ada"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("ada"));
    assert_eq!(gateway.cli(&["users", "create", "not a name"]).status.code(), Some(2));
    assert_eq!(gateway.cli(&["users", "delete", "nobody"]).status.code(), Some(1));

    gateway.cli_json(&["users", "disable", "ada", "--json"]);
    let refused = Ask::turn(&key).session("one").send(gateway.addr()).unwrap();
    assert_eq!(refused.status(), 403, "{}", refused.text());
    assert_eq!(gateway.cli_json(&["users", "list", "--json"])[0]["disabled"], true);
    gateway.cli_json(&["users", "enable", "ada", "--json"]);
    gateway.served(&Ask::turn(&key).session("one"));

    let newer = gateway.reset_key("ada");
    assert_ne!(newer, key);
    assert_eq!(Ask::turn(&key).send(gateway.addr()).unwrap().status(), 401);
    gateway.served(&Ask::turn(&newer).session("one"));
    assert_eq!(gateway.bindings().len(), 1, "B12: a key reset keeps sessions");

    assert_eq!(gateway.cli_json(&["users", "delete", "ada", "--json"])[0]["bindings"], 1);
    assert_eq!(Ask::turn(&newer).send(gateway.addr()).unwrap().status(), 401);
    assert_eq!(gateway.bindings(), Vec::<Value>::new());
}

#[test]
fn users_are_managed_while_no_gateway_runs() {
    let mut gateway = Gateway::with_accounts(&["amber"]).prepare();
    let key = gateway.create_user("ada");
    let other = gateway.create_user("bob");
    gateway.cli_json(&["users", "disable", "bob", "--json"]);
    gateway.restart();
    gateway.served(&Ask::turn(&key).session("one"));
    assert_eq!(Ask::turn(&other).send(gateway.addr()).unwrap().status(), 403);
    gateway.kill9();
    assert_eq!(gateway.bindings().len(), 1, "the list too");
    let newer = gateway.reset_key("ada");
    gateway.restart();
    assert_eq!(Ask::turn(&key).send(gateway.addr()).unwrap().status(), 401);
    gateway.served(&Ask::turn(&newer).session("one"));
}

#[test]
fn what_an_operator_did_outlives_a_crash_at_once() {
    let mut gateway = Gateway::with_accounts(&["amber"]).start();
    let mut keys = Vec::new();
    for round in 0..5 {
        keys.push(gateway.create_user(&format!("user-{round}")));
        gateway.kill9();
        gateway.restart();
        for key in &keys {
            gateway.served(&Ask::turn(key));
        }
    }
}

#[test]
fn keys_are_not_stored() {
    let mut gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    gateway.served(&Ask::turn(&key).session("a-very-secret-session"));
    let token = gateway.upstream().account("amber").unwrap().access_token;
    gateway.terminate();
    for entry in std::fs::read_dir(gateway.state_dir()).unwrap() {
        let path = entry.unwrap().path();
        let Ok(bytes) = std::fs::read(&path) else { continue };
        for secret in [key.as_str(), "a-very-secret-session", token.as_str()] {
            let found = bytes.windows(secret.len()).any(|w| w == secret.as_bytes());
            assert!(!found, "{} holds a secret", path.display());
        }
    }
    let log = gateway.log();
    assert!(!log.contains(&key) && !log.contains("a-very-secret-session") && !log.contains(&token));
}

#[test]
fn a_users_life_over_the_management_api() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let made = manage(&gateway, "POST", "/users", Some(json!({"name": "ada"})));
    assert!((200..300).contains(&made.status()), "{}", made.text());
    let key = made.json()["key"].as_str().unwrap().to_owned();
    gateway.served(&Ask::turn(&key).session("one"));
    assert_eq!(manage(&gateway, "POST", "/users", Some(json!({"name": "ada"}))).status(), 409);
    assert_eq!(manage(&gateway, "POST", "/users", Some(json!({"name": "a b"}))).status(), 400);
    assert_eq!(manage(&gateway, "POST", "/users", Some(json!({"nome": "ada"}))).status(), 400);
    assert_eq!(manage(&gateway, "GET", "/users/nobody", None).status(), 404);
    assert_eq!(manage(&gateway, "PUT", "/users/ada", None).status(), 405);
    let listed = manage(&gateway, "GET", "/users", None).json();
    assert_eq!(listed["items"][0]["name"], "ada", "{listed}");
    assert!(!listed.to_string().contains(&key), "a key is shown once");
    assert_eq!(manage(&gateway, "PATCH", "/users/ada", Some(json!({"disabled": true}))).status(), 200);
    assert_eq!(Ask::turn(&key).send(gateway.addr()).unwrap().status(), 403);
    assert_eq!(manage(&gateway, "PATCH", "/users/ada", Some(json!({"disabled": false}))).status(), 200);
    let newer = manage(&gateway, "POST", "/users/ada/reset-key", None).json()["key"].as_str().unwrap().to_owned();
    assert_eq!(Ask::turn(&key).send(gateway.addr()).unwrap().status(), 401);
    gateway.served(&Ask::turn(&newer));
    let bindings = manage(&gateway, "GET", "/bindings", None).json();
    assert_eq!(bindings["items"].as_array().map(Vec::len), Some(1), "{bindings}");
    let accounts = manage(&gateway, "GET", "/accounts", None);
    assert!(accounts.text().contains("amber"));
    let account = gateway.upstream().account("amber").unwrap();
    assert!(!accounts.text().contains(&account.access_token) && !accounts.text().contains(&account.refresh_token));
    assert_eq!(manage(&gateway, "DELETE", "/users/ada", None).json()["bindings"], 1);
    assert_eq!(Ask::turn(&newer).send(gateway.addr()).unwrap().status(), 401);
}

#[test]
fn the_management_api_lets_in_only_its_operator() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let user = gateway.create_user("ada");
    let addr = gateway.admin_addr();
    let ask = |fields: &str| {
        let request = format!("GET /v0/management/users HTTP/1.1\r\n{fields}\r\n\r\n");
        RawClient::connect(addr).unwrap().exchange(request.as_bytes()).unwrap().status()
    };
    let key = format!("authorization: Bearer {ADMIN_KEY}");
    assert_eq!(ask(&format!("host: {addr}\r\n{key}")), 200);
    assert_eq!(ask(&format!("host: localhost\r\nx-admin-key: {ADMIN_KEY}")), 200);
    assert_eq!(ask(&format!("host: {addr}")), 401, "also on loopback");
    assert_eq!(ask(&format!("host: {addr}\r\nauthorization: Bearer {user}")), 401, "a user is no operator");
    assert_eq!(ask(&format!("host: {addr}\r\nauthorization: Bearer {ADMIN_KEY}x")), 401);
    assert_eq!(ask(&format!("host: {addr}\r\n{key}\r\n{key}")), 401, "one key, not two");
    assert_eq!(ask(&format!("host: evil.example\r\n{key}")), 421, "a rebound name");
    assert_eq!(ask(&format!("host: {addr}\r\norigin: http://evil.example\r\n{key}")), 403, "another site's page");
    // The data port serves none of it.
    assert_eq!(manage_at(gateway.addr(), "GET", "/users", None).status(), 404);
}

#[test]
fn the_management_api_is_on_the_data_port_where_that_is_set() {
    let gateway = Gateway::with_accounts(&["amber"]).toml("admin", "management-on-data-port = true").start();
    let addr = gateway.addr();
    let made = manage_at(addr, "POST", "/users", Some(json!({"name": "ada"})));
    assert!((200..300).contains(&made.status()), "{}", made.text());
    let key = made.json()["key"].as_str().unwrap().to_owned();
    gateway.served(&Ask::turn(&key));
    assert_eq!(manage_at(addr, "GET", "/users", None).json()["items"][0]["name"], "ada");
    assert_eq!(manage_at(addr, "GET", "/nothing", None).status(), 404);
    assert_eq!(manage_at(addr, "DELETE", "/users/ada", None).status(), 200);
    // The same gate as on the admin listener.
    let ask = |fields: &str| {
        let request = format!("GET /v0/management/users HTTP/1.1\r\n{fields}\r\n\r\n");
        RawClient::connect(addr).unwrap().exchange(request.as_bytes()).unwrap().status()
    };
    assert_eq!(ask(&format!("host: {addr}")), 401);
    assert_eq!(ask(&format!("host: {addr}\r\nauthorization: Bearer {key}")), 401);
    assert_eq!(ask(&format!("host: evil.example\r\nauthorization: Bearer {ADMIN_KEY}")), 421);
    assert_eq!(ask(&format!("host: {addr}\r\norigin: http://evil.example\r\nauthorization: Bearer {ADMIN_KEY}")), 403);
}

#[test]
fn lists_come_in_pages() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    for n in 0..7 {
        gateway.served(&Ask::turn(&key).session(&n.to_string()));
    }
    let (mut after, mut seen) = (String::new(), 0);
    loop {
        let page = manage(&gateway, "GET", &format!("/bindings?limit=3{after}"), None).json();
        seen += page["items"].as_array().unwrap().len();
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(seen, 7);
    assert_eq!(gateway.cli_json(&["bindings", "list", "--limit", "2", "--json"]).len(), 2);
}

#[test]
fn health_tells_how_it_is() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
    let key = gateway.create_user("ada");
    gateway.served(&Ask::turn(&key).session("one"));
    let health = Ask::get("", "/healthz").without("authorization").send(gateway.addr()).unwrap();
    assert_eq!(health.status(), 200);
    let body = health.json();
    assert_eq!((&body["status"], &body["accounts"]["usable"], &body["bindings"]), (&json!("ok"), &json!(2), &json!(1)));
    let managed = manage(&gateway, "GET", "/health", None).json();
    assert_eq!((&managed["status"], &managed["usable_accounts"]), (&json!("ok"), &json!(2)), "{managed}");
}

#[test]
fn field_d9_sigterm_lets_a_running_turn_finish() {
    let mut gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::once(Behaviour::held("middle", GatePoint::AfterEvents(6))));
    let mut idle = RawClient::connect(gateway.addr()).unwrap();
    assert_eq!(idle.exchange(&Ask::get(&key, "/healthz").request()).unwrap().status(), 200);
    let mut client = Ask::turn(&key).session("one").begin(gateway.addr()).unwrap();
    assert!(gateway.upstream().wait_at("middle", 1));
    gateway.send_term();
    assert!(gateway.eventually(|g| RawClient::connect(g.addr()).is_err()), "nobody new is let in");
    gateway.upstream().release("middle");
    let answer = client.response().unwrap();
    assert_eq!((answer.status(), answer.end), (200, End::Complete));
    assert_eq!(answer.event_types().last().map(String::as_str), Some("response.completed"));
    assert_eq!(gateway.wait().code(), Some(0));
    assert!(idle.is_closed());
    gateway.restart();
    assert_eq!(gateway.bindings()[0]["state"], "bound");
}

#[test]
fn sigterm_waits_no_longer_than_drain() {
    let mut gateway = Gateway::with_accounts(&["amber"]).toml("limits", "drain = \"0s\"").start();
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::once(Behaviour::held("middle", GatePoint::AfterEvents(6))));
    let mut client = Ask::turn(&key).session("one").begin(gateway.addr()).unwrap();
    assert!(gateway.upstream().wait_at("middle", 1));
    assert_eq!(gateway.terminate().code(), Some(0));
    let answer = client.response().unwrap();
    assert!(matches!(answer.end, End::Cut | End::Reset), "W2: broken off, not ended: {:?}", answer.end);
}

#[test]
fn a_second_sigterm_ends_the_wait() {
    let mut gateway = Gateway::with_accounts(&["amber"]).toml("limits", "drain = \"1h\"").start();
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::once(Behaviour::held("middle", GatePoint::AfterEvents(6))));
    let mut client = Ask::turn(&key).session("one").begin(gateway.addr()).unwrap();
    assert!(gateway.upstream().wait_at("middle", 1));
    gateway.send_term();
    assert!(gateway.eventually(|g| g.log().contains("stopping:")), "{}", gateway.log());
    assert_eq!(gateway.terminate().code(), Some(0));
    let answer = client.response().unwrap();
    assert!(matches!(answer.end, End::Cut | End::Reset), "W2: broken off, not ended: {:?}", answer.end);
    assert!(!gateway.state_dir().join("listening.json").exists(), "nothing listens there any more");
}

#[test]
fn an_idle_gateway_stops_at_once() {
    let mut gateway = Gateway::with_accounts(&["amber"]).start();
    let _idle = RawClient::connect(gateway.addr()).unwrap();
    assert_eq!(gateway.terminate().code(), Some(0));
}

#[test]
fn t2_a_stop_says_that_the_database_is_gone() {
    let mut gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    gateway.served(&Ask::turn(&key).session("s"));
    std::fs::remove_file(gateway.state_dir().join("homing.db")).unwrap();
    // At once: nobody has looked since.
    assert_eq!(gateway.terminate().code(), Some(0));
    let log = gateway.log();
    assert!(log.contains("was deleted or replaced while in use") && log.contains("homing.db"), "{log}");
    assert!(log.contains("stopped with bindings that are not on disk"), "{log}");
    assert!(!log.contains("everything is on disk"), "{log}");
}
