//! Locks on files (T2): one process at a time, and the second learns who the first is.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use super::process_id;

/// Longest lock file that is read for the holder's name, in bytes.
const LONGEST_LOCK_FILE: u64 = 4096;

/// An advisory lock on a file, held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// Open as long as the lock is held.
    file: File,
}

/// Who holds a lock, as the lock file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// The command it was started with.
    pub command: String,
}

/// A lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it (T2).
    #[error("{} is held by {}; stop it first, or give this one a directory of its own", path.display(), holder_text(holder.as_ref()))]
    Held {
        /// The lock file.
        path: PathBuf,
        /// Who holds it; absent in the moment before it has written its name.
        holder: Option<Holder>,
    },
    /// The file could not be opened, locked or written.
    #[error("{} cannot be locked ({error}); choose a directory that this user can write to", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

fn holder_text(holder: Option<&Holder>) -> String {
    holder.map_or("another process".into(), |Holder { pid, command }| format!("process {pid} ({command})"))
}

impl Lock {
    /// Takes the lock on the file `path`, made (0600) where it is missing, and writes this process's id and command
    /// into it. Never waits. The file stays when the lock goes: removing it would let two processes lock two files of
    /// one name.
    ///
    /// # Errors
    /// [`LockError::Held`] with the holder, or [`LockError::Io`].
    pub fn acquire(path: &Path) -> Result<Self, LockError> {
        let failed = |error: io::Error| LockError::Io { path: path.into(), error };
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
        let mut file = options.map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(LockError::Held { path: path.into(), holder: holder(&mut file) });
            }
            Err(error) => return Err(failed(error.into())),
        }
        let command = std::env::args_os().take(2).map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>();
        let text = format!("{}\n{}\n", process_id(), printable(&command.join(" ")));
        file.set_len(0).and_then(|()| file.write_all(text.as_bytes())).map_err(failed)?;
        Ok(Self { path: path.into(), file })
    }

    /// The lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a child that was forked this moment has the file open too, until it runs its program.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Reads who holds the lock.
fn holder(file: &mut File) -> Option<Holder> {
    let mut text = Vec::new();
    file.rewind().ok()?;
    file.take(LONGEST_LOCK_FILE).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (pid, command) = text.split_once('\n')?;
    Some(Holder { pid: pid.parse().ok()?, command: printable(command.trim_end()) })
}

/// `text` on one line, at most 200 characters, without control characters.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Names the lock file that [`helper_that_holds_the_lock`] takes in its own process.
    const HELPER: &str = "HOMING_TEST_LOCK";

    #[test]
    fn a_second_lock_names_the_holder_and_a_dropped_one_is_free() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("homing.lock");
        let first = Lock::acquire(&path).unwrap();
        let refused = Lock::acquire(&path).unwrap_err();
        let LockError::Held { holder: Some(holder), .. } = &refused else { panic!("{refused}") };
        assert_eq!(holder.pid, process_id());
        assert!(refused.to_string().contains(&format!("held by process {}", process_id())), "{refused}");
        drop(first);
        Lock::acquire(&path).unwrap();
    }

    /// This test binary, set to run one ignored helper in a process of its own.
    fn helper(name: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("os::lock::tests::{name}"), "--ignored", "--nocapture"]);
        command
    }

    #[test]
    #[ignore = "started by a_lock_of_another_process_is_seen_and_ends_with_it"]
    fn helper_that_holds_the_lock() {
        let Some(path) = std::env::var_os(HELPER) else { return };
        let lock = Lock::acquire(Path::new(&path)).unwrap();
        println!("locked {}", lock.path().display());
        // The other side holds the pipe open until it has looked.
        let _ = io::stdin().read(&mut [0]);
    }

    #[test]
    fn a_lock_of_another_process_is_seen_and_ends_with_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("homing.lock");
        let mut command = helper("helper_that_holds_the_lock");
        command.env(HELPER, &path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        let mut output = io::BufReader::new(child.stdout.take().unwrap());
        while !said.contains("locked") {
            said.clear();
            assert_ne!(io::BufRead::read_line(&mut output, &mut said).unwrap(), 0, "the helper ended early");
        }
        let refused = Lock::acquire(&path).unwrap_err().to_string();
        assert!(refused.contains(&format!("process {}", child.id())), "{refused}");
        child.kill().unwrap();
        child.wait().unwrap();
        Lock::acquire(&path).unwrap();
    }

    #[test]
    fn a_lock_file_that_says_nothing_useful_still_refuses() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("homing.lock");
        let held = Lock::acquire(&path).unwrap();
        std::fs::write(&path, b"\xff\x00not a number\n\x1b[31m").unwrap();
        let refused = Lock::acquire(&path).unwrap_err().to_string();
        assert!(refused.contains("held by another process"), "{refused}");
        drop(held);
        let nowhere = Lock::acquire(&place.path().join("none/homing.lock")).unwrap_err().to_string();
        assert!(nowhere.contains("cannot be locked"), "{nowhere}");
    }
}
