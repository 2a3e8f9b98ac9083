//! The upstream a connection goes to.

/// The scheme of an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// Plain TCP. Whether that is allowed is the configuration's decision.
    Http,
    /// TLS.
    Https,
}

/// Scheme, host and port. Connections are pooled for each origin.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    scheme: Scheme,
    host: String,
    port: u16,
}

/// A text that names no origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an origin: {why}; write it like https://chatgpt.com or http://127.0.0.1:8080")]
pub struct InvalidOrigin {
    text: String,
    why: &'static str,
}

impl Origin {
    /// An origin of its parts; an IPv6 host goes without brackets.
    ///
    /// # Errors
    /// A host that is empty or has characters that a host cannot have.
    pub fn new(scheme: Scheme, host: &str, port: u16) -> Result<Self, InvalidOrigin> {
        let ok = |b: u8| b.is_ascii_alphanumeric() || b"-._:".contains(&b);
        if host.is_empty() || host.len() > 255 || !host.bytes().all(ok) {
            return Err(InvalidOrigin { text: host.chars().take(64).collect(), why: "the host is malformed" });
        }
        Ok(Self { scheme, host: host.to_ascii_lowercase(), port })
    }

    /// The origin of a URL, whatever its path.
    ///
    /// # Errors
    /// Another scheme than http and https, or a host that cannot be one.
    pub fn of_url(url: &http_types::Url) -> Result<Self, InvalidOrigin> {
        let fail = |why| InvalidOrigin { text: url.host_str().unwrap_or_default().chars().take(64).collect(), why };
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(fail("the scheme is neither http nor https")),
        };
        let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        Self::new(scheme, host, url.port_or_known_default().ok_or(fail("the port is malformed"))?)
    }

    /// Reads `scheme://host[:port]`, with an optional `/` at its end.
    ///
    /// # Errors
    /// Another scheme, a path, credentials, a bad host or port.
    pub fn parse(text: &str) -> Result<Self, InvalidOrigin> {
        let fail = |why| InvalidOrigin { text: text.chars().take(128).collect(), why };
        let (scheme, rest) = text.split_once("://").ok_or(fail("there is no scheme"))?;
        let (scheme, usual_port) = match scheme.to_ascii_lowercase().as_str() {
            "http" => (Scheme::Http, 80),
            "https" => (Scheme::Https, 443),
            _ => return Err(fail("the scheme is neither http nor https")),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#', '@']) {
            return Err(fail("it has a path, a query or credentials"));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(v6) => {
                let (host, port) = v6.split_once(']').ok_or(fail("the bracket is not closed"))?;
                (host, port.strip_prefix(':').or(port.is_empty().then_some("")).ok_or(fail("the port is malformed"))?)
            }
            None => authority.split_once(':').unwrap_or((authority, "")),
        };
        let port = if port.is_empty() { Ok(usual_port) } else { port.parse() };
        Self::new(scheme, host, port.map_err(|_| fail("the port is malformed"))?).map_err(|e| fail(e.why))
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host in lower case, an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Host and, where it is not the scheme's own, port: the value of `Host`.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.scheme, self.port) {
            (Scheme::Http, 80) | (Scheme::Https, 443) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        write!(f, "{scheme}://{}", self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_read_and_written() {
        for (text, expected, port) in [
            ("https://ChatGPT.com", "https://chatgpt.com", 443),
            ("https://chatgpt.com:443/", "https://chatgpt.com", 443),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080", 8080),
            ("http://[::1]:81", "http://[::1]:81", 81),
            ("http://[::1]", "http://[::1]", 80),
        ] {
            let origin = Origin::parse(text).unwrap();
            assert_eq!((origin.to_string().as_str(), origin.port()), (expected, port));
        }
        for bad in [
            "chatgpt.com",
            "ftp://h",
            "http://",
            "http://h/p",
            "http://u@h",
            "http://h:x",
            "http://h:70000",
            "http://[::1",
            "http://[::1]x",
            "http://a b",
            "http://::1",
        ] {
            assert!(Origin::parse(bad).is_err(), "{bad}");
        }
    }
}
