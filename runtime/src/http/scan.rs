//! Finds the end of a head as its bytes arrive, and refuses line ends that two readers could see differently.

use memchr::memchr2;

/// What is wrong with a head, of a request or of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadFault {
    Malformed(&'static str),
    TargetTooLong,
    TooLarge,
    TooManyFields,
    Version,
}

/// Bounds of a head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeadBounds {
    pub(crate) head_bytes: usize,
    pub(crate) fields: usize,
    /// Longest first line; a request's target is checked again, exactly, once the line is complete.
    pub(crate) first_line: usize,
}

/// Longest method, with the version and the blanks of a request line: what a first line may have besides its target.
pub(crate) const REQUEST_LINE_EXTRA: usize = 64;

/// Looks at each byte of a head once, however it is split.
#[derive(Debug, Default)]
pub(crate) struct HeadScan {
    scanned: usize,
    line_start: usize,
    first_line_done: bool,
}

impl HeadScan {
    /// The length of the head with its empty line, once it is there. `bytes` is everything unread, from the head's
    /// first byte on, and only ever grows between calls.
    pub(crate) fn advance(&mut self, bytes: &[u8], bounds: &HeadBounds) -> Result<Option<usize>, HeadFault> {
        let end = self.find_end(bytes)?;
        if !self.first_line_done && bytes.len() > bounds.first_line {
            return Err(HeadFault::TargetTooLong);
        }
        if end.unwrap_or(bytes.len()) > bounds.head_bytes {
            return Err(HeadFault::TooLarge);
        }
        Ok(end)
    }

    fn find_end(&mut self, bytes: &[u8]) -> Result<Option<usize>, HeadFault> {
        while let Some(offset) = memchr2(b'\r', b'\n', &bytes[self.scanned..]) {
            let at = self.scanned + offset;
            if bytes[at] == b'\n' {
                return Err(HeadFault::Malformed("a line ends with LF instead of CRLF"));
            }
            match bytes.get(at + 1) {
                None => {
                    self.scanned = at;
                    return Ok(None);
                }
                Some(b'\n') => {}
                Some(_) => return Err(HeadFault::Malformed("a CR without LF in the head")),
            }
            let empty = at == self.line_start;
            self.first_line_done = true;
            self.line_start = at + 2;
            self.scanned = at + 2;
            if empty {
                return Ok(Some(at + 2));
            }
        }
        self.scanned = bytes.len();
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: HeadBounds = HeadBounds { head_bytes: 64, fields: 8, first_line: 24 };

    fn whole(bytes: &[u8]) -> Result<Option<usize>, HeadFault> {
        HeadScan::default().advance(bytes, &BOUNDS)
    }

    fn byte_by_byte(bytes: &[u8]) -> Result<Option<usize>, HeadFault> {
        let mut scan = HeadScan::default();
        for end in 1..=bytes.len() {
            if let Some(found) = scan.advance(&bytes[..end], &BOUNDS)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    #[test]
    fn the_end_is_found_the_same_way_whole_and_byte_by_byte() {
        for (bytes, expected) in [
            (b"GET / HTTP/1.1\r\n\r\n".as_slice(), Ok(Some(18))),
            (b"GET / HTTP/1.1\r\na: b\r\n\r\nrest", Ok(Some(24))),
            (b"GET / HTTP/1.1\r\na: b\r\n", Ok(None)),
            (b"GET / HTTP/1.1\n\n", Err(HeadFault::Malformed("a line ends with LF instead of CRLF"))),
            (b"GET / HTTP/1.1\r\r\n", Err(HeadFault::Malformed("a CR without LF in the head"))),
            (b"0123456789012345678901234", Err(HeadFault::TargetTooLong)),
        ] {
            assert_eq!(whole(bytes), expected);
            assert_eq!(byte_by_byte(bytes), expected);
        }
        let long = [b"GET / HTTP/1.1\r\na: ".as_slice(), &[b'x'; 64]].concat();
        assert_eq!(whole(&long), Err(HeadFault::TooLarge));
        assert_eq!(byte_by_byte(&long), Err(HeadFault::TooLarge));
    }
}
