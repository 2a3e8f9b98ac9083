//! Numbers for accounts and tenants, given once and for ever.
//!
//! The core works with small integers. This keeps what they stand for, in memory first and durable before any row that
//! uses them (they go into the same ordered queue), so that giving a number never waits for a disk.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use homing_core::ids::{AccountId, TenantId};

/// A tenant: its number, and the stable name its keys are scoped by (K2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Its number.
    pub id: TenantId,
    /// `user:<user id>`, or `account:<stable identity>` for a compatibility caller. Never changes: an account that gains a
    /// user id keeps the scope, and with it its sessions.
    pub scope: Arc<str>,
}

/// What a rename of an account's identity did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renamed {
    /// The number now stands for the new identity; rows follow it.
    Done(AccountId),
    /// Nobody knows the old identity: nothing to do.
    Unknown,
    /// The new identity has a number of its own already; both stand.
    Taken {
        /// The number of the old identity.
        old: AccountId,
        /// The number of the new one.
        new: AccountId,
    },
}

/// A stored account name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AccountName {
    pub(super) identity: Arc<str>,
    pub(super) label: Arc<str>,
}

/// Names to write: the newest of each number.
#[derive(Clone, Debug, Default)]
pub(super) struct NameChanges {
    pub(super) accounts: BTreeMap<AccountId, AccountName>,
    pub(super) tenants: BTreeMap<TenantId, (AccountId, Arc<str>)>,
}

impl NameChanges {
    pub(super) fn len(&self) -> usize {
        self.accounts.len() + self.tenants.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes over all of `newer`.
    pub(super) fn replace(&mut self, newer: Self) {
        self.accounts.extend(newer.accounts);
        self.tenants.extend(newer.tenants);
    }
}

/// All names of a store.
#[derive(Debug, Default)]
pub(super) struct Names {
    ids: HashMap<Arc<str>, AccountId>,
    accounts: HashMap<AccountId, AccountName>,
    compat: HashMap<AccountId, Tenant>,
    scopes: HashSet<Arc<str>>,
    last_account: u32,
    last_tenant: u32,
    changes: NameChanges,
}

impl Names {
    /// Numbers up to these were given out before.
    pub(super) fn used(&mut self, last_account: u32, last_tenant: u32) {
        self.last_account = self.last_account.max(last_account);
        self.last_tenant = self.last_tenant.max(last_tenant);
    }

    pub(super) fn restore_account(&mut self, id: AccountId, name: AccountName) {
        self.ids.insert(Arc::clone(&name.identity), id);
        self.accounts.insert(id, name);
        self.used(id.0, 0);
    }

    pub(super) fn restore_tenant(&mut self, id: TenantId, scope: Arc<str>, account: Option<AccountId>) {
        self.scopes.insert(Arc::clone(&scope));
        if let Some(account) = account {
            self.compat.insert(account, Tenant { id, scope });
        }
        self.used(0, id.0);
    }

    pub(super) fn take_changes(&mut self) -> NameChanges {
        std::mem::take(&mut self.changes)
    }

    /// The account's number; a new one the first time.
    pub(super) fn account(&mut self, identity: &str) -> AccountId {
        if let Some(id) = self.ids.get(identity) {
            return *id;
        }
        self.last_account = self.last_account.saturating_add(1);
        let id = AccountId(self.last_account);
        self.set(id, AccountName { identity: identity.into(), label: "".into() });
        id
    }

    pub(super) fn name_of(&self, id: AccountId) -> Option<&AccountName> {
        self.accounts.get(&id)
    }

    pub(super) fn label(&mut self, id: AccountId, label: &str) {
        if let Some(name) = self.accounts.get(&id).filter(|n| *n.label != *label) {
            let name = AccountName { label: label.into(), ..name.clone() };
            self.set(id, name);
        }
    }

    /// "Gaining a field that was missing is the same account" (spec §1).
    pub(super) fn rename(&mut self, old: &str, new: &str) -> Renamed {
        let Some(id) = self.ids.get(old).copied() else { return Renamed::Unknown };
        match self.ids.get(new).copied() {
            Some(same) if same == id => return Renamed::Done(id),
            Some(other) => return Renamed::Taken { old: id, new: other },
            None => {}
        }
        self.ids.remove(old);
        let label = self.accounts.get(&id).map_or_else(|| "".into(), |n| Arc::clone(&n.label));
        self.set(id, AccountName { identity: new.into(), label });
        Renamed::Done(id)
    }

    fn set(&mut self, id: AccountId, name: AccountName) {
        self.ids.insert(Arc::clone(&name.identity), id);
        self.changes.accounts.insert(id, name.clone());
        self.accounts.insert(id, name);
    }

    /// The tenant of the compatibility callers of an account. `None` for a number that was never given.
    pub(super) fn account_tenant(&mut self, account: AccountId) -> Option<Tenant> {
        if let Some(tenant) = self.compat.get(&account) {
            return Some(tenant.clone());
        }
        let identity = &self.accounts.get(&account)?.identity;
        let mut scope: Arc<str> = format!("account:{identity}").into();
        while self.scopes.contains(&scope) {
            // Another account had this identity before it gained its user id, and keeps the scope (B14).
            scope = format!("{scope}#{}", account.0).into();
        }
        let tenant = Tenant { id: self.next_tenant(), scope: Arc::clone(&scope) };
        self.scopes.insert(Arc::clone(&scope));
        self.changes.tenants.insert(tenant.id, (account, scope));
        self.compat.insert(account, tenant.clone());
        Some(tenant)
    }

    /// A number for a tenant that is about to be made.
    pub(super) const fn next_tenant(&mut self) -> TenantId {
        self.last_tenant = self.last_tenant.saturating_add(1);
        TenantId(self.last_tenant)
    }
}
