//! Decodes a compressed body for reading (K4). What goes upstream is always the body as it came.

use std::borrow::Cow;
use std::io::{self, Read};

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// The largest zstd window taken, as a power of two: 8 MiB (K4, and what RFC 8878 asks every decoder to take).
const ZSTD_WINDOW_LOG: u32 = 23;

/// How much output decoding may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of output.
    pub max_output: usize,
    /// The most bytes of output for each byte of input, once the output is larger than [`Limits::ratio_from`].
    pub max_ratio: usize,
    /// Up to this many bytes any ratio is fine: short repetitive bodies compress very well.
    pub ratio_from: usize,
}

impl Default for Limits {
    /// 64 MiB, the largest body; 200:1 beyond 1 MiB. Turns measured with real clients compress 2:1 to 4:1; a history full of
    /// repeated tool output may reach a few tens.
    fn default() -> Self {
        Self { max_output: 64 << 20, max_ratio: 200, ratio_from: 1 << 20 }
    }
}

impl Limits {
    fn for_input(&self, len: usize) -> usize {
        self.max_output.min(self.ratio_from.max(len.saturating_mul(self.max_ratio)))
    }
}

/// A body made readable, or why it is not. An opaque body is forwarded without body signals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// The body's text: borrowed where it was not compressed.
    Text(Cow<'a, [u8]>),
    /// Not to be read.
    Opaque(Opaque),
}

impl Decoded<'_> {
    /// What can be read of the body: nothing where it is opaque.
    pub fn text(&self) -> &[u8] {
        match self {
            Self::Text(text) => text,
            Self::Opaque(_) => &[],
        }
    }
}

/// Why a body was not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Opaque {
    /// A coding that is not zstd, gzip, deflate, br or identity.
    #[error("the body's content-encoding is not one of zstd, gzip, deflate, br")]
    UnknownEncoding,
    /// More than one coding.
    #[error("the body carries more than one content-encoding")]
    Stacked,
    /// Past the output or ratio bound.
    #[error("the body decodes to more than {limit} bytes")]
    TooLarge {
        /// The bound that held for this body, in bytes.
        limit: usize,
    },
    /// Broken, cut short, followed by other bytes, or a zstd or brotli window beyond the bound.
    #[error("the body does not decode by its content-encoding")]
    Malformed,
}

/// Decodes `body` by the values of its `content-encoding` fields. Never fails: what cannot be read is opaque.
///
/// Decoding 64 MiB takes some tenths of a second of CPU: callers on an executor hand large compressed bodies to a blocking
/// thread.
pub fn decode<'a, 'h>(encodings: impl IntoIterator<Item = &'h [u8]>, body: &'a [u8], limits: Limits) -> Decoded<'a> {
    let coding = match only_coding(encodings) {
        Ok(Coding::Identity) => return Decoded::Text(Cow::Borrowed(body)),
        Ok(coding) => coding,
        Err(why) => return Decoded::Opaque(why),
    };
    match inflate(coding, body, limits.for_input(body.len())) {
        Ok(text) => Decoded::Text(Cow::Owned(text)),
        Err(why) => Decoded::Opaque(why),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    Identity,
    Zstd,
    Gzip,
    Deflate,
    Brotli,
}

fn only_coding<'h>(encodings: impl IntoIterator<Item = &'h [u8]>) -> Result<Coding, Opaque> {
    let mut found = Coding::Identity;
    for token in encodings.into_iter().flat_map(|value| value.split(|b| *b == b',')) {
        let token = token.trim_ascii();
        let is = |name: &str| token.eq_ignore_ascii_case(name.as_bytes());
        let coding = match () {
            () if token.is_empty() || is("identity") => continue,
            () if is("zstd") => Coding::Zstd,
            () if is("gzip") || is("x-gzip") => Coding::Gzip,
            () if is("deflate") => Coding::Deflate,
            () if is("br") => Coding::Brotli,
            () => return Err(Opaque::UnknownEncoding),
        };
        if found != Coding::Identity {
            return Err(Opaque::Stacked);
        }
        found = coding;
    }
    Ok(found)
}

/// The whole input must be used up: a reader that stops early and one that goes on would see two different bodies.
fn inflate(coding: Coding, body: &[u8], limit: usize) -> Result<Vec<u8>, Opaque> {
    match coding {
        Coding::Identity => Ok(body.to_vec()),
        Coding::Zstd => {
            let mut reader = zstd::stream::read::Decoder::with_buffer(body).map_err(malformed)?;
            reader.window_log_max(ZSTD_WINDOW_LOG).map_err(malformed)?;
            read(&mut reader, body.len(), limit)
        }
        Coding::Gzip => read(&mut MultiGzDecoder::new(body), body.len(), limit),
        Coding::Deflate if zlib_header(body) => zlib(body, limit).or_else(|why| match why {
            Opaque::Malformed => raw_deflate(body, limit),
            why => Err(why),
        }),
        Coding::Deflate => raw_deflate(body, limit),
        Coding::Brotli => {
            // The pattern that announces a window of up to 1 GiB, which is no part of `br` (RFC 7932 §9.1).
            if body.first().is_some_and(|b| b & 0x7f == 0x11) {
                return Err(Opaque::Malformed);
            }
            let mut reader = brotli::Decompressor::new(body, 4096);
            let text = read(&mut reader, body.len(), limit)?;
            match reader.read(&mut [0]) {
                Ok(0) if reader.get_ref().is_empty() => Ok(text),
                _ => Err(Opaque::Malformed),
            }
        }
    }
}

fn zlib(body: &[u8], limit: usize) -> Result<Vec<u8>, Opaque> {
    let mut reader = ZlibDecoder::new(body);
    let text = read(&mut reader, body.len(), limit)?;
    if reader.into_inner().is_empty() { Ok(text) } else { Err(Opaque::Malformed) }
}

fn raw_deflate(body: &[u8], limit: usize) -> Result<Vec<u8>, Opaque> {
    let mut reader = DeflateDecoder::new(body);
    let text = read(&mut reader, body.len(), limit)?;
    if reader.into_inner().is_empty() { Ok(text) } else { Err(Opaque::Malformed) }
}

/// "deflate" means zlib (RFC 9110 §8.4.1.2), yet some clients send the raw stream: the two header bytes tell them apart.
fn zlib_header(body: &[u8]) -> bool {
    matches!(body, [cmf, flg, ..] if cmf & 0x0f == 8 && (u16::from(*cmf) << 8 | u16::from(*flg)) % 31 == 0)
}

fn read(reader: &mut impl Read, input: usize, limit: usize) -> Result<Vec<u8>, Opaque> {
    let mut text = Vec::with_capacity(limit.min(input.saturating_mul(4)));
    let mut bounded = reader.take(limit as u64 + 1);
    bounded.read_to_end(&mut text).map_err(malformed)?;
    if text.len() > limit { Err(Opaque::TooLarge { limit }) } else { Ok(text) }
}

fn malformed(_: io::Error) -> Opaque {
    Opaque::Malformed
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use proptest::prelude::*;

    use super::*;

    fn run<'a>(encoding: &str, body: &'a [u8]) -> Decoded<'a> {
        decode([encoding.as_bytes()], body, Limits::default())
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        zstd::encode_all(text, 3).unwrap()
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), Compression::default());
        out.write_all(text).unwrap();
        out.finish().unwrap()
    }

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), Compression::default());
        out.write_all(text).unwrap();
        out.finish().unwrap()
    }

    fn raw(text: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::DeflateEncoder::new(Vec::new(), Compression::default());
        out.write_all(text).unwrap();
        out.finish().unwrap()
    }

    fn br(text: &[u8]) -> Vec<u8> {
        let mut out = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
        out.write_all(text).unwrap();
        out.into_inner()
    }

    type Encode = fn(&[u8]) -> Vec<u8>;
    const CODINGS: [(&str, Encode); 6] =
        [("zstd", zstd), ("gzip", gzip), ("X-GZip", gzip), ("deflate", zlib), ("deflate", raw), ("BR", br)];

    #[test]
    fn field_j1_every_coding_is_read() {
        let text = br#"{"session_id":"s","input":"hello hello hello"}"#;
        for (name, encode) in CODINGS {
            assert_eq!(run(name, &encode(text)).text(), text, "{name}");
        }
    }

    #[test]
    fn what_is_not_compressed_is_borrowed() {
        for encoding in ["", "identity", " identity , "] {
            assert!(matches!(run(encoding, b"{}"), Decoded::Text(Cow::Borrowed(b"{}"))), "{encoding}");
        }
        assert!(matches!(decode([], b"{}", Limits::default()), Decoded::Text(Cow::Borrowed(_))));
    }

    #[test]
    fn k4_unknown_and_stacked_codings_are_opaque() {
        let body = zstd(b"{}");
        assert_eq!(run("compress", &body), Decoded::Opaque(Opaque::UnknownEncoding));
        assert_eq!(run("zstd, gzip", &body), Decoded::Opaque(Opaque::Stacked));
        let twice: [&[u8]; 2] = [b"zstd", b"zstd"];
        assert_eq!(decode(twice, &body, Limits::default()), Decoded::Opaque(Opaque::Stacked));
        assert_eq!(run("identity, zstd", &body).text(), b"{}");
    }

    #[test]
    fn field_j1_bombs_of_every_coding_stop_at_the_bound() {
        let bomb = vec![b' '; 65 << 20];
        for (name, encode) in CODINGS {
            let body = encode(&bomb);
            let limit = Limits::default().for_input(body.len());
            assert_eq!(run(name, &body), Decoded::Opaque(Opaque::TooLarge { limit }), "{name}");
            let generous = Limits { max_ratio: usize::MAX, ..Limits::default() };
            let opaque = decode([name.as_bytes()], &body, generous);
            assert_eq!(opaque, Decoded::Opaque(Opaque::TooLarge { limit: 64 << 20 }), "{name}");
        }
    }

    #[test]
    fn the_bound_itself_is_allowed() {
        let limits = Limits { max_output: 1000, ..Limits::default() };
        let body = gzip(&[b'x'; 1000]);
        assert_eq!(decode([&b"gzip"[..]], &body, limits).text().len(), 1000);
        let body = gzip(&[b'x'; 1001]);
        assert_eq!(decode([&b"gzip"[..]], &body, limits), Decoded::Opaque(Opaque::TooLarge { limit: 1000 }));
    }

    #[test]
    fn several_frames_and_members_are_read_as_one_within_the_bound() {
        for (name, encode) in [("zstd", zstd as Encode), ("gzip", gzip)] {
            let mut body = encode(b"{\"a\":");
            body.extend(encode(b"1}"));
            assert_eq!(run(name, &body).text(), b"{\"a\":1}", "{name}");
            let piece = encode(&[b' '; 1 << 20]);
            let many = piece.repeat(65);
            assert!(matches!(run(name, &many), Decoded::Opaque(Opaque::TooLarge { .. })), "{name}");
        }
    }

    #[test]
    fn a_zstd_window_beyond_8_mib_is_opaque() {
        let text: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        for (log, readable) in [(23, true), (24, false), (27, false)] {
            let mut out = zstd::Encoder::new(Vec::new(), 1).unwrap();
            out.window_log(log).unwrap();
            out.write_all(&text).unwrap();
            let body = out.finish().unwrap();
            assert_eq!(run("zstd", &body).text() == text, readable, "window log {log}");
        }
    }

    #[test]
    fn broken_cut_short_and_followed_bodies_are_opaque() {
        let text = br#"{"session_id":"s","input":"hello hello hello"}"#;
        for (name, encode) in CODINGS {
            let whole = encode(text);
            let cut = &whole[..whole.len() - 3];
            assert_eq!(run(name, cut), Decoded::Opaque(Opaque::Malformed), "{name} cut short");
            let mut followed = whole.clone();
            followed.extend(b"{}trailing bytes");
            assert_eq!(run(name, &followed), Decoded::Opaque(Opaque::Malformed), "{name} followed");
            assert_eq!(run(name, text), Decoded::Opaque(Opaque::Malformed), "{name} not encoded");
        }
        assert_eq!(run("br", &[0x11, 0x1e, 0, 0]), Decoded::Opaque(Opaque::Malformed), "large-window brotli");
    }

    proptest! {
        #[test]
        fn hostile_bodies_never_panic_and_keep_the_bound(
            body in proptest::collection::vec(any::<u8>(), 0..2000),
            at in any::<prop::sample::Index>(),
        ) {
            let limits = Limits { max_output: 10_000, max_ratio: 20, ratio_from: 1_000 };
            for (name, encode) in CODINGS {
                prop_assert!(decode([name.as_bytes()], &body, limits).text().len() <= 10_000);
                let mut bent = encode(&body);
                let at = at.index(bent.len());
                bent[at] ^= 0x55;
                prop_assert!(decode([name.as_bytes()], &bent, limits).text().len() <= 10_000);
            }
        }
    }
}
