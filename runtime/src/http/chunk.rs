//! The chunked transfer coding, decoded strictly whatever way the bytes are split.

use std::ops::Range;

/// Bytes of one chunk-size line after the size (an extension) at most.
const EXTENSION_BYTES: usize = 1024;

/// Bytes of extensions and trailers in one body at most.
const OVERHEAD_BYTES: usize = 16 * 1024;

/// Digits of a chunk size at most: as many as 64 bits have.
const SIZE_DIGITS: u8 = 16;

/// Why a chunked body is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkFault(pub(crate) &'static str);

/// What a call of [`ChunkDecoder::step`] found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The whole input was framing; more is needed.
    More,
    /// Data of the body at this place of the input; everything before it was framing.
    Data(Range<usize>),
    /// The body ended after this many bytes of the input.
    End(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size {
        digits: u8,
    },
    /// Blanks between the size and a semicolon.
    Gap {
        bytes: usize,
    },
    Extension {
        bytes: usize,
    },
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

/// Decodes one chunked body. Extensions and trailers are read, bounded and dropped.
#[derive(Debug)]
pub(crate) struct ChunkDecoder {
    state: State,
    left: u64,
    overhead: usize,
}

impl Default for ChunkDecoder {
    fn default() -> Self {
        Self { state: State::Size { digits: 0 }, left: 0, overhead: 0 }
    }
}

impl ChunkDecoder {
    /// Takes the next part of the body. After [`Step::Data`] the next call must go on right behind the data.
    pub(crate) fn step(&mut self, input: &[u8]) -> Result<Step, ChunkFault> {
        if self.state == State::Done {
            return Ok(Step::End(0));
        }
        for (at, byte) in input.iter().copied().enumerate() {
            if self.state == State::Data {
                return Ok(self.data(at, input.len()));
            }
            self.state = self.framing(byte)?;
            if self.state == State::Done {
                return Ok(Step::End(at + 1));
            }
        }
        Ok(Step::More)
    }

    fn data(&mut self, at: usize, len: usize) -> Step {
        let take = usize::try_from(self.left).unwrap_or(usize::MAX).min(len - at);
        self.left -= take as u64;
        if self.left == 0 {
            self.state = State::DataCr;
        }
        Step::Data(at..at + take)
    }

    fn framing(&mut self, byte: u8) -> Result<State, ChunkFault> {
        Ok(match (self.state, byte) {
            (State::Size { digits }, _) if byte.is_ascii_hexdigit() => {
                if digits == SIZE_DIGITS {
                    return Err(ChunkFault("a chunk size has more than 16 digits"));
                }
                self.left = self.left << 4 | u64::from(hex(byte));
                State::Size { digits: digits + 1 }
            }
            (State::Size { digits: 0 }, _) => return Err(ChunkFault("a chunk size is not a hexadecimal number")),
            (State::Size { .. } | State::Gap { .. }, b';') => State::Extension { bytes: 0 },
            (State::Size { .. }, b'\r') | (State::Extension { .. }, b'\r') => State::SizeLf,
            (State::Size { .. }, b' ' | b'\t') => State::Gap { bytes: 0 },
            (State::Gap { bytes }, b' ' | b'\t') => State::Gap { bytes: self.extension(bytes, byte)? },
            (State::Size { .. } | State::Gap { .. }, _) => {
                return Err(ChunkFault("a chunk size is followed by something other than CRLF or an extension"));
            }
            (State::Extension { bytes }, _) => State::Extension { bytes: self.extension(bytes, byte)? },
            (State::SizeLf, b'\n') if self.left == 0 => State::TrailerStart,
            (State::SizeLf, b'\n') => State::Data,
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size { digits: 0 },
            (State::DataCr | State::DataLf, _) => return Err(ChunkFault("a chunk is longer than its size says")),
            (State::TrailerStart, b'\r') => State::EndLf,
            (State::TrailerStart, _) if super::headers::is_token_byte(byte) => self.trailer(State::TrailerName)?,
            (State::TrailerName, b':') => self.trailer(State::TrailerValue)?,
            (State::TrailerName, _) if super::headers::is_token_byte(byte) => self.trailer(State::TrailerName)?,
            (State::TrailerValue, b'\r') => State::TrailerLf,
            (State::TrailerValue, _) if !is_control(byte) => self.trailer(State::TrailerValue)?,
            (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::EndLf, b'\n') => State::Done,
            (State::SizeLf | State::TrailerLf | State::EndLf, _) => return Err(ChunkFault("a CR without LF")),
            _ => return Err(ChunkFault("a trailer line is malformed")),
        })
    }

    fn extension(&mut self, bytes: usize, byte: u8) -> Result<usize, ChunkFault> {
        if is_control(byte) {
            return Err(ChunkFault("a chunk extension has a control character"));
        }
        self.overhead += 1;
        if bytes >= EXTENSION_BYTES || self.overhead > OVERHEAD_BYTES {
            return Err(ChunkFault("the chunk extensions are too long"));
        }
        Ok(bytes + 1)
    }

    fn trailer(&mut self, next: State) -> Result<State, ChunkFault> {
        self.overhead += 1;
        if self.overhead > OVERHEAD_BYTES {
            return Err(ChunkFault("the trailers are too long"));
        }
        Ok(next)
    }
}

fn is_control(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\t') || byte == 0x7f
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

/// The end of a chunked body without trailers.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Appends one chunk; nothing for empty data, which would end the body.
pub(crate) fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    let digits = (usize::BITS - data.len().leading_zeros()).div_ceil(4);
    for place in (0..digits).rev() {
        out.push(b"0123456789abcdef"[data.len() >> (place * 4) & 0xf]);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decodes `pieces` one after the other: the data, and how many bytes were left once the body ended.
    fn decode(pieces: &[&[u8]]) -> Result<(Vec<u8>, Option<usize>), ChunkFault> {
        let mut decoder = ChunkDecoder::default();
        let mut data = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            let mut rest = *piece;
            loop {
                match decoder.step(rest)? {
                    Step::More => break,
                    Step::Data(range) => {
                        data.extend_from_slice(&rest[range.clone()]);
                        rest = &rest[range.end..];
                    }
                    Step::End(used) => {
                        let later: usize = pieces[index + 1..].iter().map(|p| p.len()).sum();
                        return Ok((data, Some(rest.len() - used + later)));
                    }
                }
            }
        }
        Ok((data, None))
    }

    const RICH: &[u8] =
        b"5;a=\"b c\"\r\nhello\r\n00A \t;x\r\n0123456789\r\n1\r\n\n\r\n000\r\nTrailer: v\r\nX:\r\n\r\nNEXT";

    #[test]
    fn a_body_split_at_any_byte_decodes_the_same() {
        let whole = decode(&[RICH]).unwrap();
        assert_eq!(whole, (b"hello0123456789\n".to_vec(), Some(4)));
        for at in 0..RICH.len() {
            assert_eq!(decode(&[&RICH[..at], &RICH[at..]]).unwrap(), whole, "split at {at}");
        }
        let bytes: Vec<&[u8]> = RICH.chunks(1).collect();
        assert_eq!(decode(&bytes).unwrap(), whole);
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        let long_extension = [b"1;".as_slice(), &[b'x'; 1025], b"\r\n"].concat();
        let long_trailer = [b"0\r\na:".as_slice(), &[b'x'; 17_000], b"\r\n\r\n"].concat();
        let bad: &[&[u8]] = &[
            b"\r\n",
            b"\n",
            b"+5\r\nhello\r\n",
            b"-5\r\n",
            b"0x5\r\n",
            b" 5\r\n",
            b"5 \r\nhello\r\n",
            b"g\r\n",
            b"5,5\r\n",
            b"5\nhello\r\n",
            b"5\r\r\nhello",
            b"5\rhello",
            b"5\r\nhellohello",
            b"5\r\nhello\n0\r\n\r\n",
            b"5\r\nhello\r0",
            b"00000000000000005\r\nhello",
            b"ffffffffffffffff0\r\n",
            b"5;a\0b\r\n",
            b"5;a\nb\r\n",
            b"5;a\rb\r\n",
            b"5 x\r\n",
            b"0\r\n\n",
            b"0\r\n a: b\r\n\r\n",
            b"0\r\nno colon\r\n\r\n",
            b"0\r\n: v\r\n\r\n",
            b"0\r\na: b\n\r\n",
            b"0\r\na: b\0\r\n",
            b"0\r\na: b\rc\r\n",
            b"0\r\n\rX",
            &long_extension,
            &long_trailer,
        ];
        for body in bad {
            assert!(decode(&[body]).is_err(), "{:?}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn a_size_of_sixteen_digits_is_read_as_it_is() {
        let mut decoder = ChunkDecoder::default();
        assert_eq!(decoder.step(b"ffffffffffffffff\r\nab").unwrap(), Step::Data(18..20));
        assert_eq!(decoder.left, u64::MAX - 2);
    }

    #[test]
    fn many_small_extensions_are_bounded_together() {
        let body = b"1;0123456789\r\nx\r\n".repeat(2000);
        assert_eq!(decode(&[&body]), Err(ChunkFault("the chunk extensions are too long")));
    }

    proptest! {
        #[test]
        fn what_was_written_reads_back_however_it_is_split(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let mut wire = Vec::new();
            for chunk in &chunks {
                write_chunk(&mut wire, chunk);
            }
            wire.extend_from_slice(LAST_CHUNK);
            let mut at: Vec<usize> = cuts.iter().map(|i| i.index(wire.len())).collect();
            at.extend([0, wire.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|w| &wire[w[0]..w[1]]).collect();
            prop_assert_eq!(decode(&pieces).unwrap(), (chunks.concat(), Some(0)));
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&[&bytes]);
        }
    }
}
