//! What keeps a gateway from starting: said clearly, exit status 1, nothing overwritten (T2).

#![allow(clippy::unwrap_used)]

use std::path::Path;

use homing_tests::ask::Ask;
use homing_tests::gateway::Gateway;

/// Every file below the state directory with its content. Not the lock, which names its holder, and nothing empty: SQLite
/// makes an empty log beside a database that it only reads.
fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && path.extension().is_none_or(|e| e != "lock"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.retain(|(_, bytes)| !bytes.is_empty());
    files.sort();
    files
}

/// Names and lengths, for messages that a reader can use.
fn sizes(files: &[(String, Vec<u8>)]) -> Vec<(&str, usize)> {
    files.iter().map(|(name, bytes)| (name.as_str(), bytes.len())).collect()
}

/// A gateway that ran, has a user and a session, and was stopped.
fn stopped() -> (Gateway, String) {
    let mut gateway = Gateway::with_accounts(&["amber", "birch"]).start();
    let key = gateway.create_user("ada");
    gateway.served(&Ask::turn(&key).session("one"));
    assert!(gateway.terminate().success());
    (gateway, key)
}

#[test]
fn a_second_process_on_the_same_files_names_the_first() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let said = gateway.fails_to_start();
    assert!(said.contains(&format!("process {}", gateway.pid())), "{said}");
    assert!(said.contains("state.directory"), "what to do: {said}");
    assert_eq!(gateway.served(&Ask::turn(&key)), "amber", "the first one goes on");
}

#[test]
fn a_second_process_on_the_same_auth_directory_names_the_first() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let other = gateway.directory().join("other-state");
    let said = gateway.fails_to_start_with(&[
        ("HOMING_STATE_DIRECTORY", other.to_str().unwrap()),
        ("HOMING_LISTEN_ADDRESS", "127.0.0.1:0"),
        ("HOMING_ADMIN_ADDRESS", "127.0.0.1:0"),
    ]);
    assert!(said.contains(&format!("process {}", gateway.pid())), "{said}");
    assert!(said.contains("accounts.directory"), "what to do: {said}");
}

#[test]
fn a_killed_process_leaves_no_lock_behind() {
    let mut gateway = Gateway::with_accounts(&["amber"]).start();
    for _ in 0..3 {
        gateway.kill9();
        gateway.restart();
    }
}

#[test]
fn a_file_that_is_no_database_is_reported_and_not_touched() {
    let gateway = Gateway::with_accounts(&["amber"]).prepare();
    std::fs::create_dir_all(gateway.state_dir()).unwrap();
    std::fs::write(gateway.state_dir().join("homing.db"), b"these are somebody's notes").unwrap();
    let before = files(&gateway.state_dir());
    for _ in 0..2 {
        let said = gateway.fails_to_start();
        assert!(said.contains("homing.db") && said.contains("not an SQLite database"), "{said}");
    }
    assert_eq!(files(&gateway.state_dir()), before);
}

#[test]
fn a_damaged_database_is_reported_and_not_touched() {
    let (gateway, _) = stopped();
    let path = gateway.state_dir().join("homing.db");
    let whole = std::fs::read(&path).unwrap();
    let cut = whole[..whole.len() - 2048].to_vec();
    let mut scribbled = whole.clone();
    scribbled[4096..].fill(0x5a);
    for damaged in [cut, scribbled, whole[..50].to_vec()] {
        std::fs::write(&path, &damaged).unwrap();
        let before = files(&gateway.state_dir());
        let said = gateway.fails_to_start();
        assert!(said.contains("homing.db"), "{said}");
        assert!(said.to_lowercase().contains("damaged"), "{said}");
        assert_eq!(sizes(&files(&gateway.state_dir())), sizes(&before));
        assert!(files(&gateway.state_dir()) == before, "not touched");
    }
    // Put back, it works.
    std::fs::write(&path, &whole).unwrap();
    let mut gateway = gateway;
    gateway.restart();
    assert_eq!(gateway.bindings().len(), 1);
}

#[test]
fn a_newer_schema_is_refused_and_not_touched() {
    let (gateway, _) = stopped();
    let path = gateway.state_dir().join("homing.db");
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 4711).unwrap();
    let before = files(&gateway.state_dir());
    let said = gateway.fails_to_start();
    assert!(said.contains("4711"), "{said}");
    assert_eq!(sizes(&files(&gateway.state_dir())), sizes(&before));
    assert!(files(&gateway.state_dir()) == before, "not touched");
    // The command line says the same.
    let output = gateway.cli(&["users", "list"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("4711"));
}

#[test]
fn somebody_elses_database_is_refused_and_not_touched() {
    let gateway = Gateway::with_accounts(&["amber"]).prepare();
    std::fs::create_dir_all(gateway.state_dir()).unwrap();
    let path = gateway.state_dir().join("homing.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE songs (title TEXT)").unwrap();
    let before = files(&gateway.state_dir());
    let said = gateway.fails_to_start();
    assert!(said.contains("homing.db"), "{said}");
    assert!(files(&gateway.state_dir()) == before, "not touched");
}

#[test]
fn a_state_directory_that_cannot_be_used_is_named() {
    // Neither works for the superuser either: one is below a file, the other in a file system that takes no directories.
    for directory in ["homing.toml/state", "/proc/homing"] {
        let line = format!("directory = \"{directory}\"");
        let gateway = Gateway::with_accounts(&["amber"]).toml("state", &line).prepare();
        let said = gateway.fails_to_start();
        assert!(said.contains("state.directory") && said.contains(directory), "{said}");
    }
}

#[test]
fn a_port_in_use_is_named() {
    let gateway = Gateway::with_accounts(&["amber"]).prepare();
    for (address, key) in [(gateway.addr(), "listen.address"), (gateway.admin_addr(), "admin.address")] {
        let taken = std::net::TcpListener::bind(address).unwrap();
        let said = gateway.fails_to_start();
        assert!(said.contains(key) && said.contains(&address.to_string()), "{said}");
        drop(taken);
    }
}

#[test]
fn mistakes_in_the_configuration_are_named_with_their_line_all_at_once() {
    let gateway = Gateway::with_accounts(&["amber"]).prepare();
    let mut text = std::fs::read_to_string(gateway.config()).unwrap();
    let first = text.lines().count() + 1;
    text.push_str("[routing]\nrequest-retry = 99\nrequest-deadline = \"soon\"\n[affinity]\nsesion = true\n");
    std::fs::write(gateway.config(), text).unwrap();
    for said in [gateway.fails_to_start(), String::from_utf8_lossy(&gateway.cli(&["check-config"]).stderr).into_owned()]
    {
        for (line, name) in [(first + 1, "request-retry"), (first + 2, "request-deadline"), (first + 4, "sesion")] {
            let found = said.lines().any(|l| l.contains(name) && l.contains(&line.to_string()));
            assert!(found, "{name} in line {line}: {said}");
        }
    }
    assert!(!gateway.state_dir().exists(), "nothing was made");
}

#[test]
fn a_key_can_be_set_by_a_variable() {
    let gateway = Gateway::with_accounts(&["amber"]).prepare();
    let output = gateway.command().arg("check-config").env("HOMING_ROUTING_REQUEST_RETRY", "5").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success());
    let line = text.lines().find(|l| l.contains("request-retry")).unwrap();
    assert!(line.contains('5') && line.contains("HOMING_ROUTING_REQUEST_RETRY"), "{line}");
    let output = gateway.command().arg("check-config").env("HOMING_ROUTING_REQUEST_RETRY", "many").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("HOMING_ROUTING_REQUEST_RETRY"));
}
