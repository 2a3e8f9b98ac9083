//! Raw requests, built by hand so that a test says every byte of them.

use homing::scripted::Account;
use serde_json::Value;

/// A request under construction.
#[derive(Clone, Debug)]
pub struct RawRequest {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    chunked: bool,
}

impl RawRequest {
    /// A request without a body; `target` is sent as it is.
    pub fn new(method: &str, target: &str) -> Self {
        let headers = vec![("host".to_owned(), "localhost".to_owned())];
        Self { line: format!("{method} {target} HTTP/1.1"), headers, body: Vec::new(), chunked: false }
    }

    /// `GET target`.
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// `POST target` with this JSON.
    pub fn post(target: &str, body: &Value) -> Self {
        Self::new("POST", target).header("content-type", "application/json").body(body.to_string().into_bytes())
    }

    /// Speaks HTTP/1.0.
    #[must_use]
    pub fn http_1_0(mut self) -> Self {
        self.line = self.line.replace("HTTP/1.1", "HTTP/1.0");
        self
    }

    /// Appends a field.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// `authorization: Bearer key`.
    #[must_use]
    pub fn bearer(self, key: &str) -> Self {
        self.header("authorization", &format!("Bearer {key}"))
    }

    /// The credentials of an account as the gateway sends them upstream.
    #[must_use]
    pub fn account(self, account: &Account) -> Self {
        self.bearer(&account.access_token).header("chatgpt-account-id", &account.spec.account_id)
    }

    /// Replaces the body.
    #[must_use]
    pub fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// Sends the body in chunks of 7 bytes.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// The head alone, framing fields included.
    pub fn head_bytes(&self) -> Vec<u8> {
        let mut head = format!("{}\r\n", self.line);
        for (name, value) in &self.headers {
            head.extend([name.as_str(), ": ", value, "\r\n"]);
        }
        if self.chunked {
            head.push_str("transfer-encoding: chunked\r\n");
        } else if !self.body.is_empty() {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        head.into_bytes()
    }

    /// The body as it is framed.
    pub fn body_bytes(&self) -> Vec<u8> {
        if !self.chunked {
            return self.body.clone();
        }
        let chunks = self.body.chunks(7).map(|c| [format!("{:x}\r\n", c.len()).as_bytes(), c, b"\r\n"].concat());
        chunks.chain([b"0\r\n\r\n".to_vec()]).flatten().collect()
    }

    /// The whole request.
    pub fn bytes(&self) -> Vec<u8> {
        [self.head_bytes(), self.body_bytes()].concat()
    }
}

/// A streaming Responses request with this user text and the tools of a Codex client.
pub fn prompt(text: &str) -> Value {
    serde_json::json!({
        "model": "gpt-5.5",
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}],
        "tools": [{"type": "function", "name": "exec_command"}],
    })
}
