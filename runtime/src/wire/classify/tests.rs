use proptest::prelude::*;

use super::*;

/// 1 December 2026, 00:00:00 UTC.
const NOW: Time = Time(1_796_083_200_000);
const IN_AN_HOUR: Option<Time> = Some(Time(NOW.0 + 3_600_000));

type Headers<'a> = [(&'a str, &'a str)];

fn answer(status: u16, headers: &Headers<'_>, body: &str) -> Failure {
    classify_answer(status, headers, body.as_bytes(), NOW)
}

fn error(code: &str, message: &str) -> String {
    format!(r#"{{"error":{{"message":"{message}","type":"some_error","param":null,"code":"{code}"}}}}"#)
}

fn server(seconds: Option<u64>) -> Failure {
    Failure::Server { retry_after: seconds.map(Millis::secs) }
}

fn wait(millis: u64) -> Failure {
    Failure::RateLimited { retry_after: Millis(millis) }
}

#[test]
fn r2_server_faults() {
    for status in [408, 500, 502, 503, 504, 520, 522, 524, 529, 530, 599] {
        assert_eq!(answer(status, &[], ""), server(None), "{status}");
        assert_eq!(answer(status, &[("retry-after", "3")], "<html>"), server(Some(3)), "{status}");
    }
    let overloaded = error("server_is_overloaded", "busy");
    assert_eq!(answer(503, &[], &overloaded), server(None));
    assert_eq!(answer(429, &[], &error("slow_down", "slow down, try again in 2s")), server(Some(2)));
}

#[test]
fn r2_spent_quota() {
    let until = |body: &str| answer(429, &[], body);
    for body in [
        r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_at":1796086800}}"#,
        r#"{"error":{"type":"usage_limit_reached","resets_in_seconds":3600}}"#,
        r#"{"error":{"code":"usage_limit_reached","resets_at":"1796086800"}}"#,
        r#"{"detail":{"code":"usage_limit_reached","resets_at":1796086800000}}"#,
    ] {
        assert_eq!(until(body), Failure::QuotaSpent { until: IN_AN_HOUR }, "{body}");
    }
    assert_eq!(until(&error("insufficient_quota", "no quota")), Failure::QuotaSpent { until: None });
    assert_eq!(until(&error("usage_limit_reached", "try again in 2s")), Failure::QuotaSpent { until: None });
}

#[test]
fn field_b2_an_absurd_reset_is_no_reset() {
    for at in ["99999999999999999999", "1e300", "-1", "null", "0", "1", "1900000000", "true"] {
        let body = format!(r#"{{"error":{{"type":"usage_limit_reached","resets_at":{at}}}}}"#);
        assert_eq!(answer(429, &[], &body), Failure::QuotaSpent { until: None }, "{at}");
    }
}

#[test]
fn field_b20_only_an_exhausted_window_gives_the_reset() {
    let body = error("usage_limit_reached", "");
    let headers: &Headers<'_> = &[
        ("x-codex-primary-used-percent", "100"),
        ("x-codex-primary-reset-at", "1796086800"),
        ("x-codex-secondary-used-percent", "52"),
        ("x-codex-secondary-reset-at", "1796500000"),
    ];
    assert_eq!(answer(429, headers, &body), Failure::QuotaSpent { until: IN_AN_HOUR });
    assert_eq!(answer(429, headers, "{}"), Failure::Throttled, "a burst is no spent quota");
    let neither: &Headers<'_> = &[("x-codex-primary-used-percent", "99"), ("x-codex-primary-reset-at", "1796086800")];
    assert_eq!(answer(429, neither, &body), Failure::QuotaSpent { until: None });
}

#[test]
fn field_b12_a_family_limit_does_not_spend_the_account() {
    let body = r#"{"error":{"type":"usage_limit_reached","resets_in_seconds":3600}}"#;
    let family: &Headers<'_> = &[("x-codex-active-limit", "codex_bengalfox"), ("x-codex-primary-used-percent", "12")];
    assert_eq!(answer(429, family, body), Failure::ModelRefused);
    for headers in [
        &[("x-codex-active-limit", "codex"), ("x-codex-primary-used-percent", "12")][..],
        &[("x-codex-active-limit", "codex_bengalfox"), ("x-codex-primary-used-percent", "100")],
        &[("x-codex-active-limit", "codex_bengalfox")],
    ] {
        assert_eq!(answer(429, headers, body), Failure::QuotaSpent { until: IN_AN_HOUR }, "{headers:?}");
    }
}

#[test]
fn r2_rate_limits() {
    assert_eq!(answer(429, &[("Retry-After", "45")], &error("rate_limit_exceeded", "slow")), wait(45_000));
    assert_eq!(answer(429, &[("Retry-After", "Tue, 01 Dec 2026 00:00:07 GMT")], ""), wait(7_000));
    assert_eq!(answer(429, &[], &error("rate_limit_exceeded", "Please try again in 1.5s.")), wait(1_500));
    assert_eq!(answer(429, &[], &error("other", "Please try again in 6m0s.")), wait(360_000));
    assert_eq!(answer(429, &[], "Too many requests, try again in 2h"), wait(7_200_000));
    assert_eq!(answer(429, &[], r#"{"detail":"try again in 500ms"}"#), wait(500));
    for body in ["", "{}", "<html>", r#"{"error":{"code":"rate_limit_exceeded"}}"#] {
        assert_eq!(answer(429, &[], body), Failure::Throttled, "{body}");
    }
}

#[test]
fn r2_auth_faults() {
    for body in [
        "",
        "{}",
        "<html>",
        &error("token_expired", "x"),
        &error("invalid_api_key", "x"),
        r#"{"detail":"Unauthorized"}"#,
    ] {
        assert_eq!(answer(401, &[], body), Failure::Unauthorized, "{body}");
    }
    let key = r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#;
    assert_eq!(answer(401, &[], key), Failure::Unauthorized);
}

#[test]
fn field_b5_a_request_fault_wrapped_in_a_401_is_the_requests() {
    for body in [
        r#"{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long"}}"#,
        r#"{"error":{"type":"invalid_request_error","code":"unsupported_parameter","param":"foo","message":"no"}}"#,
        r#"{"error":{"type":"invalid_request_error","code":null,"param":"input[3].content","message":"bad"}}"#,
    ] {
        assert_eq!(answer(401, &[], body), Failure::Request, "{body}");
    }
}

#[test]
fn r2_refused_accounts() {
    assert_eq!(answer(402, &[], ""), Failure::AccountRefused);
    assert_eq!(answer(402, &[], r#"{"detail":{"code":"deactivated_workspace"}}"#), Failure::AccountRefused);
    for status in [401, 403] {
        for body in [
            error("account_deactivated", "x"),
            error("user_suspended", "x"),
            error("workspace_deleted", "x"),
            error("", "Your account has been suspended."),
            r#"{"detail":"This workspace was deleted"}"#.to_owned(),
        ] {
            assert_eq!(answer(status, &[], &body), Failure::AccountRefused, "{status} {body}");
        }
    }
    let region = error("unsupported_country_region_territory", "Country, region, or territory not supported");
    assert_eq!(answer(403, &[], &region), Failure::Request);
    assert_eq!(answer(400, &[], &error("", "file of your workspace was deleted")), Failure::Request);
    assert_eq!(
        failed("x", "your account was deleted"),
        Failure::Request,
        "without a status the text alone blames nobody"
    );
}

#[test]
fn field_b17_a_challenge_page_is_no_ban() {
    let page = "<!DOCTYPE html><html><title>Just a moment... your account is suspended</title>";
    assert_eq!(answer(403, &[("content-type", "text/html; charset=UTF-8")], page), Failure::Challenge);
    assert_eq!(answer(403, &[], "\n <html>"), Failure::Challenge);
    assert_eq!(answer(403, &[], ""), Failure::Challenge);
    assert_eq!(answer(403, &[("cf-mitigated", "challenge")], "{}"), Failure::Challenge);
    assert_eq!(answer(404, &[], ""), Failure::Challenge);
    assert_eq!(answer(404, &[("Content-Type", "Text/HTML")], "not found"), Failure::Challenge);
    assert_eq!(answer(404, &[], &error("model_not_found", "no such model")), Failure::Request);
}

#[test]
fn field_b26_an_unsupported_model_is_remembered_for_the_model_only() {
    let body = r#"{"detail":"The 'gpt-6-astra' model is not supported when using Codex with a ChatGPT account."}"#;
    assert_eq!(answer(400, &[], body), Failure::ModelRefused);
    assert_eq!(answer(429, &[], &error("usage_not_included", "upgrade")), Failure::ModelRefused);
}

#[test]
fn r2_foreign_ciphertext() {
    let body = error("invalid_encrypted_content", "The encrypted content could not be verified.");
    assert_eq!(answer(400, &[], &body), Failure::ForeignCiphertext);
}

#[test]
fn r2_faults_of_the_request() {
    for (status, body) in [
        (400, error("context_length_exceeded", "too long")),
        (400, error("previous_response_not_found", "Previous response with id 'resp_x' not found.")),
        (400, r#"{"error":{"type":"invalid_request_error","message":"bad"}}"#.to_owned()),
        (400, String::new()),
        (409, "{}".to_owned()),
        (413, String::new()),
        (415, "<html>".to_owned()),
        (422, "{}".to_owned()),
        (404, "{\"detail\":\"Not Found\"}".to_owned()),
        (307, String::new()),
    ] {
        assert_eq!(answer(status, &[("retry-after", "9")], &body), Failure::Request, "{status} {body}");
    }
}

fn failed(code: &str, message: &str) -> Failure {
    let data = format!(
        r#"{{"type":"response.failed","sequence_number":2,"response":{{"id":"resp_1","status":"failed","output":[],"error":{{"code":"{code}","message":"{message}"}}}}}}"#
    );
    classify_event(data.as_bytes(), NOW)
}

#[test]
fn r2_failures_inside_a_stream_are_as_the_matching_status() {
    for code in ["server_is_overloaded", "overloaded", "slow_down", "server_error"] {
        assert_eq!(failed(code, "busy"), server(None), "{code}");
    }
    assert_eq!(failed("rate_limit_exceeded", "try again in 2s"), wait(2_000));
    assert_eq!(failed("rate_limit_exceeded", "slow"), Failure::Throttled);
    assert_eq!(failed("usage_limit_reached", "The usage limit has been reached"), Failure::QuotaSpent { until: None });
    assert_eq!(failed("insufficient_quota", "x"), Failure::QuotaSpent { until: None });
    assert_eq!(failed("usage_not_included", "x"), Failure::ModelRefused);
    assert_eq!(failed("invalid_encrypted_content", "x"), Failure::ForeignCiphertext);
    assert_eq!(failed("token_expired", "x"), Failure::Unauthorized);
    for code in ["context_length_exceeded", "invalid_prompt", "previous_response_not_found", "something_new"] {
        assert_eq!(failed(code, "x"), Failure::Request, "{code}");
    }
}

#[test]
fn r2_error_events_and_frames_are_read() {
    let event = |data: &str| classify_event(data.as_bytes(), NOW);
    assert_eq!(event(r#"{"type":"error","code":"server_error","message":"m","param":null}"#), server(None));
    assert_eq!(event(r#"{"type":"error","message":"something broke"}"#), server(None));
    assert_eq!(event(r#"{"error":{"type":"invalid_request_error","message":"bad"}}"#), Failure::Request);
    let spent = r#"{"type":"error","status":429,"error":{"type":"usage_limit_reached","resets_in_seconds":3600}}"#;
    assert_eq!(event(spent), Failure::QuotaSpent { until: IN_AN_HOUR });
    assert_eq!(event(r#"{"type":"error","status":429,"error":{},"headers":{"Retry-After":"3"}}"#), wait(3_000));
    assert_eq!(event(r#"{"type":"error","status":401,"error":{"message":"x"}}"#), Failure::Unauthorized);
    let limit = r#"{"type":"error","status":400,"error":{"code":"websocket_connection_limit_reached"}}"#;
    assert_eq!(event(limit), Failure::Unreachable);
    for data in ["", "[DONE]", "{", "{}"] {
        assert_eq!(event(data), server(None), "{data}");
    }
}

proptest! {
    #[test]
    fn hostile_answers_never_panic(
        status in 100u16..1000,
        header in ".{0,40}",
        body in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            (".{0,40}", ".{0,40}", any::<f64>()).prop_map(|(code, message, n)| serde_json::to_vec(
                &serde_json::json!({"error":{"code":code,"message":format!("try again in {message}"),"resets_at":n,"resets_in_seconds":n}})
            ).unwrap()),
        ],
    ) {
        let headers: &[(&str, &[u8])] = &[
            ("retry-after", header.as_bytes()),
            ("x-codex-primary-used-percent", header.as_bytes()),
            ("content-type", &body),
        ];
        for failure in [classify_answer(status, headers, &body, NOW), classify_event(&body, NOW)] {
            let horizon = NOW.plus(retry::HORIZON);
            match failure {
                Failure::QuotaSpent { until: Some(until) } => prop_assert!(until > NOW && until <= horizon),
                Failure::RateLimited { retry_after } | Failure::Server { retry_after: Some(retry_after) } =>
                    prop_assert!(retry_after.0 > 0 && retry_after <= retry::HORIZON),
                _ => {}
            }
        }
    }
}
