//! The gateway's own answers, in the upstream's error shape, so that clients act on them as they do on the upstream's.
//!
//! No answer here says `server_is_overloaded`: Codex gives up on that code instead of waiting out `Retry-After`.

use std::fmt;

use homing_core::failure::Failure;
use homing_core::time::{Millis, Time};
use serde::Serialize;

use super::classify::Fault;

/// The longest `Retry-After` of our own (R4).
const LONGEST_WAIT: Millis = Millis(60_000);
/// What clients are told to wait where nothing better is known.
const SHORT_WAIT: Millis = Millis(1_000);

/// A whole answer. `content-length` and connection handling are the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Header fields, names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// The body: JSON with a final line feed, or empty.
    pub body: Vec<u8>,
}

/// Which anchor ties a request to an account that cannot serve (R1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// `previous_response_id`.
    PreviousResponse,
    /// A file id in `input`.
    File,
}

#[derive(Serialize)]
struct Body<'a> {
    error: Error<'a>,
}

#[derive(Default, Serialize)]
struct Error<'a> {
    message: &'a str,
    r#type: &'a str,
    param: Option<&'a str>,
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resets_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resets_in_seconds: Option<u64>,
}

const REQUEST: &str = "invalid_request_error";
const SERVER: &str = "server_error";

impl Answer {
    fn new(status: u16, error: Error<'_>) -> Self {
        let mut body = serde_json::to_vec(&Body { error }).unwrap_or_default();
        body.push(b'\n');
        Self { status, headers: vec![("content-type", "application/json".to_owned())], body }
    }

    fn error(status: u16, kind: &str, code: &str, message: impl fmt::Display) -> Self {
        Self::new(status, Error { message: &message.to_string(), r#type: kind, code, ..Error::default() })
    }

    fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }

    fn retry_after(self, wait: Millis) -> Self {
        self.with("retry-after", wait.min(LONGEST_WAIT).ceil_secs().max(1))
    }

    /// 200 with no body: the route exists (`codex doctor`'s HEAD).
    pub fn empty_ok() -> Self {
        Self { status: 200, headers: Vec::new(), body: Vec::new() }
    }

    /// 503: no account can serve now, one is expected back after `wait` (R4). Between 1 and 60 s are announced.
    pub fn unavailable(wait: Millis) -> Self {
        let message = "No account can serve this request at the moment; retry after the time in Retry-After.";
        Self::error(503, SERVER, "no_account_available", message).retry_after(wait)
    }

    /// 503: this gateway lacks memory or its store for the moment; `what` names the lack.
    pub fn busy(what: impl fmt::Display) -> Self {
        Self::error(503, SERVER, "gateway_busy", what).retry_after(SHORT_WAIT)
    }

    /// 429 `usage_limit_reached`: quota is why (R4, W1). No `Retry-After`, and `x-should-retry: false`: Codex shows when to
    /// come back, SDKs would sleep for hours.
    pub fn quota_spent(resets_at: Option<Time>, plan_type: Option<&str>, now: Time) -> Self {
        let error = Error {
            message: "The usage limit has been reached",
            r#type: "usage_limit_reached",
            code: "usage_limit_reached",
            plan_type,
            // Rounded up, so that a client that comes back then is not early.
            resets_at: resets_at.map(|at| Millis(at.0).ceil_secs()),
            resets_in_seconds: resets_at.map(|at| at.since(now).ceil_secs()),
            ..Error::default()
        };
        Self::new(429, error).with("x-should-retry", false)
    }

    /// 502: the upstream could not be reached or broke off before its answer.
    pub fn bad_gateway() -> Self {
        Self::error(
            502,
            SERVER,
            "upstream_unreachable",
            "The upstream could not be reached or broke off; retry the request.",
        )
    }

    /// 504: no attempt answered within `request-deadline`.
    pub fn gateway_timeout() -> Self {
        Self::error(504, SERVER, "upstream_timeout", "The upstream did not answer in time; retry the request.")
    }

    /// 400 with a code and what to change.
    pub fn bad_request(code: &str, message: impl fmt::Display) -> Self {
        Self::error(400, REQUEST, code, message)
    }

    /// 401: no credential, or none that is known here.
    pub fn unauthorized() -> Self {
        let message = "Unknown or missing API key. Send one of this gateway's keys as \"Authorization: Bearer ...\" or X-API-Key.";
        Self::error(401, REQUEST, "invalid_api_key", message).with("www-authenticate", "Bearer")
    }

    /// 403: known, but not allowed; `message` says what to ask for.
    pub fn forbidden(code: &str, message: impl fmt::Display) -> Self {
        Self::error(403, "permission_error", code, message)
    }

    /// 404: no such route.
    pub fn not_found() -> Self {
        Self::error(
            404,
            REQUEST,
            "not_found",
            "No such route. Point the client's base URL at /v1 or /backend-api/codex.",
        )
    }

    /// 405 with the methods the route takes.
    pub fn method_not_allowed(allow: &'static str) -> Self {
        Self::error(405, REQUEST, "method_not_allowed", format_args!("This route takes {allow} only."))
            .with("allow", allow)
    }

    /// 413: the body is over `limit` bytes.
    pub fn too_large(limit: u64) -> Self {
        let message = format_args!("The request body is larger than {limit} bytes, the gateway's limit.");
        Self::error(413, REQUEST, "request_too_large", message)
    }

    /// 426: no WebSocket here. Codex falls back to HTTP silently (W4). The caller adds `upgrade` to `Connection`.
    pub fn upgrade_required() -> Self {
        let message = "WebSocket is not available on this route; use HTTP.";
        Self::error(426, REQUEST, "upgrade_refused", message).with("upgrade", "HTTP/1.1")
    }

    /// 400 in the upstream's own shape: a response id that is another tenant's, or nobody's any more (R1). At most 256
    /// characters of the id are repeated.
    pub fn previous_response_not_found(id: &str) -> Self {
        let id = id.char_indices().nth(256).map_or(id, |(end, _)| &id[..end]);
        let error = Error {
            message: &format!("Previous response with id '{id}' not found."),
            r#type: REQUEST,
            param: Some("previous_response_id"),
            code: "previous_response_not_found",
            ..Error::default()
        };
        Self::new(400, error)
    }

    /// 409: the account that an anchor ties the request to cannot serve, and such a request is never moved (R1). Not to be
    /// retried as it is.
    pub fn pin_cannot_serve(anchor: Anchor) -> Self {
        let (param, message) = match anchor {
            Anchor::PreviousResponse => (
                "previous_response_id",
                "The account that holds this response cannot serve now. Drop previous_response_id and send the whole conversation, or retry later.",
            ),
            Anchor::File => (
                "input",
                "The account that holds a file of this request cannot serve now. Drop the file id and upload the file again, or retry later.",
            ),
        };
        let error = Error {
            message,
            r#type: REQUEST,
            param: Some(param),
            code: "pinned_account_unavailable",
            ..Error::default()
        };
        Self::new(409, error).with("x-should-retry", false)
    }

    /// What a failure found inside a 200 stream is as an HTTP answer, while nothing of the stream has reached the client: spent
    /// quota is a 429 (W1), a fault of the request a 4xx with the upstream's own words (field C7), anything else a 503.
    /// `data` is the data of the failed event.
    pub fn of_event(failure: Failure, data: &[u8], now: Time) -> Self {
        let fault = Fault::read(data).unwrap_or_default();
        match failure {
            Failure::QuotaSpent { until } => Self::quota_spent(until, fault.plan_type.as_deref(), now),
            Failure::Request | Failure::ForeignCiphertext | Failure::ModelRefused => {
                let error = Error {
                    message: fault.message.as_deref().unwrap_or("The upstream refused the request."),
                    r#type: fault.kind.as_deref().unwrap_or(REQUEST),
                    param: fault.param.as_deref(),
                    code: fault.code.as_deref().unwrap_or("upstream_refused"),
                    ..Error::default()
                };
                Self::new(fault.status.filter(|status| (400..500).contains(status)).unwrap_or(400), error)
            }
            Failure::RateLimited { retry_after } | Failure::Server { retry_after: Some(retry_after) } => {
                Self::unavailable(retry_after)
            }
            _ => Self::unavailable(SHORT_WAIT),
        }
    }
}

#[cfg(test)]
mod tests {
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
        let event = br#"{"type":"response.failed","response":{"error":{"code":"slow_down","message":"m"}}}"#;
        for answer in [
            Answer::unavailable(Millis(0)),
            Answer::busy("x"),
            Answer::of_event(Failure::Throttled, event, NOW),
            Answer::of_event(Failure::Server { retry_after: None }, event, NOW),
            Answer::of_event(Failure::RateLimited { retry_after: Millis(7_000) }, event, NOW),
        ] {
            assert_eq!(answer.status, 503);
            assert!(header(&answer, "retry-after").is_some(), "{answer:?}");
        }
    }

    #[test]
    fn w1_a_usage_limit_inside_a_stream_becomes_a_429() {
        let event =
            br#"{"type":"response.failed","response":{"error":{"code":"usage_limit_reached","plan_type":"pro"}}}"#;
        let answer = Answer::of_event(Failure::QuotaSpent { until: Some(Time(1_796_086_800_000)) }, event, NOW);
        assert_eq!(answer, Answer::quota_spent(Some(Time(1_796_086_800_000)), Some("pro"), NOW));
    }

    #[test]
    fn field_c7_a_request_fault_inside_a_stream_becomes_a_4xx() {
        let event = br#"{"type":"response.failed","response":{"id":"r","error":{"code":"context_length_exceeded","message":"Too \"long\""}}}"#;
        insta::assert_snapshot!(text(&Answer::of_event(Failure::Request, event, NOW)), @r#"
        400
        content-type: application/json
        {"error":{"message":"Too \"long\"","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}
        "#);
        let framed = br#"{"type":"error","status":413,"error":{"type":"t","code":"c","message":"m","param":"input"}}"#;
        insta::assert_snapshot!(text(&Answer::of_event(Failure::Request, framed, NOW)), @r#"
        413
        content-type: application/json
        {"error":{"message":"m","type":"t","param":"input","code":"c"}}
        "#);
        assert_eq!(Answer::of_event(Failure::Request, b"", NOW).status, 400);
    }

    #[test]
    fn the_other_answers() {
        let all = [
            Answer::empty_ok(),
            Answer::busy("All replay buffers are in use; retry shortly."),
            Answer::bad_gateway(),
            Answer::gateway_timeout(),
            Answer::bad_request("model_required", "Name exactly one model."),
            Answer::unauthorized(),
            Answer::forbidden("user_disabled", "This user is disabled; ask the operator."),
            Answer::not_found(),
            Answer::method_not_allowed("POST"),
            Answer::too_large(64 << 20),
            Answer::upgrade_required(),
            Answer::previous_response_not_found("resp_x"),
            Answer::pin_cannot_serve(Anchor::PreviousResponse),
            Answer::pin_cannot_serve(Anchor::File),
        ];
        let texts: Vec<_> = all.iter().map(text).collect();
        insta::assert_snapshot!(texts.join("\n"), @r#"
        200

        503
        content-type: application/json
        retry-after: 1
        {"error":{"message":"All replay buffers are in use; retry shortly.","type":"server_error","param":null,"code":"gateway_busy"}}

        502
        content-type: application/json
        {"error":{"message":"The upstream could not be reached or broke off; retry the request.","type":"server_error","param":null,"code":"upstream_unreachable"}}

        504
        content-type: application/json
        {"error":{"message":"The upstream did not answer in time; retry the request.","type":"server_error","param":null,"code":"upstream_timeout"}}

        400
        content-type: application/json
        {"error":{"message":"Name exactly one model.","type":"invalid_request_error","param":null,"code":"model_required"}}

        401
        content-type: application/json
        www-authenticate: Bearer
        {"error":{"message":"Unknown or missing API key. Send one of this gateway's keys as \"Authorization: Bearer ...\" or X-API-Key.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}

        403
        content-type: application/json
        {"error":{"message":"This user is disabled; ask the operator.","type":"permission_error","param":null,"code":"user_disabled"}}

        404
        content-type: application/json
        {"error":{"message":"No such route. Point the client's base URL at /v1 or /backend-api/codex.","type":"invalid_request_error","param":null,"code":"not_found"}}

        405
        content-type: application/json
        allow: POST
        {"error":{"message":"This route takes POST only.","type":"invalid_request_error","param":null,"code":"method_not_allowed"}}

        413
        content-type: application/json
        {"error":{"message":"The request body is larger than 67108864 bytes, the gateway's limit.","type":"invalid_request_error","param":null,"code":"request_too_large"}}

        426
        content-type: application/json
        upgrade: HTTP/1.1
        {"error":{"message":"WebSocket is not available on this route; use HTTP.","type":"invalid_request_error","param":null,"code":"upgrade_refused"}}

        400
        content-type: application/json
        {"error":{"message":"Previous response with id 'resp_x' not found.","type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}

        409
        content-type: application/json
        x-should-retry: false
        {"error":{"message":"The account that holds this response cannot serve now. Drop previous_response_id and send the whole conversation, or retry later.","type":"invalid_request_error","param":"previous_response_id","code":"pinned_account_unavailable"}}

        409
        content-type: application/json
        x-should-retry: false
        {"error":{"message":"The account that holds a file of this request cannot serve now. Drop the file id and upload the file again, or retry later.","type":"invalid_request_error","param":"input","code":"pinned_account_unavailable"}}
        "#);
    }
}
