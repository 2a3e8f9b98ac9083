//! What can be wrong with a request about users; each names the field, the value and the fix.

use crate::entropy::NoEntropy;
use crate::store::StoreError;

/// Longest name of a user in bytes.
pub const NAME_MAX: usize = 64;

/// Most users.
pub const USERS_MAX: usize = 100_000;

/// Why a user could not be made or changed.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// The name has a character or a length that names do not have.
    #[error("name: {value:?} is not a user's name; use 1 to {NAME_MAX} of the characters A-Z a-z 0-9 . _ @ -")]
    BadName {
        /// The name as given, cut to 80 characters.
        value: String,
    },
    /// The name looks like an id.
    #[error("name: {value:?} begins with \"usr_\" as ids do; choose another name")]
    LooksLikeId {
        /// The name.
        value: String,
    },
    /// Somebody has the name.
    #[error("name: there is a user {value:?} already; choose another name, or reset that user's key")]
    NameTaken {
        /// The name.
        value: String,
    },
    /// Nobody has the name or id.
    #[error("user: nobody is called {value:?}; `homing users list` shows names and ids")]
    NoSuchUser {
        /// What was asked for, cut to 80 characters.
        value: String,
    },
    /// The bound on users is reached.
    #[error("there are {USERS_MAX} users, which is the most; delete some")]
    TooMany,
    /// No random bytes for a key.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
    /// The user could not be made durable; nothing was changed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl UserError {
    pub(super) fn no_such_user(value: &str) -> Self {
        Self::NoSuchUser { value: value.chars().take(80).collect() }
    }

    /// The name if a user may have it.
    pub(super) fn check_name(name: &str) -> Result<(), Self> {
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '@' | '-');
        if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(good) {
            return Err(Self::BadName { value: name.chars().take(80).collect() });
        }
        if name.starts_with("usr_") {
            return Err(Self::LooksLikeId { value: name.to_owned() });
        }
        Ok(())
    }
}
