//! Who a request is from.

use super::connection::Head;
use super::registry::Identity;
use super::reply::Answer;
use super::state::State;

/// The account behind a request's bearer, which `chatgpt-account-id` must agree with.
pub(super) fn authenticate(state: &State, head: &Head) -> Result<Identity, Box<Answer>> {
    let now = crate::clock::wall_ms();
    let bearer = head.single("authorization").and_then(bearer);
    let by_token = bearer.and_then(|token| state.with(|inner| inner.registry.by_access(token, now)));
    if state.options.open {
        let anyone = by_token.or_else(|| state.with(|inner| inner.registry.first()));
        return anyone.ok_or_else(|| refused("no_account", "The scripted upstream has no account yet."));
    }
    let Some(identity) = by_token else {
        return Err(refused("token_expired", "Provided authentication token is expired. Please try signing in again."));
    };
    match head.single("chatgpt-account-id") {
        Some(id) if id == identity.account_id => Ok(identity),
        Some(_) => Err(refused("account_mismatch", "The account header does not belong to the token.")),
        None => Err(refused("account_missing", "The account header is missing or repeated.")),
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

pub(super) fn refused(code: &str, message: &str) -> Box<Answer> {
    let answer = Answer::error(401, "invalid_request_error", code, message);
    Box::new(answer.with("www-authenticate", "Bearer"))
}
