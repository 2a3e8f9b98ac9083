//! Identifiers that name the account which issued them, so that the upstream can tell whose a returned one is without
//! keeping a table of all it ever issued.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// Eight hexadecimal digits that stand for one account inside issued identifiers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Tag(u32);

impl Tag {
    /// The tag of the account with this stable identity.
    pub(super) fn of(account_id: &str, user_id: &str) -> Self {
        let digest = Sha256::new().chain_update(account_id).chain_update([0]).chain_update(user_id).finalize();
        Self(u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]))
    }

    fn parse(hex: &str) -> Option<Self> {
        u32::from_str_radix(hex, 16).ok().map(Self)
    }
}

/// Mints identifiers: unique within one upstream, and different from those of an earlier run.
pub(super) struct Mint {
    nonce: u32,
    next: AtomicU64,
}

const TURN_STATE: &str = "ts-";
const RESPONSE: &str = "resp_";
const SEALED: &str = "gAAAAAB";

impl Mint {
    pub(super) fn new(nonce: u32) -> Self {
        Self { nonce, next: AtomicU64::new(1) }
    }

    /// The next number, never given twice by this upstream.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Twenty-four hexadecimal digits: this run's nonce and a fresh number.
    pub(super) fn serial(&self) -> String {
        format!("{:08x}{:016x}", self.nonce, self.number())
    }

    /// A value for `x-codex-turn-state`.
    pub(super) fn turn_state(&self, tag: Tag) -> String {
        format!("{TURN_STATE}{:08x}{}", tag.0, self.serial())
    }

    /// A response id.
    pub(super) fn response(&self, tag: Tag) -> String {
        format!("{RESPONSE}{:08x}{}", tag.0, self.serial())
    }

    /// Opaque `encrypted_content`.
    pub(super) fn sealed(&self, tag: Tag, what: &str) -> String {
        let inner = format!("{:08x}{}:{what}", tag.0, self.serial());
        format!("{SEALED}{}", URL_SAFE_NO_PAD.encode(inner))
    }
}

/// The issuer of a turn state, if it has this upstream's form.
pub(super) fn issuer_of_turn_state(value: &str) -> Option<Tag> {
    value.strip_prefix(TURN_STATE).and_then(leading_tag)
}

/// The issuer of a response id, if it has this upstream's form.
pub(super) fn issuer_of_response(value: &str) -> Option<Tag> {
    value.strip_prefix(RESPONSE).and_then(leading_tag)
}

/// The issuer of encrypted content, if it has this upstream's form.
pub(super) fn issuer_of_sealed(value: &str) -> Option<Tag> {
    let inner = URL_SAFE_NO_PAD.decode(value.strip_prefix(SEALED)?).ok()?;
    leading_tag(std::str::from_utf8(&inner).ok()?)
}

fn leading_tag(rest: &str) -> Option<Tag> {
    let serial = rest.get(8..32)?;
    let hex = |s: &str| s.bytes().all(|b| b.is_ascii_hexdigit());
    rest.get(..8).filter(|tag| hex(tag) && hex(serial)).and_then(Tag::parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issued_identifier_names_its_issuer() {
        let mint = Mint::new(7);
        let (a, b) = (Tag::of("acct", "one"), Tag::of("acct", "two"));
        assert_ne!(a, b, "seats of one workspace are different accounts");
        assert_eq!(issuer_of_turn_state(&mint.turn_state(a)), Some(a));
        assert_eq!(issuer_of_response(&mint.response(b)), Some(b));
        assert_eq!(issuer_of_sealed(&mint.sealed(a, "reasoning")), Some(a));
    }

    #[test]
    fn a_foreign_identifier_names_nobody() {
        for value in ["", "ts-", "ts-cbaa7908d3c0", "ts-zzzzzzzz0000000000000000", "resp_d6ef9ecf\u{e9}", "gAAAAAB!!"] {
            assert_eq!(issuer_of_turn_state(value), None, "{value}");
            assert_eq!(issuer_of_response(value), None, "{value}");
            assert_eq!(issuer_of_sealed(value), None, "{value}");
        }
    }
}
