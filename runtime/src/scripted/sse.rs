//! Server-sent events, and the changes that scripted behaviours make to a stream of them.

use serde_json::{Value, json};

use super::behaviour::{Behaviour, Ending};

/// One event. The sequence number is given when the stream is rendered.
pub(super) struct Event {
    /// The type; empty for a comment.
    kind: &'static str,
    /// The members of the data object besides `type` and `sequence_number`, or the comment's text.
    members: String,
}

impl Event {
    /// An event with these members (an object).
    pub(super) fn new(kind: &'static str, members: &Value) -> Self {
        let text = members.to_string();
        let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or_default();
        Self { kind, members: inner.to_owned() }
    }

    /// An event with the response object, already serialised.
    pub(super) fn response(kind: &'static str, object: &Value) -> Self {
        Self { kind, members: format!("\"response\":{object}") }
    }

    /// An output text delta. Built by hand: streams are mostly made of these.
    pub(super) fn delta(item: &str, output_index: usize, text: &str) -> Self {
        let text = Value::from(text);
        let members = format!(
            "\"item_id\":\"{item}\",\"output_index\":{output_index},\"content_index\":0,\"delta\":{text},\"logprobs\":[]"
        );
        Self { kind: "response.output_text.delta", members }
    }

    fn comment(text: &str) -> Self {
        Self { kind: "", members: text.to_owned() }
    }

    fn keepalive() -> Self {
        Self { kind: "keepalive", members: String::new() }
    }

    fn render(&self, sequence: u32) -> String {
        let Self { kind, members } = self;
        let comma = if members.is_empty() { "" } else { "," };
        match *kind {
            "" => format!(": {members}\n\n"),
            _ => format!(
                "event: {kind}\ndata: {{\"type\":\"{kind}\",\"sequence_number\":{sequence}{comma}{members}}}\n\n"
            ),
        }
    }
}

/// A stream of events and how it ends.
pub(super) struct Script {
    pub(super) events: Vec<Event>,
    pub(super) ending: Option<Ending>,
    /// Id and output index of the message that the deltas belong to.
    pub(super) text_item: Option<(String, usize)>,
}

impl Script {
    /// Alters the stream as the outcome says. `object` gives the response object for a status and an error.
    pub(super) fn apply_outcome(&mut self, outcome: &Behaviour, object: impl Fn(&str, Value) -> Value) {
        let first = |n: &u32| usize::try_from(*n).unwrap_or(usize::MAX);
        match outcome {
            Behaviour::SseFailed { code, after } => {
                self.events.truncate(first(after));
                let error = json!({"code": code, "message": message(code)});
                self.events.push(Event::response("response.failed", &object("failed", error)));
            }
            Behaviour::SseErrorAfter { events, code } => {
                self.events.truncate(first(events));
                let members = json!({"code": code, "message": message(code), "param": null});
                self.events.push(Event::new("error", &members));
            }
            Behaviour::TruncateAfter { events, ending } => {
                self.events.truncate(first(events));
                self.ending = Some(*ending);
            }
            Behaviour::Incomplete => {
                self.events.pop();
                self.events.push(Event::response("response.incomplete", &object("incomplete", Value::Null)));
            }
            _ => {}
        }
    }

    /// Alters the stream as a manner says.
    pub(super) fn apply_manner(&mut self, manner: &Behaviour) {
        match manner {
            Behaviour::KeepaliveEvents { count, comments } => {
                let at = self.events.len().min(2);
                let one = || if *comments { Event::comment("keepalive") } else { Event::keepalive() };
                self.events.splice(at..at, (0..*count).map(|_| one()));
            }
            Behaviour::BigEvent { bytes } => {
                let text = "x".repeat(usize::try_from(*bytes).unwrap_or(usize::MAX));
                let big = match &self.text_item {
                    Some((item, index)) => Event::delta(item, *index, &text),
                    None => Event::new("keepalive", &json!({ "filler": text })),
                };
                let place = self.events.iter().position(|e| e.kind == "response.output_text.delta");
                self.events.insert(place.unwrap_or(self.events.len().min(2)), big);
            }
            _ => {}
        }
    }

    pub(super) fn render(&self) -> Vec<String> {
        let mut sequence = 0;
        let numbered = self.events.iter().map(|event| {
            let text = event.render(sequence);
            sequence += u32::from(!event.kind.is_empty());
            text
        });
        numbered.collect()
    }
}

fn message(code: &str) -> String {
    match code {
        "server_is_overloaded" | "slow_down" => {
            "Our servers are currently overloaded. Please try again later.".to_owned()
        }
        "usage_limit_reached" => "The usage limit has been reached".to_owned(),
        "rate_limit_exceeded" => "Rate limit reached. Please try again in 1.5s.".to_owned(),
        _ => format!("A scripted failure: {code}."),
    }
}
