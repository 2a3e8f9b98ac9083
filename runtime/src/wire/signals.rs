//! The identifiers a client sent of its own accord (spec §2): what a session is known by. Nothing else ever identifies one.

use std::borrow::Cow;
use std::fmt;

use super::body::Fields;
use super::headers::HeaderSource;

/// The longest session value, in bytes (K1).
pub const MAX_SESSION: usize = 256;
/// The longest conversation value, in bytes (K1).
pub const MAX_CONVERSATION: usize = 1024;

/// An identifier as a client sent it. Its text never shows in debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct Id<'a>(Cow<'a, str>);

impl<'a> Id<'a> {
    /// Wraps a text that must not be shown.
    pub fn new(text: impl Into<Cow<'a, str>>) -> Self {
        Self(text.into())
    }

    /// The text itself, for digests and for nothing else.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// This value as a key (K1): trimmed, 1 to `longest` bytes, without control characters. `None` if it is not one.
    fn key(&self, longest: usize) -> Option<Self> {
        match &self.0 {
            Cow::Borrowed(text) => key(text, longest).map(Self::new),
            Cow::Owned(text) => key(text, longest).map(|k| Self::new(k.to_owned())),
        }
    }
}

impl fmt::Debug for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({} bytes)", self.0.len())
    }
}

/// Where a session signal came from, strongest first (session policy).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionKind {
    /// Header `session-id`, else `session_id`.
    Header,
    /// Body `session_id`, else `sessionId`.
    Body,
    /// Body `conversation`, else `conversation_id`.
    Conversation,
    /// Body `prompt_cache_key`.
    PromptCacheKey,
}

/// Which header named the conversation (conversation policy).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConversationKind {
    /// `thread-id`.
    ThreadId,
    /// `x-codex-conversation-id`.
    CodexConversationId,
}

/// The signals of one request under either policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signals<'a> {
    session: [Option<(SessionKind, Id<'a>)>; 4],
    /// What the conversation policy goes by, if the request has it. The policy also asks for exactly one model.
    pub conversation: Option<(ConversationKind, Id<'a>)>,
}

impl<'a> Signals<'a> {
    /// Reads the signals of one request. A value that is not a key (K1) is passed over; the request never fails for it.
    pub fn read<H: HeaderSource + ?Sized>(headers: &'a H, body: &Fields<'a>) -> Self {
        let first = |a: &Option<Id<'a>>, b: &Option<Id<'a>>| {
            a.as_ref().and_then(|id| id.key(MAX_SESSION)).or_else(|| b.as_ref().and_then(|id| id.key(MAX_SESSION)))
        };
        let header = session_header(headers, "session-id").or_else(|| session_header(headers, "session_id"));
        Self {
            session: [
                header.map(|id| (SessionKind::Header, id)),
                first(&body.session_id, &body.session_id_camel).map(|id| (SessionKind::Body, id)),
                first(&body.conversation, &body.conversation_id).map(|id| (SessionKind::Conversation, id)),
                first(&body.prompt_cache_key, &None).map(|id| (SessionKind::PromptCacheKey, id)),
            ],
            conversation: conversation(headers),
        }
    }

    /// The session signals, strongest first: aliases of one logical session (B10). At most one of each kind.
    pub fn session(&self) -> impl Iterator<Item = (SessionKind, &str)> {
        self.session.iter().flatten().map(|(kind, id)| (*kind, id.as_str()))
    }
}

fn session_header<'a, H: HeaderSource + ?Sized>(headers: &'a H, name: &'static str) -> Option<Id<'a>> {
    only(headers, name).flatten().and_then(|value| key(value, MAX_SESSION)).map(Id::new)
}

/// The first of the two headers that is present decides, even if its value is no key.
fn conversation<H: HeaderSource + ?Sized>(headers: &H) -> Option<(ConversationKind, Id<'_>)> {
    let (kind, value) = match only(headers, "thread-id") {
        Some(value) => (ConversationKind::ThreadId, value),
        None => (ConversationKind::CodexConversationId, only(headers, "x-codex-conversation-id")?),
    };
    Some((kind, Id::new(key(value?, MAX_CONVERSATION)?)))
}

/// `None` where no such field is present; `Some(None)` where it is repeated or not UTF-8.
fn only<'a, H: HeaderSource + ?Sized>(headers: &'a H, name: &'static str) -> Option<Option<&'a str>> {
    let mut values = headers.values(name);
    let first = values.next()?;
    Some(if values.next().is_some() { None } else { std::str::from_utf8(first).ok() })
}

/// K1.
fn key(value: &str, longest: usize) -> Option<&str> {
    let value = value.trim();
    (!value.is_empty() && value.len() <= longest && !value.chars().any(char::is_control)).then_some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::body;
    use super::*;

    type Headers<'a> = [(&'a str, &'a [u8])];

    fn session(headers: &Headers<'_>, body: &str) -> Vec<(SessionKind, String)> {
        let fields = body::read(body.as_bytes());
        Signals::read(headers, &fields).session().map(|(k, v)| (k, v.to_owned())).collect()
    }

    fn header(headers: &Headers<'_>) -> Option<String> {
        session(headers, "").into_iter().next().map(|(_, value)| value)
    }

    #[test]
    fn every_place_is_read_strongest_first() {
        let body = r#"{"prompt_cache_key":"p","conversation":{"id":"c"},"sessionId":"b"}"#;
        let want = [
            (SessionKind::Header, "h".to_owned()),
            (SessionKind::Body, "b".to_owned()),
            (SessionKind::Conversation, "c".to_owned()),
            (SessionKind::PromptCacheKey, "p".to_owned()),
        ];
        assert_eq!(session(&[("Session-ID", b"h")], body), want);
    }

    #[test]
    fn the_preferred_spelling_wins_and_the_other_one_stands_in() {
        let body = r#"{"session_id":"a","sessionId":"b","conversation":" ","conversation_id":"d"}"#;
        let got = session(&[], body);
        assert_eq!(got, [(SessionKind::Body, "a".to_owned()), (SessionKind::Conversation, "d".to_owned())]);
    }

    #[test]
    fn field_a20_both_spellings_of_the_session_header_are_read_and_the_hyphen_is_preferred() {
        assert_eq!(header(&[("session_id", b"x")]).as_deref(), Some("x"));
        assert_eq!(header(&[("session-id", b"x")]).as_deref(), Some("x"));
        assert_eq!(header(&[("session_id", b"old"), ("session-id", b"new")]).as_deref(), Some("new"));
        assert_eq!(header(&[("session_id", b"old"), ("session-id", b" ")]).as_deref(), Some("old"));
    }

    #[test]
    fn k1_what_is_not_a_key_is_passed_over() {
        let longest = "é".repeat(MAX_SESSION / 2);
        assert_eq!(header(&[("session-id", longest.as_bytes())]), Some(longest.clone()));
        assert_eq!(header(&[("session-id", b"  padded\t")]).as_deref(), Some("padded"));
        let long = format!("{longest}x");
        for value in [&b""[..], b"  \t ", long.as_bytes(), b"a\x01b", b"a\x7fb", "a\u{85}b".as_bytes(), b"\xff\xfe"] {
            assert_eq!(header(&[("session-id", value)]), None, "{value:?}");
        }
        assert_eq!(header(&[("session-id", b"a"), ("Session-Id", b"a")]), None, "a repeated header is no key");
        assert_eq!(session(&[], r#"{"session_id":"a\u0000b","prompt_cache_key":"\u0009k\u0020"}"#)[0].1, "k");
    }

    #[test]
    fn field_a19_without_ids_two_conversations_have_no_signal() {
        let headers: &Headers<'_> = &[
            ("authorization", b"Bearer t"),
            ("user-agent", b"x"),
            ("x-forwarded-for", b"10.0.0.1"),
            ("x-request-id", b"1"),
        ];
        let fields = body::read(
            br#"{"model":"m","input":"hello","user":"u","safety_identifier":"s","metadata":{"session_id":"m"}}"#,
        );
        let signals = Signals::read(headers, &fields);
        assert_eq!(signals.session().count(), 0);
        assert_eq!(signals.conversation, None);
    }

    #[test]
    fn field_a31_tokens_and_over_long_values_are_no_keys() {
        let long = vec![b'x'; 1 << 20];
        assert_eq!(header(&[("authorization", b"Bearer shared"), ("session-id", &long)]), None);
    }

    #[test]
    fn turn_state_and_window_ids_identify_nothing() {
        let headers: &Headers<'_> = &[
            ("x-codex-turn-state", b"ts-1"),
            ("x-codex-window-id", b"w:0"),
            ("x-client-request-id", b"c"),
            ("x-codex-turn-metadata", br#"{"session_id":"s"}"#),
        ];
        assert_eq!(header(headers), None);
        assert_eq!(Signals::read(headers, &Fields::default()).conversation, None);
    }

    #[test]
    fn the_first_conversation_header_that_is_present_decides() {
        let read = |headers: &Headers<'_>| {
            let signals = Signals::read(headers, &Fields::default());
            signals.conversation.map(|(kind, id)| (kind, id.as_str().to_owned()))
        };
        let other = ("x-codex-conversation-id", &b"c"[..]);
        assert_eq!(read(&[("thread-id", b" t "), other]), Some((ConversationKind::ThreadId, "t".to_owned())));
        assert_eq!(read(&[other]), Some((ConversationKind::CodexConversationId, "c".to_owned())));
        let long = vec![b'x'; MAX_CONVERSATION];
        assert!(read(&[("thread-id", &long), other]).is_some());
        let longer = vec![b'x'; MAX_CONVERSATION + 1];
        for bad in [&b""[..], b"\t", &longer, b"a\nb", b"\xff"] {
            assert_eq!(read(&[("thread-id", bad), other]), None, "{bad:?}");
        }
        assert_eq!(read(&[("thread-id", b"a"), ("thread-id", b"b"), other]), None);
    }

    #[test]
    fn identifiers_do_not_show_in_debug_output() {
        let headers: &Headers<'_> = &[("session-id", b"hush"), ("thread-id", b"hush")];
        let fields = Fields::default();
        let shown = format!("{:?}", Signals::read(headers, &fields));
        assert!(!shown.contains("hush"), "{shown}");
    }

    proptest! {
        #[test]
        fn hostile_values_never_panic_and_keys_keep_the_rule(
            header in proptest::collection::vec(any::<u8>(), 0..400),
            body in proptest::collection::vec(any::<u8>(), 0..400),
            text in ".{0,300}",
        ) {
            let json = format!("{{\"session_id\":{}}}", serde_json::to_string(&text).unwrap());
            for body in [&body[..], json.as_bytes()] {
                let fields = body::read(body);
                let headers: &Headers<'_> = &[("session-id", &header), ("thread-id", &header)];
                let signals = Signals::read(headers, &fields);
                for (_, value) in signals.session() {
                    prop_assert!(!value.is_empty() && value.len() <= MAX_SESSION);
                    prop_assert!(value == value.trim() && !value.chars().any(char::is_control));
                }
            }
        }
    }
}
