//! A client as small as can be: one request a connection, over the standard library's sockets.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::json;

/// What a turn asks.
pub(super) struct Ask<'a> {
    pub(super) key: &'a str,
    /// The `session-id` header, if the client sends one.
    pub(super) session: Option<&'a str>,
    pub(super) model: &'a str,
    pub(super) text: &'a str,
}

/// What the client got.
#[derive(Debug)]
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) body: String,
}

impl Got {
    /// A whole answer: status 200 and the terminal event.
    pub(super) fn complete(&self) -> bool {
        self.status == 200 && self.body.contains("\"response.completed\"")
    }
}

/// Sends one streamed Responses request and reads the answer to its end.
pub(super) fn ask(addr: SocketAddr, ask: &Ask<'_>) -> io::Result<Got> {
    let input = json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": ask.text}]}]);
    let body = json!({"model": ask.model, "stream": true, "store": false, "input": input}).to_string();
    let session = ask.session.map_or(String::new(), |s| format!("session-id: {s}\r\n"));
    let head = format!(
        "POST /v1/responses HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer {}\r\n{session}accept: text/event-stream\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        ask.key,
        body.len()
    );
    exchange(addr, &format!("{head}{body}"))
}

/// Whether the gateway answers its health check.
pub(super) fn healthy(addr: SocketAddr) -> bool {
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {addr}\r\nconnection: close\r\n\r\n");
    exchange(addr, &request).is_ok_and(|got| got.status == 200)
}

fn exchange(addr: SocketAddr, request: &str) -> io::Result<Got> {
    let mut stream = TcpStream::connect_timeout(&addr, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.set_nodelay(true)?;
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.get(9..12).and_then(|s| s.parse().ok());
    let status = status.ok_or_else(|| io::Error::other("the gateway's answer has no status"))?;
    Ok(Got { status, body: answer.into_owned() })
}
