//! The official `openai` Python SDK at a pinned version, called through a small script.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{cache, process};

/// The version under test.
pub const PYTHON_SDK: &str = "3.57.0";

/// How long one run of the script may take.
const RUN: Duration = Duration::from_secs(120);

/// One call of `client.responses.create`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Call {
    /// Whether the answer is streamed.
    pub stream: bool,
    /// The arguments, e.g. `model`, `input`, `prompt_cache_key`, `extra_headers`.
    pub arguments: Map<String, Value>,
}

impl Call {
    /// A call with this input on `gpt-5.5`.
    pub fn new(input: &str) -> Self {
        Self::default().with("model", "gpt-5.5").with("input", input)
    }

    /// Streams the answer.
    #[must_use]
    pub fn streamed(mut self) -> Self {
        self.stream = true;
        self
    }

    /// Sets an argument.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.arguments.insert(name.to_owned(), value.into());
        self
    }
}

/// What the SDK made of the answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    /// The response's `status`, e.g. `completed`.
    pub status: Option<String>,
    /// Its output text.
    pub text: Option<String>,
    /// Its id.
    pub id: Option<String>,
    /// Types of the events, where it was streamed.
    pub events: Vec<String>,
    /// The exception's class, where one was raised.
    pub error: Option<String>,
    /// The HTTP status it carries.
    pub http_status: Option<u16>,
}

/// Makes these calls with one client, in order. The SDK's own retries are off.
///
/// # Panics
/// Where Python, the SDK or the script is missing or fails: a client that cannot be tried is a failed test.
pub fn call(gateway: SocketAddr, key: &str, calls: &[Call]) -> Vec<Answer> {
    let python = install().unwrap_or_else(|error| panic!("openai {PYTHON_SDK} could not be installed: {error}"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/openai_sdk.py");
    let input = serde_json::to_string(calls).unwrap_or_else(|error| panic!("calls are not JSON: {error}"));
    let mut command = Command::new(python);
    command.arg(script).env_clear();
    command.env("OPENAI_BASE_URL", format!("http://{gateway}/v1")).env("OPENAI_API_KEY", key);
    let ended = process::run(&mut command, &input, RUN).unwrap_or_else(|error| panic!("the SDK's script: {error}"));
    let ended = ended.expect_ok("the SDK's script");
    let answers: Result<Vec<Answer>, _> = ended.stdout.lines().map(serde_json::from_str).collect();
    let answers = answers.unwrap_or_else(|error| panic!("the SDK's script printed no answers ({error}): {ended:?}"));
    assert_eq!(answers.len(), calls.len(), "one answer for each call: {ended:?}");
    answers
}

/// The interpreter of a virtual environment with the SDK.
fn install() -> std::io::Result<PathBuf> {
    let home = cache::installed(&format!("openai-python-{PYTHON_SDK}"), |home| {
        let needed = "Python 3.9 or newer with venv and pip";
        cache::step(Command::new("python3").args(["-m", "venv"]).arg(home), needed)?;
        let mut pip = Command::new(home.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        cache::step(pip.arg(format!("openai=={PYTHON_SDK}")), needed)
    })?;
    Ok(home.join("bin/python"))
}
