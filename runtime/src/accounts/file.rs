//! Auth files: the official Codex `auth.json` with nested `tokens`, and flat token files. Read strictly, written back with
//! every unknown field kept.

use serde_json::{Map, Value};

use super::credential::{Credential, Secret};
use super::identity::Identity;
use super::jwt::Claims;

/// Largest auth file, in bytes.
pub(super) const FILE_MAX: u64 = 1 << 20;

/// An auth file's content.
#[derive(Clone, Debug)]
pub(super) struct AuthFile {
    pub(super) identity: Identity,
    pub(super) credential: Credential,
    /// Switched off by its owner (flat files).
    pub(super) disabled: bool,
}

/// Why a file holds no account.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileProblem {
    /// Half-written, locked, damaged: what was known of it stands (B11).
    #[error("cannot be read now ({0}); the last good content stays in use")]
    Unreadable(String),
    /// Well-formed, and no account: an API key, or something else altogether.
    #[error("holds no account: {0}")]
    NoAccount(&'static str),
    /// A value that no header can carry.
    #[error("field {0:?} has a control character or is empty; log in again")]
    BadValue(&'static str),
}

/// The tokens that a refresh brought.
pub(super) struct NewTokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) id: Option<Secret>,
}

impl AuthFile {
    /// Reads a file's content. `path` is relative to the auth directory.
    pub(super) fn parse(bytes: &[u8], path: &str) -> Result<Self, FileProblem> {
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|e| FileProblem::Unreadable(format!("no JSON at line {}, column {}", e.line(), e.column())))?;
        let Value::Object(root) = value else { return Err(FileProblem::NoAccount("it is no JSON object")) };
        let tokens = match root.get("tokens") {
            Some(Value::Object(tokens)) => tokens,
            _ => &root,
        };
        let access = text(tokens, "access_token")?.ok_or_else(|| no_token(&root))?;
        let refresh = text(tokens, "refresh_token")?;
        let id = text(tokens, "id_token")?;
        let file_account = text(tokens, "account_id")?.or(text(&root, "account_id")?);
        let (access_claims, id_claims) = (Claims::read(access), id.and_then(Claims::read));
        let identity = Identity::of(access_claims.as_ref(), id_claims.as_ref(), file_account, path);
        let account_id = match &identity {
            Identity::Stated { account, .. } => Some(account.clone()),
            Identity::Path(_) => None,
        };
        let stated_end = || ["expired", "expires_at", "expires"].iter().find_map(|f| time(tokens.get(*f)?));
        let credential = Credential {
            access: Secret::new(access),
            refresh: refresh.map(Secret::new),
            account_id,
            expires_ms: access_claims.and_then(|c| c.expires_ms).or_else(stated_end),
            last_refresh_ms: root.get("last_refresh").and_then(time),
        };
        let disabled = root.get("disabled").and_then(Value::as_bool).unwrap_or(false);
        Ok(Self { identity, credential, disabled })
    }

    /// The file's content with new tokens: nested where they were nested, flat where flat, everything else as it was.
    pub(super) fn updated(bytes: &[u8], tokens: &NewTokens, now_ms: u64) -> Result<Vec<u8>, FileProblem> {
        let value: Value =
            serde_json::from_slice(bytes).map_err(|e| FileProblem::Unreadable(format!("no JSON: {e}")))?;
        let Value::Object(mut root) = value else { return Err(FileProblem::NoAccount("it is no JSON object")) };
        match root.get_mut("tokens") {
            Some(Value::Object(nested)) => put(nested, tokens, now_ms),
            _ => put(&mut root, tokens, now_ms),
        }
        let at = jiff::Timestamp::from_millisecond(i64::try_from(now_ms).unwrap_or(i64::MAX)).unwrap_or_default();
        root.insert("last_refresh".into(), Value::String(at.to_string()));
        let mut out = serde_json::to_vec_pretty(&root).map_err(|e| FileProblem::Unreadable(e.to_string()))?;
        out.push(b'\n');
        Ok(out)
    }
}

fn put(place: &mut Map<String, Value>, tokens: &NewTokens, now_ms: u64) {
    let mut set = |name: &str, token: &Secret| place.insert(name.into(), Value::String(token.expose().to_owned()));
    set("access_token", &tokens.access);
    if let Some(refresh) = &tokens.refresh {
        set("refresh_token", refresh);
    }
    if let Some(id) = &tokens.id {
        set("id_token", id);
    }
    // A stated end would go stale and make every look think that the token is over (field E12).
    let end = Claims::read(tokens.access.expose()).and_then(|c| c.expires_ms).unwrap_or(now_ms);
    for name in ["expired", "expires_at", "expires"] {
        if let Some(old) = place.get_mut(name) {
            *old = match old {
                Value::String(_) => {
                    let at = jiff::Timestamp::from_millisecond(i64::try_from(end).unwrap_or(i64::MAX));
                    Value::String(at.unwrap_or_default().to_string())
                }
                Value::Number(n) if n.as_u64().is_some_and(|n| n > MILLIS_FROM) => Value::from(end),
                _ => Value::from(end / 1_000),
            };
        }
    }
}

fn no_token(root: &Map<String, Value>) -> FileProblem {
    let api_key = root.get("OPENAI_API_KEY").is_some_and(Value::is_string);
    let why = if api_key { "an API key is no account; use `codex login`" } else { "it has no access_token" };
    FileProblem::NoAccount(why)
}

/// A text field: absent and null are none, anything that no header can carry is a problem.
fn text<'a>(place: &'a Map<String, Value>, name: &'static str) -> Result<Option<&'a str>, FileProblem> {
    match place.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(s)) if !s.is_empty() && s.bytes().all(|b| b.is_ascii_graphic()) => Ok(Some(s)),
        Some(_) => Err(FileProblem::BadValue(name)),
    }
}

/// Numbers above this are milliseconds, not seconds: the year 5138 in seconds, 1973 in milliseconds.
const MILLIS_FROM: u64 = 100_000_000_000;

/// A time as files write it: RFC 3339, or seconds or milliseconds since the epoch.
fn time(value: &Value) -> Option<u64> {
    match value {
        Value::String(s) => s.parse::<jiff::Timestamp>().ok().and_then(|t| u64::try_from(t.as_millisecond()).ok()),
        Value::Number(n) => n.as_u64().map(|n| if n > MILLIS_FROM { n } else { n * 1_000 }),
        _ => None,
    }
}
