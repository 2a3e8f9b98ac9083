//! What the demonstration runs on: a temporary directory, a scripted upstream, and the real gateway as a process of its own.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::client::{self, Ask, Got};
use crate::entropy;
use crate::scripted::{AccountSpec, Options, Rule, RuleId, Upstream};

/// How long the gateway may take to answer its health check, in looks of [`LOOK`].
const LOOKS: u32 = 500;
const LOOK: Duration = Duration::from_millis(20);

/// The made-up accounts.
pub(super) const ACCOUNTS: [&str; 3] = ["amber", "birch", "cedar"];

/// Why the demonstration could not be played.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A file, a socket or a process.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The gateway's process did not do what it was asked.
    #[error("the gateway {what}; its last words:\n{said}")]
    Gateway {
        /// What it did not do.
        what: &'static str,
        /// The end of its log.
        said: String,
    },
}

/// The stage. Dropping it stops the gateway and removes the directory.
pub(super) struct Stage {
    directory: PathBuf,
    upstream: Upstream,
    gateway: Option<Child>,
    addr: SocketAddr,
    keys: BTreeMap<String, String>,
    /// Requests of the upstream's log that were looked at.
    seen: usize,
}

impl Stage {
    /// Sets everything up and starts the gateway.
    pub(super) fn set() -> Result<Self, DemoError> {
        let directory = std::env::temp_dir().join(format!("homing-demo-{:016x}", entropy::jitter()));
        std::fs::create_dir_all(directory.join("auth"))?;
        let upstream = Upstream::start(Options::default())?;
        for name in ACCOUNTS {
            let account = upstream.add_account(AccountSpec::named(name));
            account.write_auth_file(&directory.join("auth"), &format!("{name}.json"))?;
        }
        let addr = free_port()?;
        let config = format!(
            "[listen]\naddress = \"{addr}\"\n[state]\ndirectory = \"state\"\n\
             [accounts]\ndirectory = \"auth\"\ntoken-url = \"{}\"\n[upstream]\nurl = \"{}\"\n",
            upstream.token_url(),
            upstream.url()
        );
        std::fs::write(directory.join("homing.toml"), config)?;
        let mut stage = Self { directory, upstream, gateway: None, addr, keys: BTreeMap::new(), seen: 0 };
        stage.start()?;
        Ok(stage)
    }

    /// Where the gateway listens.
    pub(super) const fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub(super) fn config(&self) -> PathBuf {
        self.directory.join("homing.toml")
    }

    /// Starts the gateway and waits until it answers.
    pub(super) fn start(&mut self) -> Result<(), DemoError> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.directory.join("gateway.log"))?;
        let child = self.homing().arg("serve").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
        self.gateway = Some(child);
        for _ in 0..LOOKS {
            if client::healthy(self.addr) {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
        Err(self.failed("did not start"))
    }

    /// Ends the gateway as a power cut would: SIGKILL.
    pub(super) fn crash(&mut self) -> Result<(), DemoError> {
        if let Some(mut child) = self.gateway.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Makes a user, or gives it a new key; returns the key.
    pub(super) fn user(&mut self, verb: &str, name: &str) -> Result<String, DemoError> {
        let out = self.homing().args(["users", verb, name, "--json"]).stdin(Stdio::null()).output()?;
        let answer: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
        let Some(key) = answer["key"].as_str() else { return Err(self.failed("gave no key")) };
        self.keys.insert(name.to_owned(), key.to_owned());
        Ok(key.to_owned())
    }

    pub(super) fn key(&self, name: &str) -> Result<&str, DemoError> {
        self.keys.get(name).map(String::as_str).ok_or_else(|| self.failed("has no such user"))
    }

    /// How many bindings the gateway lists.
    pub(super) fn bindings(&self) -> Result<usize, DemoError> {
        let out = self.homing().args(["bindings", "list", "--json"]).stdin(Stdio::null()).output()?;
        Ok(String::from_utf8_lossy(&out.stdout).lines().filter(|line| line.starts_with('{')).count())
    }

    /// One turn; what the client got, and the accounts the upstream saw it on, in order.
    pub(super) fn ask(&mut self, ask: &Ask<'_>) -> Result<(Got, Vec<String>), DemoError> {
        let got = client::ask(self.addr, ask)?;
        let log = self.upstream.log();
        let new = log.iter().skip(self.seen).filter(|seen| seen.path.ends_with("/responses"));
        let accounts = new.filter_map(|seen| seen.account.clone()).collect();
        self.seen = log.len();
        Ok((got, accounts))
    }

    pub(super) fn script(&self, rule: Rule) -> RuleId {
        self.upstream.fail(rule)
    }

    pub(super) fn unscript(&self, rule: RuleId) {
        self.upstream.forgive(rule);
    }

    fn homing(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap_or_else(|_| "homing".into()));
        command.arg("--config").arg(self.config()).current_dir(&self.directory);
        // The demonstration is what its file says, whatever is set outside.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HOMING_")) {
            command.env_remove(name);
        }
        command
    }

    fn failed(&self, what: &'static str) -> DemoError {
        let log = std::fs::read_to_string(self.directory.join("gateway.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        DemoError::Gateway { what, said: lines[lines.len().saturating_sub(5)..].join("\n") }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.crash();
        let _ = remove(&self.directory);
    }
}

fn remove(directory: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(directory)
}

/// A port that was free a moment ago. The gateway keeps it over its restart, as a real one would.
fn free_port() -> io::Result<SocketAddr> {
    std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?.local_addr()
}
