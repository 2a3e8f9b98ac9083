//! The gateway's own answers, in the upstream's error shape, so that clients act on them as they do on the upstream's.
//!
//! No answer here says `server_is_overloaded`: Codex gives up on that code instead of waiting out `Retry-After`.

use std::fmt;

use homing_core::time::{Millis, Time};
use serde::Serialize;

/// The longest `Retry-After` of our own (R4).
const LONGEST_WAIT: Millis = Millis(60_000);

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

    /// 503: there are accounts, and only their owner can bring one back (R4).
    pub fn no_account_usable() -> Self {
        let message = "No account can serve: each needs a login, is disabled, is refused or has to wait for long. The \
                       operator's `homing accounts list` says which.";
        Self::error(503, SERVER, "no_account_usable", message).retry_after(LONGEST_WAIT)
    }

    /// 400: every account that could serve has lately refused this model (R4). Another try would end the same.
    pub fn model_not_served() -> Self {
        let message =
            "No account here serves this model: each one refused it within the last hour. Choose another model.";
        Self::error(400, REQUEST, "model_not_supported", message)
    }

    /// 503: there are no accounts at all.
    pub fn no_accounts() -> Self {
        let message = "This gateway has no accounts yet. The operator adds one with `codex login`, or by copying an \
                       auth.json into the gateway's auth directory.";
        Self::error(503, SERVER, "no_accounts", message).retry_after(LONGEST_WAIT)
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

    /// 409: the account that a `previous_response_id` or a file id belongs to cannot serve (R1). No other one knows the id.
    pub fn anchor_out() -> Self {
        let message = "The account that this request's previous_response_id or file belongs to cannot serve now. Retry \
                       later, or send the request without that id and with its full input.";
        Self::error(409, REQUEST, "pinned_account_unavailable", message)
    }

    /// 400: nobody here knows the id, or another tenant does: the upstream's own not-found answer (R1).
    pub fn anchor_not_found() -> Self {
        let message = "Previous response or file not found. Send the request without that id and with its full input.";
        Self::error(400, REQUEST, "previous_response_not_found", message)
    }

    /// 400: two ids in one request belong to different accounts (R1).
    pub fn anchors_apart() -> Self {
        let message = "The previous_response_id and the files of this request belong to different accounts; no account \
                       knows them all. Upload the files again, or drop previous_response_id and send the full input.";
        Self::error(400, REQUEST, "anchors_apart", message)
    }

    /// 503: the store could not say what an id belongs to (R1).
    pub fn pins_unknown() -> Self {
        let message = "The gateway could not look up which account this request's ids belong to; retry.";
        Self::error(503, SERVER, "pins_unavailable", message).retry_after(Millis::secs(1))
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
            "No such route. The base URL is /v1 or /backend-api/codex, and the API served is Responses: POST /responses, POST /responses/compact, GET /models.",
        )
    }

    /// 405 with the methods the route takes.
    pub fn method_not_allowed(allow: &'static str) -> Self {
        Self::error(405, REQUEST, "method_not_allowed", format_args!("This route takes {allow} only."))
            .with("allow", allow)
    }

    /// 426: no WebSocket here. Codex falls back to HTTP silently (W4). The caller adds `upgrade` to `Connection`.
    pub fn upgrade_required() -> Self {
        let message = "WebSocket is not available on this route; use HTTP.";
        Self::error(426, REQUEST, "upgrade_refused", message).with("upgrade", "HTTP/1.1")
    }
}

#[cfg(test)]
mod tests;
