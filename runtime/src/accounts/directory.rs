//! Listing the auth directory and reading what changed in it (B11: what cannot be read is not gone).

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::file::{AuthFile, FILE_MAX, FileProblem};

/// Most auth files looked at.
const FILES_MAX: usize = 1_000;

/// What tells that a file is as it was: device, inode, size, and both times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp(u64, u64, u64, i128, i128);

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        let nanos = |s: i64, n: i64| i128::from(s) * 1_000_000_000 + i128::from(n);
        let (changed, modified) = (nanos(meta.ctime(), meta.ctime_nsec()), nanos(meta.mtime(), meta.mtime_nsec()));
        Self(meta.dev(), meta.ino(), meta.size(), modified, changed)
    }
}

/// A file as it was last seen.
#[derive(Clone, Debug)]
pub(super) struct Known {
    stamp: Option<Stamp>,
    /// The last content that could be read; `None` where it is no account.
    pub(super) good: Option<AuthFile>,
    /// What is wrong with it now.
    pub(super) problem: Option<FileProblem>,
    /// Others than its owner may read it.
    pub(super) exposed: bool,
    /// Something about it changed in this look.
    pub(super) changed: bool,
}

/// The auth files, by path relative to the directory.
pub(super) type Files = BTreeMap<PathBuf, Known>;

/// Looks at the directory and one level below it. `Err` where it could not be listed: nothing is known to be gone then.
pub(super) fn look(directory: &Path, before: &Files) -> io::Result<Files> {
    let mut files = Files::new();
    for path in list(directory)? {
        let relative = path.strip_prefix(directory).unwrap_or(&path).to_path_buf();
        let known = one(&path, &relative, before.get(&relative));
        files.insert(relative, known);
        if files.len() >= FILES_MAX {
            break;
        }
    }
    Ok(files)
}

fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut below) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() && !is_json(&path) {
            below.push(path);
        } else if is_json(&path) {
            found.push(path);
        }
    }
    for directory in below {
        // A subdirectory that cannot be listed holds nothing we know of, unless files of it were known: then their absence
        // must not count.
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if is_json(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Hidden names are ours and editors' temporary files.
fn is_json(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    name.ends_with(".json") && !name.starts_with('.')
}

fn one(path: &Path, relative: &Path, before: Option<&Known>) -> Known {
    match read(path, before.and_then(|k| k.stamp)) {
        Ok(None) => match before {
            Some(known) => Known { changed: false, ..known.clone() },
            None => failed(None, "it has just gone".into()),
        },
        Ok(Some((stamp, exposed, bytes))) => match AuthFile::parse(&bytes, &relative.to_string_lossy()) {
            Ok(file) => Known { stamp: Some(stamp), good: Some(file), problem: None, exposed, changed: true },
            Err(FileProblem::Unreadable(why)) => Known { stamp: Some(stamp), ..failed(before, why) },
            Err(problem) => Known { stamp: Some(stamp), good: None, problem: Some(problem), exposed, changed: true },
        },
        Err(error) => failed(before, error.to_string()),
    }
}

/// The last good content stands.
fn failed(before: Option<&Known>, why: String) -> Known {
    let problem = Some(FileProblem::Unreadable(why));
    let changed = before.is_none_or(|known| known.problem != problem);
    let good = before.and_then(|known| known.good.clone());
    Known { stamp: None, good, problem, exposed: before.is_some_and(|k| k.exposed), changed }
}

/// `None` where the file is as it was.
fn read(path: &Path, before: Option<Stamp>) -> io::Result<Option<(Stamp, bool, Vec<u8>)>> {
    let mut file = File::open(path)?;
    let meta = file.metadata()?;
    let stamp = Stamp::of(&meta);
    if Some(stamp) == before {
        return Ok(None);
    }
    if !meta.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if meta.len() > FILE_MAX {
        return Err(io::Error::other(format!("it has {} bytes; an auth file has at most {FILE_MAX}", meta.len())));
    }
    let mut bytes = Vec::new();
    file.by_ref().take(FILE_MAX).read_to_end(&mut bytes)?;
    Ok(Some((stamp, meta.mode() & 0o077 != 0, bytes)))
}
