//! Upstream accounts: their files, identities, credentials, refresh and reload.
//!
//! [`Roster`] holds them. [`Roster::scan`] looks at the auth directory and says what changed; [`Roster::refresh`] renews a
//! credential. What an account is to routing (cooling, quota) is not here but in the core's fleet.

mod changes;
mod credential;
mod directory;
mod entry;
mod event;
mod file;
mod identity;
mod jwt;
mod keep;
mod ledger;
mod refresh;
mod roster;
#[cfg(test)]
mod tests;
mod token_client;
mod write_back;

pub use credential::{Bearer, Secret, TokenDigest};
pub use event::{AccountWarning, Event};
pub use file::FileProblem;
pub use identity::Identity;
pub use refresh::{RefreshError, RefreshReason};
pub use roster::{AccountView, Roster, RosterError};
