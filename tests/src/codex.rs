//! The official Codex CLI, at pinned versions, driving a gateway as its users do.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::cache;
use crate::process::{self, Finished};

/// The version under test.
pub const CURRENT: &str = "0.171.0";
/// An old one: underscored session header, `instructions`, requests of another shape.
pub const OLD: &str = "0.98.0";

/// How long one turn may take.
const TURN: Duration = Duration::from_secs(120);
/// A loopback port that nobody serves: every host but the gateway is refused at once, whatever network is there.
const CLOSED: &str = "http://127.0.0.1:9";

/// How the CLI is pointed at the gateway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// A provider of its own in `config.toml`, with the key in the environment: HTTP only.
    Provider,
    /// The built-in provider with `openai_base_url` and `CODEX_API_KEY`: WebSocket first, HTTP where that is refused.
    BuiltIn,
}

/// One user's CLI: configuration, history and working directory of its own.
#[derive(Debug)]
pub struct Codex {
    program: PathBuf,
    route: Route,
    key: String,
    files: TempDir,
}

impl Codex {
    /// Installs `version` if need be, and points it at the gateway.
    ///
    /// # Panics
    /// Where npm or the package is missing, or the files cannot be made: a client that cannot be tried is a failed test.
    pub fn new(version: &str, route: Route, gateway: SocketAddr, key: &str) -> Self {
        let program =
            install(version).unwrap_or_else(|error| panic!("Codex {version} could not be installed: {error}"));
        let files = prepare(route, gateway).unwrap_or_else(|error| panic!("Codex's files could not be made: {error}"));
        Self { program, route, key: key.to_owned(), files }
    }

    /// Uses another API key from now on.
    pub fn use_key(&mut self, key: &str) {
        key.clone_into(&mut self.key);
    }

    /// Starts a conversation: `codex exec PROMPT`.
    ///
    /// # Panics
    /// Where it cannot be started or does not end within two minutes.
    pub fn exec(&self, prompt: &str) -> Turn {
        self.turn(&[prompt])
    }

    /// Goes on with the last conversation: `codex exec resume --last PROMPT`.
    ///
    /// # Panics
    /// As for [`Codex::exec`].
    pub fn resume(&self, prompt: &str) -> Turn {
        self.turn(&["resume", "--last", prompt])
    }

    /// Goes on with it on another model: `codex exec -m MODEL resume --last PROMPT`.
    ///
    /// # Panics
    /// As for [`Codex::exec`].
    pub fn resume_on(&self, model: &str, prompt: &str) -> Turn {
        self.turn(&["-m", model, "resume", "--last", prompt])
    }

    fn turn(&self, args: &[&str]) -> Turn {
        let path = |name: &str| self.files.path().join(name);
        let mut command = Command::new(&self.program);
        command.args(["exec", "--skip-git-repo-check", "--json"]).args(args);
        command.current_dir(path("work")).env_clear();
        command.envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "LANG"));
        command.env("HOME", path("home")).env("CODEX_HOME", path("codex"));
        let variable = match self.route {
            Route::Provider => "HOMING_KEY",
            Route::BuiltIn => "CODEX_API_KEY",
        };
        command.env(variable, &self.key);
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env(proxy, CLOSED);
        }
        command.env("NO_PROXY", "127.0.0.1,localhost");
        let ended = process::run(&mut command, "", TURN).unwrap_or_else(|error| panic!("codex {args:?}: {error}"));
        Turn::read(ended)
    }
}

/// What one run of the CLI reported.
#[derive(Clone, Debug)]
pub struct Turn {
    /// How the process ended.
    pub ended: Finished,
    /// The events it printed.
    pub events: Vec<Value>,
}

impl Turn {
    fn read(ended: Finished) -> Self {
        let events = ended.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Self { ended, events }
    }

    /// Itself, where the turn was completed.
    ///
    /// # Panics
    /// Where it was not, with everything the CLI said.
    #[must_use]
    #[track_caller]
    pub fn expect_completed(self) -> Self {
        let completed = self.events.iter().any(|event| event["type"] == "turn.completed");
        let Finished { status, stdout, stderr } = &self.ended;
        assert!(completed && status.success(), "the turn failed: {status}\n--- events\n{stdout}\n--- stderr\n{stderr}");
        self
    }

    /// The conversation's id, which is also the session's.
    pub fn thread_id(&self) -> String {
        let started = self.events.iter().find(|event| event["type"] == "thread.started");
        started.and_then(|event| event["thread_id"].as_str()).unwrap_or_default().to_owned()
    }

    /// The last message of the model.
    pub fn message(&self) -> String {
        let text = self.items("agent_message").last().and_then(|item| item["text"].as_str());
        text.unwrap_or_default().to_owned()
    }

    /// The commands it ran, with what they printed.
    pub fn commands(&self) -> Vec<(String, String)> {
        let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
        self.items("command_execution").map(|item| (text(item, "command"), text(item, "aggregated_output"))).collect()
    }

    fn items<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        let done = self.events.iter().filter(|event| event["type"] == "item.completed");
        done.map(|event| &event["item"]).filter(move |item| item["type"] == kind)
    }
}

/// The launcher of that version in the cache.
fn install(version: &str) -> std::io::Result<PathBuf> {
    let home = cache::installed(&format!("codex-{version}"), |home| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix"]).arg(home);
        cache::step(npm.arg(format!("@openai/codex@{version}")), "Node.js 18 or newer with npm")
    })?;
    Ok(home.join("node_modules/.bin/codex"))
}

/// Home, working directory and configuration of a new user.
fn prepare(route: Route, gateway: SocketAddr) -> std::io::Result<TempDir> {
    let files = tempfile::Builder::new().prefix("homing-codex-").tempdir()?;
    for name in ["home", "work", "codex"] {
        std::fs::create_dir(files.path().join(name))?;
    }
    write_config(&files.path().join("codex/config.toml"), route, gateway)?;
    Ok(files)
}

/// The scripted upstream asks for one `echo` at most, so that no sandbox is needed, which not every machine has.
fn write_config(path: &Path, route: Route, gateway: SocketAddr) -> std::io::Result<()> {
    let pointed = match route {
        Route::Provider => format!(
            "model_provider = \"homing\"\n\
             [model_providers.homing]\nname = \"Homing\"\nbase_url = \"http://{gateway}/v1\"\n\
             env_key = \"HOMING_KEY\"\nwire_api = \"responses\"\n"
        ),
        Route::BuiltIn => format!("openai_base_url = \"http://{gateway}/v1\"\n"),
    };
    let config = format!(
        "model = \"gpt-5.5\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n\
         check_for_update_on_startup = false\n{pointed}[analytics]\nenabled = false\n"
    );
    std::fs::write(path, config)
}
