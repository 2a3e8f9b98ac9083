//! The token endpoint: refresh tokens are good for one use, and every redemption rotates all three tokens.

use serde_json::{Value, json};

use super::account::Account;
use super::behaviour::Behaviour;
use super::failures;
use super::registry::Redeemed;
use super::reply::{Action, Answer};
use super::state::State;

/// The path of the token endpoint.
pub(super) const PATH: &str = "/oauth/token";

/// The refresh token of a request, JSON or form encoded.
pub(super) fn refresh_token(body: &[u8]) -> Option<String> {
    if let Ok(json) = serde_json::from_slice::<Value>(body) {
        let grant = json.get("grant_type").and_then(Value::as_str);
        let token = json.get("refresh_token").and_then(Value::as_str);
        return token.filter(|_| grant == Some("refresh_token")).map(str::to_owned);
    }
    let form = std::str::from_utf8(body).ok()?;
    // Issued tokens hold nothing that a form would escape.
    form.split('&').find_map(|pair| pair.strip_prefix("refresh_token=")).map(str::to_owned)
}

/// Redeems `token`, or fails as ordered. Only a lost answer consumes the token and fails.
pub(super) fn redeem(state: &State, token: Option<&str>, outcome: Option<&Behaviour>) -> Action {
    if let Some(behaviour) = outcome
        && *behaviour != Behaviour::LostAnswer
    {
        return failures::plain(behaviour, "free").unwrap_or_else(|| granted(state, token).into());
    }
    let answer = granted(state, token);
    if outcome.is_some() { Action::Reset } else { answer.into() }
}

fn granted(state: &State, token: Option<&str>) -> Answer {
    let Some(token) = token else {
        return Answer::error(400, "invalid_request_error", "invalid_request", "A refresh_token grant is expected.");
    };
    let now = crate::clock::wall_ms();
    match state.with(|inner| inner.registry.redeem(token, now, &state.mint)) {
        Redeemed::Rotated(account) => Answer::json(200, &grant(&account)).with("cache-control", "no-store"),
        Redeemed::Reused => Answer::error(
            401,
            "invalid_request_error",
            "refresh_token_reused",
            "Your refresh token has already been used to generate a new access token. Please try signing in again.",
        ),
        Redeemed::Unknown => Answer::error(
            401,
            "invalid_request_error",
            "refresh_token_invalidated",
            "Your session has ended. Please log in again.",
        ),
    }
}

fn grant(account: &Account) -> Value {
    json!({
        "access_token": account.access_token,
        "id_token": account.id_token,
        "refresh_token": account.refresh_token,
        "token_type": "Bearer",
        "expires_in": account.spec.lifetime_seconds.max(0),
        "scope": "openid profile email offline_access",
    })
}
