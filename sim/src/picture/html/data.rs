//! What the page's script shows of each step, as JSON inside the page.

use serde_json::{Value, json};

use super::super::explain::sentence;
use crate::timeline::Line;
use crate::trace::{Step, Trace};

/// The document. No text in it can end the element it stands in.
pub(super) fn data(trace: &Trace) -> String {
    let steps: Vec<Value> = trace.steps.iter().zip(0..).map(|(step, at)| step_data(step, at)).collect();
    let broken = trace.verdict.broken.as_ref().map(|b| json!({ "at": b.at, "oracle": b.oracle, "text": b.text }));
    let text = json!({ "steps": steps, "broken": broken }).to_string();
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn step_data(step: &Step, at: usize) -> Value {
    let events: Vec<Value> =
        step.events.iter().map(|l: &Line| json!({ "code": l.code, "says": sentence(l) })).collect();
    json!({
        "at": at,
        "step": step.step,
        "action": step.action,
        "choice": step.choice,
        "events": events,
        "state": step.state,
        "enabled": step.enabled,
    })
}
