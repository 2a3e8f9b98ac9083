//! Which refresh tokens are being redeemed. They are single-use: one that was sent and whose answer never came must not be
//! sent again, also not by the process after a crash. So each is written down, by digest, before it is sent.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

use super::credential::TokenDigest;
use super::write_back::replace;

/// Most digests kept; there is one for each account whose redemption was cut short.
const ENTRIES_MAX: usize = 10_000;

/// Most redeemed tokens remembered.
const SPENT_MAX: usize = 2_000;

/// What is known of a refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was never sent, or the server answered without taking it.
    Good,
    /// It was sent and no answer is known: perhaps it is spent.
    Sent,
    /// It was redeemed. Two files with one token are the only way to meet it again.
    Spent,
}

/// The redemptions under way, and those whose answer was lost.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    sent: BTreeSet<String>,
    /// Redeemed since the start; the oldest are forgotten.
    spent: VecDeque<TokenDigest>,
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
        Ok(Self { path, sent, spent: VecDeque::new() })
    }

    pub(super) fn path(state: &Path) -> PathBuf {
        state.join("redeeming.json")
    }

    fn standing(&self, token: &TokenDigest) -> Standing {
        match () {
            () if self.sent.contains(&token.hex()) => Standing::Sent,
            () if self.spent.contains(token) => Standing::Spent,
            () => Standing::Good,
        }
    }

    /// The token is about to be sent. Only after [`Standing::Good`] may it be: that is written down then.
    pub(super) fn begin(&mut self, token: &TokenDigest) -> io::Result<Standing> {
        let standing = self.standing(token);
        if standing != Standing::Good {
            return Ok(standing);
        }
        if self.sent.len() >= ENTRIES_MAX {
            return Err(io::Error::other("too many redemptions without an answer"));
        }
        self.sent.insert(token.hex());
        let written = self.write();
        if written.is_err() {
            self.sent.remove(&token.hex());
        }
        written.map(|()| standing)
    }

    /// The server gave another token for this one, which must not be sent again.
    pub(super) fn spend(&mut self, token: TokenDigest) {
        if self.spent.len() >= SPENT_MAX {
            self.spent.pop_front();
        }
        self.spent.push_back(token);
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
