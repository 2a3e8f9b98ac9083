//! Which refresh tokens are being redeemed. They are single-use: one that was sent and whose answer never came must not be
//! sent again, also not by the process after a crash. So each is written down, by digest, before it is sent.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::credential::TokenDigest;
use super::write_back::replace;

/// Most digests kept; there is one for each account whose redemption was cut short.
const ENTRIES_MAX: usize = 10_000;

/// The redemptions under way, and those whose answer was lost.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    sent: BTreeSet<String>,
}

impl Ledger {
    /// The ledger in this state directory. A damaged one is an error: without it a token could be sent twice.
    pub(super) fn open(state: &Path) -> io::Result<Self> {
        let path = state.join("redeeming.json");
        let sent = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
            Err(error) => return Err(error),
        };
        Ok(Self { path, sent })
    }

    pub(super) fn path(state: &Path) -> PathBuf {
        state.join("redeeming.json")
    }

    /// Whether this token was sent and no answer is known.
    pub(super) fn holds(&self, token: &TokenDigest) -> bool {
        self.sent.contains(&token.hex())
    }

    /// The token is about to be sent. Only once this returned may it be.
    pub(super) fn begin(&mut self, token: &TokenDigest) -> io::Result<()> {
        if self.sent.len() >= ENTRIES_MAX {
            return Err(io::Error::other("too many redemptions without an answer"));
        }
        self.sent.insert(token.hex());
        let written = self.write();
        if written.is_err() {
            self.sent.remove(&token.hex());
        }
        written
    }

    /// The answer is known, or the token was never sent.
    pub(super) fn settle(&mut self, token: &TokenDigest) -> io::Result<()> {
        match self.sent.remove(&token.hex()) {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn write(&self) -> io::Result<()> {
        replace(&self.path, &serde_json::to_vec(&self.sent).map_err(io::Error::other)?)
    }
}
