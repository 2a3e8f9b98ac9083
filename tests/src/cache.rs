//! Where real clients are installed: once, and never half.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process;

/// How long one step of an installation may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// The directory that holds this build's binaries, e.g. `target/debug`, found from the running test.
///
/// # Errors
/// Those of asking for the test's own path; `NotFound` where that is no Cargo build directory.
pub fn build_directory() -> io::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let parent = test.parent().ok_or(io::ErrorKind::NotFound)?;
    let built = if parent.ends_with("deps") { parent.parent() } else { Some(parent) };
    built.map(Path::to_path_buf).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// The cache directory: `HOMING_TEST_CACHE`, else `test-cache` in Cargo's target directory.
///
/// # Errors
/// As for [`build_directory`].
pub fn directory() -> io::Result<PathBuf> {
    if let Some(set) = std::env::var_os("HOMING_TEST_CACHE") {
        return std::path::absolute(PathBuf::from(set));
    }
    let built = build_directory()?;
    Ok(built.parent().unwrap_or(&built).join("test-cache"))
}

/// The directory `name` of the cache, filled by `install` if it is not there yet. Tests that ask at the same time, also
/// from other processes, wait for the one that installs. A failed or killed installation leaves nothing that counts.
///
/// # Errors
/// Those of files and locks, and of `install`.
pub fn installed(name: &str, install: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<PathBuf> {
    let cache = directory()?;
    std::fs::create_dir_all(&cache)?;
    let lock = File::create(cache.join(format!("{name}.lock")))?;
    lock.lock()?;
    let (home, complete) = (cache.join(name), cache.join(name).join(".complete"));
    if !complete.is_file() {
        if home.exists() {
            std::fs::remove_dir_all(&home)?;
        }
        std::fs::create_dir(&home)?;
        install(&home)?;
        File::create(complete)?;
    }
    Ok(home)
}

/// Runs one step of an installation.
///
/// # Errors
/// A text that says what was wanted, how it ended and what `needed` has to be there for it.
pub fn step(command: &mut Command, needed: &str) -> io::Result<()> {
    let shown = format!("{command:?}");
    let ended = process::run(command, "", PATIENCE)
        .map_err(|e| io::Error::new(e.kind(), format!("{e}\nreal clients are tested with {needed}: install it")))?;
    if ended.status.success() {
        return Ok(());
    }
    let text = format!("{shown}: {}\n{}\n{}\n(needed: {needed})", ended.status, ended.stdout, ended.stderr);
    Err(io::Error::other(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_installed_again_and_half_is_nothing() {
        let name = format!("self-test-{}", std::process::id());
        let half = installed(&name, |home| {
            std::fs::write(home.join("half"), "x")?;
            Err(io::Error::other("broken off"))
        });
        assert!(half.is_err());
        let home = installed(&name, |home| std::fs::write(home.join("whole"), "x")).unwrap();
        assert!(home.join("whole").is_file() && !home.join("half").exists());
        assert_eq!(installed(&name, |_| Err(io::Error::other("again"))).unwrap(), home);
        std::fs::remove_dir_all(&home).unwrap();
        std::fs::remove_file(home.with_extension("lock")).unwrap();
    }

    #[test]
    fn a_missing_tool_is_named_with_what_to_do() {
        let error = step(&mut Command::new("no-such-npm"), "npm").unwrap_err().to_string();
        assert!(error.contains("no-such-npm") && error.contains("with npm: install it"), "{error}");
    }
}
