//! Stands in front of async-h1: reads a request whole, bounded, and refuses what its decoder would mistake.
//!
//! That decoder takes an unknown transfer coding for no body, the last of several lengths for the right one, buffers
//! a line without end, panics on a non-ASCII value and says nothing to a request that it refuses. So it is given
//! only requests of one clear framing, already complete in memory.

use std::{str::FromStr, time::Duration};

use http_types::{Method, StatusCode};
use smol::io::{AsyncRead, AsyncReadExt};

use super::handle::LARGEST_BODY;
use crate::clock;

/// Largest head in bytes: async-h1 takes less than 8 KiB.
const LARGEST_HEAD: usize = 8 * 1024 - 1;
/// Most header fields.
const MOST_FIELDS: usize = 64;
/// Limit for the head, and again for the body, to arrive.
const READ_LIMIT: Duration = Duration::from_secs(10);

/// A request that is safe to decode.
pub(super) struct Whole {
    /// Head and body, and nothing behind them.
    pub(super) bytes: Vec<u8>,
    pub(super) method: Method,
    pub(super) host: String,
    pub(super) origin: Option<String>,
    /// Every admin key it presents.
    pub(super) keys: Vec<String>,
}

/// A request that is refused.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) text: &'static str,
}

const fn refused<T>(status: StatusCode, text: &'static str) -> Result<T, Refused> {
    Err(Refused { status, text })
}

fn bad<T>(text: &'static str) -> Result<T, Refused> {
    refused(StatusCode::BadRequest, text)
}

/// Reads one request. `None` where the peer left before it said anything.
pub(super) async fn read<S: AsyncRead + Unpin>(stream: &mut S) -> Result<Option<Whole>, Refused> {
    let late = || Refused { status: StatusCode::RequestTimeout, text: "the request took too long; send it at once" };
    let Some((mut bytes, end)) = clock::within(READ_LIMIT, head(stream)).await.ok_or_else(late)?? else {
        return Ok(None);
    };
    let parsed = parse(&bytes[..end])?;
    let whole = end + parsed.length;
    if bytes.len() < whole {
        let start = bytes.len();
        bytes.resize(whole, 0);
        let rest = clock::within(READ_LIMIT, stream.read_exact(&mut bytes[start..])).await.ok_or_else(late)?;
        if rest.is_err() {
            return bad("the body ended early; send as much as Content-Length says");
        }
    }
    // What follows is another request, which is not read: every connection is closed after one answer.
    bytes.truncate(whole);
    let Head { method, host, origin, keys, .. } = parsed;
    Ok(Some(Whole { bytes, method, host, origin, keys }))
}

/// Reads until the blank line; returns what was read and where the head ends.
async fn head<S: AsyncRead + Unpin>(stream: &mut S) -> Result<Option<(Vec<u8>, usize)>, Refused> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        let count = match stream.read(&mut chunk).await {
            Ok(0) | Err(_) if bytes.is_empty() => return Ok(None),
            Ok(0) | Err(_) => return bad("the request ended within its head; send all of it"),
            Ok(count) => count,
        };
        let from = bytes.len().saturating_sub(3);
        bytes.extend_from_slice(&chunk[..count]);
        if let Some(at) = memchr::memmem::find(&bytes[from..], b"\r\n\r\n") {
            let end = from + at + 4;
            if end <= LARGEST_HEAD {
                return Ok(Some((bytes, end)));
            }
        }
        if bytes.len() > LARGEST_HEAD {
            return refused(StatusCode::RequestHeaderFieldsTooLarge, "the head is longer than 8191 bytes; send less");
        }
    }
}

struct Head {
    method: Method,
    host: String,
    origin: Option<String>,
    keys: Vec<String>,
    length: usize,
}

/// Understands a complete head, strictly.
fn parse(head: &[u8]) -> Result<Head, Refused> {
    // Also keeps out bare line feeds and carriage returns, which some take for line ends and others do not.
    let plain = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~');
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r"));
    lines.next_back();
    if !lines.all(|line| line.is_some_and(|line| line.iter().all(plain))) {
        return bad("the head has a byte that is not printable ASCII, or a bare line feed; end lines with CR LF");
    }
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(httparse::Status::Complete(length)) if length == head.len() => {}
        Err(httparse::Error::TooManyHeaders) => {
            return refused(StatusCode::RequestHeaderFieldsTooLarge, "more than 64 header fields; send fewer");
        }
        Err(httparse::Error::Version) => {
            return refused(StatusCode::HttpVersionNotSupported, "not HTTP/1.1; send HTTP/1.1");
        }
        _ => return bad("the head is not HTTP; send a request line and header fields"),
    }
    if request.version != Some(1) {
        return refused(StatusCode::HttpVersionNotSupported, "not HTTP/1.1; send HTTP/1.1");
    }
    let method = match Method::from_str(request.method.unwrap_or_default()) {
        // The rest, CONNECT above all, has other framing or target rules.
        Ok(method @ (Method::Get | Method::Head | Method::Post | Method::Put | Method::Patch | Method::Delete)) => {
            method
        }
        Ok(Method::Options) => Method::Options,
        _ => return refused(StatusCode::NotImplemented, "this method is not known; use GET, POST, PATCH or DELETE"),
    };
    let target = request.path.unwrap_or_default();
    if !target.starts_with('/') || !target.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._~@?=&%+:,*-".contains(&b))
    {
        return bad("the target is not a plain path; send one like /v0/management/health");
    }
    collect(method, request.headers)
}

/// Takes from the fields what matters here; the decoder reads them again.
fn collect(method: Method, fields: &[httparse::Header<'_>]) -> Result<Head, Refused> {
    let (mut host, mut origin, mut keys, mut length) = (None, None, Vec::new(), None);
    for field in fields {
        let Ok(value) = std::str::from_utf8(field.value) else { return bad("a header value is not ASCII") };
        let value = value.trim();
        let again = match field.name.to_ascii_lowercase().as_str() {
            "host" => host.replace(value.to_owned()).is_some(),
            "origin" => origin.replace(value.to_owned()).is_some(),
            "content-length" => {
                let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
                let Some(number) = value.parse::<usize>().ok().filter(|_| digits) else {
                    return bad("Content-Length is no number; send one number");
                };
                if number > LARGEST_BODY {
                    return refused(StatusCode::PayloadTooLarge, "the body is longer than 65536 bytes; send less");
                }
                length.replace(number).is_some()
            }
            "transfer-encoding" => {
                return refused(StatusCode::NotImplemented, "Transfer-Encoding is not taken here; send Content-Length");
            }
            "upgrade" => return bad("no upgrade is known here; leave Upgrade out"),
            "expect" => return refused(StatusCode::ExpectationFailed, "Expect is not taken here; leave it out"),
            "x-admin-key" => {
                keys.push(value.to_owned());
                false
            }
            "authorization" => {
                let key = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
                keys.push(key.map(|(_, key)| key.trim().to_owned()).unwrap_or_default());
                false
            }
            _ => false,
        };
        if again {
            return bad("Host, Origin or Content-Length is there twice; send it once");
        }
    }
    let Some(host) = host.filter(|host| is_authority(host)) else {
        return bad("Host is missing or no host; send the one that you ask");
    };
    Ok(Head { method, host, origin, keys, length: length.unwrap_or(0) })
}

/// Whether the text may stand between `http://` and the path.
fn is_authority(host: &str) -> bool {
    (1..=255).contains(&host.len())
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
}
