//! Finds the top-level `type` of a JSON object that arrives in pieces, looking at each byte once.

/// The longest member name or type kept; a longer one is none that is known.
const MAX_TOKEN: usize = 96;

/// What is known so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Not yet.
    Unknown,
    /// The type was found: see [`TypeFinder::token`].
    Found,
    /// There is none: not an object, closed without one, or of another JSON type.
    Nothing,
}

/// A small reader that knows strings, nesting and the members of the outermost object, and checks nothing else.
#[derive(Debug, Default)]
pub(super) struct TypeFinder {
    at: At,
    depth: u32,
    token: Vec<u8>,
    /// The token ran past its bound or cannot be unescaped: it matches nothing.
    spoiled: bool,
    escaped: bool,
    /// The key that was just read.
    key: Key,
    /// Whether an `error` object was seen at the top level.
    pub(super) has_error: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// Before the outermost `{`.
    #[default]
    Start,
    /// In the outermost object, where a key or `}` may come.
    BeforeKey,
    InKey,
    /// After a key's closing quote, before its value.
    BeforeValue,
    /// In the string value of `type`.
    InType,
    /// In any other value at the top level, outside strings.
    InValue,
    /// In a string of such a value.
    InString,
    Found,
    Nothing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Key {
    Type,
    Error,
    #[default]
    Other,
}

impl TypeFinder {
    /// Forgets everything; keeps its memory.
    pub(super) fn reset(&mut self) {
        let mut token = std::mem::take(&mut self.token);
        token.clear();
        *self = Self { token, ..Self::default() };
    }

    pub(super) fn verdict(&self) -> Verdict {
        match self.at {
            At::Found => Verdict::Found,
            At::Nothing => Verdict::Nothing,
            _ => Verdict::Unknown,
        }
    }

    /// The type, unescaped, once found. Empty where it was too long to be a known one.
    pub(super) fn token(&self) -> &[u8] {
        &self.token
    }

    /// Takes the next bytes of the data.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while let [byte, rest @ ..] = bytes {
            match self.at {
                At::Found | At::Nothing => return,
                At::InString if !self.escaped => {
                    // Long strings are where the bytes are: skip to what can end one.
                    let Some(at) = memchr::memchr2(b'"', b'\\', bytes) else { return };
                    if bytes[at] == b'"' {
                        self.at = At::InValue;
                    } else {
                        self.escaped = true;
                    }
                    bytes = &bytes[at + 1..];
                }
                _ => {
                    self.step(*byte);
                    bytes = rest;
                }
            }
        }
    }

    fn step(&mut self, byte: u8) {
        match self.at {
            At::Start => match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {}
                b'{' => self.at = At::BeforeKey,
                _ => self.at = At::Nothing,
            },
            At::BeforeKey => match byte {
                b'"' => self.begin(At::InKey),
                b'}' => self.at = At::Nothing,
                _ => {}
            },
            At::InKey => {
                if self.collect(byte) {
                    self.key = match self.token.as_slice() {
                        b"type" => Key::Type,
                        b"error" => Key::Error,
                        _ => Key::Other,
                    };
                    self.at = At::BeforeValue;
                }
            }
            At::BeforeValue => self.begin_value(byte),
            At::InType => {
                if self.collect(byte) {
                    self.at = At::Found;
                }
            }
            At::InValue => self.in_value(byte),
            At::InString => self.escaped = false,
            At::Found | At::Nothing => {}
        }
    }

    fn begin(&mut self, at: At) {
        self.token.clear();
        self.spoiled = false;
        self.at = at;
    }

    fn begin_value(&mut self, byte: u8) {
        match byte {
            b':' | b' ' | b'\t' | b'\n' | b'\r' => {}
            b'"' if self.key == Key::Type => self.begin(At::InType),
            _ if self.key == Key::Type => self.at = At::Nothing,
            _ => {
                self.has_error |= self.key == Key::Error && byte == b'{';
                self.depth = 0;
                self.at = At::InValue;
                self.in_value(byte);
            }
        }
    }

    fn in_value(&mut self, byte: u8) {
        match byte {
            b'"' => self.at = At::InString,
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' if self.depth == 0 => self.at = At::Nothing,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' if self.depth == 0 => self.at = At::BeforeKey,
            _ => {}
        }
    }

    /// Adds a byte of a key or type; true once its closing quote came and the token is complete.
    fn collect(&mut self, byte: u8) -> bool {
        if byte == b'"' && !self.escaped {
            self.unescape();
            return true;
        }
        self.escaped = byte == b'\\' && !self.escaped;
        if self.token.len() < MAX_TOKEN {
            self.token.push(byte);
        } else {
            self.spoiled = true;
        }
        false
    }

    fn unescape(&mut self) {
        if !self.spoiled && !self.token.contains(&b'\\') {
            return;
        }
        let text = (!self.spoiled).then(|| {
            let quoted = [&b"\""[..], &self.token, b"\""].concat();
            serde_json::from_slice::<String>(&quoted).ok()
        });
        self.token.clear();
        if let Some(Some(text)) = text {
            self.token.extend_from_slice(text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(json: &str) -> Result<String, Verdict> {
        let mut whole = TypeFinder::default();
        whole.feed(json.as_bytes());
        let mut bytewise = TypeFinder::default();
        bytewise.token.extend_from_slice(b"left over");
        bytewise.reset();
        json.as_bytes().chunks(1).for_each(|b| bytewise.feed(b));
        assert_eq!((whole.verdict(), whole.token()), (bytewise.verdict(), bytewise.token()), "{json}");
        match whole.verdict() {
            Verdict::Found => Ok(String::from_utf8(whole.token().to_vec()).unwrap()),
            verdict => Err(verdict),
        }
    }

    #[test]
    fn the_first_top_level_type_is_found() {
        for (json, want) in [
            (r#"{"type":"a"}"#, "a"),
            (r#" {"type" : "a""#, "a"),
            (r#"{"x":{"type":"no"},"y":["type",{"type":"no"}],"type":"yes"}"#, "yes"),
            (r#"{"delta":"\"type\":\"no\" \\","type":"yes"}"#, "yes"),
            (r#"{"x":"type","n":-1.5e3,"b":null,"type":"yes"}"#, "yes"),
            (r#"{"type":"first","type":"second"}"#, "first"),
            (r#"{"ty\u0070e":"a\u002eb"}"#, "a.b"),
            (r#"{"\"type":"no","type":"yes"}"#, "yes"),
            (r#"{"type":""}"#, ""),
        ] {
            assert_eq!(find(json).as_deref(), Ok(want), "{json}");
        }
    }

    #[test]
    fn where_there_is_none_that_is_known_as_early_as_can_be() {
        for json in ["[DONE]", "\"type\"", "{}", r#"{"a":{"type":"x"}}"#, r#"{"a":1}{"type":"x"}"#, r#"{"type":7"#, "7"]
        {
            assert_eq!(find(json), Err(Verdict::Nothing), "{json}");
        }
        for json in ["", " ", "{", r#"{"typ"#, r#"{"type""#, r#"{"type":"response.comp"#, r#"{"a":{"type":"x"}"#] {
            assert_eq!(find(json), Err(Verdict::Unknown), "{json}");
        }
    }

    #[test]
    fn an_over_long_type_matches_nothing_and_is_not_kept() {
        let long = "x".repeat(10_000);
        assert_eq!(find(&format!(r#"{{"type":"{long}"}}"#)).as_deref(), Ok(""));
        assert_eq!(find(&format!(r#"{{"{long}":1,"type":"a"}}"#)).as_deref(), Ok("a"));
    }
}
