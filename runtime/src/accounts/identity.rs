//! The stable identity of an account (spec §1): it survives refresh, rotation and a renamed file.

use std::fmt;

use super::jwt::Claims;

/// Longest part of an identity, in bytes.
const PART_MAX: usize = 256;

/// What an account is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Identity {
    /// The ids its credential states. Seats of a team share the account id and differ in the user id.
    Stated {
        /// `chatgpt_account_id`.
        account: String,
        /// `chatgpt_user_id`, where it is known.
        user: Option<String>,
    },
    /// A credential without claims is known by its path below the auth directory; a rename ends it.
    Path(String),
}

impl Identity {
    /// The identity that a credential states: the access token's claims, else the id token's, else the file's account id with
    /// the claim `sub`; without any claims the path. A user id that the access token lacks is taken from the id token of the
    /// same account: seats of a team must not melt into one.
    #[must_use]
    pub fn of(access: Option<&Claims>, id: Option<&Claims>, file_account: Option<&str>, path: &str) -> Self {
        let ids = |claims: &Claims| Some((part(claims.account_id.as_deref())?, part(claims.user_id.as_deref())));
        let stated = match (access.and_then(ids), id.and_then(ids)) {
            (Some((account, None)), Some((same, user))) if account == same => Some((account, user)),
            (Some(stated), _) | (None, Some(stated)) => Some(stated),
            (None, None) => None,
        };
        let from_file = || {
            let claims = access.or(id)?;
            let subject = claims.subject.as_deref().or_else(|| id?.subject.as_deref());
            Some((part(file_account)?, part(subject)))
        };
        match stated.or_else(from_file) {
            Some((account, user)) => Self::Stated { account, user },
            None => Self::Path(path.chars().filter(|c| !c.is_control()).collect()),
        }
    }

    /// The identity as it is stored. Parts never hold a blank, so no two identities share a text.
    #[must_use]
    pub fn stable(&self) -> String {
        match self {
            Self::Stated { account, user: Some(user) } => format!("chatgpt {account} {user}"),
            Self::Stated { account, user: None } => format!("chatgpt {account}"),
            Self::Path(path) => format!("file {path}"),
        }
    }

    /// The identity with this stored text.
    #[must_use]
    pub fn from_stable(text: &str) -> Self {
        match text.split_once(' ') {
            Some(("chatgpt", ids)) => match ids.split_once(' ') {
                Some((account, user)) => Self::Stated { account: account.to_owned(), user: Some(user.to_owned()) },
                None => Self::Stated { account: ids.to_owned(), user: None },
            },
            Some(("file", path)) => Self::Path(path.to_owned()),
            _ => Self::Path(text.to_owned()),
        }
    }

    /// Whether `newer` is this account with the user id that was missing (spec §1).
    #[must_use]
    pub fn gains(&self, newer: &Self) -> bool {
        match (self, newer) {
            (Self::Stated { account, user: None }, Self::Stated { account: same, user: Some(_) }) => account == same,
            _ => false,
        }
    }
}

/// A part as it is kept. One that is empty, too long, or has blanks or control characters counts as not stated.
fn part(value: Option<&str>) -> Option<String> {
    value.filter(|v| (1..=PART_MAX).contains(&v.len()) && v.bytes().all(|b| b.is_ascii_graphic())).map(str::to_owned)
}

impl fmt::Display for Identity {
    /// The end of the account id: enough to tell accounts apart, too little to use.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stated { account, .. } => {
                let tail: String = account.chars().rev().take(6).collect();
                write!(f, "…{}", tail.chars().rev().collect::<String>())
            }
            Self::Path(path) => f.write_str(path),
        }
    }
}
