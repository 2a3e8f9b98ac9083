//! What can be wrong with the database, each with its path and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why a store could not be opened, or could not do what was asked (T2).
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory for the database could not be made.
    #[error(
        "cannot create the directory {path:?}: {source}; make its parent writable for this user or choose another place for the database"
    )]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file, or the directory it stands in, does not let itself be written.
    #[error(
        "cannot write the database {path:?}: {reason}; make the file and its directory writable for this user or choose another place"
    )]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// What the system or SQLite said.
        reason: String,
    },
    /// The path leads to something else than a file.
    #[error("the database path {path:?} is not a regular file; name a file")]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file holds something else than an SQLite database. It was left as it is.
    #[error("{path:?} is not an SQLite database; it was not touched: move it away or name another file")]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The database of another program. It was left as it is.
    #[error(
        "{path:?} is an SQLite database of another program (application id {application:#x}); it was not touched: name another file"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The application id in its header.
        application: i32,
    },
    /// The database is damaged. It was left as it is.
    #[error(
        "the database {path:?} is damaged: {detail}; it was not overwritten: restore a copy, or move it away to start without bindings and users"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The file was deleted or replaced while it was open: what is written goes nowhere.
    #[error(
        "the database {path:?} was deleted or replaced while in use; what is in memory is lost when the gateway stops: put the file back before that, or restore a copy after it"
    )]
    Lost {
        /// The file's name.
        path: PathBuf,
    },
    /// The schema is newer than this program. It was left as it is.
    #[error(
        "the database {path:?} has schema {found}, this program knows up to {known}: use the newer program, or run its migrations back"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// Another store, here or in another process, has the file open (T2: one active process for each database).
    #[error("the database {path:?} is in use by another process; stop it first")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// No room left.
    #[error("no room to write the database {path:?} ({detail}); free some space, writing goes on by itself")]
    Full {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        detail: String,
    },
    /// Anything else the disk or SQLite reported.
    #[error("the database {path:?} failed to {action}: {detail}; check the disk and the system's log")]
    Failed {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What SQLite or the system said.
        detail: String,
    },
    /// There is no such schema version to go to.
    #[error("there is no schema {to}; this program knows 0 to {known}")]
    NoSuchVersion {
        /// The version asked for.
        to: u32,
        /// The newest version known here.
        known: u32,
    },
    /// A row with the same unique value is there already.
    #[error("{what} is taken already; choose another")]
    Taken {
        /// Which value.
        what: &'static str,
    },
    /// The store was closed.
    #[error("the store is closed; the gateway is stopping")]
    Closed,
}

impl StoreError {
    /// What an SQLite error means for the operator.
    pub(super) fn sqlite(path: &Path, action: &'static str, error: &rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        let detail = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, detail },
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::InUse { path },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::NotWritable { path, reason: detail }
            }
            Some(ErrorCode::DiskFull) => Self::Full { path, detail },
            _ => Self::Failed { path, action, detail },
        }
    }

    /// What an error of the file system means for the operator.
    pub(super) fn io(path: &Path, action: &'static str, error: &io::Error) -> Self {
        let path = path.to_path_buf();
        let detail = error.to_string();
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::NotFound => {
                Self::NotWritable { path, reason: detail }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path, detail },
            _ => Self::Failed { path, action, detail },
        }
    }
}
