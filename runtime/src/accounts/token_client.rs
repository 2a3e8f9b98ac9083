//! The OAuth token endpoint: one refresh token in, a new set out.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::credential::Secret;
use super::file::NewTokens;
use super::jwt::Claims;
use crate::clock;
use crate::outgoing::{NotSent, Outgoing};

/// The client id of the Codex CLI, which the upstream issued the tokens to (clients.md §2).
const CLIENT_ID: &str = "app_EMoamEEZ73f0CkXaXp7hrann";
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
    /// Seconds.
    expires_in: Option<u64>,
}

/// Redeems a refresh token at `url`, within `limit`.
pub(super) async fn redeem(
    client: &Outgoing,
    url: &http_types::Url,
    token: &Secret,
    reason: &str,
    limit: Duration,
) -> Redeemed {
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
    match clock::within(limit, client.call(request, ANSWER_MAX)).await {
        None => Redeemed::Lost(format!("no answer within {} s", limit.as_secs_f32())),
        Some(Err(error)) if error.downcast_ref::<NotSent>().is_some() => Redeemed::NotSent(error.to_string()),
        Some(Err(error)) => Redeemed::Lost(error.to_string()),
        Some(Ok((status, body))) => answered(status, &zeroize::Zeroizing::new(body), clock::wall_ms()),
    }
}

/// What a whole answer means. Only an answer of the OAuth server itself says that a token is no good, and that in a known
/// word (field E6); what a proxy or a challenge page says is about the moment.
fn answered(status: u16, body: &[u8], now_ms: u64) -> Redeemed {
    let said = || format!("status {status}, {}", error_word(body).unwrap_or_else(|| "no reason given".to_owned()));
    match status {
        200..=299 => {}
        400 if error_word(body).is_some_and(|word| is_final(&word)) => return Redeemed::Refused(said()),
        401 if error_word(body).is_some() => return Redeemed::Refused(said()),
        _ => return Redeemed::Later(said()),
    }
    match serde_json::from_slice::<Answer>(body) {
        Ok(Answer { access_token: Some(access), refresh_token, id_token, expires_in }) if fits(&access) => {
            let secret = |token: Option<String>| token.filter(|t| fits(t)).map(|t| Secret::new(&t));
            let in_time = || Some(now_ms.saturating_add(expires_in?.saturating_mul(1_000)));
            Redeemed::Tokens(NewTokens {
                expires_ms: Claims::read(&access).and_then(|c| c.expires_ms).or_else(in_time),
                access: Secret::new(&access),
                refresh: secret(refresh_token),
                id: secret(id_token),
            })
        }
        // It was taken, and what came back is no use: the token may be spent.
        Ok(_) | Err(_) => Redeemed::Lost("the answer holds no access token".into()),
    }
}

/// Whether a word with status 400 condemns the token: `invalid_grant`, `invalid_refresh_token`, `refresh_token_reused`,
/// `token_expired` and their kin.
fn is_final(word: &str) -> bool {
    word.starts_with("invalid_") || word.starts_with("refresh_token_") || word.starts_with("token_")
}

fn fits(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic())
}

/// The error's code, from any shape that OAuth servers use; `None` where the body is none of theirs. Never more than a word
/// of what the server said.
fn error_word(body: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let error = &value["error"];
    let words = [error, &error["code"], &error["type"], &value["code"], &value["detail"]["code"]];
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let word = words.iter().find_map(|word| word.as_str());
    let word = word.or_else(|| value.is_object().then_some("unnamed error"))?;
    Some(word.chars().filter(|c| plain(c) || *c == ' ').take(64).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(status: u16, body: &str) -> &'static str {
        match answered(status, body.as_bytes(), 0) {
            Redeemed::Tokens(_) => "tokens",
            Redeemed::Refused(_) => "refused",
            Redeemed::Later(_) => "later",
            Redeemed::NotSent(_) => "not sent",
            Redeemed::Lost(_) => "lost",
        }
    }

    #[test]
    fn field_e6_what_the_server_says_of_a_dead_token_is_final() {
        for body in [
            r#"{"error":"invalid_grant","error_description":"x"}"#,
            r#"{"error":{"code":"refresh_token_expired"}}"#,
            r#"{"error":{"code":"refresh_token_reused","message":"m"}}"#,
            r#"{"error":{"code":"refresh_token_invalidated"}}"#,
            r#"{"error":{"type":"invalid_request_error","code":"token_expired"}}"#,
            r#"{"error":{"type":"invalid_request_error"}}"#,
            r#"{"code":"invalid_refresh_token"}"#,
        ] {
            assert_eq!(outcome(400, body), "refused", "{body}");
            assert_eq!(outcome(401, body), "refused", "{body}");
        }
        assert_eq!(outcome(401, r#"{"error":"anything_else"}"#), "refused");
        assert_eq!(outcome(401, r#"{"message":"no"}"#), "refused");
    }

    #[test]
    fn an_answer_about_the_moment_condemns_no_token() {
        let page = "<html>Just a moment...</html>";
        for status in [301, 302, 400, 401, 403, 404, 408, 413, 425, 429, 500, 502, 503, 504, 520, 599] {
            assert_eq!(outcome(status, page), "later", "{status}");
        }
        assert_eq!(outcome(400, r#"{"error":"temporarily_unavailable"}"#), "later");
        assert_eq!(outcome(403, r#"{"error":"unsupported_country_region_territory"}"#), "later");
        assert_eq!(outcome(429, r#"{"error":"invalid_grant"}"#), "later");
    }

    #[test]
    fn a_success_without_a_token_may_have_spent_ours() {
        for body in [
            "",
            "{}",
            "<html>",
            r#"{"access_token":""}"#,
            r#"{"access_token":"a
b"}"#,
            r#"{"access_token":7}"#,
        ] {
            assert_eq!(outcome(200, body), "lost", "{body}");
        }
        assert_eq!(outcome(200, r#"{"access_token":"a"}"#), "tokens");
    }

    #[test]
    fn the_end_is_what_the_token_says_else_what_the_answer_says() {
        let Redeemed::Tokens(tokens) = answered(200, br#"{"access_token":"opaque","expires_in":60}"#, 1_000) else {
            panic!("these are tokens")
        };
        assert_eq!(tokens.expires_ms, Some(61_000));
    }

    #[test]
    fn what_the_server_says_is_cut_to_a_plain_word() {
        let Redeemed::Refused(why) = answered(401, br#"{"error":"bad\r\n\u001b[31m word"}"#, 0) else {
            panic!("this is a refusal")
        };
        assert_eq!(why, "status 401, bad31m word");
    }
}
