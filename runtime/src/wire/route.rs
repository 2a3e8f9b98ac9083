//! Which of the gateway's routes a request names, and what it is called at the upstream.

/// Where clients of the OpenAI shape send their calls.
const OPENAI: &str = "/v1";
/// Where clients that believe to talk to ChatGPT send them.
const CODEX: &str = "/backend-api/codex";
const MANAGEMENT: &str = "/v0/management";

/// What a request asks for, by method and path alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// `POST .../responses`: a turn.
    Responses,
    /// `GET .../responses` with an `Upgrade` header: a WebSocket (W4).
    ResponsesUpgrade,
    /// `HEAD .../responses`: `codex doctor` asks whether the route exists; an empty 200 says yes.
    Probe,
    /// `POST .../responses/compact`: older clients' compaction (W6).
    Compact,
    /// `GET .../models`.
    Models {
        /// The value of the query's `client_version`, undecoded. With it the Codex shape is asked for, without it OpenAI's.
        client_version: Option<&'a str>,
    },
    /// `GET` or `HEAD /healthz`: the process runs. The caller leaves the body out for `HEAD`.
    Health,
    /// `GET` or `HEAD /readyz`: it can serve.
    Ready,
    /// Anything under `/v0/management`, any method (T5 decides whether this listener serves it).
    Management {
        /// What follows the prefix: empty or starting with `/`.
        rest: &'a str,
    },
    /// A known path with a method it does not take.
    MethodNotAllowed {
        /// The value for the `Allow` header.
        allow: &'static str,
    },
    /// No route of ours.
    NotFound,
}

impl Route<'_> {
    /// What the upstream calls this route, below its base path; `None` for routes that are not relayed.
    pub fn upstream_suffix(&self) -> Option<&'static str> {
        match self {
            Self::Responses | Self::ResponsesUpgrade => Some("/responses"),
            Self::Compact => Some("/responses/compact"),
            Self::Models { .. } => Some("/models"),
            _ => None,
        }
    }
}

/// Finds the route. `path` and `query` (without its `?`) are as the request line has them: nothing is decoded or normalised,
/// so `/v1/../v1/responses` or a trailing slash is no route. `upgrade` says whether the request asks for a WebSocket.
pub fn route<'a>(method: &str, path: &'a str, query: Option<&'a str>, upgrade: bool) -> Route<'a> {
    if let Some(rest) = path.strip_prefix(MANAGEMENT) {
        return if rest.is_empty() || rest.starts_with('/') { Route::Management { rest } } else { Route::NotFound };
    }
    if path == "/healthz" || path == "/readyz" {
        return match method {
            "GET" | "HEAD" if path == "/healthz" => Route::Health,
            "GET" | "HEAD" => Route::Ready,
            _ => Route::MethodNotAllowed { allow: "GET, HEAD" },
        };
    }
    let Some(call) = path.strip_prefix(OPENAI).or_else(|| path.strip_prefix(CODEX)) else { return Route::NotFound };
    match (call, method) {
        ("/responses", "POST") => Route::Responses,
        ("/responses", "HEAD") => Route::Probe,
        ("/responses", "GET") if upgrade => Route::ResponsesUpgrade,
        ("/responses", _) => Route::MethodNotAllowed { allow: "POST, HEAD" },
        ("/responses/compact", "POST") => Route::Compact,
        ("/responses/compact", _) => Route::MethodNotAllowed { allow: "POST" },
        ("/models", "GET") => Route::Models { client_version: parameter(query, "client_version") },
        ("/models", _) => Route::MethodNotAllowed { allow: "GET" },
        _ => Route::NotFound,
    }
}

/// The request target at the upstream: its base path, what the route is called there, and the client's query untouched.
pub fn upstream_target(base_path: &str, suffix: &str, query: Option<&str>) -> String {
    let base = base_path.trim_end_matches('/');
    let mut target = String::with_capacity(base.len() + suffix.len() + query.map_or(0, |q| q.len() + 1));
    target.push_str(base);
    target.push_str(suffix);
    if let Some(query) = query {
        target.push('?');
        target.push_str(query);
    }
    target
}

/// The first value of a query parameter, undecoded; empty where the name stands alone.
fn parameter<'a>(query: Option<&'a str>, name: &str) -> Option<&'a str> {
    query?.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key == name).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_found_under_both_prefixes() {
        for prefix in ["/v1", "/backend-api/codex"] {
            for (method, call, upgrade, want) in [
                ("POST", "/responses", false, Route::Responses),
                ("POST", "/responses", true, Route::Responses),
                ("GET", "/responses", true, Route::ResponsesUpgrade),
                ("GET", "/responses", false, Route::MethodNotAllowed { allow: "POST, HEAD" }),
                ("DELETE", "/responses", false, Route::MethodNotAllowed { allow: "POST, HEAD" }),
                ("post", "/responses", false, Route::MethodNotAllowed { allow: "POST, HEAD" }),
                ("HEAD", "/responses", false, Route::Probe),
                ("POST", "/responses/compact", false, Route::Compact),
                ("GET", "/responses/compact", false, Route::MethodNotAllowed { allow: "POST" }),
                ("GET", "/models", false, Route::Models { client_version: None }),
                ("POST", "/models", false, Route::MethodNotAllowed { allow: "GET" }),
                ("POST", "/responses/", false, Route::NotFound),
                ("POST", "/Responses", false, Route::NotFound),
                ("POST", "/chat/completions", false, Route::NotFound),
                ("POST", "", false, Route::NotFound),
            ] {
                let path = format!("{prefix}{call}");
                assert_eq!(route(method, &path, None, upgrade), want, "{method} {path}");
            }
        }
    }

    #[test]
    fn other_paths_are_exact() {
        for (method, path, want) in [
            ("GET", "/healthz", Route::Health),
            ("HEAD", "/readyz", Route::Ready),
            ("POST", "/readyz", Route::MethodNotAllowed { allow: "GET, HEAD" }),
            ("GET", "/healthz/", Route::NotFound),
            ("POST", "/responses", Route::NotFound),
            ("POST", "/v1/../v1/responses", Route::NotFound),
            ("POST", "/v1%2fresponses", Route::NotFound),
            ("PATCH", "/v0/management/users/1", Route::Management { rest: "/users/1" }),
            ("GET", "/v0/management", Route::Management { rest: "" }),
            ("GET", "/v0/managementx", Route::NotFound),
            ("GET", "*", Route::NotFound),
            ("GET", "", Route::NotFound),
        ] {
            assert_eq!(route(method, path, None, false), want, "{method} {path}");
        }
    }

    #[test]
    fn field_j8_client_version_tells_the_two_model_lists_apart() {
        let version = |query| match route("GET", "/v1/models", query, false) {
            Route::Models { client_version } => client_version,
            other => panic!("{other:?}"),
        };
        assert_eq!(version(Some("client_version=0.171.0")), Some("0.171.0"));
        assert_eq!(version(Some("a=1&client_version=0.171.0&b")), Some("0.171.0"));
        assert_eq!(version(Some("client_version")), Some(""));
        assert_eq!(version(Some("xclient_version=1")), None);
        assert_eq!(version(None), None);
    }

    #[test]
    fn the_upstream_target_keeps_the_query_as_it_is() {
        assert_eq!(upstream_target("/backend-api/codex/", "/responses", None), "/backend-api/codex/responses");
        assert_eq!(upstream_target("", "/models", Some("a=%20&b")), "/models?a=%20&b");
        assert_eq!(upstream_target("/", "/responses/compact", Some("")), "/responses/compact?");
        assert_eq!(Route::Compact.upstream_suffix(), Some("/responses/compact"));
        assert_eq!(Route::Probe.upstream_suffix(), None);
    }
}
