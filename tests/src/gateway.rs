//! The real `homing` binary as a child process, on files of its own, in front of a scripted upstream.
//!
//! ```no_run
//! use homing_tests::gateway::Gateway;
//!
//! let mut gateway = Gateway::with_accounts(&["amber", "birch"]).start();
//! let key = gateway.create_user("ada");
//! gateway.kill9();
//! gateway.restart();
//! ```
//!
//! A harness that cannot do what it is told panics with what it met: that is a failed test.

mod binary;
mod builder;
mod ports;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use homing::scripted::Upstream;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::ask::Ask;
use crate::raw::{RawClient, RawResponse};

pub use builder::Builder;

/// The key of the management API in every gateway of the harness.
pub const ADMIN_KEY: &str = "an-admin-key-for-tests-only";

/// Looks at something that should come true, and the pause between two of them: 60 s in all. It is no measurement: a test
/// that runs into it has failed already.
const LOOKS: u32 = 3000;
const PAUSE: Duration = Duration::from_millis(20);

/// Bytes of the log that are shown.
const SHOWN_LOG: usize = 64 * 1024;

/// A gateway: its files, its upstream, and its process while it runs. Dropping it ends the process and removes the files.
pub struct Gateway {
    directory: TempDir,
    upstream: Upstream,
    addr: SocketAddr,
    admin: SocketAddr,
    child: Option<Child>,
}

impl Gateway {
    /// Begins a gateway with these accounts, each loaded from an auth file of its name.
    pub fn with_accounts(names: &[&str]) -> Builder {
        Builder::new(names)
    }

    /// The data port. It stays the same over a restart.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The port of the management API. It stays the same over a restart.
    pub fn admin_addr(&self) -> SocketAddr {
        self.admin
    }

    /// The upstream behind it.
    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// The directory of `homing.toml`, the log, and the two below.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The auth files.
    pub fn auth_dir(&self) -> PathBuf {
        self.directory().join("auth")
    }

    /// Database, lock, socket.
    pub fn state_dir(&self) -> PathBuf {
        self.directory().join("state")
    }

    /// The configuration file.
    pub fn config(&self) -> PathBuf {
        self.directory().join("homing.toml")
    }

    /// The running process's id.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().map_or_else(|| panic!("the gateway does not run"), Child::id)
    }

    /// Writes the auth file `NAME.json` of an account that the upstream knows.
    pub fn write_auth_file(&self, name: &str) -> PathBuf {
        let account = self.upstream.account(name).unwrap_or_else(|| panic!("the upstream has no account {name}"));
        must(account.write_auth_file(&self.auth_dir(), &format!("{name}.json")), "cannot write an auth file")
    }

    /// Starts the process and waits until `/healthz` answers.
    pub fn restart(&mut self) {
        self.kill9();
        self.spawn();
        if let Err(status) = self.until_healthy() {
            panic!("the gateway ended with {status} instead of starting:\n{}", self.log());
        }
    }

    /// Starts a further process on the same files, which must give up by itself; what it said.
    pub fn fails_to_start(&self) -> String {
        self.fails_to_start_with(&[])
    }

    /// As [`Gateway::fails_to_start`], with these settings from the environment on top of the file.
    pub fn fails_to_start_with(&self, settings: &[(&str, &str)]) -> String {
        let mut command = self.command();
        command.envs(settings.iter().copied());
        let child = command.arg("serve").stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = must(child, "cannot start a process");
        for _ in 0..LOOKS {
            if must(child.try_wait(), "cannot wait for a process").is_some() {
                let output = must(child.wait_with_output(), "cannot read what a process said");
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(output.status.code(), Some(1), "{said}");
                return said;
            }
            std::thread::sleep(PAUSE);
        }
        must(child.kill(), "cannot end a process");
        let _ = child.wait();
        panic!("the gateway started where it should have failed");
    }

    /// SIGKILL, as a power cut ends a process. Nothing where it does not run.
    pub fn kill9(&mut self) {
        if let Some(mut child) = self.child.take() {
            must(child.kill(), "cannot kill the gateway");
            must(child.wait(), "cannot wait for the gateway");
        }
    }

    /// Sends SIGTERM without waiting for the end.
    pub fn send_term(&self) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let pid = pid.unwrap_or_else(|| panic!("no process id"));
        must(kill_process(pid, Signal::TERM), "cannot signal the gateway");
    }

    /// Waits for the process to end by itself.
    pub fn wait(&mut self) -> ExitStatus {
        let mut child = self.child.take().unwrap_or_else(|| panic!("the gateway does not run"));
        for _ in 0..LOOKS {
            if let Some(status) = must(child.try_wait(), "cannot wait for the gateway") {
                return status;
            }
            std::thread::sleep(PAUSE);
        }
        self.child = Some(child);
        panic!("the gateway did not end");
    }

    /// SIGTERM, then its end.
    pub fn terminate(&mut self) -> ExitStatus {
        self.send_term();
        self.wait()
    }

    /// The program with this gateway's configuration and nothing of the environment's.
    pub fn command(&self) -> Command {
        let mut command = Command::new(binary::path());
        command.arg("--config").arg(self.config()).current_dir(self.directory()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HOMING_")) {
            command.env_remove(name);
        }
        command
    }

    /// Runs a command of the command line to its end.
    pub fn cli(&self, args: &[&str]) -> Output {
        must(self.command().args(args).output(), "cannot run the command line")
    }

    /// Runs a command that must succeed; what it printed, each line as JSON.
    pub fn cli_json(&self, args: &[&str]) -> Vec<Value> {
        let output = self.cli(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "homing {} failed with {}: {said}", args.join(" "), output.status);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(|line| must(serde_json::from_str(line), "the command line printed no JSON")).collect()
    }

    /// Makes a user and returns the API key.
    pub fn create_user(&self, name: &str) -> String {
        self.key_of(&["users", "create", name, "--json"])
    }

    /// Gives a user a new API key and returns it.
    pub fn reset_key(&self, name: &str) -> String {
        self.key_of(&["users", "reset", name, "--json"])
    }

    /// The bindings that `homing bindings list` shows.
    pub fn bindings(&self) -> Vec<Value> {
        self.cli_json(&["bindings", "list", "--json"])
    }

    /// The end of what the process wrote to its standard error, over all its starts.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(SHOWN_LOG)..]).into_owned()
    }

    /// Waits until `ready`, at most 60 s; whether it came true.
    pub fn eventually(&self, mut ready: impl FnMut(&Self) -> bool) -> bool {
        for _ in 0..LOOKS {
            if ready(self) {
                return true;
            }
            std::thread::sleep(PAUSE);
        }
        false
    }

    /// The accounts of the model calls that the upstream saw from log entry `from` on, in order.
    pub fn accounts_since(&self, from: u64) -> Vec<String> {
        let seen = self.upstream.log_since(from).into_iter();
        seen.filter(|s| s.path.contains("/responses")).filter_map(|s| s.account).collect()
    }

    /// Sends a request and reads its answer; with it the accounts that the upstream saw model calls on meanwhile, in order.
    pub fn ask(&self, ask: &Ask) -> (RawResponse, Vec<String>) {
        let from = self.upstream.seen();
        let answer = must(ask.send(self.addr), "the gateway gave no answer");
        (answer, self.accounts_since(from))
    }

    /// Sends a request that must be served at the first attempt; the account that served it.
    pub fn served(&self, ask: &Ask) -> String {
        let (answer, mut accounts) = self.ask(ask);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(accounts.len(), 1, "one attempt: {accounts:?}");
        accounts.remove(0)
    }

    /// How `homing accounts list` says the account of that name stands.
    pub fn account_state(&self, name: &str) -> String {
        let accounts = self.cli_json(&["accounts", "list", "--json"]);
        let of_name = |account: &&Value| account["label"].as_str().is_some_and(|label| label.contains(name));
        accounts.iter().find(of_name).and_then(|a| a["state"].as_str()).unwrap_or("not loaded").to_owned()
    }

    fn key_of(&self, args: &[&str]) -> String {
        let answer = self.cli_json(args);
        let key = answer.first().and_then(|a| a["key"].as_str());
        key.unwrap_or_else(|| panic!("homing {} gave no key", args.join(" "))).to_owned()
    }

    fn log_path(&self) -> PathBuf {
        self.directory().join("gateway.log")
    }

    /// Starts the process without waiting for anything.
    pub(crate) fn spawn(&mut self) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.log_path());
        let mut command = self.command();
        command.arg("serve").stdout(Stdio::null()).stderr(must(log, "cannot write the log"));
        self.child = Some(must(command.spawn(), "cannot start the gateway"));
    }

    /// Waits for `/healthz`; the exit status, where the process ended instead.
    pub(crate) fn until_healthy(&mut self) -> Result<(), ExitStatus> {
        for _ in 0..LOOKS {
            let ended = self.child.as_mut().map(|child| must(child.try_wait(), "cannot wait for the gateway"));
            if let Some(Some(status)) = ended {
                self.child = None;
                return Err(status);
            }
            if self.is_healthy() {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        panic!("the gateway does not answer /healthz:\n{}", self.log());
    }

    fn is_healthy(&self) -> bool {
        let Ok(mut client) = RawClient::connect(self.addr) else { return false };
        let request = b"GET /healthz HTTP/1.1\r\nhost: homing\r\nconnection: close\r\n\r\n";
        client.exchange(request).is_ok_and(|answer| answer.status() == 200)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.kill9();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            eprintln!("the gateway's last words:\n{}", lines[lines.len().saturating_sub(30)..].join("\n"));
        }
    }
}

/// The value, or a panic that says what could not be done.
pub(crate) fn must<T, E: std::fmt::Display>(result: Result<T, E>, what: &str) -> T {
    result.unwrap_or_else(|error| panic!("{what}: {error}"))
}
