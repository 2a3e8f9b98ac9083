//! Writing a file so that it is either the old one or the new one, whole: temporary file, fsync, rename, fsync of the
//! directory; open to its owner alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::entropy;

/// Replaces the file at `path` (through a symbolic link: its target), mode 0600, with the owner it had.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let directory = target.parent().ok_or_else(|| io::Error::other("the path names no file"))?;
    let temporary = beside(directory);
    let owner = fs::metadata(&target).ok().map(|meta| (meta.uid(), meta.gid()));
    let written = write(&temporary, bytes, owner).and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        // Nothing was replaced; what was begun goes again.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    File::open(directory)?.sync_all()
}

fn write(path: &Path, bytes: &[u8], owner: Option<(u32, u32)>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let meta = file.metadata()?;
    if let Some((user, group)) = owner.filter(|owner| *owner != (meta.uid(), meta.gid())) {
        // A gateway that runs as root must not lock the Codex CLI out of its own file. Others may not give files away, and
        // what they write is theirs.
        let _ = std::os::unix::fs::fchown(&file, Some(user), Some(group));
    }
    file.write_all(bytes)?;
    file.sync_all()
}

/// A hidden name, so that no scan takes it for an auth file.
fn beside(directory: &Path) -> PathBuf {
    directory.join(format!(".homing-{:016x}.tmp", entropy::jitter()))
}
