//! What a finished response says of itself: its id, model and tokens. For pins (R1), metrics and logs.

use std::borrow::Cow;

use super::json;
use super::signals::Id;

/// Tokens of one response, as the upstream counted them; 0 where it did not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// `input_tokens`, the cached ones included.
    pub input: u64,
    /// `input_tokens_details.cached_tokens`.
    pub cached: u64,
    /// `output_tokens`, reasoning included.
    pub output: u64,
    /// `output_tokens_details.reasoning_tokens`.
    pub reasoning: u64,
    /// `total_tokens`.
    pub total: u64,
}

/// A response object, from an event that carries one or from the body of an answer that is not streamed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response<'a> {
    /// `id`: what a later `previous_response_id` names.
    pub id: Option<Id<'a>>,
    /// `model`: the one that served, which may differ from the one asked for.
    pub model: Option<Cow<'a, str>>,
    /// `status`: `completed`, `incomplete`, `failed`, `in_progress`, ...
    pub status: Option<Cow<'a, str>>,
    /// `usage`, where it is an object.
    pub usage: Option<Usage>,
}

/// Reads `{"type":..,"response":{..}}` or a response object itself. Anything else says nothing.
pub fn read(json: &[u8]) -> Response<'_> {
    let Some([response]) = json::members(json, ["response"]) else { return Response::default() };
    of_object(response.raw().map_or(json, str::as_bytes))
}

fn of_object(json: &[u8]) -> Response<'_> {
    let Some([id, model, status, usage]) = json::members(json, ["id", "model", "status", "usage"]) else {
        return Response::default();
    };
    Response {
        id: id.text().map(Id::new),
        model: model.text(),
        status: status.text(),
        usage: usage.raw().and_then(|raw| tokens(raw.as_bytes())),
    }
}

fn tokens(json: &[u8]) -> Option<Usage> {
    let [input, input_details, output, output_details, total] = json::members(
        json,
        ["input_tokens", "input_tokens_details", "output_tokens", "output_tokens_details", "total_tokens"],
    )?;
    let [cached] = input_details.members(["cached_tokens"]).unwrap_or_default();
    let [reasoning] = output_details.members(["reasoning_tokens"]).unwrap_or_default();
    Some(Usage {
        input: input.count().unwrap_or(0),
        cached: cached.count().unwrap_or(0),
        output: output.count().unwrap_or(0),
        reasoning: reasoning.count().unwrap_or(0),
        total: total.count().unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESPONSE: &str = r#"{"id":"resp_1","object":"response","model":"gpt-5.5","status":"completed",
        "output":[{"id":"msg_1","status":"x","usage":{"input_tokens":1}}],
        "usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":80},"output_tokens":20,
        "output_tokens_details":{"reasoning_tokens":5},"total_tokens":120}}"#;

    #[test]
    fn an_event_and_a_plain_answer_say_the_same() {
        let event = format!(r#"{{"type":"response.completed","sequence_number":9,"response":{RESPONSE}}}"#);
        for json in [&event, RESPONSE] {
            let response = read(json.as_bytes());
            assert_eq!(response.id.as_ref().map(Id::as_str), Some("resp_1"));
            assert_eq!(response.model.as_deref(), Some("gpt-5.5"));
            assert_eq!(response.status.as_deref(), Some("completed"));
            assert_eq!(response.usage, Some(Usage { input: 100, cached: 80, output: 20, reasoning: 5, total: 120 }));
        }
    }

    #[test]
    fn what_is_missing_or_odd_is_left_out() {
        for json in ["", "[]", "{}", r#"{"response":7}"#, r#"{"id":7,"usage":null}"#, r#"{"type":"x","response":{}}"#] {
            assert_eq!(read(json.as_bytes()), Response::default(), "{json}");
        }
        let odd =
            read(br#"{"usage":{"input_tokens":-1,"output_tokens":"7","input_tokens_details":null,"total_tokens":3}}"#);
        assert_eq!(odd.usage, Some(Usage { total: 3, ..Usage::default() }));
    }
}
