//! Following the auth files: accounts come, change and go (B11), and their tokens are refreshed before they expire.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use homing_core::fleet::Standing;
use homing_core::ids::AccountId;
use homing_core::row::Scope;
use homing_core::turn::Renewal;

use super::state::{Gateway, Named};
use crate::accounts::{Bearer, Event, Identity, RefreshError, RefreshReason};
use crate::clock;
use crate::store::Renamed;

/// How often it is looked for tokens that end soon.
const REFRESH_LOOK: Duration = Duration::from_secs(20);

/// Tells the roster which accounts have bindings, so that one whose file is missing is missed (B11).
pub(super) fn expect_known(gateway: &Gateway) {
    let known = gateway.store.bound_accounts();
    let identities = known.iter().filter_map(|id| gateway.store.account_name(*id));
    gateway.roster.expect(identities.map(|(identity, _)| Identity::from_stable(&identity)));
}

/// Looks at the auth directory once and acts on what changed.
pub(super) async fn scan(gateway: &Arc<Gateway>) {
    let roster = gateway.roster.clone();
    // A wall clock that is set forward must not make two looks seem `removal-grace` apart.
    let now = clock::steady_ms();
    let events = smol::unblock(move || roster.scan(now)).await;
    for event in events {
        apply(gateway, event);
    }
}

/// Looks again and again.
pub(super) async fn scan_forever(gateway: Arc<Gateway>) {
    loop {
        clock::sleep(gateway.config.accounts.scan_interval).await;
        scan(&gateway).await;
    }
}

fn apply(gateway: &Gateway, event: Event) {
    match event {
        Event::Appeared { identity, label } => appeared(gateway, identity, &label),
        Event::Gained { old, new } => gained(gateway, &old, &new),
        Event::Changed(identity) => {
            if let Some(id) = gateway.number(&identity) {
                set_standing(gateway, id, &identity);
                tracing::info!(account = &*gateway.account_label(id), "the account's credential changed");
            }
        }
        Event::Suspended(identity) => {
            if let Some(id) = gateway.number(&identity) {
                gateway.fleet().set(id, Standing::Gone);
                tracing::warn!(account = &*gateway.account_label(id), "the account's file is gone: no attempt starts");
            }
        }
        Event::Removed(identity) => removed(gateway, &identity),
        Event::Warning(warning) => tracing::warn!(%warning, "auth directory"),
    }
}

fn appeared(gateway: &Gateway, identity: Identity, label: &str) {
    let id = gateway.store.intern_account(&identity.stable());
    gateway.store.label_account(id, label);
    let Some(tenant) = gateway.store.account_tenant(id) else { return };
    let named = Named { identity: identity.clone(), label: label.into(), tenant };
    {
        let mut names = gateway.names.write().unwrap_or_else(PoisonError::into_inner);
        names.accounts.insert(id, named);
        names.numbers.insert(identity.clone(), id);
    }
    set_standing(gateway, id, &identity);
    tracing::info!(account = label, "account loaded");
}

/// The account is usable unless its owner switched it off or only a login can help.
fn set_standing(gateway: &Gateway, id: AccountId, identity: &Identity) {
    let standing = match gateway.roster.view(identity) {
        None => Standing::Gone,
        Some(view) if view.disabled => Standing::Disabled,
        Some(view) if !view.usable => Standing::NeedsLogin,
        Some(_) => Standing::Usable,
    };
    gateway.fleet().set(id, standing);
}

/// The account gained a field of its identity that was missing: its number, and with it every row, follows (spec §1). It may
/// be loaded, or known from its bindings alone; then it appears next.
fn gained(gateway: &Gateway, old: &Identity, new: &Identity) {
    match gateway.store.rename_account_identity(&old.stable(), &new.stable()) {
        Renamed::Done(id) => {
            let mut names = gateway.names.write().unwrap_or_else(PoisonError::into_inner);
            names.numbers.remove(old);
            if let Some(named) = names.accounts.get_mut(&id) {
                named.identity = new.clone();
                names.numbers.insert(new.clone(), id);
            }
        }
        // Both have rows: the poorer identity is an account of its own, which is gone.
        Renamed::Taken { old: gone, .. } => {
            let label = gateway.account_label(gone);
            removed(gateway, old);
            appeared(gateway, new.clone(), &label);
        }
        Renamed::Unknown => {}
    }
}

/// B11: absent for long enough. Its bindings go, and those of its compatibility callers (B12).
fn removed(gateway: &Gateway, identity: &Identity) {
    let id = gateway.store.intern_account(&identity.stable());
    let (bindings, _) = gateway.store.erase(Scope::Account(id));
    let callers = gateway.store.account_tenant(id).map_or(0, |t| gateway.store.erase(Scope::Tenant(t.id)).0);
    tracing::warn!(account = &*gateway.account_label(id), bindings, callers, "account removed with its bindings");
    gateway.fleet().remove(id);
    let mut names = gateway.names.write().unwrap_or_else(PoisonError::into_inner);
    names.accounts.remove(&id);
    names.numbers.remove(identity);
}

/// A newer credential for an account whose token was refused (R2, 401).
pub(super) async fn renew(gateway: Arc<Gateway>, account: AccountId, used: Option<Bearer>) -> Renewal {
    let Some(named) = gateway.named(account) else { return Renewal::Refused };
    let reason = RefreshReason::Unauthorized { used };
    match gateway.roster.refresh(&named.identity, reason).await {
        Ok(_) => Renewal::Fresh,
        Err(error) => {
            tracing::warn!(account = &*named.label, %error, "the credential could not be renewed");
            if error.needs_login() { Renewal::Refused } else { Renewal::Unavailable }
        }
    }
}

/// Refreshes tokens before they expire, whatever routing holds against their accounts (field E3).
pub(super) async fn refresh_forever(gateway: Arc<Gateway>) {
    loop {
        for identity in gateway.roster.due(clock::wall_ms()) {
            let Some(id) = gateway.number(&identity) else { continue };
            let label = gateway.account_label(id);
            match gateway.roster.refresh(&identity, RefreshReason::Expiring).await {
                Ok(_) => tracing::info!(account = &*label, "token refreshed"),
                Err(error) => refresh_failed(&gateway, id, &identity, &label, &error),
            }
        }
        clock::sleep(REFRESH_LOOK).await;
    }
}

/// A token that is still valid stays in use; without one only a login helps.
fn refresh_failed(gateway: &Gateway, id: AccountId, identity: &Identity, label: &str, error: &RefreshError) {
    tracing::warn!(account = label, %error, "the token could not be refreshed");
    if gateway.roster.view(identity).is_some_and(|view| !view.usable) {
        gateway.fleet().set(id, Standing::NeedsLogin);
    }
}
