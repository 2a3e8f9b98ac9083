//! The answer to one prompt: its output items, the response object, and the events of its stream.

use serde_json::{Value, json};

use super::ids::Mint;
use super::prompt::{Call, Prompt};
use super::registry::Identity;
use super::sse::{Event, Script};

/// One model turn.
pub(super) struct Turn<'a> {
    pub(super) id: String,
    pub(super) created_at: u64,
    pub(super) prompt: &'a Prompt,
    pub(super) input_tokens: u64,
    pub(super) output: Vec<Output>,
}

/// An output item: as it is when it is added, and as it is when it is done.
pub(super) struct Output {
    id: String,
    added: Value,
    done: Value,
    /// The pieces of a message's text.
    pieces: Vec<String>,
    /// A function call's arguments, with the name of the events that carry them.
    arguments: Option<(&'static str, String)>,
}

impl<'a> Turn<'a> {
    pub(super) fn new(mint: &Mint, who: &Identity, prompt: &'a Prompt, input_tokens: u64, deltas: Option<u32>) -> Self {
        let id = mint.response(who.tag);
        let created_at = crate::clock::wall_ms() / 1000;
        let mut output = Vec::new();
        if prompt.compaction {
            output.push(compaction(mint, who));
        } else {
            if prompt.wants_sealed {
                output.push(reasoning(mint, who));
            }
            output.push(match &prompt.call {
                Some(call) => tool_call(mint, call),
                None => message(mint, pieces(&text(who, prompt), deltas)),
            });
        }
        Self { id, created_at, prompt, input_tokens, output }
    }

    /// The response object in `status`; output and usage are there once it is no longer in progress.
    pub(super) fn object(&self, status: &str, error: Value) -> Value {
        let ended = status != "in_progress";
        let done: Vec<&Value> = self.output.iter().filter(|_| ended && error.is_null()).map(|o| &o.done).collect();
        let reason = if status == "incomplete" { json!({"reason": "max_output_tokens"}) } else { Value::Null };
        let usage = if ended && error.is_null() { self.usage() } else { Value::Null };
        json!({
            "id": self.id,
            "object": "response",
            "created_at": self.created_at,
            "status": status,
            "background": false,
            "error": error,
            "incomplete_details": reason,
            "instructions": null,
            "max_output_tokens": null,
            "metadata": {},
            "model": self.prompt.model,
            "output": done,
            "parallel_tool_calls": true,
            "previous_response_id": self.prompt.previous,
            "prompt_cache_key": self.prompt.prompt_cache_key,
            "reasoning": {"effort": "medium", "summary": null},
            "service_tier": "default",
            "store": false,
            "temperature": 1.0,
            "text": {"format": {"type": "text"}, "verbosity": "medium"},
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "truncation": "disabled",
            "usage": usage,
            "user": null,
        })
    }

    /// The object of `/responses/compact`.
    pub(super) fn compacted(&self, item: &Value) -> Value {
        json!({
            "id": self.id,
            "object": "response.compaction",
            "created_at": self.created_at,
            "output": [item],
            "usage": self.usage(),
        })
    }

    fn usage(&self) -> Value {
        let written: usize = self.output.iter().map(|o| o.pieces.len().max(1)).sum();
        json!({
            "input_tokens": self.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self.input_tokens + written as u64,
        })
    }

    /// The whole stream.
    pub(super) fn script(&self) -> Script {
        let open = self.object("in_progress", Value::Null);
        let mut events =
            vec![Event::response("response.created", &open), Event::response("response.in_progress", &open)];
        let mut text_item = None;
        for (index, output) in self.output.iter().enumerate() {
            output.events(index, &mut events);
            if !output.pieces.is_empty() {
                text_item = Some((output.id.clone(), index));
            }
        }
        events.push(Event::response("response.completed", &self.object("completed", Value::Null)));
        Script { events, ending: None, text_item }
    }
}

impl Output {
    fn events(&self, index: usize, events: &mut Vec<Event>) {
        let item = |item: &Value| json!({"output_index": index, "item": item});
        events.push(Event::new("response.output_item.added", &item(&self.added)));
        if !self.pieces.is_empty() {
            self.text_events(index, events);
        }
        if let Some((kind, text)) = &self.arguments {
            let (delta, done, member) = match *kind {
                "function" => {
                    ("response.function_call_arguments.delta", "response.function_call_arguments.done", "arguments")
                }
                _ => ("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done", "input"),
            };
            events.push(Event::new(delta, &json!({"item_id": self.id, "output_index": index, "delta": text})));
            events.push(Event::new(done, &json!({"item_id": self.id, "output_index": index, member: text})));
        }
        events.push(Event::new("response.output_item.done", &item(&self.done)));
    }

    fn text_events(&self, index: usize, events: &mut Vec<Event>) {
        let part = |text: &str| json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text});
        let place = |name: &str, value: Value| json!({"item_id": self.id, "output_index": index, "content_index": 0, name: value});
        let whole = self.pieces.concat();
        events.push(Event::new("response.content_part.added", &place("part", part(""))));
        events.extend(self.pieces.iter().map(|piece| Event::delta(&self.id, index, piece)));
        let mut text_done = place("text", json!(whole));
        text_done["logprobs"] = json!([]);
        events.push(Event::new("response.output_text.done", &text_done));
        events.push(Event::new("response.content_part.done", &place("part", part(&whole))));
    }
}

/// The answer's text: the same for the same account and model.
fn text(who: &Identity, prompt: &Prompt) -> String {
    format!("Hello from {} on {}.", who.name, prompt.model)
}

/// The text in `deltas` pieces, its words repeated as often as it takes.
fn pieces(text: &str, deltas: Option<u32>) -> Vec<String> {
    let words: Vec<String> = text.split_inclusive(' ').map(str::to_owned).collect();
    match deltas.and_then(|n| usize::try_from(n).ok()) {
        None => words,
        Some(n) => words.iter().cycle().take(n.max(1)).cloned().collect(),
    }
}

fn message(mint: &Mint, pieces: Vec<String>) -> Output {
    let id = format!("msg_{}", mint.serial());
    let item = |status: &str, content: Value| json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content});
    let content = json!([{"type": "output_text", "annotations": [], "logprobs": [], "text": pieces.concat()}]);
    let (added, done) = (item("in_progress", json!([])), item("completed", content));
    Output { id, added, done, pieces, arguments: None }
}

fn reasoning(mint: &Mint, who: &Identity) -> Output {
    let id = format!("rs_{}", mint.serial());
    let sealed = mint.sealed(who.tag, "reasoning");
    let item = json!({"id": id, "type": "reasoning", "summary": [], "encrypted_content": sealed});
    Output { id, added: item.clone(), done: item, pieces: Vec::new(), arguments: None }
}

fn compaction(mint: &Mint, who: &Identity) -> Output {
    let (id, item) = compaction_item(mint, who);
    Output { id, added: item.clone(), done: item, pieces: Vec::new(), arguments: None }
}

/// The id and the item of a compacted history.
pub(super) fn compaction_item(mint: &Mint, who: &Identity) -> (String, Value) {
    let id = format!("cmp_{}", mint.serial());
    let item = json!({"id": id, "type": "compaction", "encrypted_content": mint.sealed(who.tag, "compaction")});
    (id, item)
}

fn tool_call(mint: &Mint, call: &Call) -> Output {
    let serial = mint.serial();
    let (prefix, kind, name, namespace, member, text) = match call {
        Call::Function { name, namespace, arguments } => ("fc", "function", name, namespace, "arguments", arguments),
        Call::Custom { name, namespace, input } => ("ctc", "custom", name, namespace, "input", input),
    };
    let id = format!("{prefix}_{serial}");
    let item = |status: &str, text: &str| {
        let kind = if kind == "function" { "function_call" } else { "custom_tool_call" };
        let mut item = json!({
            "id": id, "type": kind, "status": status, "name": name, "call_id": format!("call_{serial}"), member: text,
        });
        if let Some(namespace) = namespace {
            item["namespace"] = json!(namespace);
        }
        item
    };
    let (added, done) = (item("in_progress", ""), item("completed", text));
    Output { id, added, done, pieces: Vec::new(), arguments: Some((kind, text.clone())) }
}
