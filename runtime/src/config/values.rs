//! The other kinds of values.

use std::{fmt, net::SocketAddr};

use super::setting::{Context, Raw, Setting, within};

impl Setting for bool {
    const UNIT: &'static str = "true or false";

    fn parse(raw: &Raw, _: &Context<'_>) -> Result<Self, String> {
        match raw {
            Raw::Boolean(value) => Ok(*value),
            Raw::Text(text) if text == "true" => Ok(true),
            Raw::Text(text) if text == "false" => Ok(false),
            Raw::Text(text) => Err(format!("{text:?} is neither true nor false; write one of them")),
            Raw::String(text) => Err(format!("{text:?} in quotes; write true or false without quotes")),
            other => Err(format!("{} where true or false belongs", other.type_name())),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for u64 {
    const UNIT: &'static str = "number";

    fn parse(raw: &Raw, context: &Context<'_>) -> Result<Self, String> {
        let text = match raw {
            Raw::Integer(text) | Raw::Text(text) => text,
            Raw::String(text) => return Err(format!("{text:?} in quotes; write a number without quotes")),
            other => return Err(format!("{} where a whole number belongs", other.type_name())),
        };
        let read = |text: &str| {
            let digits = text.replace('_', "");
            digits.parse().map_err(|_| format!("{text:?} is no whole number of 0 or more; write one like 1000"))
        };
        within(read(text)?, text, context.bounds, read)
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for String {
    const UNIT: &'static str = "text";

    fn parse(raw: &Raw, _: &Context<'_>) -> Result<Self, String> {
        let text = raw.text("0.171.0")?;
        if text.is_empty() || text.len() > 128 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("{text:?} does not fit; write 1 to 128 ASCII characters without blanks"));
        }
        Ok(text.into())
    }

    fn show(&self) -> String {
        format!("{self:?}")
    }
}

impl Setting for SocketAddr {
    const UNIT: &'static str = "address:port";

    fn parse(raw: &Raw, _: &Context<'_>) -> Result<Self, String> {
        let text = raw.text("127.0.0.1:8317")?;
        text.parse().map_err(|_| {
            format!("{text:?} is no numeric address with a port; write it like \"127.0.0.1:8317\" or \"[::1]:8317\"")
        })
    }

    fn show(&self) -> String {
        format!("\"{self}\"")
    }
}

/// An absolute http or https address without user, password, query or fragment.
#[derive(Clone, PartialEq, Eq)]
pub struct Url(http_types::Url);

impl Url {
    /// The address without a slash at its end.
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    /// The parsed address.
    pub fn parsed(&self) -> &http_types::Url {
        &self.0
    }

    /// Whether it is https.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether the host is this machine: a loopback address or `localhost`.
    pub fn is_loopback(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
        address.map_or(host == "localhost", |address| address.is_loopback())
    }

    /// The port, given or that of the scheme.
    pub fn port(&self) -> Option<u16> {
        self.0.port_or_known_default()
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Setting for Url {
    const UNIT: &'static str = "URL";

    fn parse(raw: &Raw, _: &Context<'_>) -> Result<Self, String> {
        let text = raw.text("https://example.com/path")?;
        if text.contains('@') {
            return Err("a URL with a user or password; leave them out".into());
        }
        let url =
            http_types::Url::parse(text).map_err(|error| format!("{text:?} is no URL ({error}); write it in full"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(format!("{text:?} is neither http nor https; write it like \"https://example.com/path\""));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(format!("{text:?} has a query or fragment; leave it out"));
        }
        let url = Self(url);
        if !url.is_https() && !url.is_loopback() {
            return Err(format!("{text:?} would send tokens in the clear; use https (http is for loopback only)"));
        }
        Ok(url)
    }

    fn show(&self) -> String {
        format!("{:?}", self.as_str())
    }
}

/// Names of request headers, in lower case, none twice; at most 64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderNames(Vec<String>);

impl HeaderNames {
    /// The names, in lower case.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// Headers that the gateway itself owns: framing, connection, credentials.
const OWNED: &[&str] = &[
    "authorization",
    "chatgpt-account-id",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-admin-key",
    "x-api-key",
];

/// The words of a list in lower case, sorted, none twice: an array of strings, or a text with commas.
fn words(raw: &Raw, example: &str) -> Result<Vec<String>, String> {
    let tidy = |word: &str| word.trim().to_ascii_lowercase();
    let mut words: Vec<String> = match raw {
        Raw::Strings(words) => words.iter().map(|word| tidy(word)).collect(),
        Raw::Text(text) => text.split(',').map(tidy).filter(|word| !word.is_empty()).collect(),
        other => {
            let found = other.type_name();
            return Err(format!("{found} where an array of strings belongs; write it like [\"{example}\"]"));
        }
    };
    words.sort();
    words.dedup();
    if words.len() > 64 {
        return Err(format!("{} names; choose at most 64", words.len()));
    }
    Ok(words)
}

impl Setting for HeaderNames {
    const UNIT: &'static str = "list of header names";

    fn parse(raw: &Raw, _: &Context<'_>) -> Result<Self, String> {
        let names = words(raw, "x-team")?;
        for name in &names {
            let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if name.is_empty() || name.len() > 128 || !name.bytes().all(token) {
                return Err(format!("{name:?} is no header name; write it like [\"x-team\"]"));
            }
            if OWNED.contains(&name.as_str()) {
                return Err(format!("{name:?} belongs to the gateway and is never passed on; leave it out"));
            }
        }
        Ok(Self(names))
    }

    fn show(&self) -> String {
        format!("{:?}", self.0)
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

/// Names of hosts, in lower case, none twice; at most 64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostNames(Vec<String>);

impl HostNames {
    /// The names, in lower case, without ports.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl Setting for HostNames {
    const UNIT: &'static str = "list of host names";

    fn parse(raw: &Raw, _: &Context<'_>) -> Result<Self, String> {
        let names = words(raw, "homing.example.com")?;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        match names.iter().find(|name| name.is_empty() || name.len() > 253 || !name.bytes().all(fits)) {
            Some(name) => {
                Err(format!("{name:?} is no host name; write it like [\"homing.example.com\"], without port"))
            }
            None => Ok(Self(names)),
        }
    }

    fn show(&self) -> String {
        format!("{:?}", self.0)
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

/// An enum whose variants are written as words.
macro_rules! choice {
    ($(#[doc = $doc:literal])* $Name:ident { $( $(#[doc = $variant_doc:literal])* $Variant:ident = $word:literal, )* }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name { $( $(#[doc = $variant_doc])* $Variant, )* }

        impl $Name {
            /// The word that stands for it in the file.
            pub fn word(self) -> &'static str {
                match self { $( Self::$Variant => $word, )* }
            }
        }

        impl Setting for $Name {
            const UNIT: &'static str = "word";

            fn parse(raw: &Raw, _: &Context<'_>) -> Result<Self, String> {
                const WORDS: &[&str] = &[$($word),*];
                match raw.text(WORDS[0])? {
                    $( $word => Ok(Self::$Variant), )*
                    other => Err(format!("{other:?} is not known here; choose one of: {}", WORDS.join(", "))),
                }
            }

            fn show(&self) -> String {
                format!("{:?}", self.word())
            }
        }
    };
}

choice! {
    /// Where bindings are kept.
    StoreKind {
        /// The embedded database (T2).
        Sqlite = "sqlite",
        /// Nowhere: affinity is off and nothing is remembered, for comparison.
        Off = "off",
    }
}

choice! {
    /// The shape of a log line.
    LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object a line.
        Json = "json",
    }
}

choice! {
    /// The least severe messages that are logged.
    Level {
        /// Only what went wrong for good.
        Error = "error",
        /// And what an operator should look at.
        Warn = "warn",
        /// And the milestones.
        Info = "info",
        /// And each decision.
        Debug = "debug",
        /// And each step.
        Trace = "trace",
    }
}
