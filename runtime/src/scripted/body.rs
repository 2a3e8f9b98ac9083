//! Content decoding of request bodies.

use std::io::Read as _;
use std::sync::Arc;

/// Longest decoded body in bytes.
const LIMIT: u64 = 256 * 1024 * 1024;

/// The body after content decoding. A body without an encoding is shared, not copied; one that cannot be decoded, or
/// that names an unknown or stacked encoding, gives `None`.
pub(super) fn decode(raw: &Arc<[u8]>, encoding: Option<&str>) -> Option<Arc<[u8]>> {
    let mut out = Vec::new();
    let read = match encoding.map(|e| e.trim().to_ascii_lowercase()).as_deref() {
        None | Some("" | "identity") => return Some(raw.clone()),
        Some("zstd") => zstd::Decoder::new(&raw[..]).ok()?.take(LIMIT).read_to_end(&mut out),
        Some("gzip" | "x-gzip") => flate2::read::MultiGzDecoder::new(&raw[..]).take(LIMIT).read_to_end(&mut out),
        Some("deflate") => flate2::read::ZlibDecoder::new(&raw[..]).take(LIMIT).read_to_end(&mut out),
        Some("br") => brotli::Decompressor::new(&raw[..], 4096).take(LIMIT).read_to_end(&mut out),
        Some(_) => return None,
    };
    read.ok().map(|_| out.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn each_encoding_is_read() {
        let plain = br#"{"model":"gpt-5.5"}"#.repeat(50);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&plain).unwrap();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(&plain).unwrap();
        let mut brotli = brotli::CompressorWriter::new(Vec::new(), 4096, 1, 18);
        brotli.write_all(&plain).unwrap();
        let cases = [
            ("zstd", zstd::encode_all(&plain[..], 1).unwrap()),
            ("GZIP", gzip.finish().unwrap()),
            ("deflate", zlib.finish().unwrap()),
            ("br", brotli.into_inner()),
        ];
        for (name, bytes) in cases {
            let decoded = decode(&bytes.into(), Some(name)).unwrap_or_else(|| panic!("{name} was not decoded"));
            assert_eq!(&decoded[..], &plain[..], "{name}");
        }
    }

    #[test]
    fn what_cannot_be_decoded_is_nothing() {
        let raw: Arc<[u8]> = b"not compressed".as_slice().into();
        for name in ["zstd", "gzip", "deflate", "br", "gzip, zstd", "lzma"] {
            assert!(decode(&raw, Some(name)).is_none(), "{name}");
        }
        assert!(Arc::ptr_eq(&decode(&raw, None).unwrap(), &raw));
    }
}
