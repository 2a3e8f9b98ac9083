//! The commands that look at or change a gateway.

use std::io::Write;

use http_types::Method;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Failure,
    args::{Accounts, Bindings, PAGE, Target, Users},
    print::{Out, table},
    remote::Gateway,
};
use crate::{
    admin::{
        Account, Binding, BindingState, CreatedUser, DeletedUser, ExplainRequest, Explanation, NewUser, Page, Stamp,
        User,
    },
    config::Config,
};

/// No body.
const NONE: Option<&()> = None;

/// `homing users ...`
pub(super) fn users<W: Write>(config: &Config, command: &Users, out: &mut Out<W>) -> Result<(), Failure> {
    let gateway = Gateway::find(config)?;
    let path = |target: &Target| format!("/users/{}", target.name);
    match command {
        Users::Create(target) => {
            let body = NewUser { name: target.name.clone() };
            show_key(&gateway.ask(Method::Post, "/users", &[], Some(&body))?, target, out);
        }
        Users::Reset(target) => {
            show_key(&gateway.ask(Method::Post, &format!("{}/reset-key", path(target)), &[], NONE)?, target, out);
        }
        Users::Disable(target) => set_disabled(&gateway, target, &path(target), true, out)?,
        Users::Enable(target) => set_disabled(&gateway, target, &path(target), false, out)?,
        Users::Delete(target) => {
            let deleted: DeletedUser = gateway.ask(Method::Delete, &path(target), &[], NONE)?;
            show(&deleted, target.format.json, out, |deleted| {
                format!("deleted {} with {} sessions", deleted.user.name, deleted.bindings)
            });
        }
        Users::List(format) => {
            let head = ["NAME", "ID", "STATE", "CREATED", "KEY CREATED"];
            return list(&gateway, "/users", None, &head, format.json, out, |user: &User| {
                let state = if user.disabled { "disabled" } else { "enabled" };
                vec![
                    user.name.clone(),
                    user.id.clone(),
                    state.into(),
                    user.created.to_string(),
                    user.key_created.to_string(),
                ]
            });
        }
    }
    Ok(())
}

/// Prints the key alone on a line of its own, as it is shown only once.
fn show_key<W: Write>(made: &CreatedUser, target: &Target, out: &mut Out<W>) {
    show(made, target.format.json, out, |made| {
        format!("API key of {} (shown only now):\n{}", made.user.name, made.key.0)
    });
}

fn set_disabled<W: Write>(
    gateway: &Gateway,
    target: &Target,
    path: &str,
    disabled: bool,
    out: &mut Out<W>,
) -> Result<(), Failure> {
    let body = serde_json::json!({ "disabled": disabled });
    let user: User = gateway.ask(Method::Patch, path, &[], Some(&body))?;
    show(&user, target.format.json, out, |user| {
        format!("{} is {}", user.name, if user.disabled { "disabled" } else { "enabled" })
    });
    Ok(())
}

/// `homing accounts ...`
pub(super) fn accounts<W: Write>(config: &Config, command: &Accounts, out: &mut Out<W>) -> Result<(), Failure> {
    let Accounts::List(format) = command;
    let accounts: Vec<Account> = Gateway::find(config)?.ask(Method::Get, "/accounts", &[], NONE)?;
    if format.json {
        accounts.iter().for_each(|account| out.json(account));
        return Ok(());
    }
    if accounts.is_empty() {
        let directory = config.accounts.directory.display();
        out.line(&format!("no accounts in {directory}; run `codex login` or put an auth file there"));
        return Ok(());
    }
    let row = |account: &Account| {
        let usable = if account.in_pool { "yes" } else { "no" };
        let reason = account.reason.clone().unwrap_or_else(dash);
        vec![
            account.label.clone(),
            account.state.clone(),
            usable.into(),
            time(account.until),
            time(account.expires),
            reason,
        ]
    };
    let rows: Vec<_> = accounts.iter().map(row).collect();
    out.text(&table(&["ACCOUNT", "STATE", "IN POOL", "UNTIL", "TOKEN EXPIRES", "REASON"], &rows));
    Ok(())
}

/// `homing bindings ...`; `session_id` reads the identifier that is asked about.
pub(super) fn bindings<W: Write>(
    config: &Config,
    command: &Bindings,
    session_id: &mut dyn FnMut() -> Result<String, Failure>,
    out: &mut Out<W>,
) -> Result<(), Failure> {
    match command {
        Bindings::List { limit, format } => {
            let head = ["TENANT", "ACCOUNT", "STATE", "GENERATION", "KEYS", "CREATED", "RENEWED", "EXPIRES"];
            list(&Gateway::find(config)?, "/bindings", *limit, &head, format.json, out, binding_row)
        }
        Bindings::Explain { tenant, format } => {
            let body = ExplainRequest { tenant: tenant.clone(), session_id: session_id()? };
            let answer: Explanation =
                Gateway::find(config)?.ask(Method::Post, "/bindings/explain", &[], Some(&body))?;
            show(&answer, format.json, out, |answer| answer.text.clone());
            Ok(())
        }
    }
}

fn binding_row(binding: &Binding) -> Vec<String> {
    let state = match binding.state {
        BindingState::Reserved => "reserved",
        BindingState::Bound => "bound",
    };
    let Binding { tenant, account, generation, keys, created, renewed, expires, .. } = binding;
    let (generation, keys) = (generation.to_string(), keys.to_string());
    let times = [created, renewed, expires].map(Stamp::to_string);
    [vec![tenant.clone(), account.clone(), state.into(), generation, keys], times.to_vec()].concat()
}

/// Prints a list page by page, so that neither side ever holds all of it; at most `limit` items.
fn list<T: DeserializeOwned + Serialize, W: Write>(
    gateway: &Gateway,
    path: &str,
    limit: Option<u64>,
    head: &[&str],
    json: bool,
    out: &mut Out<W>,
    row: impl Fn(&T) -> Vec<String>,
) -> Result<(), Failure> {
    let (mut left, mut after, mut first) = (limit.unwrap_or(u64::MAX), None, true);
    loop {
        let mut query = vec![("limit", left.min(PAGE).to_string())];
        query.extend(after.take().map(|after| ("after", after)));
        let page: Page<T> = gateway.ask(Method::Get, path, &query, NONE)?;
        left = left.saturating_sub(page.items.len() as u64);
        if json {
            page.items.iter().for_each(|item| out.json(item));
        } else if first || !page.items.is_empty() {
            out.text(&table(head, &page.items.iter().map(&row).collect::<Vec<_>>()));
        }
        after = page.next;
        if after.is_none() || left == 0 || out.is_closed() {
            return Ok(());
        }
        first = false;
    }
}

/// Prints one answer, as JSON or in words.
fn show<T: Serialize, W: Write>(answer: &T, json: bool, out: &mut Out<W>, words: impl Fn(&T) -> String) {
    if json {
        out.json(answer);
    } else {
        out.line(&words(answer));
    }
}

fn time(stamp: Option<Stamp>) -> String {
    stamp.map_or_else(dash, |stamp| stamp.to_string())
}

fn dash() -> String {
    "-".to_owned()
}
