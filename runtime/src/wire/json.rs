//! Reads a few members of one JSON object and skips the rest, without building a tree and without giving up on oddities.
//!
//! serde's derived readers stop at the first duplicate or wrongly typed member; K5 asks that such a member be ignored and the
//! others still count. So each wanted member is kept as raw text and typed afterwards. Skipping is iterative: deep nesting
//! costs a byte of scratch a level, never stack.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What an object says under one name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Member<'a> {
    /// The name does not occur.
    #[default]
    Absent,
    /// The name occurs once, with this value.
    One(&'a RawValue),
    /// The name occurs several times: no reader can know which one another reader takes.
    Repeated,
}

impl<'a> Member<'a> {
    /// The only value, as JSON text.
    pub(super) fn raw(self) -> Option<&'a str> {
        match self {
            Self::One(raw) => Some(raw.get()),
            Self::Absent | Self::Repeated => None,
        }
    }

    /// The only value, if it is a string; borrowed unless it holds escapes.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        text(self.raw()?)
    }

    /// The only value, if it is a number or a string that spells one.
    pub(super) fn number(self) -> Option<f64> {
        let raw = self.raw()?;
        let digits = raw.strip_prefix('"').and_then(|r| r.strip_suffix('"')).unwrap_or(raw).trim();
        let starts_well = digits.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let number: f64 = if starts_well { digits.parse().ok()? } else { return None };
        number.is_finite().then_some(number)
    }

    /// The only value, if it is a count: a non-negative integer.
    pub(super) fn count(self) -> Option<u64> {
        self.raw()?.parse().ok()
    }

    /// The named members of the only value, if that is an object.
    pub(super) fn members<const N: usize>(self, names: [&str; N]) -> Option<[Self; N]> {
        members(self.raw()?.as_bytes(), names)
    }
}

/// The named members of the object that `json` is; `None` where it is not exactly one JSON object.
pub(super) fn members<'a, const N: usize>(json: &'a [u8], names: [&str; N]) -> Option<[Member<'a>; N]> {
    // Anything but an object is cheaper to refuse here, and a scalar of many megabytes is not worth a parse.
    if json.iter().find(|b| !b.is_ascii_whitespace()) != Some(&b'{') {
        return None;
    }
    let mut reader = serde_json::Deserializer::from_slice(json);
    let found = reader.deserialize_map(Object { names }).ok()?;
    reader.end().ok()?;
    Some(found)
}

fn text(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(raw).ok().map(Cow::Owned)
}

struct Object<'n, const N: usize> {
    names: [&'n str; N],
}

impl<'de, const N: usize> Visitor<'de> for Object<'_, N> {
    type Value = [Member<'de>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [Member::Absent; N];
        while let Some(wanted) = map.next_key_seed(Name { names: &self.names })? {
            match wanted {
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
                Some(at) => {
                    let raw: &'de RawValue = map.next_value()?;
                    found[at] = if matches!(found[at], Member::Absent) { Member::One(raw) } else { Member::Repeated };
                }
            }
        }
        Ok(found)
    }
}

/// Reads a member's name as its place among the wanted ones.
struct Name<'n> {
    names: &'n [&'n str],
}

impl<'de> serde::de::DeserializeSeed<'de> for Name<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.names.iter().position(|wanted| *wanted == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(json: &str) -> Option<[Member<'_>; 1]> {
        members(json.as_bytes(), ["a"])
    }

    #[test]
    fn members_are_found_at_the_top_level_only() {
        let [a] = one(r#" {"x":{"a":1},"y":[{"a":2}],"a":"top"} "#).unwrap();
        assert_eq!(a.text().as_deref(), Some("top"));
    }

    #[test]
    fn names_and_values_are_unescaped() {
        let [a] = one(r#"{"\u0061":"x\ny"}"#).unwrap();
        assert_eq!(a.text().as_deref(), Some("x\ny"));
    }

    #[test]
    fn a_lone_surrogate_spoils_its_own_member_only() {
        let [a, b] = members(br#"{"a":"\ud800","b":"fine"}"#, ["a", "b"]).unwrap();
        assert_eq!(a.text(), None);
        assert_eq!(b.text().as_deref(), Some("fine"));
    }

    #[test]
    fn what_is_not_one_object_is_refused() {
        for json in ["", "null", "[]", "\"a\"", "{", "{\"a\":1}x", "{\"a\":1}{\"a\":1}", "{\"a\" 1}", "\u{feff}{}"] {
            assert!(one(json).is_none(), "{json}");
        }
    }

    #[test]
    fn numbers_are_read_as_numbers_or_their_spelling() {
        for (json, want) in [
            (r#"{"a":12}"#, Some(12.0)),
            (r#"{"a":"12.5"}"#, Some(12.5)),
            (r#"{"a":-3}"#, Some(-3.0)),
            (r#"{"a":1e999}"#, None),
            (r#"{"a":"inf"}"#, None),
            (r#"{"a":true}"#, None),
            (r#"{"a":null}"#, None),
        ] {
            assert_eq!(one(json).unwrap()[0].number(), want, "{json}");
        }
    }
}
