//! Real auth files, a real token server on loopback.

mod contents;
mod refreshing;
mod scanning;
mod server;
mod writing;

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Event, Identity, Roster};
use crate::clock;
use crate::config::Config;

/// A token endpoint that nobody must call.
const NOBODY: &str = "http://127.0.0.1:9/oauth/token";

/// An auth directory, a state directory and a roster over both.
pub(super) struct Place {
    home: TempDir,
    config: Config,
    pub(super) roster: Roster,
}

impl Place {
    pub(super) fn new(token_url: &str) -> Self {
        Self::with_limit(token_url, Duration::from_secs(30))
    }

    pub(super) fn with_limit(token_url: &str, limit: Duration) -> Self {
        let home = tempfile::tempdir().unwrap();
        let (auth, state) = (home.path().join("auth"), home.path().join("state"));
        std::fs::create_dir(&auth).unwrap();
        std::fs::create_dir(&state).unwrap();
        let text = format!(
            "[accounts]\ndirectory = {auth:?}\ntoken-url = {token_url:?}\n[state]\ndirectory = {state:?}\n[upstream]\nurl = \"http://127.0.0.1:9\"\n"
        );
        let config = Config::within(home.path(), &text).unwrap();
        let roster = Roster::open_with(&config, limit).unwrap();
        Self { home, config, roster }
    }

    /// Another roster over the same directories, as after a restart.
    pub(super) fn restarted(&self) -> Roster {
        let roster = Roster::open(&self.config).unwrap();
        roster.scan(0);
        roster
    }

    pub(super) fn auth(&self) -> PathBuf {
        self.home.path().join("auth")
    }

    pub(super) fn ledger(&self) -> PathBuf {
        self.home.path().join("state/redeeming.json")
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.auth().join(name)
    }

    /// Writes a file, whole and for its owner alone, as a careful program does.
    pub(super) fn put(&self, name: &str, content: &Value) {
        super::write_back::replace(&self.file(name), content.to_string().as_bytes()).unwrap();
    }

    pub(super) fn get(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.file(name)).unwrap()).unwrap()
    }

    pub(super) fn remove(&self, name: &str) {
        std::fs::remove_file(self.file(name)).unwrap();
    }

    /// A scan whose warnings do not matter.
    pub(super) fn scan(&self, now_ms: u64) -> Vec<Event> {
        let mut events = self.roster.scan(now_ms);
        events.retain(|event| !matches!(event, Event::Warning(_)));
        events
    }

    /// What the account would be called with.
    pub(super) fn access(&self, identity: &Identity) -> Option<String> {
        self.roster.bearer(identity).map(|bearer| bearer.access_token.expose().to_owned())
    }
}

pub(super) fn account(account: &str, user: &str) -> Identity {
    Identity::Stated { account: account.into(), user: Some(user.into()) }
}

pub(super) fn jwt(claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{}", part(&json!({"alg": "none"})), part(claims), "c2ln")
}

/// An access token; `serial` tells those of one account apart.
pub(super) fn token(account: &str, user: &str, expires_ms: u64, serial: u32) -> String {
    jwt(&json!({
        "exp": expires_ms / 1_000,
        "jti": serial,
        "https://api.openai.com/auth": {"chatgpt_account_id": account, "chatgpt_user_id": user},
    }))
}

/// The tokens of a login that is good for an hour from now.
pub(super) fn tokens(account: &str, user: &str, serial: u32) -> Value {
    tokens_until(account, user, clock::wall_ms() + 3_600_000, serial)
}

pub(super) fn tokens_until(account: &str, user: &str, expires_ms: u64, serial: u32) -> Value {
    json!({
        "id_token": jwt(&json!({"sub": "auth0|x", "email": "who@example.com"})),
        "access_token": token(account, user, expires_ms, serial),
        "refresh_token": format!("rt.{account}.{user}.{serial}"),
        "account_id": account,
    })
}

/// The Codex CLI's file.
pub(super) fn nested(tokens: Value, last_refresh: &str) -> Value {
    json!({"auth_mode": "chatgpt", "OPENAI_API_KEY": null, "tokens": tokens, "last_refresh": last_refresh, "note": [1, {"a": 2.5}]})
}

/// A flat token file.
pub(super) fn flat(tokens: Value, more: Value) -> Value {
    let mut root = tokens;
    let fields = root.as_object_mut().unwrap();
    fields.insert("type".into(), json!("codex"));
    fields.extend(more.as_object().unwrap().clone());
    root
}

pub(super) fn login(name: &str, serial: u32) -> Value {
    nested(tokens(name, "u", serial), "2026-01-01T00:00:00Z")
}

pub(super) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}
