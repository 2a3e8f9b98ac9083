//! Refreshing against a real token server.

use std::net::TcpListener;

use super::super::credential::TokenDigest;
use super::super::ledger::Ledger;
use super::super::{RefreshError, RefreshReason};
use super::server::{Reply, TokenServer, until};
use super::*;
use crate::os;

/// A login whose access token ends in a minute: a refresh is due.
pub(super) fn ending(name: &str, serial: u32) -> Value {
    nested(tokens_until(name, "u", clock::wall_ms() + 60_000, serial), "2026-01-01T00:00:00Z")
}

/// The server's grant of new tokens.
pub(super) fn grant(name: &str, serial: u32) -> Reply {
    let tokens = tokens(name, "u", serial);
    Reply::Json(
        200,
        json!({"id_token": tokens["id_token"], "access_token": tokens["access_token"], "refresh_token": tokens["refresh_token"]}),
    )
}

pub(super) fn set_up(replies: impl IntoIterator<Item = Reply>) -> (TokenServer, Place, Identity) {
    let server = TokenServer::new(replies);
    let place = Place::new(&server.url);
    place.put("auth.json", &ending("A", 1));
    place.scan(0);
    (server, place, account("A", "u"))
}

pub(super) fn refresh(roster: &Roster, identity: &Identity, reason: RefreshReason) -> Result<String, RefreshError> {
    os::block_on(roster.refresh(identity, reason)).map(|bearer| bearer.access_token.expose().to_owned())
}

fn unauthorized(roster: &Roster, identity: &Identity) -> RefreshReason {
    RefreshReason::Unauthorized { used: roster.bearer(identity) }
}

fn forget_waiting(roster: &Roster, identity: &Identity) {
    roster.state().entries.get_mut(identity).unwrap().not_before_ms = 0;
}

#[test]
fn the_request_is_the_one_that_codex_sends() {
    let (server, place, a) = set_up([grant("A", 2), grant("A", 3)]);
    let second = refresh(&place.roster, &a, RefreshReason::Expiring).unwrap();
    let third = refresh(&place.roster, &a, unauthorized(&place.roster, &a)).unwrap();
    assert_ne!(second, third);
    let body = |reason: &str, token: &str| json!({"client_id": "app_EMoamEEZ73f0CkXaXp7hrann", "grant_type": "refresh_token", "refresh_reason": reason, "refresh_token": token});
    assert_eq!(server.seen(), [body("proactive_expiry", "rt.A.u.1"), body("unauthorized_recovery", "rt.A.u.2")]);
    assert_eq!(place.access(&a), Some(third));
}

#[test]
fn field_e12_callers_that_come_together_redeem_once() {
    let (go, held) = grant("A", 2).held();
    let (server, place, a) = set_up([held]);
    let used = place.roster.bearer(&a);
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (roster, a, used) = (place.roster.clone(), a.clone(), used.clone());
            os::spawn(async move { roster.refresh(&a, RefreshReason::Unauthorized { used }).await })
        })
        .collect();
    server.until_seen(1);
    go.send(()).unwrap();
    for call in calls {
        let bearer = os::block_on(call).unwrap();
        assert_eq!(Some(bearer.access_token.expose().to_owned()), place.access(&a));
    }
    // One that comes late with the old token gets the new one.
    refresh(&place.roster, &a, RefreshReason::Unauthorized { used }).unwrap();
    assert_eq!(server.sent(), ["rt.A.u.1"]);
}

#[test]
fn field_e12_what_fails_for_one_account_fails_no_other() {
    let (server, place, a) = set_up([Reply::Json(401, json!({"error": "invalid_grant"})), grant("B", 2)]);
    place.put("b.json", &ending("B", 1));
    place.scan(1);
    refresh(&place.roster, &a, RefreshReason::Expiring).unwrap_err();
    refresh(&place.roster, &account("B", "u"), RefreshReason::Expiring).unwrap();
    assert_eq!(server.sent(), ["rt.A.u.1", "rt.B.u.1"]);
}

#[test]
fn field_e2_a_token_whose_answer_was_lost_is_never_sent_again() {
    let (server, place, a) = set_up([Reply::Reset]);
    let lost = refresh(&place.roster, &a, RefreshReason::Expiring).unwrap_err();
    assert!(matches!(lost, RefreshError::AnswerLost(_)), "{lost}");
    assert_eq!(refresh(&place.roster, &a, unauthorized(&place.roster, &a)).unwrap_err(), lost);
    assert_eq!(place.roster.due(clock::wall_ms()), []);
    // Nor by the process after a crash.
    let restarted = place.restarted();
    let lost = refresh(&restarted, &a, RefreshReason::Expiring).unwrap_err();
    assert!(matches!(lost, RefreshError::AnswerLost(_)), "{lost}");
    assert_eq!(server.sent(), ["rt.A.u.1"]);
    // The access token is still good, and is used.
    let view = restarted.view(&a).unwrap();
    assert!(view.usable && view.needs_login.unwrap().contains("log in again"));
    assert!(restarted.bearer(&a).is_some());
    // Another login helps.
    place.put("auth.json", &ending("A", 7));
    assert_eq!(place.scan(1), [Event::Changed(a.clone())]);
    assert_eq!(place.roster.view(&a).unwrap().needs_login, None);
    refresh(&place.roster, &a, RefreshReason::Expiring).unwrap_err();
    assert_eq!(server.sent(), ["rt.A.u.1", "rt.A.u.7"]);
}

#[test]
fn field_e2_a_process_that_was_killed_in_between_does_not_send_again() {
    let (server, place, a) = set_up([]);
    Ledger::open(place.ledger().parent().unwrap()).unwrap().begin(&TokenDigest::of("rt.A.u.1")).unwrap();
    let lost = refresh(&place.restarted(), &a, RefreshReason::Expiring).unwrap_err();
    assert!(matches!(lost, RefreshError::AnswerLost(_)), "{lost}");
    assert_eq!(server.seen().len(), 0);
    assert_eq!(mode(&place.ledger()), 0o600);
    assert!(!std::fs::read_to_string(place.ledger()).unwrap().contains("rt.A"));
}

#[test]
fn field_e2_answers_that_are_no_whole_answer_are_lost() {
    let cut = b"HTTP/1.1 503 X\r\ncontent-length: 900\r\n\r\n{\"error\":".to_vec();
    let hostile = "HTTP/1.1 200 OK\r\nx-name: \u{fc}\u{df}\r\ncontent-length: 2\r\n\r\n{}".as_bytes().to_vec();
    let large = format!("HTTP/1.1 200 OK\r\ncontent-length: 3000000\r\n\r\n{}", "x".repeat(3_000_000)).into_bytes();
    for bytes in
        [b"".to_vec(), b"HTTP/1.1 200".to_vec(), b"\r\n\r\n".to_vec(), b"junk\r\n\r\n".to_vec(), cut, hostile, large]
    {
        let (server, place, a) = set_up([Reply::Bytes(bytes.clone())]);
        let error = refresh(&place.roster, &a, RefreshReason::Expiring).unwrap_err();
        assert!(matches!(error, RefreshError::AnswerLost(_)), "{error}");
        refresh(&place.roster, &a, RefreshReason::Expiring).unwrap_err();
        assert_eq!(server.seen().len(), 1, "{}", String::from_utf8_lossy(&bytes[..bytes.len().min(60)]));
    }
}

#[test]
fn field_e2_what_was_never_sent_is_tried_again() {
    let reserved = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = reserved.local_addr().unwrap();
    drop(reserved);
    let place = Place::new(&format!("http://{address}/oauth/token"));
    place.put("auth.json", &ending("A", 1));
    place.scan(0);
    let a = account("A", "u");
    for _ in 0..3 {
        forget_waiting(&place.roster, &a);
        let later = refresh(&place.roster, &a, RefreshReason::Expiring).unwrap_err();
        assert!(matches!(later, RefreshError::Later(_)), "{later}");
    }
    // It backs off, and is due again after that.
    let now = clock::wall_ms();
    assert_eq!((place.roster.due(now), place.roster.due(now + 600_000)), (vec![], vec![a.clone()]));
    assert!(matches!(refresh(&place.roster, &a, RefreshReason::Expiring), Err(RefreshError::Later(_))));
    let server = TokenServer::on(TcpListener::bind(address).unwrap(), [grant("A", 2)]);
    refresh(&place.restarted(), &a, RefreshReason::Expiring).unwrap();
    assert_eq!(server.sent(), ["rt.A.u.1"]);
}

#[test]
fn field_e2_a_token_in_two_files_is_sent_once() {
    let (server, place, _) = set_up([Reply::Json(200, json!({"access_token": "new", "refresh_token": "rt.2"}))]);
    for name in ["x.json", "y.json"] {
        place.put(name, &json!({"access_token": "opaque", "refresh_token": "rt", "expired": 1}));
    }
    place.scan(1);
    refresh(&place.roster, &Identity::Path("x.json".into()), RefreshReason::Expiring).unwrap();
    let spent = refresh(&place.roster, &Identity::Path("y.json".into()), RefreshReason::Expiring).unwrap_err();
    assert!(matches!(spent, RefreshError::Refused(_)), "{spent}");
    assert_eq!(server.sent(), ["rt"]);
}

#[test]
fn an_answer_of_the_server_that_it_cannot_now_leaves_the_token_good() {
    let busy = [429, 500, 503].map(|status| Reply::Json(status, json!({"error": "busy"})));
    let (server, place, a) = set_up(busy.into_iter().chain([grant("A", 2)]));
    for _ in 0..3 {
        forget_waiting(&place.roster, &a);
        let later = refresh(&place.roster, &a, RefreshReason::Expiring).unwrap_err();
        assert!(matches!(later, RefreshError::Later(_)), "{later}");
        assert!(place.roster.view(&a).unwrap().usable);
        // A second try within the wait sends nothing.
        refresh(&place.roster, &a, RefreshReason::Expiring).unwrap_err();
    }
    forget_waiting(&place.roster, &a);
    refresh(&place.roster, &a, RefreshReason::Expiring).unwrap();
    assert_eq!(server.seen().len(), 4);
}

#[test]
fn field_e5_a_silent_server_is_not_waited_for() {
    let server = TokenServer::new([Reply::Silence]);
    let place = Place::with_limit(&server.url, Duration::from_millis(200));
    place.put("auth.json", &ending("A", 1));
    place.scan(0);
    let lost = refresh(&place.roster, &account("A", "u"), RefreshReason::Expiring).unwrap_err();
    assert!(matches!(lost, RefreshError::AnswerLost(_)), "{lost}");
}

#[test]
fn field_e5_a_caller_that_leaves_breaks_off_no_redemption() {
    let (go, held) = grant("A", 2).held();
    let (server, place, a) = set_up([held]);
    let roster = place.roster.clone();
    let call = os::spawn(async move { roster.refresh(&a, RefreshReason::Expiring).await.map(drop) });
    server.until_seen(1);
    os::block_on(call.cancel());
    go.send(()).unwrap();
    until(|| place.get("auth.json")["tokens"]["refresh_token"] == "rt.A.u.2");
    until(|| std::fs::read_to_string(place.ledger()).unwrap() == "[]");
    assert!(place.roster.due(clock::wall_ms()).is_empty());
}

#[test]
fn field_e6_a_refused_token_is_not_tried_until_the_credential_changes() {
    let (server, place, a) =
        set_up([Reply::Json(401, json!({"error": {"code": "refresh_token_expired"}})), grant("A", 9)]);
    let refused = refresh(&place.roster, &a, RefreshReason::Expiring).unwrap_err();
    assert_eq!(refused, RefreshError::Refused("status 401, refresh_token_expired".into()));
    assert_eq!(refresh(&place.roster, &a, unauthorized(&place.roster, &a)).unwrap_err(), refused);
    assert!(refused.needs_login() && place.roster.view(&a).unwrap().usable);
    // The same tokens written again are no new login.
    place.put("auth.json", &nested(place.get("auth.json")["tokens"].clone(), "2026-01-02T00:00:00Z"));
    assert_eq!(place.scan(1), []);
    assert!(place.roster.view(&a).unwrap().needs_login.is_some());
    place.put("auth.json", &ending("A", 8));
    place.scan(2);
    refresh(&place.roster, &a, RefreshReason::Expiring).unwrap();
    assert_eq!(server.sent(), ["rt.A.u.1", "rt.A.u.8"]);
}

#[test]
fn field_e6_an_account_whose_token_is_over_and_refused_is_not_usable() {
    let (_server, place, a) = set_up([Reply::Json(400, json!({"error": "invalid_grant"}))]);
    place.put("auth.json", &nested(tokens_until("A", "u", 1_000, 3), "2026-01-01T00:00:00Z"));
    place.scan(1);
    assert!(place.roster.view(&a).unwrap().usable);
    refresh(&place.roster, &a, RefreshReason::Expiring).unwrap_err();
    assert!(!place.roster.view(&a).unwrap().usable);
}

#[test]
fn field_e11_the_file_is_read_before_anything_is_sent() {
    let (server, place, a) = set_up([]);
    let used = place.roster.bearer(&a);
    place.put("auth.json", &login("A", 5));
    let got = refresh(&place.roster, &a, RefreshReason::Unauthorized { used }).unwrap();
    assert_eq!(json!(got), place.get("auth.json")["tokens"]["access_token"]);
    assert_eq!(server.seen().len(), 0);
    // Whoever follows the events learns of it as well.
    assert_eq!(place.scan(1), [Event::Changed(a)]);
    assert_eq!(place.scan(2), []);
}

#[test]
fn a_look_that_began_before_a_refresh_read_the_file_is_not_believed() {
    let (_server, place, a) = set_up([]);
    place.put("auth.json", &login("A", 5));
    let (version, looked) = place.roster.glance(1);
    // The Codex CLI refreshes once more, and we learn of that one first.
    place.put("auth.json", &login("A", 6));
    let newest = refresh(&place.roster, &a, unauthorized(&place.roster, &a)).unwrap();
    assert_eq!(place.roster.take(version, looked, 1), None);
    assert_eq!(place.access(&a), Some(newest.clone()));
    assert_eq!(place.scan(2), [Event::Changed(a.clone())]);
    assert_eq!(place.access(&a), Some(newest));
}

#[test]
fn field_e3_what_is_due_does_not_depend_on_how_the_account_is_used() {
    let place = Place::new(NOBODY);
    let now = clock::wall_ms();
    let opaque = |at: u64| {
        let at = jiff::Timestamp::from_millisecond(i64::try_from(at).unwrap()).unwrap();
        json!({"access_token": "opaque", "refresh_token": format!("rt{at}"), "last_refresh": at.to_string()})
    };
    let day = 24 * 3_600_000;
    place.put("a.json", &ending("A", 1));
    place.put("b.json", &flat(tokens_until("B", "u", now + 1_000, 1), json!({"disabled": true})));
    place.put("fresh.json", &login("C", 1));
    place.put("no-refresh.json", &json!({"access_token": token("D", "u", now, 1)}));
    place.put("old.json", &opaque(now - 8 * day - 1));
    place.put("young.json", &opaque(now - 8 * day + 60_000));
    place.scan(0);
    assert_eq!(place.roster.due(now), [account("A", "u"), account("B", "u"), Identity::Path("old.json".into())]);
    // Not those whose file is gone.
    place.remove("a.json");
    place.scan(1);
    assert_eq!(place.roster.due(now), [account("B", "u"), Identity::Path("old.json".into())]);
}

#[test]
fn the_token_before_our_own_refresh_names_its_caller_for_ten_minutes() {
    let (_server, place, a) = set_up([grant("A", 2)]);
    let old = place.access(&a).unwrap();
    assert_eq!(place.roster.caller(&old), Some(a.clone()));
    let before = clock::wall_ms();
    let new = refresh(&place.roster, &a, RefreshReason::Expiring).unwrap();
    let after = clock::wall_ms();
    place.scan(1);
    let caller = |token: &str, now: u64| place.roster.caller_at(token, now);
    assert_eq!(caller(&old, before + 600_000 - 1), Some(a.clone()));
    assert_eq!(caller(&old, after + 600_000), None);
    assert_eq!(caller(&new, after + 600_000), Some(a));
    // The whole token, and its claims count for nothing.
    assert_eq!(caller(&new[..new.len() - 1], after), None);
    assert_eq!(caller(&token("A", "u", after + 3_600_000, 99), after), None);
    assert_eq!(caller("", after), None);
    // Nor a token that is over.
    assert_eq!(caller(&new, after + 3_700_000), None);
}

#[test]
fn the_token_before_a_login_names_nobody() {
    let (_server, place, a) = set_up([]);
    let old = place.access(&a).unwrap();
    place.put("auth.json", &login("A", 5));
    place.scan(1);
    assert_eq!(place.roster.caller(&old), None);
    assert_eq!(place.roster.caller(&place.access(&a).unwrap()), Some(a.clone()));
    place.remove("auth.json");
    place.put("other.json", &login("B", 1));
    let kept = place.access(&a).unwrap();
    place.scan(2);
    assert_eq!(place.roster.caller(&kept), None);
}

#[test]
fn a_chunked_answer_whose_end_arrives_in_pieces_is_whole() {
    let tokens = tokens("A", "u", 2);
    let body = json!({"access_token": tokens["access_token"], "refresh_token": tokens["refresh_token"]}).to_string();
    let (first, second) = body.split_at(body.len() / 2);
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let pieces = [
        format!("{head}{:x}\r\n{first}\r\n", first.len()),
        format!("{:x}\r\n{second}\r\n0\r\n\r", second.len()),
        "\n".to_owned(),
    ];
    let server = TokenServer::new([Reply::Pieces(pieces.map(String::into_bytes).into())]);
    let place = Place::with_limit(&server.url, Duration::from_secs(3_600));
    place.put("auth.json", &ending("A", 1));
    place.scan(0);
    let a = account("A", "u");
    let call = clock::within(Duration::from_secs(30), place.roster.refresh(&a, RefreshReason::Expiring));
    let got = os::block_on(call).expect("the end is noticed").unwrap();
    assert_eq!(json!(got.access_token.expose()), tokens["access_token"]);
}

#[test]
fn an_account_whose_file_went_is_not_refreshed() {
    let (server, place, a) = set_up([]);
    place.put("b.json", &login("B", 1));
    place.remove("auth.json");
    refresh(&place.roster, &a, RefreshReason::Expiring).unwrap_err();
    place.put("auth.json", &login("C", 1));
    refresh(&place.roster, &a, RefreshReason::Expiring).unwrap_err();
    place.scan(1);
    assert_eq!(refresh(&place.roster, &a, RefreshReason::Expiring).unwrap_err(), RefreshError::Unknown);
    assert_eq!(server.seen().len(), 0);
}
