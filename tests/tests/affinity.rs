//! A conversation keeps its account (spec §2, §3).

use homing_tests::ask::Ask;
use homing_tests::gateway::Gateway;

const ACCOUNTS: [&str; 3] = ["amber", "birch", "cedar"];

#[test]
fn a_session_keeps_its_account_over_turns() {
    let gateway = Gateway::with_accounts(&ACCOUNTS).start();
    let key = gateway.create_user("ada");
    for _ in 0..4 {
        let answer = Ask::turn(&key).session("one").send(gateway.addr()).unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    let accounts = gateway.accounts_since(0);
    assert_eq!(accounts.len(), 4);
    assert!(accounts.iter().all(|a| *a == accounts[0]), "{accounts:?}");
}
