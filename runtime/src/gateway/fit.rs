//! What a start has to fit to the machine: descriptors, and the one gateway of an auth directory.

use std::path::Path;

use super::open::StartError;
use crate::os::{Lock, LockError};

/// Connections beyond the limit that are open at once to be told so.
pub(super) const TURNED_AWAY: u64 = 256;
/// Descriptors for everything but connections under way: files, idle upstream connections, those turned away.
const OTHER_DESCRIPTORS: u64 = 128 + TURNED_AWAY;

/// Takes no more connections than there are descriptors for, two each: past that, requests already taken would fail for want
/// of an upstream connection, and new ones get no answer at all.
pub(super) fn fit_connections(connections: &mut u64, descriptors: Option<u64>) {
    let Some(descriptors) = descriptors else { return };
    let fits = (descriptors.saturating_sub(OTHER_DESCRIPTORS) / 2).max(descriptors / 4).max(1);
    if *connections > fits {
        tracing::warn!(
            asked = *connections,
            taken = fits,
            descriptors,
            "limits.connections does not fit the number of files this process may open: raise that (ulimit -n, LimitNOFILE)"
        );
        *connections = fits;
    }
}

/// T2: one gateway for each auth directory, whatever the state directory: two would spend each other's refresh tokens. A
/// directory that cannot be written to, or is not there yet, cannot be locked: no token is written back there either.
pub(super) fn lock_accounts(directory: &Path) -> Result<Option<Lock>, StartError> {
    match Lock::acquire(&directory.join(".homing.lock")) {
        Ok(lock) => Ok(Some(lock)),
        Err(LockError::Io { error, .. }) => {
            tracing::warn!(?directory, %error, "the auth directory cannot be locked: start no second gateway on it");
            Ok(None)
        }
        Err(held) => Err(StartError::AccountsLock(held)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(mut connections: u64, descriptors: Option<u64>) -> u64 {
        fit_connections(&mut connections, descriptors);
        connections
    }

    #[test]
    fn connections_never_need_more_descriptors_than_there_are() {
        assert_eq!(fitted(10_000, None), 10_000);
        assert_eq!(fitted(10_000, Some(1 << 20)), 10_000);
        assert_eq!(fitted(10_000, Some(20_384)), 10_000);
        assert_eq!(fitted(10_000, Some(1_024)), 320);
        assert_eq!(fitted(10_000, Some(64)), 16);
        assert_eq!(fitted(10_000, Some(0)), 1);
        assert_eq!(fitted(5, Some(1_024)), 5);
    }

    #[test]
    fn t2_an_auth_directory_has_one_gateway() {
        let place = tempfile::tempdir().unwrap();
        let first = lock_accounts(place.path()).unwrap();
        let said = lock_accounts(place.path()).unwrap_err().to_string();
        assert!(said.contains("accounts.directory") && said.contains("held by process"), "{said}");
        drop(first);
        assert!(lock_accounts(place.path()).unwrap().is_some());
        assert!(lock_accounts(&place.path().join("none")).unwrap().is_none());
    }
}
