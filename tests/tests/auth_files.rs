//! Auth files that come, change, break and go while the gateway runs (B11).

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use homing::scripted::{AccountSpec, Behaviour, GatePoint, Rule};
use homing_tests::ask::Ask;
use homing_tests::gateway::Gateway;
use serde_json::{Value, json};

/// Looks often, and removes what was missed for a second.
const QUICK: &str = "scan-interval = \"100ms\"\nremoval-grace = \"1s\"";
/// Looks often, and never removes.
const PATIENT: &str = "scan-interval = \"100ms\"\nremoval-grace = \"1h\"";

/// Longer than `removal-grace` and several looks: what is not gone after it will not go.
fn outlast_the_grace() {
    std::thread::sleep(Duration::from_millis(1600));
}

/// A gateway over three accounts with one session on each; the sessions' homes.
fn three(settings: &str) -> (Gateway, String, Vec<String>) {
    let gateway = Gateway::with_accounts(&["amber", "birch", "cedar"]).toml("accounts", settings).start();
    let key = gateway.create_user("ada");
    let homes = (0..3).map(|n| gateway.served(&Ask::turn(&key).session(&n.to_string()))).collect();
    (gateway, key, homes)
}

fn homes_now(gateway: &Gateway, key: &str) -> Vec<String> {
    (0..3).map(|n| gateway.served(&Ask::turn(key).session(&n.to_string()))).collect()
}

#[test]
fn without_accounts_it_starts_says_what_to_do_and_takes_one_that_appears() {
    let gateway = Gateway::with_accounts(&[]).toml("accounts", QUICK).start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one");
    let answer = ask.send(gateway.addr()).unwrap();
    assert_eq!(answer.status(), 503, "{}", answer.text());
    assert!(answer.text().contains("codex login") && answer.header("retry-after").is_some(), "{}", answer.text());
    assert!(gateway.log().contains("codex login"), "{}", gateway.log());
    assert_eq!(Ask::get(&key, "/readyz").send(gateway.addr()).unwrap().status(), 503);
    assert_eq!(gateway.bindings(), Vec::<Value>::new());
    gateway.upstream().add_account(AccountSpec::named("amber"));
    gateway.write_auth_file("amber");
    assert!(gateway.eventually(|g| g.account_state("amber") == "ready"));
    assert_eq!(gateway.served(&ask), "amber");
    assert_eq!(Ask::get(&key, "/readyz").send(gateway.addr()).unwrap().status(), 200);
}

#[test]
fn an_auth_directory_that_is_missing_may_come_later() {
    let line = "directory = \"later\"";
    let gateway = Gateway::with_accounts(&["amber"]).toml("accounts", QUICK).toml("accounts", line).start();
    let key = gateway.create_user("ada");
    assert_eq!(Ask::turn(&key).send(gateway.addr()).unwrap().status(), 503);
    std::fs::rename(gateway.auth_dir(), gateway.directory().join("later")).unwrap();
    assert!(gateway.eventually(|g| g.account_state("amber") == "ready"));
    assert_eq!(gateway.served(&Ask::turn(&key)), "amber");
}

#[test]
fn flat_token_files_are_accounts_too() {
    let gateway = Gateway::with_accounts(&["amber"]).toml("accounts", QUICK).start();
    let key = gateway.create_user("ada");
    let birch = gateway.upstream().add_account(AccountSpec::named("birch"));
    birch.write_flat_file(&gateway.auth_dir(), "flat-birch.json").unwrap();
    assert!(gateway.eventually(|g| g.account_state("birch") == "ready"));
    let served: std::collections::BTreeSet<String> = (0..4).map(|_| gateway.served(&Ask::turn(&key))).collect();
    assert_eq!(served.len(), 2, "{served:?}");
}

#[test]
fn a_file_that_vanishes_stops_at_once_and_takes_its_bindings_after_the_grace() {
    let (gateway, key, homes) = three(QUICK);
    let gone = &homes[0];
    std::fs::remove_file(gateway.auth_dir().join(format!("{gone}.json"))).unwrap();
    assert!(gateway.eventually(|g| ["gone", "not loaded"].contains(&g.account_state(gone).as_str())));
    for _ in 0..6 {
        assert_ne!(gateway.served(&Ask::turn(&key)), *gone, "no attempt starts");
    }
    assert!(gateway.eventually(|g| g.account_state(gone) == "not loaded"));
    assert_eq!(gateway.bindings().len(), 2, "its binding is gone, the others stay");
    let now = homes_now(&gateway, &key);
    assert_eq!(now[1..], homes[1..]);
    assert_ne!(now[0], *gone);
}

#[test]
fn a_file_that_is_back_within_the_grace_keeps_its_bindings() {
    let (gateway, key, homes) = three(PATIENT);
    let path = gateway.auth_dir().join(format!("{}.json", homes[0]));
    let text = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(gateway.eventually(|g| g.account_state(&homes[0]) == "gone"));
    std::fs::write(&path, &text).unwrap();
    assert!(gateway.eventually(|g| g.account_state(&homes[0]) == "ready"));
    assert_eq!(homes_now(&gateway, &key), homes);
}

#[test]
fn field_f5_a_file_that_cannot_be_read_is_no_removal() {
    let (gateway, key, homes) = three(QUICK);
    let path = gateway.auth_dir().join(format!("{}.json", homes[0]));
    let whole = std::fs::read(&path).unwrap();
    for broken in [&whole[..whole.len() / 2], b"", b"{", &[0xff; 64]] {
        std::fs::write(&path, broken).unwrap();
        outlast_the_grace();
        assert_eq!(homes_now(&gateway, &key), homes, "the last good credential serves on");
        assert_eq!(std::fs::read(&path).unwrap(), broken, "and the file is not written over");
    }
    assert_eq!(gateway.bindings().len(), 3);
    assert!(gateway.log().contains("auth directory"), "a warning names it");
    std::fs::write(&path, &whole).unwrap();
    outlast_the_grace();
    assert_eq!(homes_now(&gateway, &key), homes);
}

#[test]
fn a_directory_that_vanishes_or_empties_is_no_removal() {
    let (gateway, key, homes) = three(QUICK);
    let aside = gateway.directory().join("aside");
    std::fs::rename(gateway.auth_dir(), &aside).unwrap();
    outlast_the_grace();
    assert_eq!(homes_now(&gateway, &key), homes, "missing");
    std::fs::create_dir(gateway.auth_dir()).unwrap();
    outlast_the_grace();
    assert_eq!(homes_now(&gateway, &key), homes, "empty, as a mount that is gone looks");
    std::fs::remove_dir(gateway.auth_dir()).unwrap();
    std::fs::write(gateway.auth_dir(), "no directory").unwrap();
    outlast_the_grace();
    assert_eq!(homes_now(&gateway, &key), homes, "a file in its place");
    std::fs::remove_file(gateway.auth_dir()).unwrap();
    std::fs::rename(&aside, gateway.auth_dir()).unwrap();
    outlast_the_grace();
    assert_eq!(homes_now(&gateway, &key), homes);
    assert_eq!(gateway.bindings().len(), 3);
}

#[test]
fn a_renamed_file_keeps_its_bindings() {
    let (gateway, key, homes) = three(QUICK);
    let old = gateway.auth_dir().join(format!("{}.json", homes[0]));
    std::fs::rename(old, gateway.auth_dir().join("quite-another-name.json")).unwrap();
    outlast_the_grace();
    assert_eq!(homes_now(&gateway, &key), homes, "the identity survives a renamed file (spec §1)");
}

#[test]
fn a_new_login_of_the_same_account_keeps_its_bindings_and_is_used() {
    let (gateway, key, homes) = three(QUICK);
    assert!(gateway.upstream().revoke_access(&homes[0]) && gateway.upstream().revoke_refresh(&homes[0]));
    let newer = gateway.upstream().add_account(AccountSpec::named(&homes[0]));
    gateway.write_auth_file(&homes[0]);
    outlast_the_grace();
    assert_eq!(homes_now(&gateway, &key), homes);
    let seen = gateway.upstream().log().into_iter().rfind(|s| s.account.as_deref() == Some(&homes[0])).unwrap();
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {}", newer.access_token)));
}

#[test]
fn another_identity_in_a_file_is_another_account() {
    let (gateway, key, homes) = three(QUICK);
    let stranger = gateway.upstream().add_account(AccountSpec::named("dogwood"));
    stranger.write_auth_file(&gateway.auth_dir(), &format!("{}.json", homes[0])).unwrap();
    let serves = |g: &Gateway| g.served(&Ask::turn(&key));
    assert!(gateway.eventually(|g| serves(g) == "dogwood"));
    assert!((0..6).all(|_| serves(&gateway) != homes[0]), "no attempt on the old one starts");
    assert!(gateway.eventually(|g| g.bindings().len() == 2), "its binding goes after the grace");
    let now = homes_now(&gateway, &key);
    assert_eq!(now[1..], homes[1..]);
    assert_ne!(now[0], homes[0]);
}

#[test]
fn a_disabled_account_serves_nobody_and_keeps_its_bindings() {
    let (gateway, key, homes) = three(QUICK);
    let path = gateway.auth_dir().join(format!("{}.json", homes[0]));
    let mut file: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    file["disabled"] = json!(true);
    std::fs::write(&path, file.to_string()).unwrap();
    assert!(gateway.eventually(|g| g.account_state(&homes[0]) == "disabled"));
    outlast_the_grace();
    assert_eq!(gateway.bindings().len(), 3);
    file["disabled"] = json!(false);
    std::fs::write(&path, file.to_string()).unwrap();
    assert!(gateway.eventually(|g| g.account_state(&homes[0]) == "ready"));
    assert_eq!(homes_now(&gateway, &key), homes);
}

#[test]
fn an_account_removed_while_the_gateway_is_down_keeps_its_bindings_until_the_test_passes() {
    let (mut gateway, key, homes) = three(QUICK);
    gateway.kill9();
    let path = gateway.auth_dir().join(format!("{}.json", homes[0]));
    let text = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    gateway.restart();
    assert!(gateway.eventually(|g| g.bindings().len() == 2), "gone after two looks a second apart");
    std::fs::write(&path, text).unwrap();
    assert!(gateway.eventually(|g| g.account_state(&homes[0]) == "ready"), "as a new account");
    assert_eq!(homes_now(&gateway, &key)[1..], homes[1..]);
}

#[test]
fn two_files_of_one_identity_are_one_account() {
    let gateway = Gateway::with_accounts(&["amber"]).toml("accounts", QUICK).start();
    let amber = gateway.upstream().account("amber").unwrap();
    amber.write_auth_file(&gateway.auth_dir(), "copy.json").unwrap();
    amber.write_flat_file(&gateway.auth_dir(), "flat.json").unwrap();
    assert!(gateway.eventually(|g| g.log().contains("copy.json") || g.log().contains("flat.json")), "a warning");
    let listed = gateway.cli_json(&["accounts", "list", "--json"]);
    assert_eq!(listed.len(), 1, "{listed:?}");
}

#[test]
fn seats_of_one_workspace_are_different_accounts() {
    let seat = |name: &str| {
        let mut spec = AccountSpec::named(name);
        spec.account_id = "11111111-2222-4333-8444-555555555555".to_owned();
        spec
    };
    let gateway = Gateway::with_accounts(&[]).account(seat("amber")).account(seat("birch")).start();
    let key = gateway.create_user("ada");
    let served: std::collections::BTreeSet<String> = (0..4).map(|_| gateway.served(&Ask::turn(&key))).collect();
    assert_eq!(served.len(), 2, "{served:?}");
}

#[test]
fn field_d6_a_change_of_one_file_leaves_a_running_turn_alone() {
    let (gateway, key, homes) = three(QUICK);
    gateway.upstream().fail(Rule::once(Behaviour::held("middle", GatePoint::AfterEvents(6))).on(&homes[0]));
    let mut client = Ask::turn(&key).session("0").begin(gateway.addr()).unwrap();
    assert!(gateway.upstream().wait_at("middle", 1));
    // Its neighbour goes, and its own file is written anew.
    std::fs::remove_file(gateway.auth_dir().join(format!("{}.json", homes[1]))).unwrap();
    gateway.upstream().add_account(AccountSpec::named(&homes[0]));
    gateway.write_auth_file(&homes[0]);
    assert!(gateway.eventually(|g| g.account_state(&homes[1]) == "not loaded"));
    gateway.upstream().release("middle");
    let answer = client.response().unwrap();
    assert_eq!(answer.event_types().last().map(String::as_str), Some("response.completed"));
    assert_eq!(gateway.served(&Ask::turn(&key).session("0")), homes[0]);
}

#[test]
fn a_token_that_ends_soon_is_refreshed_before_it_does() {
    let mut spec = AccountSpec::named("amber");
    spec.lifetime_seconds = 60;
    let gateway = Gateway::with_accounts(&[]).account(spec).start();
    let key = gateway.create_user("ada");
    let path = gateway.auth_dir().join("amber.json");
    assert!(gateway.eventually(|g| g.upstream().log().iter().any(|s| s.path == "/oauth/token")));
    gateway.upstream().wait_ended(1);
    let newer = gateway.upstream().account("amber").unwrap();
    let written = || -> Value { serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap_or_default() };
    assert!(gateway.eventually(|_| written()["tokens"]["refresh_token"] == newer.refresh_token), "field E11");
    gateway.served(&Ask::turn(&key));
}
