//! The words of a script and what they stand for.

use homing_core::ids::AccountId;
use homing_core::time::Millis;

use crate::ask::Form;

/// Steps that a script may write as several words, and the first word of the trace's text for them.
const PHRASES: [(&str, &str); 13] = [
    ("hang up ", "hang-up "),
    ("give up waiting ", "give-up-waiting "),
    ("lose request ", "lose-request "),
    ("lose reply ", "lose-reply "),
    ("erase account-", "erase-account account-"),
    ("erase t", "erase-tenant t"),
    ("clear t", "clear-row t"),
    ("policy ", "affinity "),
    ("clock back", "set-back"),
    ("clock forth", "set-forth"),
    ("time out ", "time-out "),
    ("reset key of t", "reset-key t"),
    ("remove account-", "remove-account account-"),
];

/// How requests name their session, in words.
const FORMS: [(&str, Form); 7] = [
    ("header", Form::Header),
    ("header+shared", Form::HeaderAndShared),
    ("header+own", Form::HeaderAndOwn),
    ("body+shared", Form::BodyAndShared),
    ("own", Form::Own),
    ("shared", Form::Shared),
    ("none", Form::Nothing),
];

/// The forms, for messages.
pub(super) fn form_names() -> String {
    FORMS.map(|(name, _)| name).join(", ")
}

pub(super) fn form(word: &str) -> Option<Form> {
    FORMS.iter().find(|(name, _)| *name == word).map(|(_, form)| *form)
}

/// The line with its phrase, if it begins with one, as traces write it.
pub(super) fn verb_first(line: &str) -> String {
    let phrase = PHRASES.iter().find_map(|(said, meant)| Some((*meant, line.strip_prefix(said)?)));
    phrase.map_or_else(|| line.to_owned(), |(meant, rest)| format!("{meant}{rest}"))
}

/// `account-2`.
pub(super) fn account(word: &str) -> Option<AccountId> {
    word.strip_prefix("account-")?.parse().ok().map(AccountId)
}

/// `250ms`, `61s`, `5m`, `2h`, `30d`.
pub(super) fn span(word: &str) -> Option<Millis> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = word[..digits].parse().ok()?;
    let unit = match &word[digits..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit).map(Millis)
}

/// Whether a request may have this name: no other word of the language looks like it.
pub(super) fn is_name(word: &str) -> bool {
    let letters = word.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    let plain = word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let numbered = |prefix| word.strip_prefix(prefix).is_some_and(|n: &str| n.bytes().all(|b| b.is_ascii_digit()));
    letters && plain && !["t", "p", "s", "account-"].into_iter().any(|p| word != p && numbered(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_units() {
        assert_eq!(span("250ms"), Some(Millis(250)));
        assert_eq!(span("2h"), Some(Millis::secs(7_200)));
        assert_eq!(span("30d"), Some(Millis::secs(30 * 86_400)));
        for wrong in ["61", "s", "1w", "-1s", "99999999999999999999s", "99999999999999999d"] {
            assert_eq!(span(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_look_like_nothing_else() {
        assert!(["a", "late", "first-2", "t"].into_iter().all(is_name));
        assert!(!["", "A", "2a", "t1", "p0", "account-1", "a/b"].into_iter().any(is_name));
    }

    #[test]
    fn phrases_become_verbs() {
        assert_eq!(verb_first("lose reply a"), "lose-reply a");
        assert_eq!(verb_first("erase account-2"), "erase-account account-2");
        assert_eq!(verb_first("erase t1"), "erase-tenant t1");
        assert_eq!(verb_first("answer a"), "answer a");
    }
}
