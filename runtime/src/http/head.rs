//! Request and response heads: strict parsing, and writing that cannot be split.

use super::framing::is_host_byte;
use super::headers::{Headers, is_token_byte, trim_blanks};
use super::limits::MAX_FIELDS;
use super::scan::HeadFault;

/// The version of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
}

impl Version {
    /// As it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, HeadFault> {
        match bytes {
            b"HTTP/1.1" => Ok(Self::Http11),
            b"HTTP/1.0" => Ok(Self::Http10),
            [b'H', b'T', b'T', b'P', b'/', major, rest @ ..] if major.is_ascii_digit() => match rest {
                [] => Err(HeadFault::Version),
                [b'.', minor] if minor.is_ascii_digit() => Err(HeadFault::Version),
                _ => Err(HeadFault::Malformed("the HTTP version is malformed")),
            },
            _ => Err(HeadFault::Malformed("the request line does not end with an HTTP version")),
        }
    }
}

/// The head of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// The method, any token, in its own case.
    pub method: String,
    /// Path and query as they came, neither decoded nor normalised. Of an absolute-form target the part after the
    /// authority.
    pub target: String,
    /// The version the client speaks. Requests to an upstream are always written as HTTP/1.1.
    pub version: Version,
    /// The fields.
    pub headers: Headers,
}

/// The head of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// Any status from 100 to 999.
    pub status: u16,
    /// The reason phrase, often empty; bytes that are not UTF-8 are replaced.
    pub reason: String,
    /// The version the upstream speaks.
    pub version: Version,
    /// The fields.
    pub headers: Headers,
}

/// A head that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHead {
    /// The method is not a token.
    #[error("the method is not a token")]
    Method,
    /// The target is empty or has blanks, control characters or non-ASCII bytes.
    #[error("the request target must be visible ASCII without blanks; percent-encode the rest")]
    Target,
    /// The status is not a number of three digits.
    #[error("{0} is not a status code; use 100 to 999")]
    Status(u16),
    /// The reason phrase has control characters.
    #[error("the reason phrase holds a control character")]
    Reason,
}

impl RequestHead {
    /// Parses a complete head, from the method to the empty line. `limits` bound the fields and the target.
    pub(crate) fn parse(head: &[u8], fields: usize, target_bytes: usize) -> Result<Self, HeadFault> {
        let (line, rest) = first_line(head)?;
        let mut parts = line.split(|b| *b == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(HeadFault::Malformed("the request line is not METHOD SP target SP version"));
        };
        let method = token(method).ok_or(HeadFault::Malformed("the method is not a token"))?;
        if target.len() > target_bytes {
            return Err(HeadFault::TargetTooLong);
        }
        let version = Version::parse(version)?;
        let target = visible(target).ok_or(HeadFault::Malformed("the target has a forbidden character"))?;
        let target = origin_form(target)?;
        Ok(Self { method: method.to_owned(), target, version, headers: parse_fields(rest, fields)? })
    }

    /// Appends the head as it stands, with the empty line. Framing fields are the caller's business.
    ///
    /// # Errors
    /// A method or target that would change the message; nothing is appended then.
    pub fn write_to(&self, out: &mut Vec<u8>) -> Result<(), InvalidHead> {
        self.write_line(self.version, out)?;
        self.headers.write_lines(out, |_| true);
        out.extend_from_slice(b"\r\n");
        Ok(())
    }

    pub(crate) fn write_line(&self, version: Version, out: &mut Vec<u8>) -> Result<(), InvalidHead> {
        if token(self.method.as_bytes()).is_none() {
            return Err(InvalidHead::Method);
        }
        if visible(self.target.as_bytes()).is_none() {
            return Err(InvalidHead::Target);
        }
        for part in [self.method.as_str(), " ", &self.target, " ", version.as_str(), "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        Ok(())
    }
}

impl ResponseHead {
    /// Parses a complete head, from the version to the empty line.
    pub(crate) fn parse(head: &[u8], fields: usize) -> Result<Self, HeadFault> {
        let (line, rest) = first_line(head)?;
        let Some((version, line)) = line.split_at_checked(8) else {
            return Err(HeadFault::Malformed("the status line is too short"));
        };
        let version = Version::parse(version)?;
        let [b' ', code @ ..] = line else {
            return Err(HeadFault::Malformed("the status line has no status"));
        };
        let (code, reason) = code.split_at_checked(3).ok_or(HeadFault::Malformed("the status is too short"))?;
        let reason = match reason {
            [] => reason,
            [b' ', reason @ ..] => reason,
            _ => return Err(HeadFault::Malformed("the status is not a number of three digits")),
        };
        if !code.iter().all(u8::is_ascii_digit) || code[0] == b'0' {
            return Err(HeadFault::Malformed("the status is not a number from 100 to 999"));
        }
        let status = code.iter().fold(0, |n, digit| n * 10 + u16::from(digit - b'0'));
        if reason.iter().any(|b| is_control(*b)) {
            return Err(HeadFault::Malformed("the reason phrase has a control character"));
        }
        let reason = String::from_utf8_lossy(reason).into_owned();
        Ok(Self { status, reason, version, headers: parse_fields(rest, fields)? })
    }

    /// Appends the head as it stands, with the empty line. Framing fields are the caller's business.
    ///
    /// # Errors
    /// A status or reason that would change the message; nothing is appended then.
    pub fn write_to(&self, out: &mut Vec<u8>) -> Result<(), InvalidHead> {
        if self.reason.bytes().any(is_control) {
            return Err(InvalidHead::Reason);
        }
        write_status_line(out, self.version, self.status, &self.reason)?;
        self.headers.write_lines(out, |_| true);
        out.extend_from_slice(b"\r\n");
        Ok(())
    }
}

/// Appends a status line. `reason` must have no control character.
pub(crate) fn write_status_line(
    out: &mut Vec<u8>,
    version: Version,
    status: u16,
    reason: &str,
) -> Result<(), InvalidHead> {
    if !(100..=999).contains(&status) {
        return Err(InvalidHead::Status(status));
    }
    out.extend_from_slice(version.as_str().as_bytes());
    let [hundreds, tens, ones] = [status / 100, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8);
    out.extend_from_slice(&[b' ', hundreds, tens, ones, b' ']);
    out.extend_from_slice(reason.as_bytes());
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// The usual phrase of a status, empty for one without.
pub(crate) fn reason_phrase(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        422 => "Unprocessable Content",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

fn first_line(head: &[u8]) -> Result<(&[u8], &[u8]), HeadFault> {
    let end = memchr::memmem::find(head, b"\r\n").ok_or(HeadFault::Malformed("the first line has no end"))?;
    Ok((&head[..end], &head[end + 2..]))
}

fn is_control(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\t') || byte == 0x7f
}

fn token(bytes: &[u8]) -> Option<&str> {
    if bytes.is_empty() || !bytes.iter().copied().all(is_token_byte) {
        return None;
    }
    str::from_utf8(bytes).ok()
}

fn visible(bytes: &[u8]) -> Option<&str> {
    if bytes.is_empty() || !bytes.iter().all(|b| b.is_ascii_graphic() && *b != b'#') {
        return None;
    }
    str::from_utf8(bytes).ok()
}

/// Path and query of a target: origin form as it is, absolute form without scheme and authority. The authority form
/// (CONNECT) is left to the check of the method.
fn origin_form(target: &str) -> Result<String, HeadFault> {
    const NOT_A_PATH: HeadFault = HeadFault::Malformed("the target is neither a path nor an http URL");
    if target.starts_with('/') {
        return Ok(target.to_owned());
    }
    let Some((scheme, rest)) = target.split_once("://") else {
        let authority = target.split_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        return if authority { Ok(target.to_owned()) } else { Err(NOT_A_PATH) };
    };
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(NOT_A_PATH);
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    let port_fits = port.ends_with(']') || port.bytes().all(|b| b.is_ascii_digit());
    if authority.is_empty() || !port_fits || !authority.bytes().all(is_host_byte) {
        return Err(HeadFault::Malformed("the URL in the request line has no plain host"));
    }
    Ok(if path.starts_with('/') { path.to_owned() } else { format!("/{path}") })
}

/// Parses the field lines with the empty line at their end.
fn parse_fields(lines: &[u8], most: usize) -> Result<Headers, HeadFault> {
    let most = most.min(MAX_FIELDS);
    let mut table = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let (end, fields) = match httparse::parse_headers(lines, &mut table[..most]) {
        Ok(httparse::Status::Complete(done)) => done,
        Ok(httparse::Status::Partial) => return Err(HeadFault::Malformed("the head has no end")),
        Err(httparse::Error::TooManyHeaders) => return Err(HeadFault::TooManyFields),
        Err(httparse::Error::HeaderName) => return Err(HeadFault::Malformed("a header name is malformed or folded")),
        Err(httparse::Error::HeaderValue) => {
            return Err(HeadFault::Malformed("a header value has a forbidden character"));
        }
        Err(_) => return Err(HeadFault::Malformed("a header line is malformed")),
    };
    if end != lines.len() {
        return Err(HeadFault::Malformed("the head ends before its empty line"));
    }
    let mut headers = Headers::with_capacity(fields.len() + 4);
    for field in fields {
        if field.value.iter().any(|b| is_control(*b)) {
            return Err(HeadFault::Malformed("a header value has a forbidden character"));
        }
        headers.push_checked(field.name, trim_blanks(field.value));
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &[u8]) -> Result<RequestHead, HeadFault> {
        RequestHead::parse(text, 128, 16 * 1024)
    }

    fn target(text: &str) -> Option<String> {
        request(format!("GET {text} HTTP/1.1\r\n\r\n").as_bytes()).ok().map(|h| h.target)
    }

    #[test]
    fn a_head_survives_parsing_and_writing_byte_for_byte() {
        let text = b"PoSt /a/../b%20c?x=%zz&y HTTP/1.1\r\nHost: h\r\nX-Odd: caf\xc3\xa9 \xff\r\nhost2: \r\nsession_id: A\tB\r\n\r\n";
        let head = request(text).unwrap();
        assert_eq!(head.target, "/a/../b%20c?x=%zz&y");
        let mut out = Vec::new();
        head.write_to(&mut out).unwrap();
        assert_eq!(out, text);
    }

    #[test]
    fn targets_are_taken_raw_and_absolute_ones_lose_their_authority() {
        for (given, expected) in [
            ("/", "/"),
            ("//x", "//x"),
            ("http://h/a?b", "/a?b"),
            ("HTTPS://h:1", "/"),
            ("http://h?q", "/?q"),
            ("h:443", "h:443"),
            ("http://[::1]/x", "/x"),
            ("http://[::1]:80/x", "/x"),
            ("http://h:/x", "/x"),
        ] {
            assert_eq!(target(given).as_deref(), Some(expected), "{given}");
        }
        for bad in [
            "",
            "x",
            "ftp://h/",
            "http:///x",
            "http://u@h/",
            "http://h:x/",
            "http://h\\i/",
            "http://h\"/",
            "/a\u{7f}",
            "/é",
            "/a#b",
            "*:x",
        ] {
            assert_eq!(target(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn any_status_is_read_and_written() {
        for (text, status, reason) in [
            ("HTTP/1.1 529 Site is overloaded\r\n\r\n", 529, "Site is overloaded"),
            ("HTTP/1.0 100 \r\n\r\n", 100, ""),
            ("HTTP/1.1 999 \r\na: b\r\n\r\n", 999, ""),
        ] {
            let head = ResponseHead::parse(text.as_bytes(), 128).unwrap();
            assert_eq!((head.status, head.reason.as_str()), (status, reason));
            let mut out = Vec::new();
            head.write_to(&mut out).unwrap();
            assert_eq!(out, text.as_bytes());
        }
        assert_eq!(ResponseHead::parse(b"HTTP/1.1 204\r\n\r\n", 128).unwrap().status, 204);
        for bad in [
            "HTTP/1.1 99 x",
            "HTTP/1.1 099 x",
            "HTTP/1.1 2000 x",
            "HTTP/1.1 +20 x",
            "HTTP/2 200",
            "HTTP/1.1",
            "ICY 200 OK",
        ] {
            assert!(ResponseHead::parse(format!("{bad}\r\n\r\n").as_bytes(), 128).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_head_that_would_change_the_message_is_not_written() {
        let good = request(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut out = Vec::new();
        for (method, target, expected) in [
            ("GET\r\nX: y", "/", InvalidHead::Method),
            ("", "/", InvalidHead::Method),
            ("GET", "/ HTTP/1.1\r\nX: y", InvalidHead::Target),
            ("GET", "", InvalidHead::Target),
        ] {
            let head = RequestHead { method: method.into(), target: target.into(), ..good.clone() };
            assert_eq!(head.write_to(&mut out), Err(expected));
        }
        let response =
            ResponseHead { status: 99, reason: String::new(), version: Version::Http11, headers: Headers::new() };
        assert_eq!(response.write_to(&mut out), Err(InvalidHead::Status(99)));
        let response = ResponseHead { status: 200, reason: "a\r\nb".into(), ..response };
        assert_eq!(response.write_to(&mut out), Err(InvalidHead::Reason));
        assert!(out.is_empty());
    }
}
