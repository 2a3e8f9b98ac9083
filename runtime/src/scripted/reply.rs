//! An answer before it is written.

use serde_json::{Value, json};

use super::behaviour::Ending;

/// What to do with a request.
pub(super) enum Action {
    Answer(Answer),
    /// Reset the connection without a byte.
    Reset,
    /// Say nothing until the client leaves.
    Hang,
}

pub(super) enum Payload {
    /// One body of known length.
    Whole(Vec<u8>),
    /// A stream: the text of each event, in order.
    Events(Vec<String>),
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) payload: Payload,
    /// Set where the payload stops before its proper end.
    pub(super) ending: Option<Ending>,
}

impl Answer {
    /// A JSON body.
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self::text(status, "application/json", body.to_string())
    }

    pub(super) fn text(status: u16, content_type: &str, body: String) -> Self {
        let payload = Payload::Whole(body.into_bytes());
        Self { status, headers: vec![("content-type".into(), content_type.into())], payload, ending: None }
    }

    pub(super) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), payload: Payload::Whole(Vec::new()), ending: None }
    }

    /// The backend's usual error shape.
    pub(super) fn error(status: u16, kind: &str, code: &str, message: &str) -> Self {
        let error = json!({"message": message, "type": kind, "param": null, "code": code});
        Self::json(status, &json!({ "error": error }))
    }

    #[must_use]
    pub(super) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// The head, framing included.
    pub(super) fn head(&self, chunked: bool, keep_alive: bool) -> String {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        match &self.payload {
            Payload::Whole(_) if matches!(self.status, 204 | 304) => {}
            Payload::Whole(bytes) => head.push_str(&format!("content-length: {}\r\n", bytes.len())),
            Payload::Events(_) if chunked => head.push_str("transfer-encoding: chunked\r\n"),
            Payload::Events(_) => {}
        }
        head.push_str(if keep_alive { "\r\n" } else { "connection: close\r\n\r\n" });
        head
    }
}

impl From<Answer> for Action {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Scripted",
    }
}
