//! What a look at the auth directory found.

use std::path::PathBuf;

use super::file::FileProblem;
use super::identity::Identity;

/// A change since the look before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An account that was not loaded.
    Appeared {
        /// Its stable identity.
        identity: Identity,
        /// Safe to show.
        label: String,
    },
    /// An account's identity gained the user id it lacked: it is the same account (spec §1).
    Gained {
        /// What it was known by.
        old: Identity,
        /// What it is known by now.
        new: Identity,
    },
    /// Another credential, or switched on or off, or back.
    Changed(Identity),
    /// Gone, or its file holds another identity: no attempt starts from now on (B11).
    Suspended(Identity),
    /// Absent for long enough: its bindings are to go (B11).
    Removed(Identity),
    /// Something an operator should look at.
    Warning(AccountWarning),
}

/// What an operator should look at. Told once for each change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountWarning {
    /// The directory tells nothing: every account stays as it was (B11).
    #[error("{} cannot be listed ({why}); every account stays as it was", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A file that holds no account now.
    #[error("{}: {problem}", path.display())]
    File {
        /// Relative to the auth directory.
        path: PathBuf,
        /// What is wrong.
        problem: FileProblem,
    },
    /// Two files of one account.
    #[error("{} and {} hold the same account; the first is used, remove the other", used.display(), ignored.display())]
    Duplicate {
        /// The fresher one.
        used: PathBuf,
        /// The other.
        ignored: PathBuf,
    },
    /// More files than are looked at.
    #[error("there are more auth files than the {most} that are looked at; move some elsewhere")]
    TooMany {
        /// How many are looked at.
        most: usize,
    },
    /// Others can read the tokens.
    #[error("{} is open to other users; close it with chmod 600", path.display())]
    Exposed {
        /// Relative to the auth directory.
        path: PathBuf,
    },
}
