//! Where a message ends, decided once and without guessing.

use super::error::HttpError;
use super::head::{RequestHead, ResponseHead, Version};
use super::headers::Headers;

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFraming {
    /// There is no body.
    None,
    /// So many bytes.
    Length(u64),
    /// Chunks up to an empty one.
    Chunked,
    /// Everything until the connection closes: a clean end cannot be told from a lost upstream.
    UntilClose,
}

/// Fields that belong to one connection and are written by this codec alone.
pub(crate) fn is_framing_field(name: &str) -> bool {
    ["connection", "content-length", "transfer-encoding", "keep-alive", "proxy-connection", "trailer", "upgrade"]
        .iter()
        .any(|f| name.eq_ignore_ascii_case(f))
}

/// What the fields say about a body's length.
enum Declared {
    Nothing,
    Length(u64),
    Chunked,
}

enum Undecided {
    Malformed(&'static str),
    Coding,
}

fn declared(headers: &Headers, version: Version) -> Result<Declared, Undecided> {
    let (mut length, mut coding) = (None, None);
    for (name, value) in headers.iter() {
        let slot = match name.len() {
            14 if name.eq_ignore_ascii_case("content-length") => &mut length,
            17 if name.eq_ignore_ascii_case("transfer-encoding") => &mut coding,
            _ => continue,
        };
        if slot.replace(value).is_some() {
            return Err(Undecided::Malformed("Content-Length or Transfer-Encoding is there twice"));
        }
    }
    match (length, coding) {
        (None, None) => Ok(Declared::Nothing),
        (Some(_), Some(_)) => Err(Undecided::Malformed("both Content-Length and Transfer-Encoding")),
        (Some(length), None) => content_length(length).map(Declared::Length),
        (None, Some(_)) if version == Version::Http10 => Err(Undecided::Malformed("Transfer-Encoding in HTTP/1.0")),
        (None, Some(coding)) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Declared::Chunked),
        (None, Some([])) => Err(Undecided::Malformed("an empty Transfer-Encoding")),
        (None, Some(_)) => Err(Undecided::Coding),
    }
}

fn content_length(value: &[u8]) -> Result<u64, Undecided> {
    // 19 digits always fit; a longer number is no length of anything.
    if value.is_empty() || value.len() > 19 || !value.iter().all(u8::is_ascii_digit) {
        return Err(Undecided::Malformed("Content-Length is not a plain decimal number"));
    }
    Ok(value.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0')))
}

/// What a server needs to know about a request besides its head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestFraming {
    pub(crate) body: BodyFraming,
    pub(crate) expects_continue: bool,
    pub(crate) keep_alive: bool,
}

/// Checks a request's fields and decides where its body ends.
pub(crate) fn request_framing(head: &RequestHead) -> Result<RequestFraming, HttpError> {
    let body = match declared(&head.headers, head.version) {
        Ok(Declared::Nothing | Declared::Length(0)) => BodyFraming::None,
        Ok(Declared::Length(n)) => BodyFraming::Length(n),
        Ok(Declared::Chunked) => BodyFraming::Chunked,
        Err(Undecided::Malformed(why)) => return Err(HttpError::BadRequest(why)),
        Err(Undecided::Coding) => return Err(HttpError::TransferCoding),
    };
    check_host(head)?;
    if head.method == "CONNECT" {
        return Err(HttpError::Method);
    }
    if !head.target.starts_with('/') {
        return Err(HttpError::BadRequest("the target is not a path"));
    }
    let mut expectations = head.headers.get_all("expect");
    let expects_continue = match (expectations.next(), expectations.next()) {
        (None, _) => false,
        (Some(value), None) if value.eq_ignore_ascii_case(b"100-continue") => head.version == Version::Http11,
        _ => return Err(HttpError::Expectation),
    };
    drop(expectations);
    Ok(RequestFraming { body, expects_continue, keep_alive: keeps_alive(&head.headers, head.version) })
}

/// Bytes of a host with its port, an IPv6 address in brackets included; a user name is none.
pub(crate) fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:[]%!$&'()*+;=".contains(&byte)
}

fn check_host(head: &RequestHead) -> Result<(), HttpError> {
    let mut hosts = head.headers.get_all("host");
    match (hosts.next(), hosts.next()) {
        (None, _) if head.version == Version::Http11 => Err(HttpError::BadRequest("no Host")),
        (None, _) => Ok(()),
        (Some(_), Some(_)) => Err(HttpError::BadRequest("more than one Host")),
        (Some(host), None) if !host.iter().copied().all(is_host_byte) => {
            Err(HttpError::BadRequest("the Host is malformed"))
        }
        (Some(_), None) => Ok(()),
    }
}

fn keeps_alive(headers: &Headers, version: Version) -> bool {
    if headers.has_token("connection", "close") {
        return false;
    }
    version == Version::Http11 || headers.has_token("connection", "keep-alive")
}

/// Decides where a response's body ends, and whether the connection may be used again after it.
pub(crate) fn response_framing(head: &ResponseHead, to_head: bool) -> Result<(BodyFraming, bool), &'static str> {
    let declared = declared(&head.headers, head.version).map_err(|fault| match fault {
        Undecided::Malformed(why) => why,
        Undecided::Coding => "a transfer coding other than chunked",
    })?;
    let keep_alive = keeps_alive(&head.headers, head.version);
    if to_head || matches!(head.status, 204 | 304) {
        return Ok((BodyFraming::None, keep_alive));
    }
    Ok(match declared {
        Declared::Nothing => (BodyFraming::UntilClose, false),
        Declared::Length(0) => (BodyFraming::None, keep_alive),
        Declared::Length(n) => (BodyFraming::Length(n), keep_alive),
        Declared::Chunked => (BodyFraming::Chunked, keep_alive),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(text: &str) -> Result<(BodyFraming, bool), &'static str> {
        let head = ResponseHead::parse(text.replace('\n', "\r\n").as_bytes(), 128).unwrap();
        response_framing(&head, false)
    }

    #[test]
    fn a_response_ends_where_its_head_says() {
        for (text, expected) in [
            ("HTTP/1.1 200 OK\nContent-Length: 7\n\n", (BodyFraming::Length(7), true)),
            ("HTTP/1.1 200 OK\nContent-Length: 0\nConnection: foo, Close\n\n", (BodyFraming::None, false)),
            ("HTTP/1.1 529 \nTransfer-Encoding: Chunked\n\n", (BodyFraming::Chunked, true)),
            ("HTTP/1.1 200 OK\n\n", (BodyFraming::UntilClose, false)),
            ("HTTP/1.0 200 OK\nContent-Length: 7\n\n", (BodyFraming::Length(7), false)),
            ("HTTP/1.0 200 OK\nContent-Length: 7\nConnection: Keep-Alive\n\n", (BodyFraming::Length(7), true)),
            ("HTTP/1.1 304 Not Modified\nContent-Length: 7\n\n", (BodyFraming::None, true)),
            ("HTTP/1.1 204 No Content\n\n", (BodyFraming::None, true)),
        ] {
            assert_eq!(response(text), Ok(expected), "{text:?}");
        }
        for bad in [
            "HTTP/1.1 200 OK\nContent-Length: 7\nContent-Length: 7\n\n",
            "HTTP/1.1 200 OK\nContent-Length: 7, 7\n\n",
            "HTTP/1.1 200 OK\nContent-Length: -1\n\n",
            "HTTP/1.1 200 OK\nContent-Length: 7\nTransfer-Encoding: chunked\n\n",
            "HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked\n\n",
            "HTTP/1.0 200 OK\nTransfer-Encoding: chunked\n\n",
        ] {
            assert!(response(bad).is_err(), "{bad:?}");
        }
    }
}
