//! The upstream as a value: started, scripted, read, and stopped when it is dropped.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use smol::Executor;
use smol::channel::Sender;

use super::account::{Account, AccountSpec};
use super::log::{Outcome, Seen};
use super::rules::{Rule, RuleId};
use super::server;
use super::state::State;

/// How long the waiting calls wait. It is no measurement: a test that runs into it has failed already.
const PATIENCE: Duration = Duration::from_secs(30);

/// How an upstream starts.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens: a loopback address; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Entries the log keeps, at least 1.
    pub log_capacity: usize,
    /// Bytes of bodies the log keeps; older bodies are dropped, their entries stay.
    pub log_body_budget: usize,
    /// Output deltas of an answer; `None`: one for each word.
    pub deltas: Option<u32>,
    /// Gathers the events of a stream in few writes, as a benchmark wants it, instead of one write for each.
    pub coalesce: bool,
    /// Serves callers without a valid token as the first account.
    pub open: bool,
}

impl Default for Options {
    /// A free port on 127.0.0.1, 100,000 log entries with 256 MiB of bodies, one write for each event.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            log_capacity: 100_000,
            log_body_budget: 256 * 1024 * 1024,
            deltas: None,
            coalesce: false,
            open: false,
        }
    }
}

/// A running scripted upstream. Dropping it closes every connection and frees the port.
pub struct Upstream {
    address: SocketAddr,
    state: Arc<State>,
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Upstream {
    /// Binds and serves on a thread of its own.
    ///
    /// # Errors
    /// `InvalidInput` for an address that is not loopback (the control endpoint has no lock), and those of binding and
    /// of starting the thread.
    pub fn start(options: Options) -> io::Result<Self> {
        if !options.listen.ip().is_loopback() {
            let text = format!("the scripted upstream listens on loopback only, not on {}", options.listen);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let listener = smol::block_on(smol::net::TcpListener::bind(options.listen))?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::new(options));
        let (stop, stopped) = smol::channel::bounded::<()>(1);
        let shared = state.clone();
        let thread = std::thread::Builder::new().name("scripted-upstream".to_owned()).spawn(move || {
            let executor = Arc::new(Executor::new());
            let accepting = executor.spawn(server::accept(listener, shared, executor.clone()));
            smol::block_on(executor.run(async move {
                // Ends with an error once the handle closes its end.
                let _ = stopped.recv().await;
                accepting.cancel().await;
            }));
        })?;
        Ok(Self { address, state, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// The base address of the Codex routes, e.g. `http://127.0.0.1:4000/backend-api/codex`.
    pub fn url(&self) -> String {
        format!("http://{}/backend-api/codex", self.address)
    }

    /// The address of the token endpoint.
    pub fn token_url(&self) -> String {
        format!("http://{}{}", self.address, super::oauth::PATH)
    }

    /// Adds an account, or logs in anew to the one of that name (tokens issued before stay good).
    pub fn add_account(&self, spec: AccountSpec) -> Account {
        let now = crate::clock::wall_ms();
        self.state.with(|inner| inner.registry.add(spec, now, &self.state.mint))
    }

    /// The account of that name with its newest tokens.
    pub fn account(&self, name: &str) -> Option<Account> {
        self.state.with(|inner| inner.registry.get(name))
    }

    /// Answers 401 to every access token issued to the account so far. Returns whether there is such an account.
    pub fn revoke_access(&self, name: &str) -> bool {
        self.state.with(|inner| inner.registry.revoke_access(name))
    }

    /// Counts the account's newest refresh token as spent. Returns whether there is such an account.
    pub fn revoke_refresh(&self, name: &str) -> bool {
        self.state.with(|inner| inner.registry.revoke_refresh(name))
    }

    /// Adds a rule. Past 10,000 rules it is ignored, and the id names no rule.
    pub fn fail(&self, rule: Rule) -> RuleId {
        self.state.with(|inner| inner.rules.add(rule)).unwrap_or(RuleId(0))
    }

    /// Removes a rule. Returns whether it was still there.
    pub fn forgive(&self, id: RuleId) -> bool {
        self.state.with(|inner| inner.rules.remove(id))
    }

    /// Removes every rule.
    pub fn forgive_all(&self) {
        self.state.with(|inner| inner.rules.clear());
    }

    /// Opens a gate: whoever waits goes on, and nobody waits there any more.
    pub fn release(&self, gate: &str) {
        self.state.with(|inner| inner.gates.release(gate));
    }

    /// Closes a gate that was released.
    pub fn hold(&self, gate: &str) {
        self.state.with(|inner| inner.gates.hold(gate));
    }

    /// Blocks until at least `n` answers wait at the gate, at most 30 s. Returns whether they do.
    pub fn wait_at(&self, gate: &str, n: usize) -> bool {
        self.state.wait(PATIENCE, |inner| inner.gates.waiting(gate) >= n)
    }

    /// Whether to answer 400 `invalid_encrypted_content` to another account's encrypted content (off at the start).
    pub fn reject_foreign_reasoning(&self, on: bool) {
        self.state.with(|inner| inner.knobs.reject_foreign_reasoning = on);
    }

    /// Whether to serve a `previous_response_id` that nobody issued (off at the start: it is not found).
    pub fn accept_unknown_previous(&self, on: bool) {
        self.state.with(|inner| inner.knobs.accept_unknown_previous = on);
    }

    /// Output deltas of each answer; `None`: one for each word.
    pub fn set_deltas(&self, deltas: Option<u32>) {
        self.state.with(|inner| inner.knobs.deltas = deltas);
    }

    /// Input tokens to report; `None`: a quarter of the body's bytes. A large count makes Codex compact.
    pub fn set_input_tokens(&self, tokens: Option<u64>) {
        self.state.with(|inner| inner.knobs.input_tokens = tokens);
    }

    /// Every request still in the log, oldest first.
    pub fn log(&self) -> Vec<Seen> {
        self.log_since(0)
    }

    /// The requests from this number on.
    pub fn log_since(&self, number: u64) -> Vec<Seen> {
        self.state.with(|inner| inner.log.since(number))
    }

    /// Requests seen in all.
    pub fn seen(&self) -> u64 {
        self.state.with(|inner| inner.log.total())
    }

    /// Blocks until `n` requests were seen in all, at most 30 s, and returns the log; it is shorter than `n` where
    /// they did not come.
    pub fn wait_for(&self, n: u64) -> Vec<Seen> {
        self.state.wait(PATIENCE, |inner| inner.log.total() >= n);
        self.log()
    }

    /// Blocks until `n` requests were seen and every one has ended, at most 30 s, and returns the log.
    pub fn wait_ended(&self, n: u64) -> Vec<Seen> {
        self.state.wait(PATIENCE, |inner| inner.log.total() >= n && inner.log.all_ended());
        self.log()
    }

    /// Everything any client did that it never should (R7, R1), in order.
    pub fn violations(&self) -> Vec<String> {
        self.log().into_iter().flat_map(|seen| seen.violations).collect()
    }

    /// Blocks until the process is told to end.
    pub(super) fn serve_forever(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.stop.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Seen {
    /// Whether the answer was written to its end.
    pub fn answered(&self) -> bool {
        matches!(self.outcome, Outcome::Answered { .. })
    }
}
