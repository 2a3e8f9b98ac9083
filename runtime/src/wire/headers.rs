//! Which header fields cross the gateway (R6), and the little this part needs to know of a header section.

/// The routing token an account issues with its answers. Neither list below passes it upstream: the caller sends it back to
/// the account that issued it and to no other (R7).
pub const TURN_STATE: &str = "x-codex-turn-state";

/// A header section to look fields up in. Names compare without regard to ASCII case.
pub trait HeaderSource {
    /// The values of every field of that name, in wire order.
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]>;
}

impl<N: AsRef<str>, V: AsRef<[u8]>> HeaderSource for [(N, V)] {
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |(n, _)| n.as_ref().eq_ignore_ascii_case(name)).map(|(_, v)| v.as_ref())
    }
}

/// Fields a client's request may bring to the upstream (R6).
const UPSTREAM: &[&str] = &[
    "content-type",
    "content-encoding",
    "accept",
    "accept-language",
    "originator",
    "user-agent",
    "version",
    "session-id",
    "session_id",
    "x-session-id",
    "thread-id",
    "thread_id",
    "conversation-id",
    "conversation_id",
    "x-client-request-id",
    "traceparent",
    "tracestate",
];

/// Families of fields a client's request may bring to the upstream (R6).
const UPSTREAM_PREFIXES: &[&str] = &["openai-", "x-openai-", "x-codex-"];

/// Fields that concern one connection only (RFC 9110 §7.6.1, with the older names that are still sent).
const HOP_BY_HOP: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Fields no setting can let through to the upstream: the caller's credentials, what the relay writes itself, and
/// `accept-encoding`, without which the upstream's events arrive readable.
const NEVER_UPSTREAM: &[&str] = &[
    "authorization",
    "chatgpt-account-id",
    "x-api-key",
    "cookie",
    "host",
    "content-length",
    "expect",
    "accept-encoding",
    TURN_STATE,
];

/// Fields no client ever gets: they speak for the upstream's own host, or the relay writes them itself.
const NEVER_CLIENT: &[&str] = &["set-cookie", "set-cookie2", "alt-svc", "content-length"];

/// Whether a request field goes upstream: it is on the allow-list or in `extra` (the setting), and neither a credential, nor
/// hop-by-hop, nor named by one of the `connection` fields' values.
pub fn passes_upstream<'a>(
    name: &str,
    extra: &[impl AsRef<str>],
    connection: impl IntoIterator<Item = &'a [u8]>,
) -> bool {
    if is_one_of(name, NEVER_UPSTREAM) || is_one_of(name, HOP_BY_HOP) || named_by(name, connection) {
        return false;
    }
    is_one_of(name, UPSTREAM)
        || UPSTREAM_PREFIXES.iter().any(|prefix| has_prefix(name, prefix))
        || extra.iter().any(|allowed| allowed.as_ref().eq_ignore_ascii_case(name))
}

/// Whether a field of the upstream's answer goes to the client. Everything does but what names the upstream's host or one
/// connection; `content-length` and `transfer-encoding` are left to the caller, who frames the answer.
pub fn passes_to_client<'a>(name: &str, connection: impl IntoIterator<Item = &'a [u8]>) -> bool {
    !is_one_of(name, NEVER_CLIENT) && !is_one_of(name, HOP_BY_HOP) && !named_by(name, connection)
}

/// Whether bytes may stand in a header field: no CR, LF or NUL (R6: values from files and labels).
pub fn safe_value(value: &[u8]) -> bool {
    !value.iter().any(|b| matches!(b, b'\r' | b'\n' | 0))
}

fn is_one_of(name: &str, list: &[&str]) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn has_prefix(name: &str, prefix: &str) -> bool {
    name.len() > prefix.len() && name.as_bytes()[..prefix.len()].eq_ignore_ascii_case(prefix.as_bytes())
}

fn named_by<'a>(name: &str, connection: impl IntoIterator<Item = &'a [u8]>) -> bool {
    connection
        .into_iter()
        .flat_map(|value| value.split(|b| *b == b','))
        .any(|token| token.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_EXTRA: &[&str] = &[];
    const NO_CONNECTION: [&[u8]; 0] = [];

    #[test]
    fn r6_the_allow_list_decides_what_goes_upstream() {
        for name in [
            "Content-Type",
            "content-encoding",
            "ACCEPT",
            "originator",
            "User-Agent",
            "version",
            "openai-beta",
            "OpenAI-Organization",
            "x-openai-subagent",
            "x-codex-turn-metadata",
            "X-Codex-Window-Id",
            "session-id",
            "session_id",
            "thread-id",
            "conversation_id",
            "x-client-request-id",
            "traceparent",
        ] {
            assert!(passes_upstream(name, NO_EXTRA, NO_CONNECTION), "{name}");
        }
        for name in ["x-stainless-os", "x-forwarded-for", "forwarded", "baggage", "x-codex-", "openai-", "x-custom", ""]
        {
            assert!(!passes_upstream(name, NO_EXTRA, NO_CONNECTION), "{name}");
        }
        assert!(passes_upstream("X-Custom", &["x-custom"], NO_CONNECTION));
    }

    #[test]
    fn r6_credentials_and_hop_by_hop_fields_never_go_upstream_whatever_the_setting_says() {
        for name in [
            "authorization",
            "Authorization",
            "chatgpt-account-id",
            "cookie",
            "x-api-key",
            "proxy-authorization",
            "connection",
            "keep-alive",
            "te",
            "transfer-encoding",
            "upgrade",
            "host",
            "content-length",
            "accept-encoding",
            "x-codex-turn-state",
        ] {
            assert!(!passes_upstream(name, &[name], NO_CONNECTION), "{name}");
        }
    }

    #[test]
    fn fields_named_by_connection_stop_here() {
        let connection: [&[u8]; 2] = [b"close", b"keep-alive,  X-Codex-Note "];
        assert!(!passes_upstream("x-codex-note", NO_EXTRA, connection));
        assert!(passes_upstream("x-codex-other", NO_EXTRA, connection));
        assert!(!passes_to_client("X-Codex-Note", connection));
        assert!(passes_to_client("x-codex-other", connection));
    }

    #[test]
    fn w3_what_clients_read_reaches_them_and_what_speaks_for_the_upstream_host_does_not() {
        for name in
            ["openai-model", "x-codex-primary-used-percent", TURN_STATE, "x-request-id", "retry-after", "content-type"]
        {
            assert!(passes_to_client(name, NO_CONNECTION), "{name}");
        }
        for name in
            ["Set-Cookie", "alt-svc", "connection", "Trailer", "proxy-authenticate", "upgrade", "content-length"]
        {
            assert!(!passes_to_client(name, NO_CONNECTION), "{name}");
        }
    }

    #[test]
    fn values_that_would_end_a_header_line_are_unsafe() {
        assert!(safe_value("plain, ünïcode\t".as_bytes()));
        for value in ["a\r\nb", "a\nb", "a\rb", "a\0b"] {
            assert!(!safe_value(value.as_bytes()), "{value:?}");
        }
    }

    #[test]
    fn a_slice_of_pairs_is_a_header_section() {
        let section: &[(&str, &str)] = &[("A", "1"), ("b", "2"), ("a", "3")];
        let values: Vec<_> = section.values("a").collect();
        assert_eq!(values, [b"1", b"3"]);
    }
}
