//! The framing of a response body.

use std::io;

use super::{End, RawHead};

/// Where the reader stands in a body.
pub(super) enum BodyReader {
    /// No body, or all of it was read.
    None,
    /// So many bytes are still to come.
    Length(usize),
    /// In a chunk of which so many bytes, its line end included, are still to come; `None`: before a chunk's size.
    Chunked(Option<usize>),
    /// Until the peer closes.
    UntilClose,
}

impl BodyReader {
    pub(super) fn of(head: &RawHead) -> io::Result<Self> {
        if matches!(head.status, 101 | 204 | 304) {
            return Ok(Self::None);
        }
        match (head.header("transfer-encoding"), head.header("content-length")) {
            (Some(_), Some(_)) => Err(broken("both Transfer-Encoding and Content-Length")),
            (Some(coding), None) if coding.eq_ignore_ascii_case("chunked") => Ok(Self::Chunked(None)),
            (Some(_), None) => Err(broken("an unknown Transfer-Encoding")),
            (None, Some(length)) => length.parse().map(Self::Length).map_err(|_| broken("a bad Content-Length")),
            (None, None) => Ok(Self::UntilClose),
        }
    }

    pub(super) fn ends_with_the_connection(&self) -> bool {
        matches!(self, Self::UntilClose)
    }

    /// Moves body bytes from `buffer` to `body`; the end, once it is reached.
    pub(super) fn take(&mut self, buffer: &mut Vec<u8>, body: &mut Vec<u8>) -> io::Result<Option<End>> {
        match self {
            Self::None => Ok(Some(End::Complete)),
            Self::UntilClose => {
                body.append(buffer);
                Ok(None)
            }
            Self::Length(left) => {
                let part = buffer.len().min(*left);
                body.extend(buffer.drain(..part));
                *left -= part;
                Ok((*left == 0).then(|| self.done()))
            }
            Self::Chunked(_) => self.take_chunks(buffer, body),
        }
    }

    fn take_chunks(&mut self, buffer: &mut Vec<u8>, body: &mut Vec<u8>) -> io::Result<Option<End>> {
        while let Self::Chunked(state) = self {
            match state {
                Some(left) => {
                    let data = buffer.len().min(left.saturating_sub(2));
                    body.extend(buffer.drain(..data));
                    *left -= data;
                    if *left > 2 || buffer.len() < 2 {
                        return Ok(None);
                    }
                    if buffer.drain(..2).as_slice() != b"\r\n" {
                        return Err(broken("a chunk without its line end"));
                    }
                    *state = None;
                }
                None => {
                    let Some(line) = buffer.windows(2).position(|w| w == b"\r\n") else { return Ok(None) };
                    let digits = String::from_utf8_lossy(&buffer[..line]).into_owned();
                    let size = usize::from_str_radix(&digits, 16).map_err(|_| broken("a bad chunk size"))?;
                    if size > 0 {
                        buffer.drain(..line + 2);
                        *state = Some(size + 2);
                        continue;
                    }
                    // The last chunk: trailers are none of ours, so an empty line must follow.
                    if buffer.len() < line + 4 {
                        return Ok(None);
                    }
                    if buffer.drain(..line + 4).as_slice()[line + 2..] != *b"\r\n" {
                        return Err(broken("trailers"));
                    }
                    return Ok(Some(self.done()));
                }
            }
        }
        Ok(None)
    }

    fn done(&mut self) -> End {
        *self = Self::None;
        End::Complete
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} in a response"))
}
