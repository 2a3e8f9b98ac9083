//! Accounts for the operator: how each stands, why, and until when.

use homing_core::fleet::{self, Bar, Standing};
use homing_core::ids::AccountId;
use homing_core::time::Time;

use super::Gateway;
use crate::admin::{Account, Stamp};
use crate::gateway::state::now;

/// All loaded accounts, by label.
pub(super) fn list(gateway: &Gateway) -> Vec<Account> {
    let ids: Vec<AccountId> = gateway.fleet().iter().map(|a| a.id).collect();
    let mut accounts: Vec<Account> = ids.into_iter().filter_map(|id| one(gateway, id)).collect();
    accounts.sort_by(|a, b| a.label.cmp(&b.label));
    accounts
}

/// One account, where it is loaded.
pub(super) fn one(gateway: &Gateway, id: AccountId) -> Option<Account> {
    let now = now();
    let named = gateway.named(id)?;
    let (state, reason, until) = gateway.fleet().get(id).map(|account| standing(account, now))?;
    let view = gateway.roster.view(&named.identity);
    Some(Account {
        label: gateway.account_label(id).to_string(),
        state: state.to_owned(),
        reason: reason.map(str::to_owned),
        until: until.map(|t| Stamp(t.0)),
        expires: view.and_then(|v| v.expires_at_ms).map(Stamp),
        in_pool: state != "disabled" && state != "gone",
    })
}

type Shown = (&'static str, Option<&'static str>, Option<Time>);

fn standing(account: &fleet::Account, now: Time) -> Shown {
    match account.standing {
        Standing::Disabled => return ("disabled", Some("its file says `disabled`"), None),
        Standing::Gone => return ("gone", Some("its file is gone; its sessions are kept for removal-grace"), None),
        Standing::NeedsLogin => return ("needs login", Some("its credential is refused; log in again"), None),
        Standing::Refused => return ("refused", Some("the upstream refuses this account"), None),
        Standing::Draining => {
            return ("draining", Some("it serves the sessions at home there and takes no new ones"), None);
        }
        Standing::Usable => {}
    }
    let holds = |bar: Option<Bar>| bar.filter(|bar| now < bar.until).map(|bar| bar.until);
    if let Some(until) = holds(account.spent) {
        return ("spent", Some("its quota is used up"), Some(until));
    }
    if let Some(until) = holds(account.limited) {
        return ("limited", Some("the upstream asked to wait"), Some(until));
    }
    if let Some(until) = holds(account.cooling) {
        return ("cooling", Some("it failed lately; it is tried last"), Some(until));
    }
    ("ready", None, None)
}
