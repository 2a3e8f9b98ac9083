//! Calls to the operating system that are neither clock nor randomness: signals, threads, process facts, locks.

mod lock;

use std::{
    fs::DirBuilder,
    io,
    os::unix::fs::DirBuilderExt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::OnceLock,
};

use async_signal::{Signal, Signals};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use smol::{Executor, Task, stream::StreamExt};

pub use lock::{Holder, Lock, LockError};

/// The executor of the process. Its threads (one for each available core) start with the first call and are called
/// `homing-worker-N`.
pub fn executor() -> &'static Executor<'static> {
    static EXECUTOR: Executor<'static> = Executor::new();
    static THREADS: OnceLock<()> = OnceLock::new();
    THREADS.get_or_init(|| {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        for number in 0..count {
            let thread = std::thread::Builder::new().name(format!("homing-worker-{number}"));
            if let Err(error) = thread.spawn(|| work(&EXECUTOR)) {
                tracing::error!(number, %error, "a worker thread could not be started");
            }
        }
    });
    &EXECUTOR
}

/// Runs tasks for ever. A task that panics ends alone; its thread goes on with the others.
fn work(executor: &'static Executor<'static>) {
    let run = || smol::block_on(executor.run(std::future::pending::<()>()));
    while catch_unwind(AssertUnwindSafe(run)).is_err() {
        tracing::error!("a task panicked; the others go on");
    }
}

/// Starts `future` on the process's executor. Dropping the task cancels it; `detach` lets it run.
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T> {
    executor().spawn(future)
}

/// Runs `future` on this thread until it is done, with the process's executor at work beside it.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    executor();
    smol::block_on(future)
}

/// SIGTERMs and SIGINTs, each of which asks the process to stop.
#[derive(Debug)]
pub struct Stops(Signals);

impl Stops {
    /// Registers for both at once; from then on neither ends the process by itself.
    ///
    /// # Errors
    /// Where the system refuses the registration.
    pub fn listen() -> io::Result<Self> {
        Signals::new([Signal::Term, Signal::Int]).map(Self)
    }

    /// Waits for the next one; its name.
    pub async fn next(&mut self) -> &'static str {
        match self.0.next().await {
            Some(Ok(Signal::Int)) => "SIGINT",
            // A source of signals that fails or ends could never ask again.
            _ => "SIGTERM",
        }
    }
}

/// SIGHUPs, each of which asks for a reload.
#[derive(Debug)]
pub struct Hangups(Signals);

impl Hangups {
    /// Registers for SIGHUP, which from then on does not end the process.
    ///
    /// # Errors
    /// Where the system refuses the registration.
    pub fn listen() -> io::Result<Self> {
        Signals::new([Signal::Hup]).map(Self)
    }

    /// Waits for the next one. Several that come together may count as one.
    ///
    /// # Errors
    /// Where the source of signals fails; there is no next one then.
    pub async fn next(&mut self) -> io::Result<()> {
        let ended = || io::Error::from(io::ErrorKind::UnexpectedEof);
        self.0.next().await.unwrap_or_else(|| Err(ended())).map(drop)
    }
}

/// Lets this process open as many files as the system allows it, rather than the fewer it starts with (1,024 on most
/// systems, for programs that do not expect more). Returns how many those are; `None` where there is no limit.
pub fn raise_descriptor_limit() -> Option<u64> {
    let allowed = getrlimit(Resource::Nofile).maximum;
    // Where the system refuses, what held before holds on.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: allowed, maximum: allowed });
    getrlimit(Resource::Nofile).current
}

/// This process's id.
pub fn process_id() -> u32 {
    std::process::id()
}

/// Whether the other end of a Unix socket may command this process: its own user, or root. Where the system does not
/// tell (it does on Linux), the socket file's mode alone decides, and this is true.
///
/// # Errors
/// Where the system refuses the question.
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
pub fn peer_is_owner(socket: impl std::os::fd::AsFd) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        let peer = rustix::net::sockopt::socket_peercred(socket)?.uid;
        Ok(peer == rustix::process::geteuid() || peer.is_root())
    }
    #[cfg(not(target_os = "linux"))]
    Ok(true)
}

/// Makes the directory, with those above it, for this user alone (0700). One that is there stays as it is.
///
/// # Errors
/// Where the system refuses, or the name is taken by something else.
pub fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt, process::Command};

    use super::*;

    #[test]
    #[ignore = "started by signals_reach_those_who_registered, apart from the tests that must not hear them"]
    fn helper_that_signals_itself() {
        let mut hangups = Hangups::listen().unwrap();
        let mut asked = Stops::listen().unwrap();
        let me = rustix::process::getpid();
        rustix::process::kill_process(me, rustix::process::Signal::HUP).unwrap();
        smol::block_on(hangups.next()).unwrap();
        rustix::process::kill_process(me, rustix::process::Signal::TERM).unwrap();
        println!("asked by {}", smol::block_on(asked.next()));
    }

    #[test]
    fn signals_reach_those_who_registered() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "os::tests::helper_that_signals_itself", "--ignored", "--nocapture"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("asked by SIGTERM"), "{said}");
    }

    #[test]
    fn a_panicking_task_does_not_stop_the_others() {
        for _ in 0..8 {
            spawn(async { panic!("on purpose") }).detach();
        }
        assert_eq!(block_on(spawn(async { 6 * 7 })), 42);
    }

    #[test]
    fn every_file_that_is_allowed_may_be_opened() {
        let allowed = getrlimit(Resource::Nofile).maximum;
        assert_eq!(raise_descriptor_limit(), allowed);
        assert_eq!(getrlimit(Resource::Nofile).current, allowed);
    }

    #[test]
    fn a_private_directory_is_made_for_its_owner_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("state/homing");
        private_directory(&path).unwrap();
        private_directory(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::write(path.join("file"), "").unwrap();
        private_directory(&path.join("file")).unwrap_err();
    }
}
