//! Requests as real clients send them: header names in their case and order, bodies cut down to their top level. What the
//! gateway reads from each, and which of its headers go upstream.

use super::body;
use super::headers::{HeaderSource, passes_upstream};
use super::route::{Route, route};
use super::signals::{ConversationKind, SessionKind, Signals};

type Headers = &'static [(&'static str, &'static str)];

struct Capture {
    client: &'static str,
    line: (&'static str, &'static str),
    headers: Headers,
    body: &'static str,
    route: Route<'static>,
    session: &'static [(SessionKind, &'static str)],
    thread: Option<&'static str>,
    upstream: &'static [&'static str],
}

const CAPTURES: &[Capture] = &[
    Capture {
        client: "Codex 0.171.0, a sub-agent",
        line: ("POST", "/v1/responses"),
        headers: &[
            ("x-codex-beta-features", "remote_compaction_v2"),
            ("x-codex-turn-state", "ts-e2ead39f8da8"),
            ("x-codex-window-id", "01a22efe-a2b1:0"),
            ("x-codex-turn-metadata", "{\"session_id\":\"01a22efe-a139\"}"),
            ("x-codex-parent-thread-id", "01a22efe-a139"),
            ("x-openai-subagent", "collab_spawn"),
            ("x-openai-internal-codex-responses-lite", "true"),
            ("x-client-request-id", "01a22efe-a2b1"),
            ("session-id", "01a22efe-a139"),
            ("thread-id", "01a22efe-a2b1"),
            ("accept", "text/event-stream"),
            ("content-type", "application/json"),
            ("authorization", "Bearer key"),
            ("originator", "codex_exec"),
            ("user-agent", "codex_exec/0.171.0 (Debian 12.0.0; x86_64) dumb (codex_exec; 0.171.0)"),
            ("accept-encoding", "zstd,gzip"),
            ("host", "gateway.example:8080"),
            ("content-length", "52233"),
        ],
        body: r#"{"model":"gpt-6-sol","stream":true,"input":[{"type":"additional_tools"}],"store":false,"prompt_cache_key":"01a22efe-a139","client_metadata":{"session_id":"01a22efe-a139","thread_id":"01a22efe-a2b1"}}"#,
        route: Route::Responses,
        session: &[(SessionKind::Header, "01a22efe-a139"), (SessionKind::PromptCacheKey, "01a22efe-a139")],
        thread: Some("01a22efe-a2b1"),
        upstream: &[
            "x-codex-beta-features",
            "x-codex-window-id",
            "x-codex-turn-metadata",
            "x-codex-parent-thread-id",
            "x-openai-subagent",
            "x-openai-internal-codex-responses-lite",
            "x-client-request-id",
            "session-id",
            "thread-id",
            "accept",
            "content-type",
            "originator",
            "user-agent",
        ],
    },
    Capture {
        client: "Codex 0.58.0",
        line: ("POST", "/v1/responses"),
        headers: &[
            ("authorization", "Bearer key"),
            ("conversation_id", "01a22f0b-b3da"),
            ("session_id", "01a22f0b-b3da"),
            ("accept", "text/event-stream"),
            ("content-type", "application/json"),
        ],
        body: r#"{"model":"gpt-5.1-codex","instructions":"x","input":[],"stream":true,"prompt_cache_key":"01a22f0b-b3da"}"#,
        route: Route::Responses,
        session: &[(SessionKind::Header, "01a22f0b-b3da"), (SessionKind::PromptCacheKey, "01a22f0b-b3da")],
        thread: None,
        upstream: &["conversation_id", "session_id", "accept", "content-type"],
    },
    Capture {
        client: "W6: Codex 0.98.0 compaction names no session at all",
        line: ("POST", "/v1/responses/compact"),
        headers: &[
            ("version", "0.98.0"),
            ("authorization", "Bearer jwt"),
            ("chatgpt-account-id", "acct"),
            ("content-type", "application/json"),
            ("accept", "*/*"),
        ],
        body: r#"{"model":"gpt-5.2-codex","input":[{"role":"user"}],"instructions":"x"}"#,
        route: Route::Compact,
        session: &[],
        thread: None,
        upstream: &["version", "content-type", "accept"],
    },
    Capture {
        client: "Codex 0.171.0, WebSocket upgrade",
        line: ("GET", "/backend-api/codex/responses"),
        headers: &[
            ("Host", "gateway.example:8080"),
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Key", "DZXfzbC8BxdDm+344J5Enw=="),
            ("chatgpt-account-id", "acct"),
            ("openai-beta", "responses_websockets=2026-02-06"),
            ("session-id", "01a22eea-9ce0"),
            ("thread-id", "01a22eea-9ce0"),
            ("x-codex-routing-hint", "model=gpt-5.5"),
        ],
        body: "",
        route: Route::ResponsesUpgrade,
        session: &[(SessionKind::Header, "01a22eea-9ce0")],
        thread: Some("01a22eea-9ce0"),
        upstream: &["openai-beta", "session-id", "thread-id", "x-codex-routing-hint"],
    },
    Capture {
        client: "codex doctor",
        line: ("HEAD", "/v1/responses"),
        headers: &[("originator", "codex_cli_rs"), ("accept", "*/*"), ("accept-encoding", "zstd,gzip")],
        body: "",
        route: Route::Probe,
        session: &[],
        thread: None,
        upstream: &["originator", "accept"],
    },
    Capture {
        client: "opencode 1.18.33: its own headers are no signal, the cache key is",
        line: ("POST", "/v1/responses"),
        headers: &[
            ("Authorization", "Bearer key"),
            ("Content-Type", "application/json"),
            ("User-Agent", "opencode/1.18.33"),
            ("x-session-affinity", "ses_dd0e"),
            ("x-session-id", "ses_dd0e"),
            ("Connection", "keep-alive"),
            ("Accept", "*/*"),
        ],
        body: r#"{"model":"gpt-5.5","input":[],"prompt_cache_key":"ses_dd0e","stream":true}"#,
        route: Route::Responses,
        session: &[(SessionKind::PromptCacheKey, "ses_dd0e")],
        thread: None,
        upstream: &["Content-Type", "User-Agent", "x-session-id", "Accept"],
    },
    Capture {
        client: "openai-python 3.57.0 with a conversation",
        line: ("POST", "/v1/responses"),
        headers: &[
            ("Host", "gateway.example:8080"),
            ("Accept-Encoding", "gzip, deflate"),
            ("Connection", "keep-alive"),
            ("authorization", "Bearer key"),
            ("user-agent", "OpenAI/Python 3.57.0"),
            ("x-stainless-lang", "python"),
        ],
        body: r#"{"model":"gpt-5.5","conversation":{"id":"conv_1"},"input":"conv"}"#,
        route: Route::Responses,
        session: &[(SessionKind::Conversation, "conv_1")],
        thread: None,
        upstream: &["user-agent"],
    },
    Capture {
        client: "openai-python 3.57.0 with a null conversation and a chained response",
        line: ("POST", "/v1/responses"),
        headers: &[("authorization", "Bearer key")],
        body: r#"{"model":"gpt-5.5","conversation":null,"input":"x","previous_response_id":"resp_1","safety_identifier":"u","user":"u1"}"#,
        route: Route::Responses,
        session: &[],
        thread: None,
        upstream: &[],
    },
];

#[test]
fn w5_real_requests_are_read_as_meant() {
    for capture in CAPTURES {
        let client = capture.client;
        let (method, path) = capture.line;
        let upgrade = capture.headers.values("upgrade").next().is_some();
        assert_eq!(route(method, path, None, upgrade), capture.route, "{client}");

        let fields = body::read(capture.body.as_bytes());
        let signals = Signals::read(capture.headers, &fields);
        assert_eq!(signals.session().collect::<Vec<_>>(), capture.session, "{client}");
        let conversation = signals.conversation.as_ref().map(|(kind, id)| (*kind, id.as_str()));
        assert_eq!(conversation, capture.thread.map(|id| (ConversationKind::ThreadId, id)), "{client}");
        assert_eq!(fields.model.one().is_some(), !capture.body.is_empty(), "{client}");

        let extra: &[&str] = &[];
        let passed: Vec<_> = capture
            .headers
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| passes_upstream(name, extra, capture.headers.values("connection")))
            .collect();
        assert_eq!(passed, capture.upstream, "{client}");
    }
}
