//! Users in the database. What is true of them at the moment is in [`crate::tenants`]; here they become durable.

use std::sync::Arc;

use homing_core::ids::TenantId;
use homing_core::time::Time;
use rusqlite::{Transaction, params};

use super::apply::signed;
use super::{Names, Store, StoreError, Tenant};

/// A managed user as stored: never the key, only its SHA-256.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct StoredUser {
    /// The user's tenant, and its scope's number.
    pub(crate) tenant: TenantId,
    /// Stable: `usr_` and 24 hexadecimal digits.
    pub(crate) user_id: String,
    /// What the operator calls the user.
    pub(crate) name: String,
    /// The active key.
    pub(crate) key: NewKey,
    /// Known but not let in.
    pub(crate) disabled: bool,
    /// When the user was made.
    pub(crate) created: Time,
}

/// What is stored of a key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct NewKey {
    /// SHA-256 of the key.
    pub(crate) hash: [u8; 32],
    /// Its last four characters, for telling keys apart.
    pub(crate) hint: String,
    /// When it was made.
    pub(crate) created: Time,
}

impl std::fmt::Debug for StoredUser {
    /// Without the hash: it is what a presented key is compared with.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredUser")
            .field("tenant", &self.tenant)
            .field("user_id", &self.user_id)
            .field("name", &self.name)
            .field("disabled", &self.disabled)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// The stable scope of a user's keys (K2).
    #[must_use]
    pub(crate) fn user_scope(user_id: &str) -> Arc<str> {
        format!("user:{user_id}").into()
    }

    /// A number and scope for a user that is about to be stored.
    #[must_use]
    pub(crate) fn new_user_tenant(&self, user_id: &str) -> Tenant {
        let id = self.name(Names::next_tenant);
        Tenant { id, scope: Self::user_scope(user_id) }
    }

    /// All users, by name. None in memory mode.
    ///
    /// # Errors
    /// What the disk reports.
    pub(crate) async fn users(&self) -> Result<Vec<StoredUser>, StoreError> {
        if !self.on_disk() {
            return Ok(Vec::new());
        }
        self.writer.call("list users", list, |_| ()).await
    }

    /// Stores a new user; `committed` runs once it is durable, also where the asker has gone away.
    ///
    /// # Errors
    /// [`StoreError::Taken`], or what the disk reports; then nothing was stored.
    pub(crate) async fn insert_user(
        &self,
        user: StoredUser,
        committed: impl FnOnce() + Send + 'static,
    ) -> Result<(), StoreError> {
        if !self.on_disk() {
            committed();
            return Ok(());
        }
        let scope = Self::user_scope(&user.user_id);
        self.writer.call("store a user", move |tx| insert(tx, &user, &scope), |()| committed()).await
    }

    /// Stores a user's new key, by its SHA-256 and last characters; the old one is gone with it. Says whether there was such
    /// a user; `committed` runs if there was, once it is durable.
    ///
    /// # Errors
    /// What the disk reports; then nothing was changed.
    pub(crate) async fn set_user_key(
        &self,
        tenant: TenantId,
        key: NewKey,
        committed: impl FnOnce() + Send + 'static,
    ) -> Result<bool, StoreError> {
        self.user_job("store a key", move |tx| set_key(tx, tenant, &key), committed).await
    }

    /// Stores whether a user is let in; see [`Store::set_user_key`].
    ///
    /// # Errors
    /// What the disk reports; then nothing was changed.
    pub(crate) async fn set_user_disabled(
        &self,
        tenant: TenantId,
        disabled: bool,
        committed: impl FnOnce() + Send + 'static,
    ) -> Result<bool, StoreError> {
        self.user_job("switch a user", move |tx| set_disabled(tx, tenant, disabled), committed).await
    }

    /// Deletes a user; see [`Store::set_user_key`]. The bindings are the caller's to erase (B12).
    ///
    /// # Errors
    /// What the disk reports; then nothing was deleted.
    pub(crate) async fn delete_user(
        &self,
        tenant: TenantId,
        committed: impl FnOnce() + Send + 'static,
    ) -> Result<bool, StoreError> {
        self.user_job("delete a user", move |tx| delete(tx, tenant), committed).await
    }

    async fn user_job(
        &self,
        action: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<usize> + Send + 'static,
        committed: impl FnOnce() + Send + 'static,
    ) -> Result<bool, StoreError> {
        if !self.on_disk() {
            committed();
            return Ok(true);
        }
        let after = |rows: &usize| {
            if *rows > 0 {
                committed();
            }
        };
        Ok(self.writer.call(action, work, after).await? > 0)
    }
}

fn list(tx: &Transaction<'_>) -> rusqlite::Result<Vec<StoredUser>> {
    let mut statement = tx.prepare(
        "SELECT tenant_id, user_id, name, key_hash, key_hint, disabled, created_ms, key_created_ms FROM users ORDER BY name",
    )?;
    let users = statement.query_map([], |row| {
        let time = |column| row.get::<_, i64>(column).map(|n| Time(n.unsigned_abs()));
        Ok(StoredUser {
            tenant: TenantId(row.get(0)?),
            user_id: row.get(1)?,
            name: row.get(2)?,
            key: NewKey { hash: row.get(3)?, hint: row.get(4)?, created: time(7)? },
            disabled: row.get(5)?,
            created: time(6)?,
        })
    })?;
    users.collect()
}

fn insert(tx: &Transaction<'_>, user: &StoredUser, scope: &str) -> rusqlite::Result<()> {
    tx.execute("INSERT INTO tenants (id, kind, name) VALUES (?1, 'user', ?2)", params![user.tenant.0, scope])?;
    tx.execute(
        "INSERT INTO users (tenant_id, user_id, name, key_hash, key_hint, disabled, created_ms, key_created_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            user.tenant.0,
            user.user_id,
            user.name,
            user.key.hash.as_slice(),
            user.key.hint,
            user.disabled,
            signed(user.created.0),
            signed(user.key.created.0)
        ],
    )?;
    Ok(())
}

fn set_key(tx: &Transaction<'_>, tenant: TenantId, key: &NewKey) -> rusqlite::Result<usize> {
    tx.execute(
        "UPDATE users SET key_hash = ?2, key_hint = ?3, key_created_ms = ?4 WHERE tenant_id = ?1",
        params![tenant.0, key.hash.as_slice(), key.hint, signed(key.created.0)],
    )
}

fn set_disabled(tx: &Transaction<'_>, tenant: TenantId, disabled: bool) -> rusqlite::Result<usize> {
    tx.execute("UPDATE users SET disabled = ?2 WHERE tenant_id = ?1", params![tenant.0, disabled])
}

/// Deletes a user. The tenant stays until its bindings are gone, at the next start ([`super::load`]).
fn delete(tx: &Transaction<'_>, tenant: TenantId) -> rusqlite::Result<usize> {
    tx.execute("DELETE FROM users WHERE tenant_id = ?1", [tenant.0])
}
