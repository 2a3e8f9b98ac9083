//! From a request and the orders for it to the answer.

use serde_json::Value;

use super::behaviour::Behaviour;
use super::connection::Head;
use super::failures;
use super::ids::{self, Mint, Tag};
use super::prompt::Prompt;
use super::registry::Identity;
use super::reply::{Action, Answer, Payload};
use super::response::{Turn, compaction_item};
use super::rules::Orders;
use super::state::State;

/// Answers `POST .../responses`, or `.../responses/compact`. Pushes what the client should not have sent.
pub(super) fn respond(
    state: &State,
    head: &Head,
    who: &Identity,
    body: Option<&[u8]>,
    orders: &Orders,
    violations: &mut Vec<String>,
) -> Action {
    let turn_state = judge_turn_state(state, head, who, violations);
    if let Some(action) = orders.outcome.as_ref().and_then(|o| failures::plain(o, &who.plan)) {
        return action;
    }
    let prompt = match body.map(Prompt::read) {
        Some(Ok(prompt)) => prompt,
        Some(Err(message)) => return bad("invalid_json", &message).into(),
        None => return bad("invalid_encoding", "The body cannot be decoded.").into(),
    };
    if let Err(answer) = turn_state.and_then(|()| judge_anchors(state, who, &prompt, violations)) {
        return (*answer).into();
    }
    let (deltas, input_tokens) = state.with(|inner| (inner.knobs.deltas, inner.knobs.input_tokens));
    let input_tokens = input_tokens.unwrap_or(body.map_or(0, <[u8]>::len) as u64 / 4);
    let turn = Turn::new(&state.mint, who, &prompt, input_tokens, deltas);
    let answer = if head.path.ends_with("/compact") {
        let (_, item) = compaction_item(&state.mint, who);
        whole(Answer::json(200, &turn.compacted(&item)), orders)
    } else if prompt.stream {
        stream(&turn, orders)
    } else {
        whole(Answer::json(200, &unstreamed(&turn, orders)), orders)
    };
    dressed(answer, head, &state.mint, who, &prompt).into()
}

fn stream(turn: &Turn<'_>, orders: &Orders) -> Answer {
    let mut script = turn.script();
    if let Some(outcome) = &orders.outcome {
        script.apply_outcome(outcome, |status, error| turn.object(status, error));
    }
    for manner in &orders.manners {
        script.apply_manner(manner);
    }
    let headers = vec![
        ("content-type".to_owned(), "text/event-stream; charset=utf-8".to_owned()),
        ("cache-control".to_owned(), "no-cache".to_owned()),
    ];
    Answer { status: 200, headers, ending: script.ending, payload: Payload::Events(script.render()) }
}

fn unstreamed(turn: &Turn<'_>, orders: &Orders) -> Value {
    match &orders.outcome {
        Some(Behaviour::Incomplete) => turn.object("incomplete", Value::Null),
        Some(Behaviour::SseFailed { code, .. } | Behaviour::SseErrorAfter { code, .. }) => {
            turn.object("failed", serde_json::json!({"code": code, "message": "A scripted failure."}))
        }
        _ => turn.object("completed", Value::Null),
    }
}

/// A body of known length, stopped short where the orders say so.
pub(super) fn whole(mut answer: Answer, orders: &Orders) -> Answer {
    if let Some(Behaviour::TruncateAfter { ending, .. }) = &orders.outcome {
        answer.ending = Some(*ending);
    }
    answer
}

/// Adds the header fields of a served model call: what clients read, and what a gateway must not pass on (R6).
fn dressed(answer: Answer, head: &Head, mint: &Mint, who: &Identity, prompt: &Prompt) -> Answer {
    let now = crate::clock::wall_ms() / 1000;
    let turn_state = match head.single("x-codex-turn-state") {
        Some(value) if ids::issuer_of_turn_state(value) == Some(who.tag) => value.to_owned(),
        _ => mint.turn_state(who.tag),
    };
    answer
        .with("x-codex-turn-state", turn_state)
        .with("openai-model", header_safe(&prompt.model))
        .with("x-request-id", format!("req_{}", mint.serial()))
        .with("x-codex-plan-type", header_safe(&who.plan))
        .with("x-codex-primary-used-percent", "12")
        .with("x-codex-primary-window-minutes", "300")
        .with("x-codex-primary-reset-at", (now + 3600).to_string())
        .with("x-codex-secondary-used-percent", "3")
        .with("x-codex-secondary-window-minutes", "10080")
        .with("x-codex-secondary-reset-at", (now + 86_400).to_string())
        .with("set-cookie", "__cf_bm=scripted; path=/; HttpOnly; Secure")
        .with("alt-svc", "h3=\":443\"; ma=86400")
}

fn header_safe(value: &str) -> String {
    value.chars().filter(|c| c.is_ascii_graphic()).collect()
}

fn judge_turn_state(
    state: &State,
    head: &Head,
    who: &Identity,
    violations: &mut Vec<String>,
) -> Result<(), Box<Answer>> {
    for value in head.all("x-codex-turn-state") {
        match issuer(state, ids::issuer_of_turn_state(value)) {
            Some((tag, _)) if tag == who.tag => {}
            Some((_, owner)) => {
                violations.push(format!("the turn state of {owner} was sent to {}", who.name));
                return Err(Box::new(bad("invalid_turn_state", "The turn state belongs to another account.")));
            }
            None => violations.push("a turn state that this upstream never issued was sent".to_owned()),
        }
    }
    Ok(())
}

fn judge_anchors(
    state: &State,
    who: &Identity,
    prompt: &Prompt,
    violations: &mut Vec<String>,
) -> Result<(), Box<Answer>> {
    let (reject, lenient) =
        state.with(|inner| (inner.knobs.reject_foreign_reasoning, inner.knobs.accept_unknown_previous));
    if let Some(id) = &prompt.previous {
        let issuer = issuer(state, ids::issuer_of_response(id));
        let own = issuer.as_ref().is_some_and(|(tag, _)| *tag == who.tag);
        if let Some((_, owner)) = issuer.as_ref().filter(|_| !own) {
            violations.push(format!("a previous response of {owner} was sent to {}", who.name));
        }
        if !(own || lenient && issuer.is_none()) {
            let message = format!("Previous response with id '{id}' not found.");
            return Err(Box::new(bad("previous_response_not_found", &message)));
        }
    }
    let foreign = prompt.sealed.iter().any(|sealed| ids::issuer_of_sealed(sealed).is_some_and(|tag| tag != who.tag));
    if foreign && reject {
        let message =
            "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.";
        return Err(Box::new(bad("invalid_encrypted_content", message)));
    }
    Ok(())
}

/// The account behind a tag, with its name. An identifier of the right form may still be nobody's.
fn issuer(state: &State, tag: Option<Tag>) -> Option<(Tag, String)> {
    let tag = tag?;
    state.with(|inner| inner.registry.name_of(tag).map(|name| (tag, name.to_owned())))
}

pub(super) fn bad(code: &str, message: &str) -> Answer {
    Answer::error(400, "invalid_request_error", code, message)
}
