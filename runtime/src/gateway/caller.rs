//! Who asks (spec §1): a managed user by API key, or a compatibility caller by a loaded account's current access token.

use std::sync::Arc;

use super::state::Gateway;
use crate::http::Headers;
use crate::store::Tenant;
use crate::tenants::Auth;
use crate::wire::answer::Answer;

/// An authenticated caller.
pub(super) struct Caller {
    /// Its number, and the stable name that is the scope of its session keys (K2).
    pub(super) tenant: Tenant,
    /// Who it is, in logs.
    pub(super) label: Arc<str>,
}

/// The caller, or the answer that turns it away: 401 for what is unknown, 403 for a disabled user.
pub(super) fn authenticate(gateway: &Gateway, headers: &Headers) -> Result<Caller, Answer> {
    let presented = presented(headers).ok_or_else(Answer::unauthorized)?;
    match gateway.tenants.authenticate(presented) {
        Auth::User { tenant, name, .. } => return Ok(Caller { tenant, label: name }),
        Auth::Disabled => {
            return Err(Answer::forbidden("user_disabled", "this user is disabled; ask the operator to enable it"));
        }
        Auth::Unknown => {}
    }
    let identity = gateway.roster.caller(presented).filter(|_| gateway.config.tenants.compatibility);
    let account = identity.and_then(|identity| gateway.number(&identity)).and_then(|id| gateway.named(id));
    let named = account.ok_or_else(Answer::unauthorized)?;
    Ok(Caller { tenant: named.tenant, label: named.label })
}

/// The one key that the request presents: `Authorization: Bearer`, else `X-API-Key`. A repeated header presents none.
fn presented(headers: &Headers) -> Option<&str> {
    let once = |name: &str| if headers.count(name) == 1 { headers.get_str(name) } else { None };
    let bearer = once("authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    bearer.or_else(|| once("x-api-key").map(str::trim)).filter(|key| !key.is_empty())
}
