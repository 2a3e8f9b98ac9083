use super::*;

const NOW: Time = Time(1_796_083_200_500);

/// The answer as it would stand on the wire, without what the caller adds.
fn text(answer: &Answer) -> String {
    let mut text = format!("{}\n", answer.status);
    for (name, value) in &answer.headers {
        text.push_str(&format!("{name}: {value}\n"));
    }
    text + std::str::from_utf8(&answer.body).unwrap()
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str())
}

#[test]
fn r4_an_account_expected_back_is_a_503_with_retry_after() {
    insta::assert_snapshot!(text(&Answer::unavailable(Millis(2_100))), @r#"
    503
    content-type: application/json
    retry-after: 3
    {"error":{"message":"No account can serve this request at the moment; retry after the time in Retry-After.","type":"server_error","param":null,"code":"no_account_available"}}
    "#);
    for (wait, want) in [(0, "1"), (1, "1"), (59_001, "60"), (3_600_000, "60"), (u64::MAX, "60")] {
        assert_eq!(header(&Answer::unavailable(Millis(wait)), "retry-after"), Some(want));
    }
}

#[test]
fn r4_spent_quota_is_a_429_that_nobody_retries() {
    let answer = Answer::quota_spent(Some(Time(1_796_086_800_000)), Some("plus"), NOW);
    insta::assert_snapshot!(text(&answer), @r#"
    429
    content-type: application/json
    x-should-retry: false
    {"error":{"message":"The usage limit has been reached","type":"usage_limit_reached","param":null,"code":"usage_limit_reached","plan_type":"plus","resets_at":1796086800,"resets_in_seconds":3600}}
    "#);
    insta::assert_snapshot!(text(&Answer::quota_spent(None, None, NOW)), @r#"
    429
    content-type: application/json
    x-should-retry: false
    {"error":{"message":"The usage limit has been reached","type":"usage_limit_reached","param":null,"code":"usage_limit_reached"}}
    "#);
}

#[test]
fn field_b24_spent_quota_is_marked_as_not_to_be_retried() {
    let answer = Answer::quota_spent(None, None, NOW);
    assert_eq!(header(&answer, "x-should-retry"), Some("false"));
    assert_eq!(header(&answer, "retry-after"), None);
}

#[test]
fn field_b23_every_answer_to_be_retried_later_says_when() {
    for answer in [Answer::unavailable(Millis(0)), Answer::no_accounts(), Answer::no_account_usable()] {
        assert_eq!(answer.status, 503);
        assert!(header(&answer, "retry-after").is_some(), "{answer:?}");
    }
}

#[test]
fn the_other_answers() {
    let all = [
        Answer::empty_ok(),
        Answer::bad_gateway(),
        Answer::unauthorized(),
        Answer::forbidden("user_disabled", "This user is disabled; ask the operator."),
        Answer::not_found(),
        Answer::method_not_allowed("POST"),
        Answer::upgrade_required(),
    ];
    let texts: Vec<_> = all.iter().map(text).collect();
    insta::assert_snapshot!(texts.join("\n"), @r#"
    200

    502
    content-type: application/json
    {"error":{"message":"The upstream could not be reached or broke off; retry the request.","type":"server_error","param":null,"code":"upstream_unreachable"}}

    401
    content-type: application/json
    www-authenticate: Bearer
    {"error":{"message":"Unknown or missing API key. Send one of this gateway's keys as \"Authorization: Bearer ...\" or X-API-Key.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}

    403
    content-type: application/json
    {"error":{"message":"This user is disabled; ask the operator.","type":"permission_error","param":null,"code":"user_disabled"}}

    404
    content-type: application/json
    {"error":{"message":"No such route. The base URL is /v1 or /backend-api/codex, and the API served is Responses: POST /responses, POST /responses/compact, GET /models.","type":"invalid_request_error","param":null,"code":"not_found"}}

    405
    content-type: application/json
    allow: POST
    {"error":{"message":"This route takes POST only.","type":"invalid_request_error","param":null,"code":"method_not_allowed"}}

    426
    content-type: application/json
    upgrade: HTTP/1.1
    {"error":{"message":"WebSocket is not available on this route; use HTTP.","type":"invalid_request_error","param":null,"code":"upgrade_refused"}}
    "#);
}
