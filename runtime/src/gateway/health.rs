//! `GET /healthz` and `GET /readyz`: whether the process runs, and whether it can serve.

use serde_json::json;

use super::state::Gateway;
use crate::wire::answer::Answer;

/// 200 as long as the process answers; the body says how the parts are.
pub(super) fn health(gateway: &Gateway) -> Answer {
    let store = gateway.store.health();
    let status = if store.last_error.is_none() { "ok" } else { "degraded" };
    let body = json!({
        "status": status,
        "accounts": {
            "known": gateway.fleet().iter().count(),
            "usable": gateway.usable_accounts(),
            "serving": gateway.serving_accounts(),
        },
        "bindings": gateway.store.len(),
        "store": {"queued": store.queued, "error": store.last_error},
        "connections": gateway.connections(),
    });
    json_answer(200, &body)
}

/// 200 while an account is usable. One that cools or is spent counts: what a client gets then, with the time to come back, is
/// the pool's answer (R4), and a load balancer's own error would hide it.
pub(super) fn ready(gateway: &Gateway) -> Answer {
    if gateway.is_draining() {
        return json_answer(503, &json!({"ready": false, "reason": "the gateway is stopping"}));
    }
    if gateway.usable_accounts() == 0 {
        let reason = "no usable account: put an auth.json into the auth directory, or log in with `codex login`";
        return json_answer(503, &json!({"ready": false, "reason": reason}));
    }
    json_answer(200, &json!({"ready": true}))
}

fn json_answer(status: u16, body: &serde_json::Value) -> Answer {
    let headers = vec![("content-type", "application/json".to_owned()), ("cache-control", "no-store".to_owned())];
    Answer { status, headers, body: format!("{body}\n").into_bytes() }
}
