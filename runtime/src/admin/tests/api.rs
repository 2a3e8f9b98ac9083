use super::*;

const JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn a_user_lives_from_creation_to_deletion() {
    let served = Served::start();
    let made = served.ask("POST /v0/management/users", JSON, r#"{"name":"ann"}"#);
    assert_eq!(status(&made), 201, "{made}");
    assert!(made.to_lowercase().contains("cache-control: no-store\r\n"), "{made}");
    insta::assert_json_snapshot!(json(&made), @r#"
    {
      "user": {
        "id": "u1",
        "name": "ann",
        "disabled": false,
        "created": "2023-11-14T22:13:20.000Z",
        "key_created": "2023-11-14T22:13:20.000Z"
      },
      "key": "hmg_first"
    }
    "#);
    let again = served.ask("POST /v0/management/users", JSON, r#"{"name":"ann"}"#);
    assert_eq!(status(&again), 409);
    insta::assert_json_snapshot!(json(&again), @r#"
    {
      "error": {
        "message": "user: \"ann\" is there already; choose another name",
        "type": "conflict",
        "what": "user",
        "value": "ann",
        "fix": "choose another name"
      }
    }
    "#);
    assert_eq!(json(&served.ask("GET /v0/management/users", "", ""))["items"][0]["name"], "ann");
    assert_eq!(json(&served.ask("POST /v0/management/users/u1/reset-key", "", ""))["key"], "hmg_second");
    assert_eq!(json(&served.ask("PATCH /v0/management/users/ann", JSON, r#"{"disabled":true}"#))["disabled"], true);
    assert_eq!(json(&served.ask("GET /v0/management/users/ann", "", ""))["disabled"], true);
    assert_eq!(json(&served.ask("DELETE /v0/management/users/ann", "", ""))["bindings"], 3);
    assert_eq!(status(&served.ask("DELETE /v0/management/users/ann", "", "")), 404);
}

#[test]
fn bindings_come_in_bounded_pages() {
    let served = Served::start();
    let first = json(&served.ask("GET /v0/management/bindings", "", ""));
    assert_eq!((first["items"].as_array().unwrap().len(), &first["next"]), (100, &"100".into()));
    let last = json(&served.ask("GET /v0/management/bindings?limit=1000&after=100", "", ""));
    assert_eq!((last["items"].as_array().unwrap().len(), &last["next"]), (150, &serde_json::Value::Null));
    for wrong in ["limit=0", "limit=1001", "limit=x", "limit=-1", "page=2", &format!("after={}", "a".repeat(257))] {
        let answer = served.ask(&format!("GET /v0/management/bindings?{wrong}"), "", "");
        assert_eq!((status(&answer), &json(&answer)["error"]["type"]), (400, &"invalid".into()), "{wrong}");
    }
}

#[test]
fn a_session_id_is_asked_about_in_the_body_and_never_echoed() {
    let served = Served::start();
    let body = r#"{"tenant":"ann","session_id":"s-123"}"#;
    let answer = json(&served.ask("POST /v0/management/bindings/explain", JSON, body));
    assert_eq!((&answer["verdict"], &answer["text"]), (&"home".into(), &"5 bytes lead to team-1".into()));
    let long = format!(r#"{{"tenant":"ann","session_id":"{}"}}"#, "s3cr3t".repeat(1000));
    let answer = served.ask("POST /v0/management/bindings/explain", JSON, &long);
    assert!(status(&answer) == 400 && !answer.contains("s3cr3t"), "{answer}");
    let broken = r#"{"tenant":"ann","session_id":["s3cr3t"]}"#;
    let answer = served.ask("POST /v0/management/bindings/explain", JSON, broken);
    assert!(status(&answer) == 400 && !answer.contains("s3cr3t"), "{answer}");
}

#[test]
fn wrong_requests_are_answered_with_the_fix() {
    let served = Served::start();
    let cases = [
        ("GET /v0/management/nothing", "", "", 404),
        ("GET /v0/management", "", "", 404),
        ("GET /", "", "", 404),
        ("DELETE /v0/management/users", "", "", 405),
        ("PUT /v0/management/health", "", "", 405),
        ("GET /v0/management/users/", "", "", 404),
        ("GET /v0/management/users/a%2Fb", "", "", 404),
        ("POST /v0/management/users", "", r#"{"name":"ann"}"#, 415),
        ("POST /v0/management/users", "Content-Type: text/plain\r\n", r#"{"name":"ann"}"#, 415),
        ("POST /v0/management/users", JSON, r#"{"name":"ann""#, 400),
        ("POST /v0/management/users", JSON, r#"{"name":"ann","admin":true}"#, 400),
        ("POST /v0/management/users", JSON, r#"{"name":"-rf"}"#, 400),
        ("POST /v0/management/users", JSON, r#"{"name":"a b"}"#, 400),
        ("POST /v0/management/users", JSON, r#"{"name":""}"#, 400),
        ("POST /v0/management/users", JSON, "", 400),
        ("GET /v0/management/accounts", "", "", 503),
        ("GET /v0/management/health", "", "", 200),
    ];
    for (line, fields, body, expected) in cases {
        let answer = served.ask(line, fields, body);
        assert_eq!(status(&answer), expected, "{line} {body}: {answer}");
    }
    let allow = served.ask("DELETE /v0/management/users", "", "").to_lowercase();
    assert!(allow.contains("allow: get, post\r\n"), "{allow}");
}

#[test]
fn a_defect_in_one_request_leaves_the_others_alone() {
    let served = Served::start();
    assert_eq!(status(&served.ask("GET /v0/management/users/panic", "", "")), 500);
    assert_eq!(status(&served.ask("GET /v0/management/health", "", "")), 200);
}

#[test]
fn errors_survive_the_way_to_the_command_line() {
    let error = ControlError::Invalid { field: "name".into(), value: "a b".into(), fix: "no blanks".into() };
    let text = serde_json::to_string(&error).unwrap();
    assert_eq!(serde_json::from_str::<ControlError>(&text).unwrap(), error);
    assert_eq!(Stamp(u64::MAX).to_string().len(), "9999-12-30T22:00:00.999Z".len());
}
