//! The real `homing` binary as a process of its own, on files of its own.
//!
//! ```no_run
//! use homing::scripted::{AccountSpec, Options, Upstream};
//! use homing_tests::gateway::Gateway;
//!
//! let upstream = Upstream::start(Options::default()).expect("a loopback port");
//! let mut gateway = Gateway::before(&upstream).accounts(&upstream, &["amber", "birch"]).start();
//! let key = gateway.create_user("ada");
//! gateway.kill9();
//! gateway.restart(); // same files, same ports
//! # let _ = key;
//! ```
//!
//! It is a harness: whatever keeps the gateway from running ends the test with a panic that carries the gateway's own
//! last words.

mod config;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::cache;
use crate::process::{self, Finished, Tail};
use crate::raw::RawClient;
use crate::request::RawRequest;
pub use config::GatewayBuilder;
use config::{ADMIN_KEY, Settings};

/// How long the gateway may take to start, to stop, and to answer a command. It is no measurement: a test that runs into
/// it has failed already.
const PATIENCE: Duration = Duration::from_secs(60);
/// Wait between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// A gateway with its files. Dropping it kills the process, if it runs, and removes the files.
#[derive(Debug)]
pub struct Gateway {
    binary: PathBuf,
    settings: Settings,
    auth: PathBuf,
    running: Option<Running>,
    addr: SocketAddr,
    admin: SocketAddr,
    /// What ended processes said.
    said: String,
    /// Removed last, after the process that uses it.
    files: TempDir,
}

#[derive(Debug)]
struct Running {
    child: Child,
    stderr: Tail,
}

impl Gateway {
    /// Where clients connect.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Where the management API listens.
    pub const fn admin_addr(&self) -> SocketAddr {
        self.admin
    }

    /// The admin key of that API.
    pub const fn admin_key(&self) -> &'static str {
        ADMIN_KEY
    }

    /// The directory of the auth files. Tests add, change and remove them there.
    pub fn auth_dir(&self) -> &Path {
        &self.auth
    }

    /// The state directory: database, lock, socket.
    pub fn state_dir(&self) -> PathBuf {
        self.files.path().join("state")
    }

    /// The configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.files.path().join("homing.toml")
    }

    /// The process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.child.id())
    }

    /// Everything that it said on standard error, restarts included; of each process the last 1 MiB.
    pub fn stderr(&self) -> String {
        let now = self.running.as_ref().map(|running| running.stderr.text()).unwrap_or_default();
        format!("{}{now}", self.said)
    }

    /// Ends the process as a power cut would, with SIGKILL, and waits until it is gone. Does nothing where none runs.
    ///
    /// # Panics
    /// Where the process cannot be waited for.
    pub fn kill9(&mut self) {
        if let Some(mut running) = self.running.take() {
            // It may have ended by itself; the wait tells.
            let _ = running.child.kill();
            if let Err(error) = running.child.wait() {
                panic!("the gateway could not be waited for: {error}");
            }
            self.said.push_str(&running.stderr.finish());
        }
    }

    /// Asks the process to stop, with SIGTERM, and waits until it has.
    ///
    /// # Panics
    /// Where none runs, or it does not end within a minute.
    pub fn terminate(&mut self) -> ExitStatus {
        let Some(mut running) = self.running.take() else { panic!("no gateway runs that could be stopped") };
        let pid = i32::try_from(running.child.id()).ok().and_then(Pid::from_raw);
        let sent = pid.map(|pid| kill_process(pid, Signal::TERM));
        let ended = process::wait(&mut running.child, PATIENCE);
        if !matches!(ended, Ok(Some(_))) {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
        self.said.push_str(&running.stderr.finish());
        match ended {
            Ok(Some(status)) => status,
            other => panic!("the gateway did not stop ({sent:?}, {other:?}); it said:\n{}", self.said),
        }
    }

    /// Starts the process on the files that are there; after the first start on the ports it had then.
    ///
    /// # Panics
    /// Where one runs already, or the new one does not answer its health check within a minute.
    pub fn restart(&mut self) {
        assert!(self.running.is_none(), "the gateway runs already: kill9() or terminate() first");
        if let Err(error) = self.spawn() {
            panic!("{} could not be started: {error}", self.binary.display());
        }
        let began = Instant::now();
        while !self.serves() {
            let status = self.running.as_mut().map(|running| running.child.try_wait());
            if began.elapsed() >= PATIENCE || !matches!(status, Some(Ok(None))) {
                self.kill9();
                panic!("the gateway did not start ({status:?}); it said:\n{}", self.said);
            }
            std::thread::sleep(LOOK);
        }
        self.settings.listen_on(self.addr, self.admin);
    }

    /// Sets a key of the configuration for the next start, e.g. `("affinity.ttl", "60s")`.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.settings.set(key, value.into());
    }

    /// Runs `homing ARGS...` with this gateway's configuration.
    ///
    /// # Panics
    /// Where it cannot be started or does not end within a minute. Its exit status is the caller's business.
    pub fn run_cli(&self, args: &[&str]) -> Finished {
        self.run_cli_with(args, "")
    }

    /// The same, with `input` on its standard input.
    ///
    /// # Panics
    /// As for [`Gateway::run_cli`].
    pub fn run_cli_with(&self, args: &[&str], input: &str) -> Finished {
        let ended = process::run(self.homing().args(args), input, PATIENCE);
        ended.unwrap_or_else(|error| panic!("homing {args:?}: {error}"))
    }

    /// Runs a command with `--json`, and returns the objects it printed, one a line.
    ///
    /// # Panics
    /// Where it fails or prints something else.
    pub fn json_lines(&self, args: &[&str]) -> Vec<Value> {
        let ended = self.run_cli(&[args, &["--json"]].concat()).expect_ok("homing");
        let parsed = ended.stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        parsed.unwrap_or_else(|error| panic!("homing {args:?} printed no JSON ({error}): {}", ended.stdout))
    }

    /// Makes a user and returns its API key.
    ///
    /// # Panics
    /// Where that fails.
    pub fn create_user(&self, name: &str) -> String {
        self.key_of(&["users", "create", name])
    }

    /// Gives a user a new API key and returns it.
    ///
    /// # Panics
    /// Where that fails.
    pub fn reset_key(&self, name: &str) -> String {
        self.key_of(&["users", "reset", name])
    }

    fn key_of(&self, args: &[&str]) -> String {
        let answer = self.json_lines(args);
        let key = answer.first().and_then(|user| user["key"].as_str());
        key.unwrap_or_else(|| panic!("homing {args:?} showed no key")).to_owned()
    }

    fn spawn(&mut self) -> std::io::Result<()> {
        self.settings.write(&self.config_file())?;
        let mut command = self.homing();
        command.arg("serve").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stderr = Tail::of(child.stderr.take());
        self.running = Some(Running { child, stderr });
        Ok(())
    }

    /// Whether the process that runs has written down where it listens, and answers there.
    fn serves(&mut self) -> bool {
        let text = std::fs::read_to_string(self.state_dir().join("listening.json")).unwrap_or_default();
        let listening: Value = serde_json::from_str(&text).unwrap_or_default();
        let address = |name: &str| listening[name].as_str().and_then(|text| text.parse().ok());
        // A process that was killed leaves its own addresses behind.
        let current = listening["pid"].as_u64() == self.pid().map(u64::from);
        let (true, Some(addr), Some(admin)) = (current, address("listen"), address("admin")) else { return false };
        (self.addr, self.admin) = (addr, admin);
        let asked = RawClient::connect(addr).and_then(|mut c| c.exchange(&RawRequest::get("/healthz").bytes()));
        asked.is_ok_and(|answer| answer.status() == 200)
    }

    /// The binary with this gateway's configuration and nothing of the caller's.
    fn homing(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("--config").arg(self.config_file()).current_dir(self.files.path());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HOMING_")) {
            command.env_remove(name);
        }
        command
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(running) = &mut self.running {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
        if std::thread::panicking() {
            eprintln!("--- the gateway said\n{}", self.stderr());
        }
    }
}

/// The `homing` binary of this build.
///
/// # Panics
/// Where it was not built.
pub fn binary() -> PathBuf {
    let directory = cache::build_directory().unwrap_or_else(|e| panic!("this test does not know its own place: {e}"));
    let binary = directory.join(format!("homing{}", std::env::consts::EXE_SUFFIX));
    assert!(binary.is_file(), "{} is not there: build it with `cargo build -p homing`", binary.display());
    binary
}
