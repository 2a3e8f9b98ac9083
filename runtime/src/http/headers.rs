//! Header fields as they were on the wire: order, case of names, bytes of values.

use std::ops::Range;

/// A field that could not be written without changing the message around it (R6).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidField {
    /// The name is empty or has a byte that is not a token character.
    #[error("header name {0:?} is not a token; use letters, digits and !#$%&'*+-.^_`|~ only")]
    Name(String),
    /// The value has CR, LF, NUL or another control character. The value may be a secret and is not shown.
    #[error("the value of header {0:?} holds a control character (CR, LF, NUL or the like); remove it")]
    Value(String),
}

/// An ordered list of header fields.
///
/// Names keep the case they came in and values their raw bytes, also non-ASCII ones (W5); look-ups ignore the case of
/// names. All text lives in two buffers, so that a head costs three allocations however many fields it has.
/// `Debug` shows names only, because values may be secrets.
#[derive(Clone, Default)]
pub struct Headers {
    names: String,
    values: Vec<u8>,
    fields: Vec<Field>,
}

#[derive(Clone)]
struct Field {
    name: Range<u32>,
    value: Range<u32>,
}

fn span(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// Whether `byte` may stand in a token (RFC 9110, 5.6.2).
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_value_byte(byte: u8) -> bool {
    byte == b'\t' || (byte >= 0x20 && byte != 0x7f)
}

/// `value` without the spaces and tabs around it.
pub(crate) fn trim_blanks(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

impl Headers {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty list with room for `fields` fields of a usual size.
    pub fn with_capacity(fields: usize) -> Self {
        Self {
            names: String::with_capacity(fields * 16),
            values: Vec::with_capacity(fields * 32),
            fields: Vec::with_capacity(fields),
        }
    }

    /// Appends a field; blanks around the value are dropped.
    ///
    /// # Errors
    /// A name that is no token, or a value with a control character other than a tab, is refused (R6): nothing that
    /// was pushed can end a line or a head early.
    pub fn push(&mut self, name: &str, value: impl AsRef<[u8]>) -> Result<(), InvalidField> {
        let value = trim_blanks(value.as_ref());
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            return Err(InvalidField::Name(name.chars().take(64).collect()));
        }
        if !value.iter().copied().all(is_value_byte) {
            return Err(InvalidField::Value(name.to_owned()));
        }
        self.push_checked(name, value);
        Ok(())
    }

    /// Appends a field that the parser has already checked.
    pub(crate) fn push_checked(&mut self, name: &str, value: &[u8]) {
        // Positions are 32 bits wide: a list that outgrows 4 GiB drops the field rather than wrapping.
        let (Ok(name_end), Ok(value_end)) =
            (u32::try_from(self.names.len() + name.len()), u32::try_from(self.values.len() + value.len()))
        else {
            return;
        };
        let name_start = name_end - name.len() as u32;
        let value_start = value_end - value.len() as u32;
        self.names.push_str(name);
        self.values.extend_from_slice(value);
        self.fields.push(Field { name: name_start..name_end, value: value_start..value_end });
    }

    /// Removes every field called `name`, then appends one.
    ///
    /// # Errors
    /// As [`Headers::push`]; the list is unchanged then.
    pub fn set(&mut self, name: &str, value: impl AsRef<[u8]>) -> Result<(), InvalidField> {
        let before = self.fields.len();
        self.push(name, value)?;
        let added = self.fields.split_off(before);
        self.remove(name);
        self.fields.extend(added);
        Ok(())
    }

    /// Removes every field called `name`; how many there were.
    pub fn remove(&mut self, name: &str) -> usize {
        let before = self.fields.len();
        self.retain(|n, _| !n.eq_ignore_ascii_case(name));
        before - self.fields.len()
    }

    /// Keeps the fields for which `keep(name, value)` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &[u8]) -> bool) {
        let (names, values) = (&self.names, &self.values);
        self.fields.retain(|f| keep(&names[span(&f.name)], &values[span(&f.value)]));
    }

    /// Removes the fields that are meant for one connection only (R6): the known ones, and those that `Connection`
    /// names. To be called on every head that is passed on.
    pub fn remove_hop_by_hop(&mut self) {
        const KNOWN: [&str; 9] = [
            "connection",
            "keep-alive",
            "proxy-authenticate",
            "proxy-authorization",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
        ];
        let named: Vec<u8> = self.get_all("connection").collect::<Vec<_>>().join(&b',');
        let is_named = |name: &str| {
            named.split(|b| *b == b',').any(|token| trim_blanks(token).eq_ignore_ascii_case(name.as_bytes()))
        };
        self.retain(|name, _| !KNOWN.iter().any(|known| name.eq_ignore_ascii_case(known)) && !is_named(name));
    }

    /// The value of the first field called `name`.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v)
    }

    /// The value of the first field called `name`, if it is UTF-8.
    pub fn get_str(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|v| str::from_utf8(v).ok())
    }

    /// The values of all fields called `name`, in order.
    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> + 'a {
        self.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v)
    }

    /// How many fields are called `name`. More than one makes a session header no key (K1).
    pub fn count(&self, name: &str) -> usize {
        self.get_all(name).count()
    }

    /// Whether a field called `name` has `token` in its comma-separated list, whatever the case.
    pub fn has_token(&self, name: &str, token: &str) -> bool {
        self.get_all(name)
            .any(|v| v.split(|b| *b == b',').any(|t| trim_blanks(t).eq_ignore_ascii_case(token.as_bytes())))
    }

    /// All fields in order, as (name, value).
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.fields.iter().map(|f| (&self.names[span(&f.name)], &self.values[span(&f.value)]))
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Appends the fields for which `keep(name)` is true as lines, each ended with CRLF.
    pub(crate) fn write_lines(&self, out: &mut Vec<u8>, keep: impl Fn(&str) -> bool) {
        for (name, value) in self.iter().filter(|(n, _)| keep(n)) {
            write_line(out, name, value);
        }
    }
}

/// Appends one field line. Both parts must have been checked.
pub(crate) fn write_line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

impl PartialEq for Headers {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Headers {}

impl std::fmt::Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Headers {
        let mut h = Headers::new();
        h.push("Session-ID", "a").unwrap();
        h.push("x-Codex-Turn", b"caf\xe9".as_slice()).unwrap();
        h.push("session-id", " b ").unwrap();
        h
    }

    #[test]
    fn order_case_and_bytes_are_kept_and_lookups_ignore_case() {
        let h = sample();
        assert_eq!(h.iter().map(|(n, _)| n).collect::<Vec<_>>(), ["Session-ID", "x-Codex-Turn", "session-id"]);
        assert_eq!(h.get("SESSION-id"), Some(b"a".as_slice()));
        assert_eq!(h.get_all("session-id").collect::<Vec<_>>(), [b"a", b"b"]);
        assert_eq!(h.count("session-id"), 2);
        assert_eq!(h.get("x-codex-turn"), Some(b"caf\xe9".as_slice()));
        assert_eq!(h.get_str("x-codex-turn"), None);
        assert_eq!(h.get("absent"), None);
    }

    #[test]
    fn set_replaces_every_field_of_the_name_and_a_bad_value_changes_nothing() {
        let mut h = sample();
        assert!(h.set("session-id", "x\r\ny").is_err());
        assert_eq!(h, sample());
        h.set("session-id", "c").unwrap();
        assert_eq!(h.get_all("session-id").collect::<Vec<_>>(), [b"c"]);
        assert_eq!(h.remove("SESSION-ID"), 1);
        assert_eq!(h.len(), 1);
    }

    #[test]
    fn what_could_end_a_line_is_refused() {
        let mut h = Headers::new();
        for value in ["a\rb", "a\nb", "a\r\n", "\na", "a\r\n b", "a\0b", "a\x7fb", "a\x1bb"] {
            assert_eq!(h.push("x", value), Err(InvalidField::Value("x".into())), "{value:?}");
        }
        for name in ["", "a b", "a:", "a\r", "é"] {
            assert!(matches!(h.push(name, "v"), Err(InvalidField::Name(_))), "{name:?}");
        }
        assert!(h.is_empty());
        h.push("tab", "a\tb").unwrap();
    }

    #[test]
    fn debug_shows_no_value() {
        let mut h = Headers::new();
        h.push("authorization", "Bearer secret").unwrap();
        assert_eq!(format!("{h:?}"), "[\"authorization\"]");
    }

    #[test]
    fn fields_of_one_connection_are_not_passed_on() {
        let mut h = Headers::new();
        for name in ["X-Keep", "Connection", "Keep-Alive", "x-Hop", "TE", "Upgrade", "x-other"] {
            h.push(name, "close, X-HOP").unwrap();
        }
        h.push("connection", "x-other").unwrap();
        h.remove_hop_by_hop();
        assert_eq!(h.iter().map(|(n, _)| n).collect::<Vec<_>>(), ["X-Keep"]);
    }

    #[test]
    fn tokens_are_found_in_lists_over_several_fields() {
        let mut h = Headers::new();
        h.push("Connection", "keep-alive").unwrap();
        h.push("connection", "x-foo ,  CLOSE").unwrap();
        assert!(h.has_token("connection", "close"));
        assert!(!h.has_token("connection", "clos"));
    }
}
