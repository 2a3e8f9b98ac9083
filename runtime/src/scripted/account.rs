//! Accounts as the scripted upstream issues them: identity, tokens, and the files a Codex client would hold.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// What an account is to be. Everything but the name has a default that follows from the name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountSpec {
    /// The label: rules and log entries use it, and the answers' text repeats it. Unique within an upstream.
    pub name: String,
    /// `chatgpt_account_id`. Accounts may share it (seats of one workspace).
    #[serde(default)]
    pub account_id: String,
    /// `chatgpt_user_id`.
    #[serde(default)]
    pub user_id: String,
    /// `chatgpt_plan_type`.
    #[serde(default = "team")]
    pub plan: String,
    /// The claim `email` of the id token.
    #[serde(default)]
    pub email: String,
    /// Life of an issued access token in seconds; 0 or less issues tokens that are already expired.
    #[serde(default = "ten_days")]
    pub lifetime_seconds: i64,
}

fn team() -> String {
    "team".to_owned()
}

fn ten_days() -> i64 {
    10 * 24 * 3600
}

impl AccountSpec {
    /// An account whose ids, plan (`team`) and life (10 days) follow from its name.
    pub fn named(name: &str) -> Self {
        let spec = Self {
            name: name.to_owned(),
            account_id: String::new(),
            user_id: String::new(),
            plan: team(),
            email: String::new(),
            lifetime_seconds: ten_days(),
        };
        spec.completed()
    }

    /// Fills the empty fields from the name.
    pub(super) fn completed(mut self) -> Self {
        let digest = Sha256::digest(self.name.as_bytes());
        let hex = |range: std::ops::Range<usize>| digest[range].iter().map(|b| format!("{b:02x}")).collect::<String>();
        if self.account_id.is_empty() {
            self.account_id =
                format!("{}-{}-4{}-8{}-{}", hex(0..4), hex(4..6), &hex(6..8)[1..], &hex(8..10)[1..], hex(10..16));
        }
        if self.user_id.is_empty() {
            self.user_id = format!("user-{}", hex(16..28));
        }
        if self.email.is_empty() {
            self.email = format!("{}@example.com", self.name);
        }
        self
    }
}

/// An account with the tokens it holds now.
#[derive(Clone)]
pub struct Account {
    /// What it is.
    pub spec: AccountSpec,
    /// The access token: three dot-separated parts, claims readable, signature meaningless.
    pub access_token: String,
    /// The id token, of the same shape.
    pub id_token: String,
    /// The refresh token: good for one use.
    pub refresh_token: String,
    /// Wall clock of the issue, in milliseconds since 1970.
    pub issued_ms: u64,
    /// Wall clock of the access token's end, in milliseconds since 1970.
    pub expires_ms: u64,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { spec, issued_ms, expires_ms, .. } = self;
        f.debug_struct("Account")
            .field("spec", spec)
            .field("issued_ms", issued_ms)
            .field("expires_ms", expires_ms)
            .finish_non_exhaustive()
    }
}

impl Account {
    /// Issues the tokens of `spec` at `now_ms`; `serial` makes them unlike any others.
    pub(super) fn issue(spec: AccountSpec, now_ms: u64, serial: &str, secret: u64) -> Self {
        let now = i64::try_from(now_ms / 1000).unwrap_or(i64::MAX);
        let expires = now.saturating_add(spec.lifetime_seconds);
        let auth = json!({
            "chatgpt_account_id": spec.account_id,
            "chatgpt_user_id": spec.user_id,
            "user_id": spec.user_id,
            "chatgpt_plan_type": spec.plan,
        });
        let access = json!({
            "aud": ["https://api.openai.com/v1"],
            "iss": "https://auth.openai.com",
            "sub": format!("auth0|{}", spec.user_id),
            "iat": now,
            "exp": expires,
            "jti": serial,
            "https://api.openai.com/auth": auth,
            "https://api.openai.com/profile": {"email": spec.email, "email_verified": true},
        });
        let id = json!({
            "aud": ["app_EMoamEEZ73f0CkXaXp7hrann"],
            "iss": "https://auth.openai.com",
            "sub": format!("auth0|{}", spec.user_id),
            "iat": now,
            "exp": now.saturating_add(3600),
            "email": spec.email,
            "email_verified": true,
            "jti": format!("id-{serial}"),
            "https://api.openai.com/auth": auth,
        });
        Self {
            access_token: jwt(&access),
            id_token: jwt(&id),
            refresh_token: format!("rt_{serial}{secret:016x}"),
            issued_ms: now_ms,
            expires_ms: u64::try_from(expires).unwrap_or(0).saturating_mul(1000),
            spec,
        }
    }

    /// The official Codex `auth.json`: tokens nested, as `codex login` writes it.
    pub fn auth_json(&self) -> Value {
        json!({
            "auth_mode": "chatgpt",
            "OPENAI_API_KEY": null,
            "tokens": {
                "id_token": self.id_token,
                "access_token": self.access_token,
                "refresh_token": self.refresh_token,
                "account_id": self.spec.account_id,
            },
            "last_refresh": rfc3339(self.issued_ms),
        })
    }

    /// A flat token file: every token at the top level.
    pub fn flat_json(&self) -> Value {
        json!({
            "type": "codex",
            "email": self.spec.email,
            "account_id": self.spec.account_id,
            "id_token": self.id_token,
            "access_token": self.access_token,
            "refresh_token": self.refresh_token,
            "last_refresh": rfc3339(self.issued_ms),
            "expired": rfc3339(self.expires_ms),
        })
    }

    /// Writes [`Account::auth_json`] to `dir/name`, readable by the owner alone, and returns the path.
    ///
    /// # Errors
    /// Those of creating the directory and of writing the file.
    pub fn write_auth_file(&self, dir: &Path, name: &str) -> io::Result<PathBuf> {
        write_private(dir, name, &self.auth_json())
    }

    /// Writes [`Account::flat_json`] to `dir/name`, readable by the owner alone, and returns the path.
    ///
    /// # Errors
    /// Those of creating the directory and of writing the file.
    pub fn write_flat_file(&self, dir: &Path, name: &str) -> io::Result<PathBuf> {
        write_private(dir, name, &self.flat_json())
    }
}

/// Writes beside the target and renames, so that a reader never meets half a file.
fn write_private(dir: &Path, name: &str, value: &Value) -> io::Result<PathBuf> {
    std::fs::create_dir_all(dir)?;
    let (path, partial) = (dir.join(name), dir.join(format!(".{name}.partial")));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&partial)?;
    file.write_all(serde_json::to_string_pretty(value)?.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&partial, &path)?;
    Ok(path)
}

fn jwt(claims: &Value) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.{}", part(r#"{"alg":"RS256","typ":"JWT"}"#), part(&claims.to_string()), part("scripted, unsigned"))
}

fn rfc3339(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX).to_string()
}
