//! One model call of a made-up client, as bytes and as an exchange.

use std::io;
use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::raw::{RawClient, RawResponse};

/// A request in the making. Without more it is a streaming `POST /v1/responses` without any session signal.
#[derive(Clone, Debug)]
pub struct Ask {
    method: String,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    Json(Value),
    Bytes(Vec<u8>),
}

impl Ask {
    /// A streaming turn by the caller with this key.
    pub fn turn(key: &str) -> Self {
        let body = json!({
            "model": "gpt-5.5",
            "stream": true,
            "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}],
        });
        let headers = vec![("authorization".to_owned(), format!("Bearer {key}").into_bytes())];
        Self { method: "POST".to_owned(), path: "/v1/responses".to_owned(), headers, body: Body::Json(body) }
    }

    /// A GET of `path` by the caller with this key.
    pub fn get(key: &str, path: &str) -> Self {
        let mut ask = Self::turn(key).bytes(Vec::new());
        (ask.method, ask.path) = ("GET".to_owned(), path.to_owned());
        ask
    }

    /// Another path.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }

    /// Another method.
    #[must_use]
    pub fn method(mut self, method: &str) -> Self {
        self.method = method.to_owned();
        self
    }

    /// Adds a header field.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Removes the header fields of that name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        self
    }

    /// The header `session-id`.
    #[must_use]
    pub fn session(self, id: &str) -> Self {
        self.header("session-id", id)
    }

    /// Sets a member of the JSON body.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Body::Json(body) = &mut self.body {
            body[name] = value.into();
        }
        self
    }

    /// Another model.
    #[must_use]
    pub fn model(self, model: &str) -> Self {
        self.set("model", model)
    }

    /// The answer as one JSON object instead of a stream.
    #[must_use]
    pub fn whole(self) -> Self {
        self.set("stream", false)
    }

    /// These bytes as the body.
    #[must_use]
    pub fn bytes(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Body::Bytes(body.into());
        self
    }

    /// The body as it is now.
    pub fn body(&self) -> Vec<u8> {
        match &self.body {
            Body::Json(value) => value.to_string().into_bytes(),
            Body::Bytes(bytes) => bytes.clone(),
        }
    }

    /// The whole request.
    pub fn request(&self) -> Vec<u8> {
        let body = self.body();
        let mut out = format!("{} {} HTTP/1.1\r\nhost: homing\r\n", self.method, self.path).into_bytes();
        for (name, value) in &self.headers {
            out.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        let framed = self.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case("content-length"));
        if !framed && self.method != "GET" {
            out.extend(format!("content-length: {}\r\n", body.len()).into_bytes());
        }
        out.extend(b"\r\n");
        out.extend(body);
        out
    }

    /// Sends it on a connection of its own and reads the answer.
    ///
    /// # Errors
    /// As for [`RawClient::response`].
    pub fn send(&self, addr: SocketAddr) -> io::Result<RawResponse> {
        RawClient::connect(addr)?.exchange(&self.request())
    }

    /// Sends it on a connection of its own without reading.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn begin(&self, addr: SocketAddr) -> io::Result<RawClient> {
        let mut client = RawClient::connect(addr)?;
        client.send(&self.request())?;
        Ok(client)
    }
}
