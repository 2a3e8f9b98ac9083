//! The OAuth token endpoint: one refresh token in, a new set out.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::credential::Secret;
use super::file::NewTokens;
use crate::clock;
use crate::outgoing::{NotSent, Outgoing};

/// The client id of the Codex CLI, which the upstream issued the tokens to (clients.md §2).
const CLIENT_ID: &str = "app_EMoamEEZ73f0CkXaXp7hrann";
/// Limit for the whole call.
const LIMIT: Duration = Duration::from_secs(30);
/// Largest answer read, in bytes.
const ANSWER_MAX: usize = 1 << 20;

/// How a redemption ended.
pub(super) enum Redeemed {
    /// New tokens.
    Tokens(NewTokens),
    /// The server says the token is no good, and says why in a word.
    Refused(String),
    /// The server answered that it cannot now: the token is still good.
    Later(String),
    /// No connection was made: the token was not sent.
    NotSent(String),
    /// It was sent and no whole answer came: whether it is still good, nobody knows.
    Lost(String),
}

#[derive(Serialize)]
struct Ask<'a> {
    client_id: &'a str,
    grant_type: &'a str,
    refresh_reason: &'a str,
    refresh_token: &'a str,
}

#[derive(Deserialize)]
struct Answer {
    access_token: Option<String>,
    refresh_token: Option<String>,
    id_token: Option<String>,
}

/// Redeems a refresh token at `url`.
pub(super) async fn redeem(client: &Outgoing, url: &http_types::Url, token: &Secret, reason: &str) -> Redeemed {
    let ask = Ask {
        client_id: CLIENT_ID,
        grant_type: "refresh_token",
        refresh_reason: reason,
        refresh_token: token.expose(),
    };
    let Ok(body) = serde_json::to_string(&ask).map(zeroize::Zeroizing::new) else {
        return Redeemed::NotSent("the request cannot be written".into());
    };
    let request = surf::Request::builder(http_types::Method::Post, url.clone())
        .content_type("application/json")
        .body(body.as_str())
        .build();
    match clock::within(LIMIT, client.call(request, ANSWER_MAX)).await {
        None => Redeemed::Lost(format!("no answer within {} s", LIMIT.as_secs())),
        Some(Err(error)) if error.downcast_ref::<NotSent>().is_some() => Redeemed::NotSent(error.to_string()),
        Some(Err(error)) => Redeemed::Lost(error.to_string()),
        Some(Ok((status, body))) => answered(status, &zeroize::Zeroizing::new(body)),
    }
}

fn answered(status: u16, body: &[u8]) -> Redeemed {
    if !(200..300).contains(&status) {
        let word = error_word(body);
        // Field E6: whatever invalid_* it is, only a new login helps. 408 and 429 are about the moment, not the token.
        return match status {
            408 | 429 | 500..=599 => Redeemed::Later(format!("status {status}, {word}")),
            _ => Redeemed::Refused(format!("status {status}, {word}")),
        };
    }
    match serde_json::from_slice::<Answer>(body) {
        Ok(Answer { access_token: Some(access), refresh_token, id_token }) if fits(&access) => {
            let secret = |token: Option<String>| token.filter(|t| fits(t)).map(|t| Secret::new(&t));
            let tokens =
                NewTokens { access: Secret::new(&access), refresh: secret(refresh_token), id: secret(id_token) };
            Redeemed::Tokens(tokens)
        }
        // It was taken, and what came back is no use: the token may be spent.
        Ok(_) | Err(_) => Redeemed::Lost("the answer holds no access token".into()),
    }
}

fn fits(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic())
}

/// The error's code, from either shape that OAuth servers use. Never more than a word of what the server said.
fn error_word(body: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &value["error"];
    let word = error.as_str().or_else(|| error["code"].as_str()).or_else(|| error["type"].as_str());
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    word.map_or_else(|| "no reason given".to_owned(), |w| w.chars().filter(plain).take(64).collect())
}
