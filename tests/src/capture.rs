//! Captures of real clients, rebuilt byte for byte.
//!
//! `fixtures/clients/` holds one file for each scenario. Header fields keep their order and case; the body is the
//! captured JSON in its captured member order, without white space, compressed where the client compressed it. What a
//! capture cannot know is put in: the length of the body, and the caller's credentials.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::raw::{RawClient, RawResponse};

/// One captured scenario.
#[derive(Deserialize, Debug)]
pub struct Capture {
    /// The client's name.
    pub client: String,
    /// The client's version.
    pub version: String,
    /// The scenario's name.
    pub scenario: String,
    /// What it sent, in order.
    pub requests: Vec<CapturedRequest>,
}

/// One captured request or message.
#[derive(Deserialize, Debug)]
pub struct CapturedRequest {
    /// `http`, `ws_upgrade` or `ws_message`.
    pub kind: String,
    /// The method.
    #[serde(default)]
    pub method: Option<String>,
    /// The path without the query.
    #[serde(default)]
    pub path: Option<String>,
    /// The query without its question mark.
    #[serde(default)]
    pub query: Option<String>,
    /// The TCP connection it came on.
    #[serde(default)]
    pub conn: u64,
    /// `HTTP/1.1`.
    #[serde(default)]
    pub http_version: Option<String>,
    /// Fields in their order and case.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// `zstd`, or nothing.
    #[serde(default)]
    pub body_encoding: Option<String>,
    /// The body; the text is kept, for its member order.
    #[serde(default)]
    pub body: Option<Box<RawValue>>,
    /// What the captured server answered.
    #[serde(default)]
    pub mock_answer: Value,
}

/// Who replays a capture.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// Takes the place of the token in `authorization`; a request without that field stays without.
    pub key: String,
    /// Takes the place of a `chatgpt-account-id`, and follows `authorization` where there was none; `None` leaves the
    /// captured one.
    pub account_id: Option<String>,
}

impl Caller {
    /// A caller with this key.
    pub fn with_key(key: &str) -> Self {
        Self { key: key.to_owned(), account_id: None }
    }
}

impl Capture {
    /// The directory of the captures.
    pub fn directory() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/clients")
    }

    /// The capture of that name (without `.json`).
    ///
    /// # Errors
    /// Those of reading the file; `InvalidData` where it is no capture.
    pub fn load(name: &str) -> io::Result<Self> {
        let text = std::fs::read_to_string(Self::directory().join(format!("{name}.json")))?;
        serde_json::from_str(&text).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {e}")))
    }

    /// Every capture, by name.
    ///
    /// # Errors
    /// As for [`Capture::load`].
    pub fn all() -> io::Result<Vec<(String, Self)>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(Self::directory())? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "json") {
                names.extend(path.file_stem().map(|s| s.to_string_lossy().into_owned()));
            }
        }
        names.sort();
        names.into_iter().map(|name| Self::load(&name).map(|capture| (name, capture))).collect()
    }

    /// The plain HTTP requests, in order.
    pub fn http(&self) -> impl Iterator<Item = &CapturedRequest> {
        self.requests.iter().filter(|r| r.kind == "http")
    }

    /// The model calls over HTTP, in order.
    pub fn model_calls(&self) -> impl Iterator<Item = &CapturedRequest> {
        self.http().filter(|r| r.is_model_call())
    }
}

impl CapturedRequest {
    /// Whether it is `POST .../responses` or `POST .../responses/compact`.
    pub fn is_model_call(&self) -> bool {
        let path = self.path.as_deref().unwrap_or_default();
        self.method.as_deref() == Some("POST") && (path.ends_with("/responses") || path.ends_with("/responses/compact"))
    }

    /// The captured value of a field, the name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// The body as JSON, or null.
    pub fn json(&self) -> Value {
        self.body.as_ref().map_or(Value::Null, |raw| serde_json::from_str(raw.get()).unwrap_or(Value::Null))
    }

    /// The body as it goes over the wire: compact, member order kept, compressed where the client did.
    ///
    /// # Errors
    /// Those of the compression; `Unsupported` for an encoding other than zstd.
    pub fn wire_body(&self) -> io::Result<Vec<u8>> {
        let plain = self.body.as_ref().map_or_else(Vec::new, |raw| compact(raw.get()));
        match self.body_encoding.as_deref() {
            None => Ok(plain),
            Some("zstd") => zstd::encode_all(&plain[..], 3),
            Some(other) => Err(io::Error::new(io::ErrorKind::Unsupported, format!("the encoding {other}"))),
        }
    }

    /// The whole request.
    ///
    /// # Errors
    /// As for [`CapturedRequest::wire_body`].
    pub fn bytes(&self, caller: &Caller) -> io::Result<Vec<u8>> {
        let body = self.wire_body()?;
        let text = |value: &Option<String>, default: &str| value.clone().unwrap_or_else(|| default.to_owned());
        let query = self.query.as_ref().map(|q| format!("?{q}")).unwrap_or_default();
        let (method, path) = (text(&self.method, "GET"), text(&self.path, "/"));
        let mut head = format!("{method} {path}{query} {}\r\n", text(&self.http_version, "HTTP/1.1"));
        let names_account = self.header("chatgpt-account-id").is_some();
        for (name, value) in &self.headers {
            let lower = name.to_ascii_lowercase();
            let value = match (lower.as_str(), &caller.account_id) {
                ("authorization", _) => format!("Bearer {}", caller.key),
                ("content-length", _) => body.len().to_string(),
                ("chatgpt-account-id", Some(id)) => id.clone(),
                _ => value.clone(),
            };
            head.extend([name.as_str(), ": ", &value, "\r\n"]);
            if let ("authorization", Some(id), false) = (lower.as_str(), &caller.account_id, names_account) {
                head.extend(["chatgpt-account-id: ", id, "\r\n"]);
            }
        }
        head.push_str("\r\n");
        Ok([head.into_bytes(), body].concat())
    }
}

/// Replays the HTTP requests of a capture in order, each captured connection on a connection of its own (reconnected
/// where the peer has closed it), and returns the responses.
///
/// # Errors
/// As for [`RawClient::response`] and [`CapturedRequest::bytes`].
pub fn replay(addr: SocketAddr, key: &str, capture: &Capture) -> io::Result<Vec<RawResponse>> {
    replay_as(addr, &Caller::with_key(key), capture.http())
}

/// Replays these requests as this caller.
///
/// # Errors
/// As for [`replay`].
pub fn replay_as<'a>(
    addr: SocketAddr,
    caller: &Caller,
    requests: impl IntoIterator<Item = &'a CapturedRequest>,
) -> io::Result<Vec<RawResponse>> {
    let mut connections: HashMap<u64, RawClient> = HashMap::new();
    let mut responses = Vec::new();
    for request in requests {
        let bytes = request.bytes(caller)?;
        let head_only = request.method.as_deref() == Some("HEAD");
        let mut client = match connections.remove(&request.conn) {
            Some(client) => client,
            None => RawClient::connect(addr)?,
        };
        client.send(&bytes)?;
        let response = if head_only { client.response_to_head()? } else { client.response()? };
        let closes = response.header("connection").is_some_and(|c| c.eq_ignore_ascii_case("close"));
        if !closes {
            connections.insert(request.conn, client);
        }
        responses.push(response);
    }
    Ok(responses)
}

/// JSON text without the white space between its tokens.
fn compact(text: &str) -> Vec<u8> {
    let (mut out, mut in_string, mut escaped) = (Vec::with_capacity(text.len()), false, false);
    for byte in text.bytes() {
        if in_string {
            out.push(byte);
            (in_string, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
        } else if !byte.is_ascii_whitespace() {
            out.push(byte);
            in_string = byte == b'"';
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capture_is_read() {
        let captures = Capture::all().unwrap();
        assert_eq!(captures.len(), 66);
        for (name, capture) in &captures {
            for request in capture.http() {
                let bytes = request.bytes(&Caller::with_key("k")).unwrap_or_else(|e| panic!("{name}: {e}"));
                let text = String::from_utf8_lossy(&bytes);
                let (head, _) = text.split_once("\r\n\r\n").unwrap();
                assert_eq!(head.lines().count(), request.headers.len() + 1, "{name}: no field is added or lost");
            }
        }
    }

    #[test]
    fn white_space_goes_only_between_tokens() {
        let text = "{ \"a b\" : [ 1,\n \"x \\\" y\\\\\" , \" \" ] }";
        assert_eq!(String::from_utf8(compact(text)).unwrap(), r#"{"a b":[1,"x \" y\\"," "]}"#);
    }

    #[test]
    fn order_and_case_are_kept_and_only_credentials_and_length_change() {
        let capture = Capture::load("openai_py__nonstream").unwrap();
        let request = capture.http().next().unwrap();
        let text = String::from_utf8(request.bytes(&Caller::with_key("hmg_test")).unwrap()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let sent: Vec<(&str, &str)> = head.lines().skip(1).filter_map(|l| l.split_once(": ")).collect();
        for ((name, value), (captured_name, captured)) in sent.iter().zip(&request.headers) {
            assert_eq!(name, captured_name);
            match name.to_ascii_lowercase().as_str() {
                "authorization" => assert_eq!(*value, "Bearer hmg_test"),
                "content-length" => assert_eq!(*value, body.len().to_string()),
                _ => assert_eq!(value, captured),
            }
        }
        assert_eq!(serde_json::from_str::<Value>(body).unwrap(), request.json());
    }

    #[test]
    fn a_compressed_body_is_compressed_again() {
        let capture = Capture::load("chatgpt_401__refresh_http").unwrap();
        let request = capture.model_calls().find(|r| r.body_encoding.is_some()).unwrap();
        let wire = request.wire_body().unwrap();
        let plain = zstd::decode_all(&wire[..]).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&plain).unwrap(), request.json());
        let bytes = request.bytes(&Caller::default()).unwrap();
        assert!(bytes.ends_with(&wire));
    }
}
