//! Who asks: managed users and their keys (spec §1, B12, B14).
//!
//! Every request asks [`Tenants::authenticate`], which reads memory alone. A change is durable first and in force in the
//! same moment: the store's thread makes both, also where the caller has gone away meanwhile.

mod error;
mod index;
mod key;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use homing_core::ids::TenantId;
use homing_core::row::Scope;
use homing_core::time::Time;

pub use error::{NAME_MAX, USERS_MAX, UserError};
pub use key::ApiKey;

use crate::entropy::{self, NoEntropy};
use crate::store::{NewKey, Store, StoredUser, Tenant};
use index::Index;

/// What a presented key is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// A user's active key.
    User {
        /// Whose sessions these are, with the scope of their keys.
        tenant: Tenant,
        /// The user's stable id.
        user_id: Arc<str>,
        /// The user's name.
        name: Arc<str>,
    },
    /// The key of a user who is switched off: 403.
    Disabled,
    /// No key of anybody's: 401.
    Unknown,
}

/// A managed user as shown to an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The user's tenant; survives key resets (B12).
    pub tenant: TenantId,
    /// Stable id: `usr_` and 24 hexadecimal digits.
    pub user_id: String,
    /// Unique name.
    pub name: String,
    /// The last four characters of the active key.
    pub key_hint: String,
    /// Known but not let in.
    pub disabled: bool,
    /// When the user was made (wall clock).
    pub created: Time,
    /// When the active key was made (wall clock).
    pub key_created: Time,
}

/// All users. Cheap to clone.
#[derive(Clone)]
pub struct Tenants {
    store: Arc<Store>,
    index: Shared,
}

impl std::fmt::Debug for Tenants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tenants").field("users", &self.index.read().len()).finish_non_exhaustive()
    }
}

impl Tenants {
    /// The users of the store.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn load(store: Arc<Store>) -> Result<Self, UserError> {
        let index = Shared::default();
        for user in store.users().await? {
            let scope = Store::user_scope(&user.user_id);
            index.write().insert(user, scope);
        }
        Ok(Self { store, index })
    }

    /// Whose key this is. One hash and one look-up, whatever is presented.
    #[must_use]
    pub fn authenticate(&self, presented: &str) -> Auth {
        let Some(hash) = key::hash_presented(presented) else { return Auth::Unknown };
        match self.index.read().by_key(&hash) {
            None => Auth::Unknown,
            Some(entry) if entry.disabled() => Auth::Disabled,
            Some(entry) => Auth::User {
                tenant: entry.tenant.clone(),
                user_id: Arc::clone(&entry.user_id),
                name: Arc::clone(&entry.name),
            },
        }
    }

    /// Makes a user; the key is shown this once. `now` is the wall clock.
    ///
    /// # Errors
    /// A name that is none or taken, too many users, or the store's; then nobody was made.
    pub async fn create(&self, name: &str, now: Time) -> Result<(User, ApiKey), UserError> {
        UserError::check_name(name)?;
        let reserved = self.index.reserve(name)?;
        let key = ApiKey::generate()?;
        let user_id = new_user_id()?;
        let tenant = self.store.new_user_tenant(&user_id);
        let key_stored = NewKey { hash: key.hash(), hint: key.hint(), created: now };
        let user = StoredUser {
            tenant: tenant.id,
            user_id,
            name: name.to_owned(),
            key: key_stored,
            disabled: false,
            created: now,
        };
        let kept = user.clone();
        let in_force = move || {
            reserved.index.write().insert(kept, tenant.scope);
            // Only now: the name is in the index.
            drop(reserved);
        };
        self.store.insert_user(user.clone(), in_force).await?;
        let StoredUser { tenant, user_id, name, key: stored, disabled, created } = user;
        Ok((User { tenant, user_id, name, key_hint: stored.hint, disabled, created, key_created: now }, key))
    }

    /// Gives a user a new key, shown this once. The old one is dead at once; the sessions stay (B12).
    ///
    /// # Errors
    /// No such user, or the store's; then the old key stands.
    pub async fn reset(&self, name_or_id: &str, now: Time) -> Result<ApiKey, UserError> {
        let user = self.get(name_or_id)?;
        let key = ApiKey::generate()?;
        let stored = NewKey { hash: key.hash(), hint: key.hint(), created: now };
        let (index, kept) = (self.index.clone(), stored.clone());
        let in_force = move || index.write().set_key(user.tenant, kept);
        match self.store.set_user_key(user.tenant, stored, in_force).await? {
            true => Ok(key),
            false => Err(UserError::no_such_user(name_or_id)),
        }
    }

    /// Lets a user in or not. Key and sessions stay.
    ///
    /// # Errors
    /// No such user, or the store's; then nothing was changed.
    pub async fn set_disabled(&self, name_or_id: &str, disabled: bool) -> Result<User, UserError> {
        let user = self.get(name_or_id)?;
        let index = self.index.clone();
        let in_force = move || index.write().set_disabled(user.tenant, disabled);
        match self.store.set_user_disabled(user.tenant, disabled, in_force).await? {
            true => Ok(User { disabled, ..user }),
            false => Err(UserError::no_such_user(name_or_id)),
        }
    }

    /// Deletes a user with all bindings (B12). Returns the user and how many bindings went.
    ///
    /// # Errors
    /// No such user, or the store's; then nothing was deleted.
    pub async fn delete(&self, name_or_id: &str) -> Result<(User, usize), UserError> {
        let user = self.get(name_or_id)?;
        let erased = Arc::new(AtomicUsize::new(0));
        let (index, store, count) = (self.index.clone(), Arc::downgrade(&self.store), Arc::clone(&erased));
        let in_force = move || {
            index.write().remove(user.tenant);
            if let Some(store) = store.upgrade() {
                count.store(store.erase(Scope::Tenant(user.tenant)).0, Ordering::Release);
            }
        };
        match self.store.delete_user(user.tenant, in_force).await? {
            true => Ok((user, erased.load(Ordering::Acquire))),
            false => Err(UserError::no_such_user(name_or_id)),
        }
    }

    /// The user of this name or id.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, name_or_id: &str) -> Result<User, UserError> {
        let found = self.index.read().find(name_or_id).map(index::Entry::public);
        found.ok_or_else(|| UserError::no_such_user(name_or_id))
    }

    /// The user behind a tenant, where it is one.
    #[must_use]
    pub fn of_tenant(&self, tenant: TenantId) -> Option<User> {
        self.index.read().of_tenant(tenant).map(index::Entry::public)
    }

    /// All users, by name.
    #[must_use]
    pub fn list(&self) -> Vec<User> {
        self.index.read().list().map(index::Entry::public).collect()
    }
}

fn new_user_id() -> Result<String, NoEntropy> {
    let mut id = String::from("usr_");
    for byte in entropy::bytes::<12>()? {
        let _ = write!(id, "{byte:02x}");
    }
    Ok(id)
}

/// The index behind its lock, which is held for one look-up or one change.
#[derive(Clone, Default)]
struct Shared(Arc<RwLock<Index>>);

impl Shared {
    fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn reserve(&self, name: &str) -> Result<Reserved, UserError> {
        let mut index = self.write();
        if index.name_taken(name) {
            return Err(UserError::NameTaken { value: name.to_owned() });
        }
        if index.len() >= USERS_MAX {
            return Err(UserError::TooMany);
        }
        index.reserved.insert(name.to_owned());
        Ok(Reserved { index: self.clone(), name: name.to_owned() })
    }
}

/// A name that is being given: nobody else gets it until the user is there, or the attempt has failed.
struct Reserved {
    index: Shared,
    name: String,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.index.write().reserved.remove(&self.name);
    }
}
