//! What an operator may ask of the gateway (T5): the management API's [`Control`] over the live state, and, while no gateway
//! runs, over the database alone.

mod accounts;
mod bindings;
mod users;

use std::sync::Arc;

use async_trait::async_trait;

use super::open::{StartError, open};
use super::state::Gateway;
use crate::admin::{
    Account, Binding, Control, ControlError, CreatedUser, DeletedUser, ExplainRequest, Explanation, Health,
    HealthStatus, NewUser, Page, PageRequest, User,
};
use crate::config::Config;
use crate::os::Lock;

/// The gateway as its operator sees it.
pub(crate) struct Operator {
    gateway: Arc<Gateway>,
    /// Held while no gateway runs, so that none starts meanwhile.
    offline: Option<Lock>,
}

impl Operator {
    /// Over a running gateway.
    pub(super) const fn running(gateway: Arc<Gateway>) -> Self {
        Self { gateway, offline: None }
    }

    /// Over the database, while no gateway runs.
    ///
    /// # Errors
    /// As for a start; a gateway that runs holds the lock.
    pub(crate) async fn offline(config: Config) -> Result<Self, StartError> {
        let (gateway, lock) = open(config).await?;
        Ok(Self { gateway, offline: Some(lock) })
    }
}

#[async_trait]
impl Control for Operator {
    async fn create_user(&self, user: NewUser) -> Result<CreatedUser, ControlError> {
        users::create(&self.gateway, &user.name).await
    }

    async fn users(&self, page: PageRequest) -> Result<Page<User>, ControlError> {
        users::list(&self.gateway, &page)
    }

    async fn user(&self, user: &str) -> Result<User, ControlError> {
        users::one(&self.gateway, user)
    }

    async fn reset_key(&self, user: &str) -> Result<CreatedUser, ControlError> {
        users::reset(&self.gateway, user).await
    }

    async fn set_disabled(&self, user: &str, disabled: bool) -> Result<User, ControlError> {
        users::set_disabled(&self.gateway, user, disabled).await
    }

    async fn delete_user(&self, user: &str) -> Result<DeletedUser, ControlError> {
        users::delete(&self.gateway, user).await
    }

    async fn accounts(&self) -> Result<Vec<Account>, ControlError> {
        Ok(accounts::list(&self.gateway))
    }

    async fn bindings(&self, page: PageRequest) -> Result<Page<Binding>, ControlError> {
        bindings::list(&self.gateway, &page)
    }

    async fn explain(&self, request: ExplainRequest) -> Result<Explanation, ControlError> {
        bindings::explain(&self.gateway, &request)
    }

    async fn health(&self) -> Result<Health, ControlError> {
        let store = self.gateway.store.health();
        let usable = self.gateway.usable_accounts();
        let mut notes = Vec::new();
        if let Some(error) = &store.last_error {
            notes.push(error.clone());
        }
        if usable == 0 {
            notes.push("no usable account: requests get 503".to_owned());
        } else if self.gateway.serving_accounts() == 0 {
            notes.push("every account is out for now: `homing accounts list` says until when".to_owned());
        }
        if store.late > 0 {
            notes.push(format!("{} answers went out before their binding was on disk", store.late));
        }
        let status = match (usable, store.is_healthy()) {
            (0, _) => HealthStatus::Down,
            (_, false) => HealthStatus::Degraded,
            (_, true) => HealthStatus::Ok,
        };
        Ok(Health {
            status,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            running: self.offline.is_none(),
            accounts: self.gateway.fleet().iter().count() as u64,
            usable_accounts: usable as u64,
            bindings: self.gateway.store.len() as u64,
            not_durable: store.queued as u64,
            notes,
        })
    }
}
