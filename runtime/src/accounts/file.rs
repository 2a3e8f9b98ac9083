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
    #[error("field {0:?} is no text, or has a control character; the last good content stays in use: log in again")]
    BadValue(&'static str),
}

impl FileProblem {
    /// Whether the file tells nothing of its account, so that what was known of it stands (B11).
    pub(super) const fn may_pass(&self) -> bool {
        match self {
            Self::Unreadable(_) | Self::BadValue(_) => true,
            Self::NoAccount(_) => false,
        }
    }
}

/// The tokens that a refresh brought.
#[derive(Clone, Debug)]
pub(super) struct NewTokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) id: Option<Secret>,
    /// When the access token ends, where that is known.
    pub(super) expires_ms: Option<u64>,
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
            Identity::Path(_) => file_account.map(str::to_owned),
        };
        let stated_end = || ENDS.iter().find_map(|f| time(tokens.get(*f)?));
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
        // A stated end that went stale would make every look think that the token is over (field E12).
        restate_end(&mut root, tokens.expires_ms);
        match root.get_mut("tokens") {
            Some(Value::Object(nested)) => {
                restate_end(nested, tokens.expires_ms);
                put(nested, tokens);
            }
            _ => put(&mut root, tokens),
        }
        root.insert("last_refresh".into(), Value::String(rfc3339(now_ms)));
        let mut out = serde_json::to_vec_pretty(&root).map_err(|e| FileProblem::Unreadable(e.to_string()))?;
        out.push(b'\n');
        Ok(out)
    }
}

fn put(place: &mut Map<String, Value>, tokens: &NewTokens) {
    let mut set = |name: &str, token: &Secret| place.insert(name.into(), Value::String(token.expose().to_owned()));
    set("access_token", &tokens.access);
    if let Some(refresh) = &tokens.refresh {
        set("refresh_token", refresh);
    }
    if let Some(id) = &tokens.id {
        set("id_token", id);
    }
}

/// Names under which flat files state when the access token ends.
const ENDS: [&str; 3] = ["expired", "expires_at", "expires"];

/// States the new end in the form of the old one, where there is one; null where the new end is unknown.
fn restate_end(place: &mut Map<String, Value>, end_ms: Option<u64>) {
    for name in ENDS {
        let Some(old) = place.get_mut(name) else { continue };
        *old = match (&*old, end_ms) {
            (Value::Bool(_) | Value::Array(_) | Value::Object(_), _) => continue,
            (_, None) => Value::Null,
            (Value::String(s), Some(end)) if s.parse::<u64>().is_ok() => Value::String((end / 1_000).to_string()),
            (Value::Number(n), Some(end)) if n.as_f64().is_some_and(|n| n > MILLIS_FROM) => Value::from(end),
            (Value::Number(_), Some(end)) => Value::from(end / 1_000),
            (Value::String(_) | Value::Null, Some(end)) => Value::String(rfc3339(end)),
        };
    }
}

fn rfc3339(ms: u64) -> String {
    jiff::Timestamp::from_millisecond(i64::try_from(ms).unwrap_or(i64::MAX)).unwrap_or_default().to_string()
}

fn no_token(root: &Map<String, Value>) -> FileProblem {
    let api_key = root.get("OPENAI_API_KEY").is_some_and(Value::is_string);
    let why = if api_key { "an API key is no account; use `codex login`" } else { "it has no access_token" };
    FileProblem::NoAccount(why)
}

/// A text field: absent, null and empty are none; what no header can carry is a problem.
fn text<'a>(place: &'a Map<String, Value>, name: &'static str) -> Result<Option<&'a str>, FileProblem> {
    match place.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(s)) if s.is_empty() => Ok(None),
        Some(Value::String(s)) if s.bytes().all(|b| b.is_ascii_graphic()) => Ok(Some(s)),
        Some(_) => Err(FileProblem::BadValue(name)),
    }
}

/// Numbers above this are milliseconds, not seconds: the year 5138 in seconds, 1973 in milliseconds.
const MILLIS_FROM: f64 = 100_000_000_000.0;

/// A time as files write it: RFC 3339, or seconds or milliseconds since the epoch, also in quotes.
fn time(value: &Value) -> Option<u64> {
    let number = |n: f64| {
        let ms = if n > MILLIS_FROM { n } else { n * 1_000.0 };
        (ms.is_finite() && ms >= 0.0).then_some(ms as u64)
    };
    match value {
        Value::String(s) => match s.parse::<jiff::Timestamp>() {
            Ok(at) => u64::try_from(at.as_millisecond()).ok(),
            Err(_) => s.parse().ok().and_then(number),
        },
        Value::Number(n) => n.as_f64().and_then(number),
        _ => None,
    }
}
