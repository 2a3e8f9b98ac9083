//! Users for the operator.

use super::Gateway;
use crate::admin::{ControlError, CreatedUser, DeletedUser, Page, PageRequest, ShownKey, Stamp, User};
use crate::gateway::state::now;
use crate::tenants::{self, UserError};

pub(super) async fn create(gateway: &Gateway, name: &str) -> Result<CreatedUser, ControlError> {
    let (user, key) = gateway.tenants.create(name, now()).await.map_err(refused)?;
    Ok(CreatedUser { user: shown(&user), key: ShownKey(key.reveal().to_owned()) })
}

pub(super) async fn reset(gateway: &Gateway, name_or_id: &str) -> Result<CreatedUser, ControlError> {
    let key = gateway.tenants.reset(name_or_id, now()).await.map_err(refused)?;
    Ok(CreatedUser { user: one(gateway, name_or_id)?, key: ShownKey(key.reveal().to_owned()) })
}

pub(super) async fn set_disabled(gateway: &Gateway, name_or_id: &str, disabled: bool) -> Result<User, ControlError> {
    gateway.tenants.set_disabled(name_or_id, disabled).await.map(|user| shown(&user)).map_err(refused)
}

pub(super) async fn delete(gateway: &Gateway, name_or_id: &str) -> Result<DeletedUser, ControlError> {
    let (user, bindings) = gateway.tenants.delete(name_or_id).await.map_err(refused)?;
    Ok(DeletedUser { user: shown(&user), bindings: bindings as u64 })
}

pub(super) fn one(gateway: &Gateway, name_or_id: &str) -> Result<User, ControlError> {
    gateway.tenants.get(name_or_id).map(|user| shown(&user)).map_err(refused)
}

/// Users by name; a page goes on behind the name it names.
pub(super) fn list(gateway: &Gateway, page: &PageRequest) -> Result<Page<User>, ControlError> {
    let behind = |user: &&tenants::User| page.after.as_ref().is_none_or(|after| user.name > *after);
    let all = gateway.tenants.list();
    let mut items: Vec<User> = all.iter().filter(behind).take(page.limit + 1).map(shown).collect();
    let more = items.len() > page.limit;
    items.truncate(page.limit);
    let next = items.last().filter(|_| more).map(|user| user.name.clone());
    Ok(Page { items, next })
}

fn shown(user: &tenants::User) -> User {
    User {
        id: user.user_id.clone(),
        name: user.name.clone(),
        disabled: user.disabled,
        created: Stamp(user.created.0),
        key_created: Stamp(user.key_created.0),
    }
}

fn refused(error: UserError) -> ControlError {
    let text = error.to_string();
    match error {
        UserError::BadName { value } | UserError::LooksLikeId { value } => ControlError::Invalid {
            field: "name".into(),
            value,
            fix: "use 1 to 64 of the characters A-Z a-z 0-9 . _ @ -, not beginning with \"usr_\"".into(),
        },
        UserError::NameTaken { value } => ControlError::Conflict {
            what: "user".into(),
            value,
            fix: "choose another name, or reset that user's key".into(),
        },
        UserError::NoSuchUser { value } => {
            ControlError::NotFound { what: "user".into(), value, fix: "`homing users list` shows names and ids".into() }
        }
        UserError::TooMany | UserError::NoEntropy(_) | UserError::Store(_) => {
            ControlError::Unavailable { what: "the change was not made: the store".into(), fix: text }
        }
    }
}
