//! Why the upstream did not serve (R2): from an answer's status, headers and body, or from an event inside a 200 stream.
//!
//! The body is read before the status (field B5): a gateway that cools accounts by status alone blames them for a request's own
//! fault. A body that is cut short or is no JSON object says nothing, and the status decides.

mod fault;
mod quota;
pub mod retry;

use homing_core::failure::Failure;
use homing_core::time::{Millis, Time};

use super::headers::HeaderSource;
pub use fault::Fault;

/// Faults of the upstream's servers, whatever status they come with.
const OVERLOADED: &[&str] = &[
    "server_is_overloaded",
    "server_overloaded",
    "overloaded",
    "overloaded_error",
    "slow_down",
    "server_error",
    "internal_error",
    "internal_server_error",
    "service_unavailable",
    "timeout",
];

/// Too many requests in a short time.
const RATE: &[&str] = &["rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests"];

/// A token that is no longer good.
const TOKEN: &[&str] = &[
    "token_expired",
    "token_revoked",
    "token_invalidated",
    "invalid_token",
    "invalid_api_key",
    "authentication_error",
];

/// What a code says of an account that is refused until its credential changes.
const REFUSED: &[&str] = &["deactivated", "suspended", "banned", "terminated"];
/// The same where the code or message names the account, workspace or organization.
const REFUSED_IF_NAMED: &[&str] = &["deactivated", "suspended", "banned", "terminated", "deleted"];

/// Faults of the request itself. No other account would take it.
const REQUEST: &[&str] = &[
    "context_length_exceeded",
    "invalid_prompt",
    "previous_response_not_found",
    "missing_required_parameter",
    "unknown_parameter",
    "unsupported_parameter",
    "unsupported_value",
    "invalid_type",
    "invalid_value",
    "invalid_json",
    "string_above_max_length",
    "array_above_max_length",
    "integer_above_max_value",
    "integer_below_min_value",
    "invalid_image",
    "invalid_image_format",
    "invalid_image_url",
    "image_too_large",
    "content_policy_violation",
    "cyber_policy",
    "request_too_large",
    "content_filter",
    "bio_policy",
];

/// Classes an answer that is not 2xx. `body` is the start of its body, decoded: a few KiB are enough.
///
/// Where the table of spec §4 is silent: every 5xx is the server's; a 403 that is no JSON object is a challenge, also an empty
/// one; a redirect is the request's.
pub fn classify_answer<H: HeaderSource + ?Sized>(status: u16, headers: &H, body: &[u8], now: Time) -> Failure {
    let fault = Fault::read(body);
    let wait = retry::retry_after(headers, now);
    if let Some(failure) = fault.as_ref().and_then(|fault| by_fault(fault, Some(status), wait, now)) {
        return match failure {
            Failure::QuotaSpent { .. } if quota::other_family(headers) => Failure::ModelRefused,
            Failure::QuotaSpent { until: None } => Failure::QuotaSpent { until: quota::exhausted_reset(headers, now) },
            failure => failure,
        };
    }
    if status == 403 && (fault.is_none() || headers.values("cf-mitigated").next().is_some()) {
        return Failure::Challenge;
    }
    if status == 404 && (body.trim_ascii().is_empty() || is_html(headers, body)) {
        return Failure::Challenge;
    }
    let text = || match fault {
        Some(_) => None,
        None => retry::in_text(&String::from_utf8_lossy(&body[..body.len().min(4096)])),
    };
    by_status(status, wait.or_else(|| fault.as_ref().and_then(|fault| fault.wait(now))).or_else(text))
}

/// Classes the data of a `response.failed` or `error` event, or of an error frame. A status it names counts as an answer's;
/// without one, and without a known code, an error with a code is the request's and one without is the server's.
pub fn classify_event(data: &[u8], now: Time) -> Failure {
    let Some(fault) = Fault::read(data) else { return Failure::Server { retry_after: None } };
    let status = fault.status.filter(|status| *status >= 400);
    by_fault(&fault, status, None, now).unwrap_or_else(|| match status {
        Some(status) => by_status(status, fault.wait(now)),
        None if fault.code.is_some() || fault.is("invalid_request_error") => Failure::Request,
        None => Failure::Server { retry_after: fault.wait(now) },
    })
}

/// What the error itself says; `None` where only the status can tell.
fn by_fault(fault: &Fault<'_>, status: Option<u16>, header: Option<Millis>, now: Time) -> Option<Failure> {
    let status_is = |statuses: &[u16]| status.is_none_or(|s| statuses.contains(&s));
    if fault.is("usage_limit_reached") || fault.is("insufficient_quota") {
        return Some(Failure::QuotaSpent { until: fault.reset(now) });
    }
    if fault.is("usage_not_included") {
        return Some(Failure::ModelRefused);
    }
    if fault.is("websocket_connection_limit_reached") {
        // The connection's age, nobody's fault: the same account again (last row of the table).
        return Some(Failure::Unreachable);
    }
    let message = fault.lower_message();
    if status_is(&[400]) && (fault.is("invalid_encrypted_content") || message.contains("invalid_encrypted_content")) {
        return Some(Failure::ForeignCiphertext);
    }
    if status_is(&[400, 403, 404]) && message.contains("model is not supported") {
        return Some(Failure::ModelRefused);
    }
    if status_is(&[401, 402, 403]) && account_refused(fault, status.map_or("", |_| &message)) {
        return Some(Failure::AccountRefused);
    }
    if fault.is_any(REQUEST) {
        return Some(Failure::Request);
    }
    if fault.is_any(OVERLOADED) && status.is_none_or(|s| s >= 500 || s == 429 || s == 408) {
        return Some(Failure::Server { retry_after: header.or_else(|| fault.wait(now)) });
    }
    if fault.is_any(RATE) && status_is(&[429]) {
        return Some(rate_limited(header.or_else(|| fault.wait(now))));
    }
    if status_is(&[401]) && fault.is_any(TOKEN) {
        return Some(Failure::Unauthorized);
    }
    // A fault that names a parameter is the request's, even wrapped in a 401 (field B5).
    (status == Some(401) && fault.is("invalid_request_error") && fault.param.is_some()).then_some(Failure::Request)
}

fn by_status(status: u16, wait: Option<Millis>) -> Failure {
    match status {
        401 => Failure::Unauthorized,
        402 => Failure::AccountRefused,
        429 => rate_limited(wait),
        408 | 500.. => Failure::Server { retry_after: wait },
        _ => Failure::Request,
    }
}

fn rate_limited(wait: Option<Millis>) -> Failure {
    wait.map_or(Failure::Throttled, |retry_after| Failure::RateLimited { retry_after })
}

/// A message counts only beside a status that is about accounts (the caller passes none otherwise): it may quote the request.
fn account_refused(fault: &Fault<'_>, message: &str) -> bool {
    let code = fault.code.as_deref().or(fault.kind.as_deref()).unwrap_or_default().to_ascii_lowercase();
    let says = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    let names_one = |text: &str| says(text, &["account", "workspace", "organization"]);
    says(&code, REFUSED) || [code.as_str(), message].iter().any(|text| names_one(text) && says(text, REFUSED_IF_NAMED))
}

fn is_html<H: HeaderSource + ?Sized>(headers: &H, body: &[u8]) -> bool {
    let html = b"text/html";
    headers.values("content-type").any(|v| v.len() >= html.len() && v[..html.len()].eq_ignore_ascii_case(html))
        || body.trim_ascii_start().starts_with(b"<")
}

#[cfg(test)]
mod tests;
