//! New tokens on their way from memory into the auth file. The file is read again before it is written: a credential that
//! somebody else put there meanwhile is not overwritten.

use std::path::Path;
use std::sync::PoisonError;

use zeroize::Zeroizing;

use super::credential::TokenDigest;
use super::directory;
use super::entry::Unwritten;
use super::file::AuthFile;
use super::identity::Identity;
use super::roster::Roster;
use super::write_back::replace;

/// How a write-back ended.
enum Written {
    /// The file holds the new tokens.
    Ours,
    /// The file holds somebody else's credential, which is newer than the one that was refreshed.
    Newer,
    /// The file holds another credential, by all that is known an older one; its access token.
    Older(TokenDigest),
}

impl Roster {
    /// Tries again what could not be written when it came, for accounts that no refresh is working on.
    pub(super) fn write_waiting(&self) {
        let waiting: Vec<Identity> = {
            let state = self.state();
            let waiting = state.entries.iter().filter(|(_, e)| e.unwritten.is_some() && e.suspended_ms.is_none());
            waiting.map(|(identity, _)| identity.clone()).collect()
        };
        for identity in waiting {
            let alone = self.state().entries.get(&identity).and_then(|entry| entry.refreshing.try_lock_arc());
            if alone.is_some() {
                self.write_out(&identity);
            }
        }
    }

    /// Writes the account's new tokens into its file, if there are any. What cannot be written waits. Blocks on the file
    /// system; the caller holds the account's refresh lock.
    pub(super) fn write_out(&self, identity: &Identity) {
        let waiting = {
            let state = self.state();
            state.entries.get(identity).and_then(|e| Some((e.path.clone(), e.label.clone(), e.unwritten.clone()?)))
        };
        let Some((relative, account, new)) = waiting else { return };
        match write(&self.0.directory.join(&relative), &relative, identity, &new) {
            Ok(written) => {
                self.written(identity, &new);
                if new.told {
                    tracing::info!(account, "the new tokens are in the auth file now");
                }
                let mut state = self.state();
                state.version += 1;
                if let Some(entry) = state.entries.get_mut(identity)
                    && let Written::Older(access) = written
                {
                    entry.overtaken(access);
                    tracing::warn!(
                        account,
                        "the file changed during a refresh and is left as it is; the new tokens are in memory alone"
                    );
                }
                if matches!(written, Written::Newer) {
                    tracing::warn!(
                        account,
                        "somebody else wrote a newer credential during a refresh; it is left as it is and used"
                    );
                }
            }
            // Told once; it is tried at every scan.
            Err(why) if !new.told => {
                tracing::error!(account, %why, "new tokens cannot be written to the auth file and are in memory alone: make the file and its directory writable; if this process ends before, the account needs a login");
                if let Some(unwritten) = self.state().entries.get_mut(identity).and_then(|e| e.unwritten.as_mut()) {
                    unwritten.told = true;
                }
            }
            Err(_) => {}
        }
    }

    /// The redeemed tokens may be forgotten, and so may what was to be written.
    fn written(&self, identity: &Identity, new: &Unwritten) {
        let mut ledger = self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        for token in &new.redeemed {
            if let Err(error) = ledger.settle(token) {
                tracing::error!(%error, "the record of refresh tokens under way cannot be written");
            }
        }
        drop(ledger);
        if let Some(entry) = self.state().entries.get_mut(identity) {
            entry.unwritten = None;
        }
    }
}

fn write(path: &Path, relative: &Path, identity: &Identity, new: &Unwritten) -> Result<Written, String> {
    let (_, bytes) = directory::read(path).map_err(|e| e.to_string())?;
    let there = AuthFile::parse(&bytes, &relative.to_string_lossy()).map_err(|e| e.to_string())?;
    if there.identity != *identity && !identity.gains(&there.identity) {
        return Err("its file holds another account now".into());
    }
    if there.credential.access.digest() == new.tokens.access.digest() {
        return Ok(Written::Ours);
    }
    if !there.credential.refresh_digest().is_some_and(|token| new.redeemed.contains(&token)) {
        let newer = there.credential.freshness() > new.replaces;
        return Ok(if newer { Written::Newer } else { Written::Older(there.credential.access.digest()) });
    }
    let updated = AuthFile::updated(&bytes, &new.tokens, new.at_ms).map(Zeroizing::new).map_err(|e| e.to_string())?;
    replace(path, &updated).map_err(|e| e.to_string())?;
    Ok(Written::Ours)
}
