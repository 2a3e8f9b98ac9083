//! B11 and the hot reload, with injected times.

use super::super::AccountWarning;
use super::super::directory::FILES_MAX;
use super::*;

const T0: u64 = 1_000_000;

fn place() -> Place {
    Place::new(NOBODY)
}

fn appeared(event: &Event) -> Option<&Identity> {
    match event {
        Event::Appeared { identity, .. } => Some(identity),
        _ => None,
    }
}

#[test]
fn nested_and_flat_files_are_accounts() {
    let place = place();
    place.put("auth.json", &login("A", 1));
    std::fs::create_dir_all(place.file("team/deep")).unwrap();
    place.put("team/b.json", &flat(tokens("B", "u", 1), json!({"email": "b@example.com"})));
    for ignored in ["team/deep/c.json", ".hidden.json", "notes.txt"] {
        place.put(ignored, &login("C", 1));
    }
    std::fs::create_dir(place.file("..data")).unwrap();
    place.put("..data/d.json", &login("D", 1));
    let events = place.roster.scan(T0);
    assert_eq!(events.iter().filter_map(appeared).collect::<Vec<_>>(), [&account("A", "u"), &account("B", "u")]);
    assert_eq!(events.len(), 2);
    let views = place.roster.accounts();
    assert_eq!(views.iter().map(|v| &*v.label).collect::<Vec<_>>(), ["auth (…A)", "team/b (…B)"]);
    assert!(views.iter().all(|v| v.usable && !v.disabled && v.expires_at_ms.is_some()));
    assert_eq!(place.roster.bearer(&account("B", "u")).unwrap().account_id.as_deref(), Some("B"));
    assert_eq!(place.scan(T0 + 1), []);
}

#[test]
fn seats_of_a_team_are_different_accounts() {
    let place = place();
    for seat in ["s1", "s2"] {
        place.put(&format!("{seat}.json"), &nested(tokens("T", seat, 1), "2026-01-01T00:00:00Z"));
    }
    assert_eq!(place.scan(T0).len(), 2);
    assert_ne!(place.access(&account("T", "s1")), place.access(&account("T", "s2")));
}

#[test]
fn an_account_that_gains_its_user_id_stays_the_same() {
    let place = place();
    let poor = Identity::Stated { account: "A".into(), user: None };
    let bare = jwt(&json!({"https://api.openai.com/auth": {"chatgpt_account_id": "A"}}));
    place.put("a.json", &json!({"access_token": bare}));
    place.scan(T0);
    assert!(place.access(&poor).is_some());
    place.put("a.json", &login("A", 1));
    // Another seat that comes at the same time is not taken for it.
    place.put("0.json", &nested(tokens("A", "other", 1), "2026-01-01T00:00:00Z"));
    let events = place.scan(T0 + 1);
    assert_eq!(events[0], Event::Gained { old: poor.clone(), new: account("A", "u") });
    assert!(!events.iter().any(|e| matches!(e, Event::Suspended(_) | Event::Removed(_))), "{events:?}");
    assert!(place.access(&poor).is_none());
}

#[test]
fn an_account_known_from_the_store_gains_its_user_id() {
    let place = place();
    let poor = Identity::Stated { account: "A".into(), user: None };
    place.roster.expect([poor.clone()]);
    place.put("a.json", &login("A", 1));
    let events = place.scan(T0);
    assert_eq!(events[0], Event::Gained { old: poor, new: account("A", "u") });
    assert_eq!(appeared(&events[1]), Some(&account("A", "u")));
    assert_eq!(place.scan(T0 + 60_000), []);
}

#[test]
fn two_files_of_which_one_lacks_the_user_id_do_not_flap() {
    let place = place();
    let bare = jwt(&json!({"https://api.openai.com/auth": {"chatgpt_account_id": "A"}}));
    place.put("a.json", &json!({"access_token": bare}));
    place.put("b.json", &login("A", 1));
    assert_eq!(place.scan(T0).iter().filter_map(appeared).count(), 2);
    assert_eq!(place.scan(T0 + 1), []);
}

#[test]
fn a_renamed_file_is_the_same_account() {
    let place = place();
    place.put("a.json", &login("A", 1));
    place.scan(T0);
    std::fs::rename(place.file("a.json"), place.file("z.json")).unwrap();
    assert_eq!(place.scan(T0 + 1), []);
    assert_eq!(place.roster.accounts()[0].file, Path::new("z.json"));
    assert_eq!(place.scan(T0 + 60_000), []);
}

#[test]
fn a_credential_without_claims_ends_with_a_rename() {
    let place = place();
    place.put("a.json", &json!({"access_token": "opaque", "account_id": "X"}));
    place.put("keep.json", &login("K", 1));
    place.scan(T0);
    assert_eq!(place.roster.bearer(&Identity::Path("a.json".into())).unwrap().account_id.as_deref(), Some("X"));
    std::fs::rename(place.file("a.json"), place.file("z.json")).unwrap();
    let events = place.scan(T0 + 1);
    assert!(events.contains(&Event::Suspended(Identity::Path("a.json".into()))));
    assert_eq!(events.iter().find_map(appeared), Some(&Identity::Path("z.json".into())));
}

/// Leaves at `path` something that tells nothing of the account.
type Spoil = fn(&Path);

const SPOILS: [(&str, Spoil); 7] = [
    ("truncated", |path| {
        let bytes = std::fs::read(path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("emptied", |path| std::fs::write(path, "").unwrap()),
    ("not UTF-8", |path| std::fs::write(path, b"{\"tokens\": \"\xff\xfe\"}").unwrap()),
    ("a directory", |path| {
        std::fs::remove_file(path).unwrap();
        std::fs::create_dir(path).unwrap();
    }),
    ("a pipe", |path| {
        std::fs::remove_file(path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }),
    ("too large", |path| std::fs::write(path, vec![b' '; (1 << 20) + 1]).unwrap()),
    ("a bad value", |path| std::fs::write(path, r#"{"access_token":"a\r\nb"}"#).unwrap()),
];

#[test]
fn field_f5_a_file_that_cannot_be_read_keeps_its_last_good_credential() {
    for (what, spoil) in SPOILS {
        let place = place();
        place.put("a.json", &login("A", 1));
        place.put("b.json", &login("B", 1));
        place.scan(T0);
        let before = place.access(&account("A", "u"));
        spoil(&place.file("a.json"));
        let events = place.roster.scan(T0 + 1);
        assert!(matches!(&events[..], [Event::Warning(AccountWarning::File { .. })]), "{what}: {events:?}");
        // Told once, and never a removal, however long it lasts.
        assert_eq!(place.roster.scan(T0 + 60_000), [], "{what}");
        assert_eq!(place.roster.scan(T0 + 120_000), [], "{what}");
        assert_eq!(place.access(&account("A", "u")), before, "{what}");
        assert!(before.is_some());
        let _ = std::fs::remove_dir(place.file("a.json"));
        place.put("a.json", &login("A", 2));
        assert_eq!(place.scan(T0 + 180_000), [Event::Changed(account("A", "u"))], "{what}");
    }
}

#[test]
fn a_directory_that_is_gone_or_empty_removes_nobody() {
    let place = place();
    place.put("a.json", &login("A", 1));
    place.roster.expect([account("E", "u")]);
    place.scan(T0);
    let aside = place.home.path().join("aside");
    std::fs::rename(place.auth(), &aside).unwrap();
    let events = place.roster.scan(T0 + 1);
    assert!(matches!(&events[..], [Event::Warning(AccountWarning::Directory { .. })]), "{events:?}");
    assert_eq!(place.roster.scan(T0 + 60_000), []);
    std::fs::create_dir(place.auth()).unwrap();
    let events = place.roster.scan(T0 + 61_000);
    assert!(matches!(&events[..], [Event::Warning(AccountWarning::Directory { .. })]), "{events:?}");
    assert_eq!(place.roster.scan(T0 + 120_000), []);
    assert!(place.access(&account("A", "u")).is_some());
    std::fs::remove_dir(place.auth()).unwrap();
    std::fs::rename(&aside, place.auth()).unwrap();
    assert!(!place.scan(T0 + 120_001).contains(&Event::Suspended(account("A", "u"))));
    assert!(place.access(&account("A", "u")).is_some());
}

#[test]
fn a_directory_in_the_place_of_which_there_is_a_file_removes_nobody() {
    let place = place();
    place.put("a.json", &login("A", 1));
    place.scan(T0);
    std::fs::remove_dir_all(place.auth()).unwrap();
    std::fs::write(place.auth(), "not a directory").unwrap();
    assert_eq!(place.scan(T0 + 60_000), []);
    assert_eq!(place.scan(T0 + 120_000), []);
    assert!(place.access(&account("A", "u")).is_some());
}

#[test]
fn an_account_is_removed_when_two_scans_far_enough_apart_miss_it() {
    let place = place();
    place.put("a.json", &login("A", 1));
    place.put("b.json", &login("B", 1));
    place.scan(T0);
    place.remove("a.json");
    assert_eq!(place.scan(T0 + 1), [Event::Suspended(account("A", "u"))]);
    assert!(place.access(&account("A", "u")).is_none());
    assert!(!place.roster.view(&account("A", "u")).unwrap().usable);
    assert_eq!(place.scan(T0 + 10_000), []);
    assert_eq!(place.scan(T0 + 10_001), [Event::Removed(account("A", "u"))]);
    assert!(place.roster.view(&account("A", "u")).is_none());
}

#[test]
fn an_account_that_comes_back_in_time_starts_the_count_again() {
    let place = place();
    place.put("a.json", &login("A", 1));
    place.put("b.json", &login("B", 1));
    place.scan(T0);
    place.remove("a.json");
    place.scan(T0 + 1);
    place.put("a.json", &login("A", 1));
    assert_eq!(place.scan(T0 + 9_000), [Event::Changed(account("A", "u"))]);
    assert!(place.access(&account("A", "u")).is_some());
    place.remove("a.json");
    assert_eq!(place.scan(T0 + 11_000), [Event::Suspended(account("A", "u"))]);
    assert_eq!(place.scan(T0 + 20_999), []);
    assert_eq!(place.scan(T0 + 21_000), [Event::Removed(account("A", "u"))]);
}

#[test]
fn a_logout_from_a_directory_with_other_files_is_a_removal() {
    let place = place();
    place.put("auth.json", &login("A", 1));
    std::fs::write(place.file("config.toml"), "").unwrap();
    place.scan(T0);
    place.remove("auth.json");
    assert_eq!(place.scan(T0 + 1), [Event::Suspended(account("A", "u"))]);
    assert_eq!(place.scan(T0 + 10_001), [Event::Removed(account("A", "u"))]);
}

#[test]
fn a_file_that_holds_another_account_suspends_the_old_one() {
    let place = place();
    place.put("auth.json", &login("A", 1));
    place.scan(T0);
    place.put("auth.json", &login("B", 1));
    let events = place.scan(T0 + 1);
    assert!(events.contains(&Event::Suspended(account("A", "u"))));
    assert_eq!(events.iter().find_map(appeared), Some(&account("B", "u")));
    assert!(place.access(&account("A", "u")).is_none() && place.access(&account("B", "u")).is_some());
}

#[test]
fn accounts_with_bindings_are_missed_like_those_that_went() {
    let place = place();
    place.put("b.json", &login("B", 1));
    place.roster.expect([account("A", "u"), account("B", "u")]);
    assert_eq!(place.scan(T0).len(), 1);
    assert_eq!(place.scan(T0 + 9_999), []);
    assert_eq!(place.scan(T0 + 10_000), [Event::Removed(account("A", "u"))]);
    assert_eq!(place.scan(T0 + 99_000), []);
}

#[test]
fn accounts_with_bindings_may_be_in_a_file_that_cannot_be_read() {
    let place = place();
    place.put("b.json", &login("B", 1));
    std::fs::write(place.file("a.json"), "{\"tok").unwrap();
    place.roster.expect([account("A", "u")]);
    place.scan(T0);
    assert_eq!(place.scan(T0 + 60_000), []);
    place.put("a.json", &login("A", 1));
    assert_eq!(place.scan(T0 + 60_001).iter().find_map(appeared), Some(&account("A", "u")));
}

#[test]
fn of_two_files_of_one_account_the_freshest_is_used() {
    let place = place();
    place.put("a.json", &nested(tokens("A", "u", 1), "2026-01-01T00:00:00Z"));
    place.put("b.json", &nested(tokens("A", "u", 2), "2026-02-01T00:00:00Z"));
    place.put("c.json", &nested(tokens("A", "u", 3), "2025-02-01T00:00:00Z"));
    let events = place.roster.scan(T0);
    let duplicates = events.iter().filter(|e| matches!(e, Event::Warning(AccountWarning::Duplicate { .. })));
    assert_eq!(duplicates.count(), 2);
    assert_eq!(place.roster.accounts()[0].file, Path::new("b.json"));
    assert_eq!(place.roster.scan(T0 + 1), []);
    place.remove("b.json");
    assert_eq!(place.scan(T0 + 2), [Event::Changed(account("A", "u"))]);
    assert_eq!(place.roster.accounts()[0].file, Path::new("a.json"));
}

#[test]
fn a_file_open_to_others_is_warned_about() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = place();
    place.put("a.json", &login("A", 1));
    std::fs::set_permissions(place.file("a.json"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let exposed = Event::Warning(AccountWarning::Exposed { path: "a.json".into() });
    assert!(place.roster.scan(T0).contains(&exposed));
    assert_eq!(place.roster.scan(T0 + 1), []);
    assert!(place.access(&account("A", "u")).is_some());
}

#[test]
fn an_api_key_is_no_account() {
    let place = place();
    place.put("auth.json", &json!({"OPENAI_API_KEY": "sk-secret", "tokens": null}));
    place.put("version.json", &json!({"latest": "1"}));
    let events = place.roster.scan(T0);
    let [Event::Warning(warning)] = &events[..] else { panic!("{events:?}") };
    assert!(warning.to_string().contains("codex login") && !warning.to_string().contains("sk-secret"));
    assert_eq!(place.roster.accounts(), []);
}

#[test]
fn a_disabled_account_is_listed_and_not_used() {
    let place = place();
    place.put("a.json", &flat(tokens("A", "u", 1), json!({"disabled": true})));
    place.scan(T0);
    let view = &place.roster.accounts()[0];
    assert!(view.disabled && !view.usable);
    assert!(place.access(&account("A", "u")).is_none());
    place.put("a.json", &flat(tokens("A", "u", 1), json!({"disabled": false})));
    assert_eq!(place.scan(T0 + 1), [Event::Changed(account("A", "u"))]);
    assert!(place.access(&account("A", "u")).is_some());
}

#[test]
fn field_f3_a_deleted_file_is_told_once() {
    let place = place();
    place.put("a.json", &login("A", 1));
    place.put("b.json", &login("B", 1));
    place.scan(T0);
    place.remove("a.json");
    let told: Vec<Event> = (0..50).flat_map(|n| place.roster.scan(T0 + 1 + n * 2_000)).collect();
    assert_eq!(told, [Event::Suspended(account("A", "u")), Event::Removed(account("A", "u"))]);
}

#[test]
fn field_f6_an_account_is_back_after_a_new_login() {
    let place = place();
    place.put("a.json", &login("A", 1));
    place.put("b.json", &login("B", 1));
    place.scan(T0);
    place.remove("a.json");
    place.scan(T0 + 1);
    place.scan(T0 + 60_000);
    place.put("a.json", &login("A", 2));
    assert_eq!(place.scan(T0 + 60_001).iter().find_map(appeared), Some(&account("A", "u")));
    assert!(place.roster.view(&account("A", "u")).unwrap().usable);
}

#[test]
fn field_d6_a_change_touches_only_the_account_it_is_about() {
    let place = place();
    for name in ["A", "B", "C"] {
        place.put(&format!("{name}.json"), &login(name, 1));
    }
    place.scan(T0);
    place.put("B.json", &login("B", 2));
    // Written again, and nothing new in it.
    place.put("C.json", &place.get("C.json"));
    assert_eq!(place.scan(T0 + 1), [Event::Changed(account("B", "u"))]);
}

#[test]
fn a_file_too_many_pushes_nobody_out() {
    let place = place();
    place.put("z.json", &login("A", 1));
    place.roster.scan(T0);
    place.roster.expect([account("E", "u")]);
    for number in 0..FILES_MAX {
        std::fs::write(place.file(&format!("{number}.json")), "{}").unwrap();
    }
    assert_eq!(place.roster.scan(T0 + 1), [Event::Warning(AccountWarning::TooMany { most: FILES_MAX })]);
    assert_eq!(place.roster.scan(T0 + 60_000), []);
    assert!(place.access(&account("A", "u")).is_some());
}

#[test]
fn a_label_is_safe_to_show() {
    let place = place();
    place.put("a\r\nb\u{1b}[31m.json", &login("account-1234567890", 1));
    place.put("k.json", &login("K", 1));
    place.scan(T0);
    assert_eq!(place.roster.accounts()[1].label, "ab[31m (…567890)");
}
