//! Reads the upstream's event stream as it passes: which bytes may go on, and what each event means for the attempt.
//!
//! [`Scanner`] takes the bytes in any split and gives them back in order as [`Piece`]s. A visible event passes as it comes,
//! also in parts (W3); every other event comes whole, so that no byte of a terminal event passes before the whole event is
//! known (B15). An event's type is the first top-level `type` of its data; only where the data has none does the `event:`
//! line decide, once the event is complete. All clients known go by the data, so an `event:` line that says otherwise cannot
//! slip a terminal event past the gateway.

mod class;
mod scanner;
mod toplevel;

use std::borrow::Cow;

pub use class::{Class, Held, Terminal};
pub use scanner::{MAX_EVENT, Scanner, TooLarge};

/// Bytes of the stream that may be passed on (or held back by R3), in stream order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// What the event is that these bytes belong to.
    pub class: Class,
    /// The bytes, exactly as they came.
    pub bytes: &'a [u8],
    /// Whether this piece starts its event.
    pub starts: bool,
    /// Whether this piece ends its event. Only visible events come in several pieces.
    pub ends: bool,
}

impl<'a> Piece<'a> {
    /// The event's data with its lines joined, borrowed where there is one line; `None` where this piece is not a whole
    /// event or has no data.
    pub fn data(&self) -> Option<Cow<'a, [u8]>> {
        if !(self.starts && self.ends) {
            return None;
        }
        let mut data: Option<Cow<'a, [u8]>> = None;
        for line in lines(self.bytes.strip_prefix(scanner::BOM).unwrap_or(self.bytes)) {
            let Some(value) = field(line, b"data") else { continue };
            match &mut data {
                None => data = Some(Cow::Borrowed(value)),
                Some(joined) => {
                    let joined = joined.to_mut();
                    joined.push(b'\n');
                    joined.extend_from_slice(value);
                }
            }
        }
        data
    }
}

/// The lines of whole events, ended by LF, CR or CRLF. (Splitting CRLF gives an empty line more, which says nothing.)
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|b| matches!(b, b'\r' | b'\n'))
}

/// The value of a line, if it is of that field: without the colon and one space.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let rest = line.strip_prefix(name)?;
    match rest {
        [] => Some(rest),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
