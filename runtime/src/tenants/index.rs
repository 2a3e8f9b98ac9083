//! The users as they are now, found by key, name or id.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use homing_core::ids::TenantId;
use subtle::ConstantTimeEq as _;

use super::User;
use crate::store::{NewKey, StoredUser, Tenant};

pub(super) struct Entry {
    pub(super) tenant: Tenant,
    pub(super) user_id: Arc<str>,
    pub(super) name: Arc<str>,
    stored: StoredUser,
}

impl Entry {
    fn new(stored: StoredUser, scope: Arc<str>) -> Self {
        let tenant = Tenant { id: stored.tenant, scope };
        Self { tenant, user_id: stored.user_id.as_str().into(), name: stored.name.as_str().into(), stored }
    }

    pub(super) const fn disabled(&self) -> bool {
        self.stored.disabled
    }

    pub(super) fn public(&self) -> User {
        let StoredUser { tenant, user_id, name, key, disabled, created } = self.stored.clone();
        User { tenant, user_id, name, key_hint: key.hint, disabled, created, key_created: key.created }
    }
}

/// All users, and names that are being given.
#[derive(Default)]
pub(super) struct Index {
    users: HashMap<TenantId, Entry>,
    by_key: HashMap<[u8; 32], TenantId>,
    /// Names in order: lists are sorted.
    by_name: BTreeMap<String, TenantId>,
    by_id: HashMap<String, TenantId>,
    pub(super) reserved: HashSet<String>,
}

impl Index {
    pub(super) fn len(&self) -> usize {
        self.users.len() + self.reserved.len()
    }

    /// The user whose key has this hash.
    ///
    /// The map is asked with a digest: how long it takes can tell at most something about the digest of what was presented,
    /// and nobody can choose that freely. The comparison that lets somebody in takes the same time whatever differs.
    pub(super) fn by_key(&self, hash: &[u8; 32]) -> Option<&Entry> {
        let entry = self.users.get(self.by_key.get(hash)?)?;
        bool::from(entry.stored.key.hash.ct_eq(hash)).then_some(entry)
    }

    pub(super) fn find(&self, name_or_id: &str) -> Option<&Entry> {
        let tenant = self.by_name.get(name_or_id).or_else(|| self.by_id.get(name_or_id))?;
        self.users.get(tenant)
    }

    pub(super) fn of_tenant(&self, tenant: TenantId) -> Option<&Entry> {
        self.users.get(&tenant)
    }

    pub(super) fn name_taken(&self, name: &str) -> bool {
        self.by_name.contains_key(name) || self.reserved.contains(name)
    }

    pub(super) fn list(&self) -> impl Iterator<Item = &Entry> {
        self.by_name.values().filter_map(|tenant| self.users.get(tenant))
    }

    pub(super) fn insert(&mut self, user: StoredUser, scope: Arc<str>) {
        let tenant = user.tenant;
        self.by_key.insert(user.key.hash, tenant);
        self.by_name.insert(user.name.clone(), tenant);
        self.by_id.insert(user.user_id.clone(), tenant);
        self.users.insert(tenant, Entry::new(user, scope));
    }

    /// The old key is dead from here on.
    pub(super) fn set_key(&mut self, tenant: TenantId, key: NewKey) {
        if let Some(entry) = self.users.get_mut(&tenant) {
            self.by_key.remove(&entry.stored.key.hash);
            self.by_key.insert(key.hash, tenant);
            entry.stored.key = key;
        }
    }

    pub(super) fn set_disabled(&mut self, tenant: TenantId, disabled: bool) {
        if let Some(entry) = self.users.get_mut(&tenant) {
            entry.stored.disabled = disabled;
        }
    }

    pub(super) fn remove(&mut self, tenant: TenantId) {
        if let Some(entry) = self.users.remove(&tenant) {
            self.by_key.remove(&entry.stored.key.hash);
            self.by_name.remove(&entry.stored.name);
            self.by_id.remove(&entry.stored.user_id);
        }
    }
}
