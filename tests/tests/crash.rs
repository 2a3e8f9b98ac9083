//! The promise in the large: thousands of conversations, failovers, a SIGKILL, a changed set of accounts, and every home that
//! still exists holds.

#![allow(clippy::unwrap_used)]

use homing::scripted::{AccountSpec, Behaviour, Options, Rule};
use homing_tests::crowd::Crowd;
use homing_tests::gateway::Gateway;
use serde_json::Value;

const ACCOUNTS: [&str; 8] = ["amber", "birch", "cedar", "dogwood", "elder", "fir", "ginkgo", "hazel"];

/// Plays the whole story with so many conversations; the conversations that were not served where their home was, of those
/// whose home still exists.
fn strays(gateway: &mut Gateway, conversations: usize) -> (Vec<usize>, usize) {
    let key = gateway.create_user("ada");
    let crowd = Crowd { addr: gateway.addr(), key: &key };
    let all: Vec<usize> = (0..conversations).collect();
    let mut homes = crowd.turns(&all);
    let before = homes.clone();

    // A fifth of the conversations meet an account that is out of quota. It recovers within a second.
    for account in ACCOUNTS {
        let rule = gateway.upstream().fail(Rule::always(Behaviour::usage_limit(1)).on(account));
        let movers: Vec<usize> = all.iter().copied().filter(|c| c % 5 == 0 && before[*c] == account).collect();
        for (conversation, home) in movers.iter().zip(crowd.turns(&movers)) {
            assert_ne!(home, account, "it is out of quota");
            homes[*conversation] = home;
        }
        gateway.upstream().forgive(rule);
        assert!(gateway.eventually(|g| g.account_state(account) == "ready"), "{account} recovers");
    }

    gateway.kill9();
    gateway.upstream().add_account(AccountSpec::named("ivy"));
    gateway.write_auth_file("ivy");
    let disabled = ACCOUNTS[3];
    let path = gateway.auth_dir().join(format!("{disabled}.json"));
    let mut file: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    file["disabled"] = true.into();
    std::fs::write(&path, file.to_string()).unwrap();
    gateway.restart();

    let now = crowd.turns(&all);
    assert!(now.iter().all(|account| account != disabled), "a disabled account serves nobody");
    let moved = all.iter().filter(|c| homes[**c] != before[**c]).count();
    (all.into_iter().filter(|c| homes[*c] != disabled && homes[*c] != now[*c]).collect(), moved)
}

fn gateway(store: &str) -> Gateway {
    let upstream = Options { coalesce: true, ..Options::default() };
    let store = format!("store = \"{store}\"");
    let (quiet, patient) = ("level = \"warn\"", "commit-wait = \"1m\"");
    let gateway = Gateway::with_accounts(&ACCOUNTS).upstream(upstream).toml("state", &store);
    gateway.toml("log", quiet).toml("affinity", patient).start()
}

#[test]
fn ten_thousand_conversations_keep_their_homes() {
    let mut gateway = gateway("sqlite");
    let (strays, moved) = strays(&mut gateway, 10_000);
    assert_eq!(moved, 2_000, "a fifth was moved");
    assert_eq!(strays, Vec::<usize>::new());
    assert_eq!(gateway.bindings().len(), 10_000);
}

#[test]
fn without_the_store_the_same_check_fails() {
    // So no placement by a hash passes it.
    let (strays, _) = strays(&mut gateway("off"), 1_000);
    assert!(strays.len() > 500, "{} of 1,000 strayed", strays.len());
}
