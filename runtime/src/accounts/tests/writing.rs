//! New tokens in the file: whole, private, and never over somebody else's.

use super::super::RefreshReason;
use super::refreshing::{grant, refresh, set_up};
use super::server::{Reply, TokenServer, until};
use super::*;
use crate::os;

/// Starts a refresh whose answer waits, changes the file, lets the answer come.
fn meanwhile(change: impl FnOnce(&Place)) -> (TokenServer, Place, Identity, String) {
    let (go, held) = grant("A", 2).held();
    let (server, place, a) = set_up([held]);
    let (roster, identity) = (place.roster.clone(), a.clone());
    let call = os::spawn(async move { roster.refresh(&identity, RefreshReason::Expiring).await.unwrap() });
    server.until_seen(1);
    change(&place);
    go.send(()).unwrap();
    let got = os::block_on(call).access_token.expose().to_owned();
    (server, place, a, got)
}

#[test]
fn field_e11_a_nested_file_is_written_back_with_everything_else_as_it_was() {
    let (_server, place, a) = set_up([grant("A", 2)]);
    let before = std::fs::read_to_string(place.file("auth.json")).unwrap();
    let access = refresh(&place.roster, &a, RefreshReason::Expiring).unwrap();
    let (old, new): (Value, Value) = (serde_json::from_str(&before).unwrap(), place.get("auth.json"));
    assert_eq!(new["tokens"]["access_token"], json!(access));
    assert_eq!(new["tokens"]["refresh_token"], "rt.A.u.2");
    assert_eq!(new["tokens"]["account_id"], "A");
    assert_ne!(new["last_refresh"], old["last_refresh"]);
    new["last_refresh"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    for kept in ["auth_mode", "OPENAI_API_KEY", "note"] {
        assert_eq!(new[kept], old[kept]);
    }
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&new), names(&old));
    assert_eq!(names(&new["tokens"]), names(&old["tokens"]));
    assert_eq!(mode(&place.file("auth.json")), 0o600);
    assert_eq!(std::fs::read_dir(place.auth()).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(place.ledger()).unwrap(), "[]");
    // Our own writing is no change, and what is written is what a restart finds.
    assert_eq!(place.scan(1), []);
    assert_eq!(place.restarted().bearer(&a).unwrap().access_token.expose(), access);
}

#[test]
fn field_f2_a_flat_file_keeps_its_switch_and_states_the_new_end() {
    let server = TokenServer::new([grant("A", 2)]);
    let place = Place::new(&server.url);
    let more = json!({"disabled": true, "expired": "2020-01-01T00:00:00Z", "weight": 3});
    place.put("a.json", &flat(tokens_until("A", "u", 1_000, 1), more));
    place.scan(0);
    let a = account("A", "u");
    refresh(&place.roster, &a, RefreshReason::Expiring).unwrap();
    let file = place.get("a.json");
    assert_eq!((&file["disabled"], &file["weight"], &file["type"]), (&json!(true), &json!(3), &json!("codex")));
    assert_eq!(file["refresh_token"], "rt.A.u.2");
    assert!(file.get("tokens").is_none());
    assert!(file["expired"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond() > 1_600_000_000_000);
    place.scan(1);
    assert!(place.roster.view(&a).unwrap().disabled);
    assert_eq!(place.roster.due(clock::wall_ms()), []);
}

#[test]
fn a_link_stays_a_link() {
    let (_server, place, a) = set_up([grant("A", 2)]);
    let target = place.home.path().join("elsewhere.json");
    std::fs::rename(place.file("auth.json"), &target).unwrap();
    std::os::unix::fs::symlink(&target, place.file("auth.json")).unwrap();
    place.scan(1);
    refresh(&place.roster, &a, RefreshReason::Expiring).unwrap();
    assert!(std::fs::symlink_metadata(place.file("auth.json")).unwrap().is_symlink());
    assert!(std::fs::read_to_string(&target).unwrap().contains("rt.A.u.2"));
}

#[test]
fn a_login_during_a_refresh_is_not_overwritten() {
    let later = nested(tokens("A", "u", 50), "2026-06-01T00:00:00Z");
    let (_server, place, a, _) = meanwhile(|place| place.put("auth.json", &later));
    assert_eq!(place.get("auth.json"), later);
    place.scan(1);
    assert_eq!(place.access(&a), later["tokens"]["access_token"].as_str().map(str::to_owned));
    assert_eq!(std::fs::read_to_string(place.ledger()).unwrap(), "[]");
}

#[test]
fn a_login_that_a_scan_saw_during_a_refresh_stands() {
    let later = nested(tokens("A", "u", 50), "2026-06-01T00:00:00Z");
    let (_server, place, a, got) = meanwhile(|place| {
        place.put("auth.json", &later);
        assert_eq!(place.scan(1).len(), 1);
    });
    assert_eq!(later["tokens"]["access_token"], json!(got));
    assert_eq!(place.get("auth.json"), later);
    assert_eq!(place.access(&a), Some(got));
    assert_eq!(std::fs::read_to_string(place.ledger()).unwrap(), "[]");
}

#[test]
fn an_older_credential_in_the_file_does_not_replace_new_tokens() {
    let older = nested(tokens("A", "u", 0), "2025-01-01T00:00:00Z");
    let (_server, place, a, got) = meanwhile(|place| place.put("auth.json", &older));
    assert_eq!(place.get("auth.json"), older);
    assert_eq!(place.scan(1), []);
    assert_eq!(place.access(&a), Some(got));
    // A login after that counts.
    place.put("auth.json", &login("A", 60));
    assert_eq!(place.scan(2), [Event::Changed(a)]);
}

#[test]
fn unknown_fields_that_came_during_a_refresh_are_kept() {
    let (_server, place, _, _) = meanwhile(|place| {
        let mut file = place.get("auth.json");
        file["new"] = json!("field");
        place.put("auth.json", &file);
    });
    assert_eq!(place.get("auth.json")["new"], "field");
    assert_eq!(place.get("auth.json")["tokens"]["refresh_token"], "rt.A.u.2");
}

#[test]
fn new_tokens_that_cannot_be_written_are_used_and_written_later() {
    let aside = |place: &Place| place.home.path().join("aside.json");
    let (server, place, a, got) = meanwhile(|place| {
        std::fs::rename(place.file("auth.json"), aside(place)).unwrap();
        std::fs::create_dir(place.file("auth.json")).unwrap();
    });
    assert_eq!(place.access(&a), Some(got.clone()));
    assert_eq!(place.scan(1), []);
    assert_eq!(place.access(&a), Some(got.clone()));
    // The old token is not forgotten before the new ones are safe.
    assert_ne!(std::fs::read_to_string(place.ledger()).unwrap(), "[]");
    std::fs::remove_dir(place.file("auth.json")).unwrap();
    std::fs::rename(aside(&place), place.file("auth.json")).unwrap();
    assert_eq!(place.scan(2), []);
    assert_eq!(place.get("auth.json")["tokens"]["access_token"], json!(got));
    assert_eq!(std::fs::read_to_string(place.ledger()).unwrap(), "[]");
    assert_eq!(place.access(&a), Some(got));
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn two_refreshes_ahead_of_the_file_are_written_too() {
    let (server, place, a) = set_up([]);
    drop(server);
    let ours = |serial| super::super::file::NewTokens {
        access: crate::accounts::Secret::new(tokens("A", "u", serial)["access_token"].as_str().unwrap()),
        refresh: Some(crate::accounts::Secret::new(&format!("rt.A.u.{serial}"))),
        id: None,
        expires_ms: None,
    };
    for serial in [2, 3] {
        let redeemed = super::super::TokenDigest::of(&format!("rt.A.u.{}", serial - 1));
        let mut state = place.roster.state();
        assert!(state.entries.get_mut(&a).unwrap().refreshed(ours(serial), redeemed, clock::wall_ms()));
    }
    assert_eq!(place.scan(1), []);
    assert_eq!(place.get("auth.json")["tokens"]["refresh_token"], "rt.A.u.3");
}

#[test]
fn a_refresh_that_gains_the_user_id_keeps_the_account() {
    let bare = |end: u64| jwt(&json!({"exp": end / 1_000, "https://api.openai.com/auth": {"chatgpt_account_id": "A"}}));
    let server = TokenServer::new([grant("A", 2)]);
    let place = Place::new(&server.url);
    place.put("a.json", &json!({"access_token": bare(1_000), "refresh_token": "rt"}));
    place.scan(0);
    let poor = Identity::Stated { account: "A".into(), user: None };
    refresh(&place.roster, &poor, RefreshReason::Expiring).unwrap();
    assert_eq!(place.scan(1), [Event::Gained { old: poor, new: account("A", "u") }]);
}

#[test]
fn scans_during_refreshes_bring_back_no_old_token() {
    let grants = (2..30).map(|serial| {
        let tokens = tokens_until("A", "u", clock::wall_ms() + 60_000, serial);
        Reply::Json(200, json!({"access_token": tokens["access_token"], "refresh_token": tokens["refresh_token"]}))
    });
    let (server, place, a) = set_up(grants);
    let (roster, stop) = (place.roster.clone(), std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)));
    let stopped = std::sync::Arc::clone(&stop);
    let scanner = std::thread::spawn(move || {
        let mut events = Vec::new();
        while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
            events.extend(roster.scan(1));
        }
        events
    });
    for _ in 2..30 {
        refresh(&place.roster, &a, RefreshReason::Expiring).unwrap();
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(scanner.join().unwrap(), []);
    let sent: Vec<String> = (1..29).map(|serial| format!("rt.A.u.{serial}")).collect();
    assert_eq!(server.sent(), sent);
    until(|| place.get("auth.json")["tokens"]["refresh_token"] == "rt.A.u.29");
}
