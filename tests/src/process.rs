//! Processes of others, bounded in time and in what they may say.

use std::collections::VecDeque;
use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Bytes kept of each stream of a process; older ones are dropped.
const KEPT: usize = 1024 * 1024;
/// Wait between two looks at a process.
const LOOK: Duration = Duration::from_millis(10);

/// How a process ended and what it said.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its exit status.
    pub status: ExitStatus,
    /// The last [1 MiB](KEPT) of its standard output; bytes that are no UTF-8 are replaced.
    pub stdout: String,
    /// The same of its standard error.
    pub stderr: String,
}

impl Finished {
    /// Itself, where it ended with status 0.
    ///
    /// # Panics
    /// Where it did not, with everything that it said.
    #[must_use]
    #[track_caller]
    pub fn expect_ok(self, what: &str) -> Self {
        let Self { status, stdout, stderr } = &self;
        assert!(status.success(), "{what}: {status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        self
    }
}

/// Runs `command` to its end with `input` on its standard input. It becomes the leader of a process group of its own,
/// and the group ends with it.
///
/// # Errors
/// Those of starting it (`NotFound` where there is no such program); `TimedOut` with its last words where it did not end
/// within `limit`, after which it and its children are killed.
pub fn run(command: &mut Command, input: &str, limit: Duration) -> io::Result<Finished> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child =
        command.spawn().map_err(|e| io::Error::new(e.kind(), format!("{name} could not be started: {e}")))?;
    let (stdout, stderr) = (Tail::of(child.stdout.take()), Tail::of(child.stderr.take()));
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input may close it first.
        let _ = stdin.write_all(input.as_bytes());
    }
    let status = wait(&mut child, limit)?;
    end_group(&child);
    if status.is_none() {
        child.wait()?;
    }
    let (stdout, stderr) = (stdout.finish(), stderr.finish());
    let Some(status) = status else {
        let said = format!("{name} did not end within {limit:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        return Err(io::Error::new(io::ErrorKind::TimedOut, said));
    };
    Ok(Finished { status, stdout, stderr })
}

/// Waits for the end of a child, at most `limit`; `None` where it goes on.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if began.elapsed() >= limit => return Ok(None),
            None => std::thread::sleep(LOOK),
        }
    }
}

/// Kills what is left of the group that `child` leads. Its pipes are closed then.
fn end_group(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // Nothing left is the usual case.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// The end of what a stream says, gathered by a thread so that its writer never waits.
#[derive(Debug)]
struct Tail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Tail {
    /// Starts reading. `None`, a stream that was not piped, says nothing.
    fn of(stream: Option<impl Read + Send + 'static>) -> Self {
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let reader = stream.map(|mut stream| {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || {
                let mut part = [0; 8192];
                while let Ok(read @ 1..) = stream.read(&mut part) {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend(&part[..read]);
                    let excess = kept.len().saturating_sub(KEPT);
                    kept.drain(..excess);
                }
            })
        });
        Self { kept, reader }
    }

    /// What was said in all; blocks until the stream ends.
    fn finish(self) -> String {
        // A reader that panicked has kept what it had.
        let _ = self.reader.map(JoinHandle::join);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(kept.make_contiguous()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn input_output_and_status_are_passed() {
        let ended = run(&mut shell("cat; echo oops >&2; exit 3"), "hello", Duration::from_secs(30)).unwrap();
        assert_eq!((ended.status.code(), ended.stdout.as_str(), ended.stderr.as_str()), (Some(3), "hello", "oops\n"));
    }

    #[test]
    fn a_process_that_goes_on_is_ended_with_its_children() {
        let error = run(&mut shell("echo begun; sleep 600 & sleep 600"), "", Duration::from_millis(200)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("begun"), "{error}");
    }

    #[test]
    fn a_child_that_outlives_its_parent_holds_nobody_up() {
        let ended = run(&mut shell("sleep 600 & echo done"), "", Duration::from_secs(30)).unwrap();
        assert_eq!(ended.stdout, "done\n");
    }

    #[test]
    fn only_the_end_of_much_output_is_kept() {
        let ended =
            run(&mut shell("head -c 3000000 /dev/zero | tr '\\0' a; echo end"), "", Duration::from_secs(60)).unwrap();
        assert_eq!(ended.stdout.len(), KEPT);
        assert!(ended.stdout.ends_with("aend\n"));
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut Command::new("no-such-program"), "", Duration::from_secs(1)).unwrap_err();
        assert!(error.to_string().contains("no-such-program"), "{error}");
    }
}
