//! Users in the database. What is true of them at the moment is in [`crate::tenants`]; here they become durable.

use homing_core::ids::TenantId;
use homing_core::time::Time;
use rusqlite::{Transaction, params};

use super::apply::signed;
use super::{Names, Store, StoreError, Tenant};

/// A managed user as stored: never the key, only its SHA-256.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredUser {
    /// The user's tenant, and its scope's number.
    pub tenant: TenantId,
    /// Stable: `usr_` and 24 hexadecimal digits.
    pub user_id: String,
    /// What the operator calls the user.
    pub name: String,
    /// SHA-256 of the active key.
    pub key_hash: [u8; 32],
    /// The key's last four characters, for telling keys apart.
    pub key_hint: String,
    /// Known but not let in.
    pub disabled: bool,
    /// When the user was made.
    pub created: Time,
    /// When the active key was made.
    pub key_created: Time,
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
    /// A number and scope for a user that is about to be stored.
    #[must_use]
    pub fn new_user_tenant(&self, user_id: &str) -> Tenant {
        let id = self.name(Names::next_tenant);
        Tenant { id, scope: user_scope(user_id) }
    }

    /// All users, by name. None in memory mode.
    ///
    /// # Errors
    /// What the disk reports.
    pub async fn users(&self) -> Result<Vec<StoredUser>, StoreError> {
        if !self.on_disk() {
            return Ok(Vec::new());
        }
        self.writer.call("list users", list, |_| ()).await
    }

    /// Stores a new user; `committed` runs once it is durable, also where the asker has gone away.
    ///
    /// # Errors
    /// [`StoreError::Taken`], or what the disk reports; then nothing was stored.
    pub async fn insert_user(
        &self,
        user: StoredUser,
        committed: impl FnOnce() + Send + 'static,
    ) -> Result<(), StoreError> {
        if !self.on_disk() {
            committed();
            return Ok(());
        }
        let scope = user_scope(&user.user_id);
        self.writer.call("store a user", move |tx| insert(tx, &user, &scope), |()| committed()).await
    }

    /// Stores a user's new key or switch; see [`Store::insert_user`]. Says whether there was such a user.
    ///
    /// # Errors
    /// What the disk reports; then nothing was changed.
    pub async fn update_user(
        &self,
        user: StoredUser,
        committed: impl FnOnce() + Send + 'static,
    ) -> Result<bool, StoreError> {
        if !self.on_disk() {
            committed();
            return Ok(true);
        }
        self.writer.call("change a user", move |tx| update(tx, &user), |_| committed()).await
    }

    /// Deletes a user; see [`Store::insert_user`]. The bindings are the caller's to erase (B12).
    ///
    /// # Errors
    /// What the disk reports; then nothing was deleted.
    pub async fn delete_user(
        &self,
        tenant: TenantId,
        committed: impl FnOnce() + Send + 'static,
    ) -> Result<bool, StoreError> {
        if !self.on_disk() {
            committed();
            return Ok(true);
        }
        self.writer.call("delete a user", move |tx| delete(tx, tenant), |_| committed()).await
    }
}

/// The stable scope of a user's keys (K2).
pub(crate) fn user_scope(user_id: &str) -> std::sync::Arc<str> {
    format!("user:{user_id}").into()
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
            key_hash: row.get(3)?,
            key_hint: row.get(4)?,
            disabled: row.get(5)?,
            created: time(6)?,
            key_created: time(7)?,
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
            user.key_hash.as_slice(),
            user.key_hint,
            user.disabled,
            signed(user.created.0),
            signed(user.key_created.0)
        ],
    )?;
    Ok(())
}

/// Replaces what can change of a user: the key and the switch. Says whether there was one.
fn update(tx: &Transaction<'_>, user: &StoredUser) -> rusqlite::Result<bool> {
    let changed = tx.execute(
        "UPDATE users SET key_hash = ?2, key_hint = ?3, key_created_ms = ?4, disabled = ?5 WHERE tenant_id = ?1",
        params![user.tenant.0, user.key_hash.as_slice(), user.key_hint, signed(user.key_created.0), user.disabled],
    )?;
    Ok(changed > 0)
}

/// Deletes a user. The tenant stays until its bindings are gone, at the next start ([`super::load`]).
fn delete(tx: &Transaction<'_>, tenant: TenantId) -> rusqlite::Result<bool> {
    Ok(tx.execute("DELETE FROM users WHERE tenant_id = ?1", [tenant.0])? > 0)
}
