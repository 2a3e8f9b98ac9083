//! The few top-level fields of a request body that matter to routing (K5), read in one pass.

use std::borrow::Cow;

use super::json::{self, Member};
use super::signals::Id;

/// How many models a request names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Model<'a> {
    /// None: absent, null or empty.
    #[default]
    None,
    /// Exactly one.
    One(Cow<'a, str>),
    /// Several, or something that is not a name.
    Ambiguous,
}

impl Model<'_> {
    /// The model, where exactly one is named.
    pub fn one(&self) -> Option<&str> {
        match self {
            Self::One(name) => Some(name),
            Self::None | Self::Ambiguous => None,
        }
    }
}

/// What the top level of a request body says. A field that is absent, repeated or of another type is `None`.
///
/// The identifiers are as sent, untrimmed and of any length; [`signals`](super::signals) decides which of them are keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a> {
    /// Whether the body was one JSON object. If not, every other field is empty.
    pub json: bool,
    /// `session_id`.
    pub session_id: Option<Id<'a>>,
    /// `sessionId`.
    pub session_id_camel: Option<Id<'a>>,
    /// `conversation`: a string, or the `id` of an object.
    pub conversation: Option<Id<'a>>,
    /// `conversation_id`.
    pub conversation_id: Option<Id<'a>>,
    /// `prompt_cache_key`.
    pub prompt_cache_key: Option<Id<'a>>,
    /// `previous_response_id`, an anchor that may be a hard pin (R1).
    pub previous_response_id: Option<Id<'a>>,
    /// `model`.
    pub model: Model<'a>,
    /// `stream`.
    pub stream: Option<bool>,
    /// `reasoning.effort`.
    pub reasoning_effort: Option<Cow<'a, str>>,
}

/// Reads a body that was decoded before (K4). Anything that is not one JSON object has no fields. Never fails.
pub fn read(body: &[u8]) -> Fields<'_> {
    let Some(members) = json::members(
        body,
        [
            "session_id",
            "sessionId",
            "conversation",
            "conversation_id",
            "prompt_cache_key",
            "previous_response_id",
            "model",
            "stream",
            "reasoning",
        ],
    ) else {
        return Fields::default();
    };
    let [session_id, camel, conversation, conversation_id, prompt_cache_key, previous, model, stream, reasoning] =
        members;
    Fields {
        json: true,
        session_id: id(session_id),
        session_id_camel: id(camel),
        conversation: id(conversation).or_else(|| id(conversation.members(["id"])?[0])),
        conversation_id: id(conversation_id),
        prompt_cache_key: id(prompt_cache_key),
        previous_response_id: id(previous),
        model: model_of(model),
        stream: stream.raw().and_then(|raw| raw.parse().ok()),
        reasoning_effort: reasoning.members(["effort"]).and_then(|[effort]| effort.text()),
    }
}

fn id(member: Member<'_>) -> Option<Id<'_>> {
    member.text().map(Id::new)
}

fn model_of(member: Member<'_>) -> Model<'_> {
    match (member, member.text()) {
        (Member::Absent, _) => Model::None,
        (_, Some(name)) if name.trim().is_empty() => Model::None,
        (_, Some(name)) => Model::One(name),
        (Member::One(raw), None) if raw.get() == "null" => Model::None,
        (Member::One(_) | Member::Repeated, None) => Model::Ambiguous,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<'a>(id: &'a Option<Id<'_>>) -> Option<&'a str> {
        id.as_ref().map(Id::as_str)
    }

    #[test]
    fn a_codex_body_is_read() {
        let body =
            br#"{"model":"gpt-5.5","stream":true,"input":[{"type":"message","session_id":"nested"}],"store":false,
            "reasoning":{"effort":"medium"},"prompt_cache_key":"01a22eec","client_metadata":{"session_id":"deeper"}}"#;
        let fields = read(body);
        assert!(fields.json);
        assert_eq!(fields.model.one(), Some("gpt-5.5"));
        assert_eq!(fields.stream, Some(true));
        assert_eq!(fields.reasoning_effort.as_deref(), Some("medium"));
        assert_eq!(text(&fields.prompt_cache_key), Some("01a22eec"));
        assert_eq!(fields.session_id, None, "K5: only the top level is read");
    }

    #[test]
    fn conversation_is_a_string_or_an_object_with_an_id() {
        for (body, want) in [
            (r#"{"conversation":"conv_1"}"#, Some("conv_1")),
            (r#"{"conversation":{"id":"conv_2","x":[1]}}"#, Some("conv_2")),
            (r#"{"conversation":{"id":"a","id":"b"}}"#, None),
            (r#"{"conversation":{"id":7}}"#, None),
            (r#"{"conversation":{}}"#, None),
            (r#"{"conversation":null}"#, None),
            (r#"{"conversation":["conv_3"]}"#, None),
        ] {
            let fields = read(body.as_bytes());
            assert!(fields.json, "{body}");
            assert_eq!(text(&fields.conversation), want, "{body}");
        }
    }

    #[test]
    fn k5_a_repeated_or_wrongly_typed_field_is_no_signal_and_the_others_still_count() {
        let body = br#"{"session_id":"a","sessionId":17,"session_id":"a","conversation_id":1e999,"prompt_cache_key":"k","stream":"yes"}"#;
        let fields = read(body);
        assert!(fields.json);
        assert_eq!(fields.session_id, None);
        assert_eq!(fields.session_id_camel, None);
        assert_eq!(fields.conversation_id, None);
        assert_eq!(fields.stream, None);
        assert_eq!(text(&fields.prompt_cache_key), Some("k"));
    }

    #[test]
    fn k5_a_body_that_is_not_json_has_no_fields() {
        for body in
            [&b""[..], b"model=gpt", br#"{"session_id":"a""#, br#"["session_id"]"#, b"{\"session_id\":\"\xff\"}"]
        {
            assert_eq!(read(body), Fields::default());
        }
    }

    #[test]
    fn exactly_one_model_or_not() {
        for (body, want) in [
            (r#"{"model":"m"}"#, Model::One("m".into())),
            (r#"{"model":"m","model":"m"}"#, Model::Ambiguous),
            (r#"{"model":["m"]}"#, Model::Ambiguous),
            (r#"{"model":1}"#, Model::Ambiguous),
            (r#"{"model":null}"#, Model::None),
            (r#"{"model":" "}"#, Model::None),
            (r#"{"models":"m"}"#, Model::None),
        ] {
            assert_eq!(read(body.as_bytes()).model, want, "{body}");
        }
    }

    #[test]
    fn deep_nesting_costs_no_stack() {
        let depth = 1_000_000;
        let mut body = String::from(r#"{"session_id":"s","input":"#);
        body.push_str(&"[".repeat(depth));
        body.push_str(&"]".repeat(depth));
        body.push('}');
        assert_eq!(text(&read(body.as_bytes()).session_id), Some("s"));

        let open = format!(r#"{{"session_id":"s","conversation":{}"#, "{\"a\":".repeat(depth));
        assert!(!read(open.as_bytes()).json);
    }

    #[test]
    fn identifiers_do_not_show_in_debug_output() {
        let shown = format!("{:?}", read(br#"{"session_id":"hush-hush","previous_response_id":"resp_hush"}"#));
        assert!(!shown.contains("hush"), "{shown}");
    }
}
