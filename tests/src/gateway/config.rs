//! The configuration of a gateway under test.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io::Write as _};

use homing::scripted::{AccountSpec, Upstream};
use serde_json::Value;

use super::Gateway;

/// The admin key of every gateway under test.
pub(super) const ADMIN_KEY: &str = "test-admin-key-0123456789";

/// Keys and values by section.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings(BTreeMap<String, BTreeMap<String, Value>>);

impl Settings {
    /// Sets `section.key`.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        let Some((section, key)) = name.split_once('.') else { panic!("{name} is no `section.key`") };
        self.0.entry(section.to_owned()).or_default().insert(key.to_owned(), value);
    }

    pub(super) fn listen_on(&mut self, addr: SocketAddr, admin: SocketAddr) {
        self.set("listen.address", addr.to_string().into());
        self.set("admin.address", admin.to_string().into());
    }

    /// Strings, numbers, booleans and lists of them are written alike in JSON and TOML.
    fn to_toml(&self) -> String {
        let mut text = String::new();
        for (section, keys) in &self.0 {
            text.push_str(&format!("[{section}]\n"));
            keys.iter().for_each(|(key, value)| text.push_str(&format!("{key} = {value}\n")));
        }
        text
    }

    /// Writes the file, for its owner alone: a key stands in it.
    pub(super) fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(self.to_toml().as_bytes())
    }
}

/// A gateway that is about to start.
#[derive(Debug)]
pub struct GatewayBuilder {
    settings: Settings,
    auth: Option<PathBuf>,
    /// File name and content of auth files to be there at the start.
    auth_files: Vec<(String, Value)>,
    binary: Option<PathBuf>,
}

impl Gateway {
    /// A gateway in front of the Codex routes at `upstream_url`, which refreshes its tokens at `token_url`.
    pub fn builder(upstream_url: &str, token_url: &str) -> GatewayBuilder {
        let mut settings = Settings::default();
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        settings.listen_on(free, free);
        settings.set("admin.key", ADMIN_KEY.into());
        settings.set("upstream.url", upstream_url.into());
        settings.set("accounts.token-url", token_url.into());
        settings.set("state.directory", "state".into());
        GatewayBuilder { settings, auth: None, auth_files: Vec::new(), binary: None }
    }

    /// A gateway in front of a scripted upstream, without accounts yet.
    pub fn before(upstream: &Upstream) -> GatewayBuilder {
        Self::builder(&upstream.url(), &upstream.token_url())
    }
}

impl GatewayBuilder {
    /// Adds accounts of these names to the upstream, and their auth files (`NAME.json`) to the gateway.
    #[must_use]
    pub fn accounts(mut self, upstream: &Upstream, names: &[&str]) -> Self {
        let made = names.iter().map(|name| (*name, upstream.add_account(AccountSpec::named(name))));
        self.auth_files.extend(made.map(|(name, account)| (format!("{name}.json"), account.auth_json())));
        self
    }

    /// Reads auth files from this directory, which outlives the gateway, instead of one of its own.
    #[must_use]
    pub fn auth_dir(mut self, directory: &Path) -> Self {
        self.auth = Some(directory.to_owned());
        self
    }

    /// Sets a key of the configuration, e.g. `("affinity.ttl", "60s")`.
    ///
    /// # Panics
    /// Where `key` has no section.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.settings.set(key, value.into());
        self
    }

    /// Runs this binary instead of the one of this build.
    #[must_use]
    pub fn binary(mut self, path: &Path) -> Self {
        self.binary = Some(path.to_owned());
        self
    }

    /// Starts it and waits until it serves.
    ///
    /// # Panics
    /// As for [`Gateway::restart`], and where the files cannot be made.
    pub fn start(self) -> Gateway {
        let mut gateway = self.stopped();
        gateway.restart();
        gateway
    }

    /// Makes the files and starts nothing yet: for commands that work without a running gateway, and for starts that
    /// have to fail.
    ///
    /// # Panics
    /// Where the files cannot be made.
    pub fn stopped(mut self) -> Gateway {
        let failed = |what: &str, error: std::io::Error| -> ! { panic!("{what} could not be made: {error}") };
        let files = tempfile::Builder::new().prefix("homing-test-").tempdir();
        let files = files.unwrap_or_else(|error| failed("a temporary directory", error));
        let auth = self.auth.unwrap_or_else(|| files.path().join("auth"));
        fs::create_dir_all(&auth).unwrap_or_else(|error| failed("the auth directory", error));
        for (name, content) in &self.auth_files {
            let path = auth.join(name);
            fs::write(&path, content.to_string()).unwrap_or_else(|error| failed("an auth file", error));
        }
        self.settings.set("accounts.directory", auth.to_string_lossy().into());
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let gateway = Gateway {
            binary: self.binary.unwrap_or_else(super::binary),
            settings: self.settings,
            auth,
            running: None,
            addr: nowhere,
            admin: nowhere,
            said: String::new(),
            files,
        };
        if let Err(error) = gateway.settings.write(&gateway.config_file()) {
            failed("the configuration", error);
        }
        gateway
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_written_as_toml() {
        let mut settings = Settings::default();
        settings.set("b.text", "a \"quoted\"\nword".into());
        settings.set("a.flag", true.into());
        settings.set("b.list", serde_json::json!(["x", "y"]));
        assert_eq!(
            settings.to_toml(),
            "[a]\nflag = true\n[b]\nlist = [\"x\",\"y\"]\ntext = \"a \\\"quoted\\\"\\nword\"\n"
        );
    }
}
