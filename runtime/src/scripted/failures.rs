//! What each scripted failure looks like on the wire.

use serde_json::{Value, json};

use super::behaviour::Behaviour;
use super::reply::{Action, Answer};

/// The action of an outcome that does not need the good answer; `None` for those that alter it.
pub(super) fn plain(behaviour: &Behaviour, plan: &str) -> Option<Action> {
    let answer = match behaviour {
        Behaviour::Status { code, headers, body } => status(*code, headers, body),
        Behaviour::UsageLimit { resets_in } => usage_limit(*resets_in, plan),
        Behaviour::RateLimited { retry_after } => rate_limited(*retry_after),
        Behaviour::Html403 => challenge(),
        Behaviour::Unauthorized => *super::auth::refused("token_expired", "Your authentication token has expired."),
        Behaviour::EarlyAnswer { code, body } => status(*code, &[], body),
        Behaviour::ResetBeforeHeaders | Behaviour::LostAnswer => return Some(Action::Reset),
        Behaviour::HangBeforeHeaders => return Some(Action::Hang),
        _ => return None,
    };
    Some(answer.into())
}

fn status(code: u16, headers: &[(String, String)], body: &Value) -> Answer {
    let mut answer = match body {
        Value::Null if code < 400 => Answer::empty(code),
        Value::Null => Answer::error(code, "server_error", &format!("scripted_{code}"), "A scripted failure."),
        Value::String(text) if text.is_empty() => Answer::empty(code),
        Value::String(text) => Answer::text(code, "text/plain; charset=utf-8", text.clone()),
        other => Answer::json(code, other),
    };
    for (name, value) in headers {
        answer.headers.retain(|(n, _)| !(n == "content-type" && name.eq_ignore_ascii_case(n)));
        answer = answer.with(name, value);
    }
    answer
}

fn usage_limit(resets_in: Option<u64>, plan: &str) -> Answer {
    let mut error = json!({
        "type": "usage_limit_reached",
        "message": "The usage limit has been reached",
        "plan_type": plan,
    });
    let mut headers = vec![("x-codex-primary-used-percent", "100".to_owned())];
    if let Some(seconds) = resets_in {
        let at = crate::clock::wall_ms() / 1000 + seconds;
        error["resets_at"] = json!(at);
        error["resets_in_seconds"] = json!(seconds);
        headers.push(("x-codex-primary-reset-at", at.to_string()));
        headers.push(("x-codex-primary-window-minutes", "300".to_owned()));
    }
    let answer = Answer::json(429, &json!({ "error": error }));
    headers.into_iter().fold(answer, |answer, (name, value)| answer.with(name, value))
}

fn rate_limited(retry_after: Option<u64>) -> Answer {
    let message = "Rate limit reached for the organization. Please slow down.";
    let answer = Answer::error(429, "rate_limit_error", "rate_limit_exceeded", message);
    match retry_after {
        Some(seconds) => answer.with("retry-after", seconds.to_string()),
        None => answer,
    }
}

fn challenge() -> Answer {
    let page = "<!DOCTYPE html><html><head><title>Just a moment...</title></head>\
                <body>Enable JavaScript and cookies to continue</body></html>";
    Answer::text(403, "text/html; charset=UTF-8", page.to_owned())
        .with("cf-mitigated", "challenge")
        .with("cf-ray", "8f00000000000000-SCR")
}
