//! One accepted connection: reading requests off it, strictly.

use std::io;

use smol::io::{AsyncReadExt as _, AsyncWriteExt as _};
use smol::net::TcpStream;

/// Longest head in bytes, and the most fields in it.
const HEAD_LIMIT: usize = 256 * 1024;
const FIELD_LIMIT: usize = 512;
/// Longest body in bytes, after transfer decoding.
const BODY_LIMIT: usize = 256 * 1024 * 1024;

/// Why no request could be read.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The client closed or broke the connection.
    Closed,
    /// The bytes are no acceptable request: answer this status and close.
    Bad(u16),
}

impl From<io::Error> for ReadError {
    fn from(_: io::Error) -> Self {
        Self::Closed
    }
}

/// A request's line and fields.
pub(super) struct Head {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Option<String>,
    /// 0 for HTTP/1.0, 1 for HTTP/1.1.
    pub(super) minor: u8,
    pub(super) headers: Vec<(String, Vec<u8>)>,
}

impl Head {
    /// The values of a field, those that are no UTF-8 left out.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.headers.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name));
        named.filter_map(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// The value of a field that is there exactly once.
    pub(super) fn single<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let mut values = self.all(name);
        values.next().filter(|_| values.next().is_none())
    }

    /// Whether the client wants the connection kept.
    pub(super) fn keeps_alive(&self) -> bool {
        let says =
            |word: &str| self.all("connection").any(|v| v.split(',').any(|t| t.trim().eq_ignore_ascii_case(word)));
        if self.minor == 0 { says("keep-alive") } else { !says("close") }
    }

    fn framing(&self) -> Result<Framing, ReadError> {
        let lengths: Vec<&str> = self.all("content-length").collect();
        let codings: Vec<&str> = self.all("transfer-encoding").collect();
        match (lengths.as_slice(), codings.as_slice()) {
            ([], []) => Ok(Framing::Length(0)),
            ([length], []) if !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit()) => {
                match length.parse::<usize>() {
                    Ok(length) if length <= BODY_LIMIT => Ok(Framing::Length(length)),
                    _ => Err(ReadError::Bad(413)),
                }
            }
            ([], [coding]) if coding.eq_ignore_ascii_case("chunked") => Ok(Framing::Chunked),
            _ => Err(ReadError::Bad(400)),
        }
    }
}

enum Framing {
    Length(usize),
    Chunked,
}

pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) number: u64,
    pub(super) requests: u64,
    buffer: Vec<u8>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, number: u64) -> Self {
        Self { stream, number, requests: 0, buffer: Vec::with_capacity(16 * 1024) }
    }

    /// The next head, or `None` where the client closed between requests.
    pub(super) async fn head(&mut self) -> Result<Option<Head>, ReadError> {
        loop {
            if let Some((head, used)) = parse(&self.buffer)? {
                self.buffer.drain(..used);
                self.requests += 1;
                return Ok(Some(head));
            }
            if self.buffer.len() > HEAD_LIMIT {
                return Err(ReadError::Bad(431));
            }
            if self.more().await? == 0 {
                return if self.buffer.is_empty() { Ok(None) } else { Err(ReadError::Closed) };
            }
        }
    }

    /// The body of the request whose head was read last.
    pub(super) async fn body(&mut self, head: &Head) -> Result<Vec<u8>, ReadError> {
        let framing = head.framing()?;
        if head.minor == 1 && head.all("expect").any(|v| v.eq_ignore_ascii_case("100-continue")) {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        match framing {
            Framing::Length(length) => self.exactly(length).await,
            Framing::Chunked => self.chunked().await,
        }
    }

    /// Completes when the client has closed or broken the connection, never while more of its bytes wait to be read.
    pub(super) async fn left(&self) {
        let mut byte = [0];
        if let Ok(1..) = self.stream.peek(&mut byte).await {
            smol::future::pending::<()>().await;
        }
    }

    /// Reads and forgets what still comes until the client closes.
    pub(super) async fn drain(&mut self) {
        self.buffer.clear();
        while matches!(self.more().await, Ok(1..)) {
            self.buffer.clear();
        }
    }

    async fn more(&mut self) -> Result<usize, ReadError> {
        let filled = self.buffer.len();
        self.buffer.resize(filled + 16 * 1024, 0);
        let read = self.stream.read(&mut self.buffer[filled..]).await;
        self.buffer.truncate(filled + read.as_ref().copied().unwrap_or(0));
        Ok(read?)
    }

    async fn exactly(&mut self, length: usize) -> Result<Vec<u8>, ReadError> {
        let early = length.min(self.buffer.len());
        let mut body: Vec<u8> = self.buffer.drain(..early).collect();
        body.resize(length, 0);
        self.stream.read_exact(&mut body[early..]).await?;
        Ok(body)
    }

    async fn chunked(&mut self) -> Result<Vec<u8>, ReadError> {
        let mut body = Vec::new();
        loop {
            let line = self.line().await?;
            let digits = line.split(';').next().unwrap_or("").trim_end();
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(ReadError::Bad(400));
            }
            let size = usize::from_str_radix(digits, 16).map_err(|_| ReadError::Bad(413))?;
            if size == 0 {
                while !self.line().await?.is_empty() {}
                return Ok(body);
            }
            if size > BODY_LIMIT - body.len() {
                return Err(ReadError::Bad(413));
            }
            body.extend(self.exactly(size).await?);
            if !self.line().await?.is_empty() {
                return Err(ReadError::Bad(400));
            }
        }
    }

    /// One line of chunked framing, without its CRLF.
    async fn line(&mut self) -> Result<String, ReadError> {
        loop {
            if let Some(end) = memchr::memmem::find(&self.buffer, b"\r\n") {
                let line = self.buffer.drain(..end + 2).take(end).collect();
                return String::from_utf8(line).map_err(|_| ReadError::Bad(400));
            }
            if self.buffer.len() > 4096 {
                return Err(ReadError::Bad(400));
            }
            if self.more().await? == 0 {
                return Err(ReadError::Closed);
            }
        }
    }
}

/// Parses a head at the start of `bytes`; `None` while it is incomplete.
fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, ReadError> {
    let mut fields = [httparse::EMPTY_HEADER; FIELD_LIMIT];
    let mut request = httparse::Request::new(&mut fields);
    let used = match request.parse(bytes) {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(ReadError::Bad(431)),
        Err(_) => return Err(ReadError::Bad(400)),
    };
    let target = request.path.unwrap_or("/");
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
        None => (target.to_owned(), None),
    };
    let headers = request.headers.iter().map(|f| (f.name.to_owned(), f.value.to_vec())).collect();
    let method = request.method.unwrap_or("").to_owned();
    Ok(Some((Head { method, path, query, minor: request.version.unwrap_or(1), headers }, used)))
}
