//! What auth files say.

use serde_json::json;

use super::super::file::{AuthFile, FileProblem, NewTokens};
use super::super::jwt::Claims;
use super::*;
use crate::accounts::Secret;

fn parse(value: &Value) -> Result<AuthFile, FileProblem> {
    AuthFile::parse(value.to_string().as_bytes(), "dir/file.json")
}

fn claims(account: Option<&str>, user: Option<&str>, subject: Option<&str>) -> String {
    jwt(
        &json!({"sub": subject, "https://api.openai.com/auth": {"chatgpt_account_id": account, "chatgpt_user_id": user}}),
    )
}

fn stated(account: &str, user: Option<&str>) -> Identity {
    Identity::Stated { account: account.into(), user: user.map(str::to_owned) }
}

#[test]
fn the_identity_comes_from_the_first_place_that_states_it() {
    let full = claims(Some("A"), Some("u"), Some("s"));
    let cases = [
        (full, claims(Some("B"), Some("v"), None), Some("C"), stated("A", Some("u"))),
        ("opaque".into(), claims(Some("B"), Some("v"), None), Some("C"), stated("B", Some("v"))),
        (claims(None, None, None), claims(Some("B"), Some("v"), None), Some("C"), stated("B", Some("v"))),
        ("opaque".into(), claims(None, None, Some("s")), Some("C"), stated("C", Some("s"))),
        (claims(None, None, Some("t")), claims(None, None, Some("s")), Some("C"), stated("C", Some("t"))),
        (claims(None, None, None), "opaque".into(), Some("C"), stated("C", None)),
        // The user id that the access token lacks, of the same account only.
        (claims(Some("A"), None, Some("s")), claims(Some("A"), Some("v"), None), None, stated("A", Some("v"))),
        (claims(Some("A"), None, None), claims(Some("B"), Some("v"), None), None, stated("A", None)),
        // No claims at all: the path, whatever the file says besides.
        ("opaque".into(), "opaque".into(), Some("C"), Identity::Path("dir/file.json".into())),
        ("a.b.c".into(), "a.%%.c".into(), None, Identity::Path("dir/file.json".into())),
        (claims(Some("with blank"), None, None), "x".into(), None, Identity::Path("dir/file.json".into())),
    ];
    for (access, id, file_account, expected) in cases {
        let tokens = json!({"access_token": access, "id_token": id, "account_id": file_account});
        assert_eq!(parse(&json!({"tokens": tokens})).unwrap().identity, expected, "{tokens}");
        assert_eq!(parse(&tokens).unwrap().identity, expected, "{tokens}");
    }
}

#[test]
fn a_stored_identity_reads_back() {
    for identity in [stated("A", Some("u")), stated("A", None), Identity::Path("dir/a b.json".into())] {
        assert_eq!(Identity::from_stable(&identity.stable()), identity);
    }
    assert!(stated("A", None).gains(&stated("A", Some("u"))));
    assert!(!stated("A", None).gains(&stated("B", Some("u"))));
    assert!(!stated("A", Some("u")).gains(&stated("A", Some("v"))));
    assert!(!stated("A", Some("u")).gains(&stated("A", None)));
}

#[test]
fn claims_of_anything_else_are_none() {
    let bad_sub = jwt(&json!({"sub": 7}));
    for token in ["", ".", "..", "a.b", "a.b.c.d", "a.bm90IGpzb24.c", bad_sub.as_str(), &"x".repeat(100_000)] {
        assert_eq!(Claims::read(token), None);
    }
    let end = |exp: Value| Claims::read(&jwt(&json!({"exp": exp}))).unwrap().expires_ms;
    assert_eq!(end(json!(1_700_000_000)), Some(1_700_000_000_000));
    assert_eq!(end(json!(1_700_000_000.9)), Some(1_700_000_000_000));
    assert_eq!(end(json!(-5)), Some(0));
    assert_eq!(end(json!(u64::MAX)), Some(u64::MAX));
}

#[test]
fn values_that_no_header_can_carry_are_refused() {
    for bad in ["a\r\nx: y", "a\nb", "a\0b", "a b", "ü"] {
        for field in ["access_token", "refresh_token", "id_token", "account_id"] {
            let mut tokens = tokens("A", "u", 1);
            tokens[field] = json!(bad);
            let problem = parse(&nested(tokens, "2026-01-01T00:00:00Z")).unwrap_err();
            assert_eq!(problem, FileProblem::BadValue(field), "{bad:?}");
            assert!(!problem.to_string().contains(bad));
        }
    }
}

#[test]
fn empty_values_are_absent_ones() {
    let file =
        parse(&json!({"access_token": token("A", "u", 0, 1), "refresh_token": "", "id_token": "", "account_id": ""}));
    assert!(file.unwrap().credential.refresh.is_none());
    assert!(matches!(parse(&json!({"access_token": ""})), Err(FileProblem::NoAccount(_))));
}

#[test]
fn the_end_of_a_token_is_read_in_every_form() {
    let end = |value: Value| parse(&json!({"access_token": "opaque", "expired": value})).unwrap().credential.expires_ms;
    assert_eq!(end(json!("2026-01-01T08:00:00+08:00")), Some(1_767_225_600_000));
    assert_eq!(end(json!(1_767_225_600)), Some(1_767_225_600_000));
    assert_eq!(end(json!(1_767_225_600.5)), Some(1_767_225_600_500));
    assert_eq!(end(json!(1_767_225_600_000_u64)), Some(1_767_225_600_000));
    assert_eq!(end(json!("1767225600")), Some(1_767_225_600_000));
    for nothing in [json!(null), json!("soon"), json!(-1), json!([]), json!("inf"), json!("NaN")] {
        assert_eq!(end(nothing), None);
    }
    // What the token itself says comes first.
    let both = parse(&json!({"access_token": token("A", "u", 5_000, 1), "expired": 1_767_225_600})).unwrap();
    assert_eq!(both.credential.expires_ms, Some(5_000));
}

fn fresh(expires_ms: Option<u64>) -> NewTokens {
    NewTokens { access: Secret::new("new"), refresh: Some(Secret::new("rt")), id: None, expires_ms }
}

#[test]
fn field_e12_a_stated_end_never_goes_stale() {
    let end = 1_767_225_600_000;
    let restated = |old: Value, end: Option<u64>| {
        let before = json!({"expired": old, "tokens": {"access_token": "old", "expires_at": old}}).to_string();
        let after: Value =
            serde_json::from_slice(&AuthFile::updated(before.as_bytes(), &fresh(end), 0).unwrap()).unwrap();
        assert_eq!(after["expired"], after["tokens"]["expires_at"]);
        after["expired"].clone()
    };
    assert_eq!(restated(json!("2020-01-01T00:00:00Z"), Some(end)), json!("2026-01-01T00:00:00Z"));
    assert_eq!(restated(json!(1_577_836_800), Some(end)), json!(end / 1_000));
    assert_eq!(restated(json!(1_577_836_800_000_u64), Some(end)), json!(end));
    assert_eq!(restated(json!("1577836800"), Some(end)), json!("1767225600"));
    assert_eq!(restated(json!(1_577_836_800), None), json!(null));
    // A flag of that name is no time.
    assert_eq!(restated(json!(false), Some(end)), json!(false));
}

#[test]
fn nothing_secret_is_ever_shown() {
    let file = parse(&login("A", 1)).unwrap();
    let shown = format!("{file:?} {:?} {:?}", file.credential.bearer(), fresh(None));
    assert!(shown.contains("***") && !shown.contains("rt.A") && !shown.contains(file.credential.access.expose()));
}

#[test]
fn a_file_of_anything_is_read_without_a_panic() {
    for bytes in
        [&b""[..], b"{", b"null", b"[]", b"7", b"\xff\xfe", b"{\"tokens\":7}", b"{\"tokens\":{}}", &[b'['; 5_000]]
    {
        AuthFile::parse(bytes, "x.json").unwrap_err();
        let _ = AuthFile::updated(bytes, &fresh(None), u64::MAX);
    }
}
