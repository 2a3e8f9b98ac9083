//! Bindings for the operator: the list, and why a session goes where it goes.

use homing_core::fleet::{Choice, Out, Tried};
use homing_core::ids::{PoolId, TenantId};
use homing_core::key::{Keys, SignalKind};
use homing_core::row::{Row, State};

use super::{Gateway, accounts};
use crate::admin::{
    Binding, BindingState, ControlError, ExplainRequest, Explanation, Page, PageRequest, Stamp, Verdict,
};
use crate::gateway::state::now;

/// Live bindings. The cursor is a place in the table, which stays while a row lives.
pub(super) fn list(gateway: &Gateway, page: &PageRequest) -> Result<Page<Binding>, ControlError> {
    let cursor = match &page.after {
        None => 0,
        Some(after) => after.parse().map_err(|_| ControlError::Invalid {
            field: "after".into(),
            value: after.clone(),
            fix: "pass the `next` of the page before, unchanged".into(),
        })?,
    };
    let found = gateway.store.page(None, cursor, page.limit, now());
    let items = found.rows.iter().map(|row| shown(gateway, row)).collect();
    Ok(Page { items, next: found.next.map(|next| next.to_string()) })
}

fn shown(gateway: &Gateway, row: &Row) -> Binding {
    Binding {
        tenant: tenant_label(gateway, row.tenant),
        account: gateway.account_label(row.account).to_string(),
        state: match row.state {
            State::Reserved => BindingState::Reserved,
            State::Bound => BindingState::Bound,
        },
        generation: u64::from(row.generation.0),
        created: Stamp(row.created.0),
        renewed: Stamp(row.renewed.0),
        expires: Stamp(row.expires.0),
        keys: u32::try_from(row.keys.count()).unwrap_or(u32::MAX),
    }
}

fn tenant_label(gateway: &Gateway, tenant: TenantId) -> String {
    if let Some(user) = gateway.tenants.of_tenant(tenant) {
        return user.name;
    }
    let caller = gateway.loaded().into_iter().find(|named| named.tenant.id == tenant);
    caller.map_or_else(|| format!("tenant {}", tenant.0), |named| named.label.to_string())
}

/// Where the session would go now, and why. The identifier is hashed here and goes no further.
pub(super) fn explain(gateway: &Gateway, request: &ExplainRequest) -> Result<Explanation, ControlError> {
    let (tenant, scope) = tenant(gateway, &request.tenant)?;
    let keys = Keys::session(&scope, [(SignalKind::SessionHeader, request.session_id.as_bytes())]);
    let plain = |verdict, text: &str| Explanation { verdict, text: text.to_owned(), binding: None, account: None };
    if !gateway.affinity_is_on() {
        return Ok(plain(Verdict::Off, "Session affinity is off: every request takes the next account in turn."));
    }
    if keys.is_empty() {
        let text = "This is no session identifier: one has 1 to 256 bytes of UTF-8 and no control character. A request \
                    with it has no identity and takes the next account in turn.";
        return Ok(plain(Verdict::NotAKey, text));
    }
    let row = gateway.store.session(tenant, &keys, now());
    if let Some(out) = all_out(gateway) {
        let kept =
            row.as_ref().map(|row| format!(" The session keeps its place on {}.", gateway.account_label(row.account)));
        let explanation = plain(Verdict::AllOut, &format!("{out}{}", kept.unwrap_or_default()));
        let account = row.as_ref().and_then(|row| accounts::one(gateway, row.account));
        return Ok(Explanation { binding: row.map(|row| shown(gateway, &row)), account, ..explanation });
    }
    match row {
        Some(row) => Ok(of_row(gateway, &row)),
        None => {
            let text = "There is no binding for this session: it never succeeded here, or its binding expired or was \
                        deleted. Its next request takes the next account in turn and binds there.";
            Ok(plain(Verdict::NoBinding, text))
        }
    }
}

/// What a request of any session is told now, where no account would be tried (R4).
fn all_out(gateway: &Gateway) -> Option<String> {
    let now = now();
    // A copy: asking must not turn the round robin.
    let mut fleet = gateway.fleet().clone();
    let (pool, tried) = (PoolId::DEFAULT, Tried::default());
    let choice = Choice::any(pool, &tried, now);
    if fleet.choose(&choice).is_some() {
        return None;
    }
    Some(match fleet.out(pool, None, now) {
        Out::Soon { retry_after } => format!(
            "Every account is out, and one is expected back: a request gets 503 with Retry-After: {}.",
            retry_after.ceil_secs()
        ),
        Out::Spent { until } => format!(
            "Every account is out, quota is why: a request gets 429 usage_limit_reached until {}.",
            Stamp(until.0)
        ),
        Out::NoModel | Out::Later => {
            "Every account needs its owner: a request gets 503. `homing accounts list` says why.".to_owned()
        }
        Out::Empty => "There are no accounts: a request gets 503.".to_owned(),
    })
}

fn of_row(gateway: &Gateway, row: &Row) -> Explanation {
    let label = gateway.account_label(row.account);
    let account = accounts::one(gateway, row.account);
    let tried = Tried::default();
    let settled = row.state == State::Bound;
    let choice = Choice { home: Some(row.account), settled, ..Choice::any(PoolId::DEFAULT, &tried, now()) };
    let serves = gateway.fleet().serves(row.account, &choice);
    let why_out = account.as_ref().map_or("not loaded", |a| a.state.as_str());
    let pending = row.pending.map(|p| gateway.account_label(p));
    let (verdict, text) = match (row.state, serves) {
        (State::Reserved, true) => {
            (Verdict::Reserved, format!("The session was reserved on {label} and waits for its first success there."))
        }
        (State::Bound, true) => {
            (Verdict::Home, format!("The session's home is {label}, which can serve: its next request goes there."))
        }
        (_, false) => {
            let next = pending.map_or_else(|| "the next account in turn".to_owned(), |p| p.to_string());
            let text = format!(
                "The session's account is {label}, which is {why_out}: its next request goes to {next}, and the session \
                 moves there with the first success."
            );
            (Verdict::HomeOut, text)
        }
    };
    Explanation { verdict, text, binding: Some(shown(gateway, row)), account }
}

/// The tenant an operator names: a user by name or id, or a compatibility caller by its account's label.
fn tenant(gateway: &Gateway, name: &str) -> Result<(TenantId, String), ControlError> {
    if let Ok(user) = gateway.tenants.get(name) {
        let scope = crate::store::Store::user_scope(&user.user_id);
        return Ok((user.tenant, scope.to_string()));
    }
    // A label is the file's name and the end of the account's id; the name alone does where it is the only one.
    let mut callers = gateway.loaded();
    callers.retain(|named| *named.label == *name || named.label.split(" (").next() == Some(name));
    let caller = callers.pop().filter(|_| callers.is_empty());
    caller.map(|named| (named.tenant.id, named.tenant.scope.to_string())).ok_or_else(|| ControlError::NotFound {
        what: "tenant".into(),
        value: name.to_owned(),
        fix: "name a user (`homing users list`) or an account (`homing accounts list`)".into(),
    })
}
