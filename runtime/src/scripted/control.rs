//! The control endpoint: lets other processes script the upstream over HTTP. Its requests are listed in the
//! [parent module](super).

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::account::{Account, AccountSpec};
use super::connection::{Connection, Head, ReadError};
use super::play::Player;
use super::reply::Answer;
use super::rules::{MOST_RULES, Rule, RuleId};
use super::state::State;

/// Settings that may change while the upstream runs; absent ones stay as they are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    reject_foreign_reasoning: Option<bool>,
    accept_unknown_previous: Option<bool>,
    /// 0: one delta for each word.
    deltas: Option<u32>,
    /// 0: a quarter of the body's bytes.
    input_tokens: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum GateOrder {
    Release(String),
    Hold(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Revocation {
    Access(String),
    Refresh(String),
}

/// Serves one control request. Control requests are not logged.
pub(super) async fn serve(state: &State, connection: &mut Connection, head: &Head) -> Result<bool, ReadError> {
    let body = connection.body(head).await?;
    let answer = match (head.method.as_str(), head.path.trim_start_matches("/_script/")) {
        ("POST", "rules") => parsed(&body).and_then(|rules| add_rules(state, rules)),
        ("DELETE", "rules") => remove_rules(state, &body),
        ("GET", "log") => Ok(log(state, head.query.as_deref())),
        ("POST", "accounts") => parsed(&body).and_then(each).map(|specs| add_accounts(state, specs)),
        ("GET", "accounts") => Ok(state.with(|inner| inner.registry.all()).iter().map(shown).collect()),
        ("POST", "gates") => parsed(&body).map(|order| gate(state, order)),
        ("POST", "settings") => parsed(&body).map(|settings| set(state, &settings)),
        ("POST", "revoke") => parsed(&body).and_then(|what| revoke(state, what)),
        _ => Err((404, "There is no such control request.".to_owned())),
    };
    let answer = match answer {
        Ok(value) => Answer::json(200, &value),
        Err((status, message)) => Answer::json(status, &json!({"error": {"message": message}})),
    };
    let mut player = Player::new(state, connection, &[]);
    player.keep_alive = head.keeps_alive();
    let keep_alive = player.keep_alive;
    player.play(answer.into()).await;
    Ok(keep_alive)
}

type Controlled = Result<Value, (u16, String)>;

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, (u16, String)> {
    serde_json::from_slice(body).map_err(|e| (400, format!("The body does not say what to do: {e}")))
}

/// One value or a list of them.
fn each<T: DeserializeOwned>(value: Value) -> Result<Vec<T>, (u16, String)> {
    let list = if value.is_array() { value } else { json!([value]) };
    serde_json::from_value(list).map_err(|e| (400, format!("The body does not say what to do: {e}")))
}

fn add_rules(state: &State, rules: Value) -> Controlled {
    let rules: Vec<Rule> = each(rules)?;
    let ids: Option<Vec<RuleId>> = state.with(|inner| rules.into_iter().map(|rule| inner.rules.add(rule)).collect());
    ids.map(|ids| json!({ "ids": ids })).ok_or((409, format!("There are {MOST_RULES} rules already.")))
}

fn remove_rules(state: &State, body: &[u8]) -> Controlled {
    if body.is_empty() {
        state.with(|inner| inner.rules.clear());
        return Ok(json!({}));
    }
    let id: RuleId = parsed(body)?;
    let found = state.with(|inner| inner.rules.remove(id));
    found.then(|| json!({})).ok_or((404, format!("There is no rule {}.", id.0)))
}

fn log(state: &State, query: Option<&str>) -> Value {
    let since = query.and_then(|q| q.split('&').find_map(|p| p.strip_prefix("since=")));
    let since = since.and_then(|n| n.parse().ok()).unwrap_or(0);
    let (total, seen) = state.with(|inner| (inner.log.total(), inner.log.since(since)));
    json!({"total": total, "seen": seen.iter().map(super::log::Seen::to_json).collect::<Vec<_>>()})
}

fn add_accounts(state: &State, specs: Vec<AccountSpec>) -> Value {
    let now = crate::clock::wall_ms();
    let add = |spec| state.with(|inner| inner.registry.add(spec, now, &state.mint));
    specs.into_iter().map(add).map(|account| shown(&account)).collect()
}

fn shown(account: &Account) -> Value {
    json!({"name": account.spec.name, "auth_json": account.auth_json(), "flat_json": account.flat_json()})
}

fn gate(state: &State, order: GateOrder) -> Value {
    let waiting = state.with(|inner| {
        match &order {
            GateOrder::Release(name) => inner.gates.release(name),
            GateOrder::Hold(name) => inner.gates.hold(name),
        }
        let (GateOrder::Release(name) | GateOrder::Hold(name)) = &order;
        inner.gates.waiting(name)
    });
    json!({ "waiting": waiting })
}

fn set(state: &State, settings: &Settings) -> Value {
    state.with(|inner| {
        let knobs = &mut inner.knobs;
        knobs.reject_foreign_reasoning = settings.reject_foreign_reasoning.unwrap_or(knobs.reject_foreign_reasoning);
        knobs.accept_unknown_previous = settings.accept_unknown_previous.unwrap_or(knobs.accept_unknown_previous);
        if let Some(deltas) = settings.deltas {
            knobs.deltas = (deltas > 0).then_some(deltas);
        }
        if let Some(tokens) = settings.input_tokens {
            knobs.input_tokens = (tokens > 0).then_some(tokens);
        }
    });
    json!({})
}

fn revoke(state: &State, what: Revocation) -> Controlled {
    let found = state.with(|inner| match &what {
        Revocation::Access(name) => inner.registry.revoke_access(name),
        Revocation::Refresh(name) => inner.registry.revoke_refresh(name),
    });
    let (Revocation::Access(name) | Revocation::Refresh(name)) = what;
    found.then(|| json!({})).ok_or((404, format!("There is no account {name}.")))
}
