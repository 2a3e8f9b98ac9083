//! `GET .../models`: the catalogue in Codex's shape, or the plain list for SDKs.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::connection::Head;
use super::reply::Answer;

const MODELS: [(&str, &str); 4] =
    [("gpt-6-sol", "GPT-6 Sol"), ("gpt-5.5", "GPT-5.5"), ("gpt-5.4", "GPT-5.4"), ("gpt-5.2-codex", "GPT-5.2 Codex")];

/// The catalogue. Codex asks with `client_version`; without it the Codex backend refuses and `/v1/models` lists.
pub(super) fn models(head: &Head) -> Answer {
    let version = head.query.as_deref().is_some_and(|q| q.split('&').any(|p| p.starts_with("client_version=")));
    let body = match (version, head.path.starts_with("/v1/")) {
        (true, _) => json!({"models": MODELS.iter().enumerate().map(|(i, m)| codex_model(i, m)).collect::<Vec<_>>()}),
        (false, true) => list(),
        (false, false) => {
            let detail = json!([{"type": "missing", "loc": ["query", "client_version"], "msg": "Field required"}]);
            return Answer::json(422, &json!({ "detail": detail }));
        }
    };
    let digest = Sha256::digest(body.to_string().as_bytes());
    let etag = format!("W/\"{}\"", digest[..8].iter().map(|b| format!("{b:02x}")).collect::<String>());
    if head.single("if-none-match") == Some(etag.as_str()) {
        return Answer::empty(304).with("etag", etag);
    }
    Answer::json(200, &body).with("etag", etag)
}

fn list() -> Value {
    let model = |(slug, _): &(&str, &str)| json!({"id": slug, "object": "model", "created": 0, "owned_by": "openai"});
    json!({"object": "list", "data": MODELS.iter().map(model).collect::<Vec<_>>()})
}

fn codex_model(priority: usize, (slug, name): &(&str, &str)) -> Value {
    let level = |effort: &str| json!({"effort": effort, "description": format!("{effort} effort")});
    json!({
        "slug": slug,
        "display_name": name,
        "description": "A scripted model.",
        "default_reasoning_level": "medium",
        "supported_reasoning_levels": [level("low"), level("medium"), level("high")],
        "shell_type": "unified_exec",
        "visibility": "list",
        "supported_in_api": true,
        "priority": priority,
        "availability_nux": null,
        "upgrade": null,
        "base_instructions": "You are a scripted model.",
        "model_messages": null,
        "supports_reasoning_summaries": true,
        "default_reasoning_summary": "none",
        "support_verbosity": true,
        "default_verbosity": "low",
        "apply_patch_tool_type": "freeform",
        "truncation_policy": {"mode": "tokens", "limit": 10000},
        "supports_parallel_tool_calls": true,
        "supports_image_detail_original": false,
        "context_window": 272_000,
        "max_context_window": 272_000,
        "auto_compact_token_limit": null,
        "effective_context_window_percent": 95,
        "experimental_supported_tools": [],
        "input_modalities": ["text", "image"],
        "minimal_client_version": "0.60.0",
        "prefer_websockets": false,
    })
}
