//! Whether the database's name still stands for the file that is written. SQLite goes on writing into a file that was
//! deleted or replaced, without an error: everything looks well until the next start finds nothing.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::StoreError;

/// A file that is open, watched by its name. It is only looked at from outside, see [`super::open`].
pub(super) struct Watched {
    path: PathBuf,
    /// Device and inode; `None` where they could not be had.
    is: Option<(u64, u64)>,
    lost: AtomicBool,
}

impl Watched {
    /// Watches what the name stands for now.
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), is: found(path), lost: AtomicBool::new(false) }
    }

    /// Looks again, and says it in the log when it changed.
    pub(super) fn look(&self) {
        let lost = self.is.is_some() && found(&self.path) != self.is;
        match (self.lost.swap(lost, Ordering::Relaxed), lost) {
            (false, true) => tracing::error!("{}", self.lost_error()),
            (true, false) => tracing::info!(path = ?self.path, "the database file is back"),
            _ => {}
        }
    }

    /// What is wrong, since the last look.
    pub(super) fn problem(&self) -> Option<String> {
        self.lost.load(Ordering::Relaxed).then(|| self.lost_error().to_string())
    }

    fn lost_error(&self) -> StoreError {
        StoreError::Lost { path: self.path.clone() }
    }
}

fn found(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}
