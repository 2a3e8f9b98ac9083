//! Listing the auth directory and reading what changed in it (B11: what cannot be read is not gone).

use std::collections::BTreeMap;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use zeroize::Zeroizing;

use super::credential::TokenDigest;
use super::event::AccountWarning;
use super::file::{AuthFile, FILE_MAX, FileProblem};

/// Most auth files looked at.
pub(super) const FILES_MAX: usize = 1_000;

/// Most names listed in all.
const NAMES_MAX: usize = 100_000;

/// A file changed less than this ago may change again without another time stamp: it is read at the next look too.
const RACY_MS: i128 = 2_000;

/// What tells that a file is as it was: device, inode, size, and both times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp(u64, u64, u64, i128, i128);

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        let nanos = |s: i64, n: i64| i128::from(s) * 1_000_000_000 + i128::from(n);
        let (changed, modified) = (nanos(meta.ctime(), meta.ctime_nsec()), nanos(meta.mtime(), meta.mtime_nsec()));
        Self(meta.dev(), meta.ino(), meta.size(), modified, changed)
    }

    fn is_settled(&self, now_ms: u64) -> bool {
        self.3.max(self.4) / 1_000_000 + RACY_MS < i128::from(now_ms)
    }
}

/// A file as it was last seen.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// `None` where it must be read at the next look.
    stamp: Option<Stamp>,
    content: Option<TokenDigest>,
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

/// What a look found.
pub(super) struct Look {
    pub(super) files: Files,
    /// There is nothing at all, which is what a mount that is gone looks like.
    pub(super) empty: bool,
    /// Every file was seen and read: an account that no look has seen so far is not here.
    pub(super) complete: bool,
    pub(super) warnings: Vec<AccountWarning>,
}

/// Looks at the directory and one level below it. `Err` where it could not be listed: nothing is known to be gone then.
pub(super) fn look(directory: &Path, before: &Files, now_ms: u64) -> io::Result<Look> {
    let listing = list(directory)?;
    let mut files = Files::new();
    // What is known goes first, so that a file too many never pushes out an account.
    let (known, new): (Vec<_>, Vec<_>) = listing.found.iter().partition(|path| before.contains_key(*path));
    for relative in known.into_iter().chain(new).take(FILES_MAX) {
        files.insert(relative.clone(), one(&directory.join(relative), relative, before.get(relative), now_ms));
    }
    for (relative, known) in before.iter().filter(|(relative, _)| listing.hides(relative)) {
        files.entry(relative.clone()).or_insert_with(|| Known { changed: false, ..known.clone() });
    }
    let mut warnings = listing.unlisted_warnings(directory);
    if listing.overflow || listing.found.len() > FILES_MAX {
        warnings.push(AccountWarning::TooMany { most: FILES_MAX });
    }
    let read = |known: &Known| known.good.is_some() || !known.problem.as_ref().is_some_and(FileProblem::may_pass);
    let complete = warnings.is_empty() && files.values().all(read);
    Ok(Look { files, empty: listing.names == 0, complete, warnings })
}

#[derive(Default)]
struct Listing {
    /// Auth files, relative to the directory.
    found: Vec<PathBuf>,
    /// Subdirectories that could not be listed, and why.
    unlisted: Vec<(PathBuf, String)>,
    /// Names seen, hidden ones not counted.
    names: usize,
    overflow: bool,
}

impl Listing {
    /// Whether the absence of this file from the listing tells nothing.
    fn hides(&self, relative: &Path) -> bool {
        self.overflow || self.unlisted.iter().any(|(below, _)| relative.starts_with(below))
    }

    fn unlisted_warnings(&self, directory: &Path) -> Vec<AccountWarning> {
        let warning = |(below, why): &(PathBuf, String)| AccountWarning::Directory {
            path: directory.join(below),
            why: why.clone(),
        };
        self.unlisted.iter().map(warning).collect()
    }

    /// One directory's names: auth files are kept, the directories in it are returned.
    fn read(&mut self, directory: &Path, below: &Path) -> io::Result<Vec<PathBuf>> {
        let mut directories = Vec::new();
        for entry in fs::read_dir(directory.join(below))? {
            let name = entry?.file_name();
            // Hidden names are ours, editors' temporary files, and where mounted secrets keep their versions.
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            self.names += 1;
            if self.names > NAMES_MAX {
                self.overflow = true;
                break;
            }
            let relative = below.join(name);
            if name.ends_with(".json") {
                self.found.push(relative);
            } else if directory.join(&relative).is_dir() {
                directories.push(relative);
            }
        }
        Ok(directories)
    }
}

fn list(directory: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    for below in listing.read(directory, Path::new(""))? {
        match listing.read(directory, &below) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => listing.unlisted.push((below, error.to_string())),
            Ok(_) | Err(_) => {}
        }
    }
    listing.found.sort();
    Ok(listing)
}

fn one(path: &Path, relative: &Path, before: Option<&Known>, now_ms: u64) -> Known {
    let stamp = fs::metadata(path).map(|meta| Stamp::of(&meta)).ok();
    match before {
        Some(known) if stamp.is_some() && known.stamp == stamp => Known { changed: false, ..known.clone() },
        _ => match read(path) {
            Ok((meta, bytes)) => taken(&meta, &bytes, relative, before, now_ms),
            Err(error) => failed(before, error.to_string()),
        },
    }
}

fn taken(meta: &Metadata, bytes: &[u8], relative: &Path, before: Option<&Known>, now_ms: u64) -> Known {
    let stamp = Some(Stamp::of(meta)).filter(|stamp| stamp.is_settled(now_ms));
    let (content, exposed) = (Some(TokenDigest::of_bytes(bytes)), meta.mode() & 0o077 != 0);
    if let Some(known) = before.filter(|known| known.content == content && known.exposed == exposed) {
        return Known { stamp, changed: false, ..known.clone() };
    }
    let (good, problem) = match AuthFile::parse(bytes, &relative.to_string_lossy()) {
        Ok(file) => (Some(file), None),
        // The last good content stands.
        Err(problem) if problem.may_pass() => (before.and_then(|known| known.good.clone()), Some(problem)),
        Err(problem) => (None, Some(problem)),
    };
    Known { stamp, content, good, problem, exposed, changed: true }
}

/// The last good content stands.
fn failed(before: Option<&Known>, why: String) -> Known {
    let problem = Some(FileProblem::Unreadable(why));
    let changed = before.is_none_or(|known| known.problem != problem);
    let good = before.and_then(|known| known.good.clone());
    Known { stamp: None, content: None, good, problem, exposed: before.is_some_and(|k| k.exposed), changed }
}

/// A whole auth file. Anything but a regular file is refused, and a pipe is not waited for.
pub(super) fn read(path: &Path) -> io::Result<(Metadata, Zeroizing<Vec<u8>>)> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(meta.len().min(FILE_MAX)).unwrap_or_default()));
    file.take(FILE_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(io::Error::other(format!("it is larger than an auth file may be, {FILE_MAX} bytes")));
    }
    Ok((meta, bytes))
}
