//! The accounts as routing sees them: who is eligible, who comes next, what a failure does to an account (R2, R4).

mod account;
mod choose;
mod out;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

pub use account::{Account, Bar, ModelId, Standing};
pub use choose::{Choice, Guess, Pick, Tried};
pub use out::Out;

use crate::failure::Failure;
use crate::ids::{AccountId, PoolId, Revision};
use crate::time::Time;

/// All accounts of one process, in the order of their ids, and the round robin's place among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fleet {
    accounts: Vec<Account>,
    last: Option<AccountId>,
    /// The newest of all; an account that was forgotten and comes back has another one than before.
    revision: Revision,
}

impl Fleet {
    /// No accounts yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { accounts: Vec::new(), last: None, revision: Revision(0) }
    }

    /// Sets an account's standing; an account not seen before joins with a clean slate. A credential that changed lifts what
    /// only a new credential can lift (R2: refused, needs login), also where an attempt with the old one fails later.
    pub fn set(&mut self, id: AccountId, standing: Standing) {
        self.revision.0 = self.revision.0.wrapping_add(1);
        match self.accounts.binary_search_by_key(&id, |a| a.id) {
            Ok(at) => {
                if let Some(account) = self.accounts.get_mut(at) {
                    account.standing = standing;
                }
            }
            Err(at) => self.accounts.insert(at, Account::new(id, standing)),
        }
        let revision = self.revision;
        if let Some(account) = self.get_mut(id) {
            account.revision = revision;
        }
    }

    /// Says which pools name the account; none: it belongs to the default pool. An account that is not there is passed over.
    pub fn assign(&mut self, id: AccountId, pools: &[PoolId]) {
        if let Some(account) = self.get_mut(id) {
            account.pools = pools.to_vec();
        }
    }

    /// Forgets an account and everything known of it (B11).
    pub fn remove(&mut self, id: AccountId) {
        self.accounts.retain(|a| a.id != id);
    }

    /// The account with this id.
    #[must_use]
    pub fn get(&self, id: AccountId) -> Option<&Account> {
        self.accounts.binary_search_by_key(&id, |a| a.id).ok().and_then(|at| self.accounts.get(at))
    }

    fn get_mut(&mut self, id: AccountId) -> Option<&mut Account> {
        self.accounts.binary_search_by_key(&id, |a| a.id).ok().and_then(|at| self.accounts.get_mut(at))
    }

    /// All accounts, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Account> {
        self.accounts.iter()
    }

    /// An attempt on the account that began at `started` failed.
    pub fn failed(&mut self, id: AccountId, failure: Failure, model: Option<ModelId>, started: Time, now: Time) {
        if let Some(account) = self.get_mut(id) {
            account.failed(failure, model, started, now);
        }
    }

    /// An attempt that began at `started` succeeded: what was held against the account before that is lifted.
    pub fn succeeded(&mut self, id: AccountId, started: Time) {
        if let Some(account) = self.get_mut(id) {
            account.succeeded(started);
        }
    }

    /// The one probe of a barred account begins.
    pub(crate) fn probe(&mut self, id: AccountId) {
        if let Some(account) = self.get_mut(id) {
            account.probing = true;
        }
    }

    /// The probe ended, however it ended.
    pub(crate) fn probed(&mut self, id: AccountId) {
        if let Some(account) = self.get_mut(id) {
            account.probing = false;
        }
    }
}
