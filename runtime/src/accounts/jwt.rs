//! The claims of a token from our own files. Signatures are the upstream's business: a claim decides nothing but a name and
//! a time, and claims of a presented token are never read.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

/// Longest token that is read, in bytes.
const TOKEN_MAX: usize = 64 << 10;

/// The claims the gateway needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// `chatgpt_account_id`.
    pub account_id: Option<String>,
    /// `chatgpt_user_id`.
    pub user_id: Option<String>,
    /// `sub`.
    pub subject: Option<String>,
    /// `exp`, in milliseconds since the Unix epoch.
    pub expires_ms: Option<u64>,
}

#[derive(Deserialize)]
struct Payload {
    sub: Option<String>,
    exp: Option<serde_json::Number>,
    #[serde(rename = "https://api.openai.com/auth")]
    auth: Option<Auth>,
}

#[derive(Deserialize)]
struct Auth {
    chatgpt_account_id: Option<String>,
    chatgpt_user_id: Option<String>,
}

impl Claims {
    /// The claims of a token, or `None` where it is no JWT with a JSON payload.
    #[must_use]
    pub fn read(token: &str) -> Option<Self> {
        if token.len() > TOKEN_MAX {
            return None;
        }
        let mut parts = token.split('.');
        let (_, payload, _, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else { return None };
        let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
        let payload: Payload = serde_json::from_slice(&payload).ok()?;
        let (account_id, user_id) = payload.auth.map_or((None, None), |a| (a.chatgpt_account_id, a.chatgpt_user_id));
        let seconds = payload.exp.and_then(|n| n.as_u64().or_else(|| n.as_f64().map(|f| f as u64)));
        Some(Self { account_id, user_id, subject: payload.sub, expires_ms: seconds.map(|s| s.saturating_mul(1_000)) })
    }
}
