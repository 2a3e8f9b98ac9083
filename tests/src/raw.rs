//! A raw HTTP/1.1 client: sends exactly the bytes it is given, and reports exactly what came back and how it ended.

mod reader;

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use reader::BodyReader;

/// How long a read may take. It is no measurement: a test that runs into it has failed already.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a response came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Well framed: the length was reached, or the last chunk came.
    Complete,
    /// No framing: the body went on until the peer closed.
    UntilClose,
    /// The peer closed inside the body.
    Cut,
    /// The connection was reset inside the body.
    Reset,
}

/// Status line and header fields, as received.
#[derive(Clone, Debug)]
pub struct RawHead {
    /// `HTTP/1.1` or `HTTP/1.0`.
    pub version: String,
    /// The status code.
    pub status: u16,
    /// Fields in their order and case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Statuses of the interim responses before it.
    pub interim: Vec<u16>,
}

impl RawHead {
    /// The first field of that name, in any case.
    pub fn header(&self, name: &str) -> Option<String> {
        let found = self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
    }

    /// How many fields have that name, in any case.
    pub fn header_count(&self, name: &str) -> usize {
        self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).count()
    }
}

/// A whole response.
#[derive(Clone, Debug)]
pub struct RawResponse {
    /// Status line and fields.
    pub head: RawHead,
    /// The body without its transfer coding.
    pub body: Vec<u8>,
    /// How it ended.
    pub end: End,
}

impl RawResponse {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.head.status
    }

    /// The first field of that name, in any case.
    pub fn header(&self, name: &str) -> Option<String> {
        self.head.header(name)
    }

    /// The body as text; bytes that are no UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, or null.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The data of each server-sent event.
    pub fn events(&self) -> Vec<Value> {
        self.text().split("\n\n").filter_map(event_data).collect()
    }

    /// The `type` of each server-sent event.
    pub fn event_types(&self) -> Vec<String> {
        self.events().iter().map(|e| e["type"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The output text: of the stream's deltas, or of the response object.
    pub fn output_text(&self) -> String {
        let events = self.events();
        if events.is_empty() {
            let output = self.json()["output"].as_array().cloned().unwrap_or_default();
            let parts = output.iter().filter_map(|item| item["content"].as_array()).flatten();
            return parts.filter_map(|part| part["text"].as_str().map(str::to_owned)).collect();
        }
        let deltas = events.iter().filter(|e| e["type"] == "response.output_text.delta");
        deltas.filter_map(|e| e["delta"].as_str().map(str::to_owned)).collect()
    }
}

/// The data object of one event's text, if it has one.
pub fn event_data(event: &str) -> Option<Value> {
    let data: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    serde_json::from_str(&data.join("\n")).ok()
}

/// One connection.
pub struct RawClient {
    stream: TcpStream,
    buffer: Vec<u8>,
    body: BodyReader,
    /// Bytes of the event stream that hold no whole event yet.
    partial: Vec<u8>,
}

impl RawClient {
    /// Connects, with TCP_NODELAY.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn connect(addr: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(addr)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: Vec::new(), body: BodyReader::None, partial: Vec::new() })
    }

    /// Sends these bytes.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Says that nothing more will be sent.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn finish(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    /// Leaves with a reset instead of an orderly close.
    ///
    /// # Errors
    /// Those of setting the socket option.
    pub fn abort(self) -> io::Result<()> {
        socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO))
    }

    /// Sends a request and reads its response.
    ///
    /// # Errors
    /// As for [`RawClient::response`].
    pub fn exchange(&mut self, request: &[u8]) -> io::Result<RawResponse> {
        self.send(request)?;
        self.response()
    }

    /// Reads a whole response.
    ///
    /// # Errors
    /// As for [`RawClient::head`]. A body that ends early is no error but an [`End`].
    pub fn response(&mut self) -> io::Result<RawResponse> {
        let head = self.head()?;
        let mut body = Vec::new();
        let end = loop {
            if let Some(end) = self.body_part(&mut body)? {
                break end;
            }
        };
        Ok(RawResponse { head, body, end })
    }

    /// Reads the response to a HEAD request, which has no body whatever its fields say.
    ///
    /// # Errors
    /// As for [`RawClient::head`].
    pub fn response_to_head(&mut self) -> io::Result<RawResponse> {
        let head = self.head()?;
        self.body = BodyReader::None;
        Ok(RawResponse { head, body: Vec::new(), end: End::Complete })
    }

    /// Reads a response's head; interim responses are passed over and noted.
    ///
    /// # Errors
    /// `UnexpectedEof` or `ConnectionReset` where the peer ended the connection without an answer, `InvalidData` for
    /// what is no HTTP, `WouldBlock` or `TimedOut` after 30 s of silence.
    pub fn head(&mut self) -> io::Result<RawHead> {
        let mut interim = Vec::new();
        loop {
            let end = loop {
                if let Some(at) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                    break at;
                }
                if self.more()? == 0 {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed without a response head"));
                }
            };
            let bytes: Vec<u8> = self.buffer.drain(..end + 4).take(end).collect();
            let mut head = parse_head(&bytes)?;
            if (100..200).contains(&head.status) && head.status != 101 {
                interim.push(head.status);
                continue;
            }
            self.body = BodyReader::of(&head)?;
            self.partial.clear();
            head.interim = interim;
            return Ok(head);
        }
    }

    /// Reads on in the body until it holds another whole event, and returns that event's text; `None` at the end.
    ///
    /// # Errors
    /// As for [`RawClient::response`]; also where the body ended early.
    pub fn next_event(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(at) = self.partial.windows(2).position(|w| w == b"\n\n") {
                let event: Vec<u8> = self.partial.drain(..at + 2).collect();
                return Ok(Some(String::from_utf8_lossy(&event).into_owned()));
            }
            let mut partial = std::mem::take(&mut self.partial);
            let end = self.body_part(&mut partial);
            self.partial = partial;
            match end? {
                // The end may have come along with the last events.
                None => {}
                Some(_) if self.partial.windows(2).any(|w| w == b"\n\n") => {}
                Some(End::Complete | End::UntilClose) => return Ok(None),
                Some(end) => {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("the body ended: {end:?}")));
                }
            }
        }
    }

    /// Reads one byte of whatever comes, heads included.
    ///
    /// # Errors
    /// `UnexpectedEof` where the peer closed, and those of the connection.
    pub fn byte(&mut self) -> io::Result<u8> {
        if self.buffer.is_empty() && self.more()? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed"));
        }
        Ok(self.buffer.remove(0))
    }

    /// Whether the peer has closed: blocks until it has, or sends something.
    pub fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && matches!(self.more(), Ok(0) | Err(_))
    }

    /// Adds what is there to `body`, reading once where nothing is; the end once it is reached.
    fn body_part(&mut self, body: &mut Vec<u8>) -> io::Result<Option<End>> {
        let before = body.len();
        let end = self.body.take(&mut self.buffer, body)?;
        if end.is_some() || body.len() > before {
            return Ok(end);
        }
        match self.more() {
            Ok(0) if self.body.ends_with_the_connection() => Ok(Some(End::UntilClose)),
            Ok(0) => Ok(Some(End::Cut)),
            Ok(_) => self.body.take(&mut self.buffer, body),
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => Ok(Some(End::Reset)),
            Err(e) => Err(e),
        }
    }

    fn more(&mut self) -> io::Result<usize> {
        let mut part = [0; 16 * 1024];
        let read = self.stream.read(&mut part)?;
        self.buffer.extend_from_slice(&part[..read]);
        Ok(read)
    }
}

fn parse_head(bytes: &[u8]) -> io::Result<RawHead> {
    let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{what} in a response head"));
    let mut lines = bytes.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let mut words = first.splitn(3, ' ');
    let version = words.next().filter(|v| v.starts_with("HTTP/1.")).ok_or_else(|| broken("no HTTP version"))?;
    let status = words.next().and_then(|s| s.parse().ok()).ok_or_else(|| broken("no status"))?;
    let mut headers = Vec::new();
    for line in lines {
        let colon = line.iter().position(|b| *b == b':').ok_or_else(|| broken("a field without a colon"))?;
        let name = String::from_utf8(line[..colon].to_vec()).map_err(|_| broken("a field name that is no text"))?;
        headers.push((name, line[colon + 1..].trim_ascii().to_vec()));
    }
    Ok(RawHead { version: version.to_owned(), status, headers, interim: Vec::new() })
}
