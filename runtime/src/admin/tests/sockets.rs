//! The listeners themselves, and the command line's side.

use std::os::unix::fs::PermissionsExt;

use http_types::Method;

use super::*;
use crate::os::Lock;

#[test]
fn without_a_key_there_is_no_port() {
    let place = tempfile::tempdir().unwrap();
    let config = Config::within(place.path(), "[admin]\naddress = \"127.0.0.1:0\"\n").unwrap();
    assert!(smol::block_on(listen(&config)).unwrap().is_none());
}

#[test]
fn a_port_in_use_is_named() {
    let served = Served::start();
    let place = tempfile::tempdir().unwrap();
    let text = format!("[admin]\naddress = \"{}\"\nkey = \"{KEY}\"\n", served.address);
    let config = Config::within(place.path(), &text).unwrap();
    let refused = smol::block_on(listen(&config)).unwrap_err().to_string();
    assert!(refused.starts_with(&format!("admin.address: {} cannot be opened (", served.address)), "{refused}");
}

#[test]
fn the_owner_socket_needs_no_key_and_is_open_to_the_owner_alone() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("homing.sock");
    let lock = Lock::acquire(&place.path().join("homing.lock")).unwrap();
    let ask = || {
        let request = client::request::<()>(Method::Get, "/health", &[], None).unwrap();
        smol::block_on(client::call(&path, request))
    };
    assert!(matches!(ask(), Err(client::CallError::NoGateway)), "no socket");

    // What a killed gateway leaves behind: a socket file that nobody listens on.
    let dead = std::os::unix::net::UnixListener::bind(&path).unwrap();
    // Closing alone would leave it alive in a child that another test forks this moment.
    rustix::net::shutdown(&dead, rustix::net::Shutdown::Both).unwrap();
    drop(dead);
    assert!(path.exists() && matches!(ask(), Err(client::CallError::NoGateway)), "a stale socket");

    let socket = Arc::new(OwnerSocket::bind(&path, &lock).unwrap());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let serving = Arc::clone(&socket);
    let task = os::spawn(async move { serve_owner(&serving, Arc::new(Fake::default())).await });
    let answer = ask().unwrap();
    assert_eq!(answer.status, 200);
    let health: Health = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((health.status, health.usable_accounts), (HealthStatus::Ok, 2));

    let body = NewUser { name: "ann".into() };
    let request = client::request(Method::Post, "/users", &[], Some(&body)).unwrap();
    let answer = smol::block_on(client::call(&path, request)).unwrap();
    let made: CreatedUser = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((made.user.name.as_str(), made.key.0.as_str()), ("ann", "hmg_first"));
    assert!(!format!("{made:?}").contains("hmg_first"));

    smol::block_on(task.cancel());
    drop(socket);
    assert!(!path.exists(), "the file goes with its socket");
}

#[test]
fn a_file_that_is_no_socket_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("homing.sock");
    let lock = Lock::acquire(&place.path().join("homing.lock")).unwrap();
    std::fs::write(&path, "precious").unwrap();
    let refused = OwnerSocket::bind(&path, &lock).unwrap_err().to_string();
    assert!(refused.contains("is there and is no socket"), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn a_dropped_socket_leaves_the_file_of_its_successor() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("homing.sock");
    let lock = Lock::acquire(&place.path().join("homing.lock")).unwrap();
    let first = OwnerSocket::bind(&path, &lock).unwrap();
    let second = OwnerSocket::bind(&path, &lock).unwrap();
    drop(first);
    assert!(second.path().exists());
}
