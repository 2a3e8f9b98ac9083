//! The management API over real sockets, with a gateway that lives in memory.

mod api;
pub(crate) mod fake;
mod hostile;
mod sockets;

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    sync::Arc,
};

use fake::Fake;

use super::*;
use crate::{config::Config, os};

/// The admin key of these tests.
const KEY: &str = "an-admin-key-of-the-tests";

/// A served admin listener.
struct Served {
    address: SocketAddr,
    _task: smol::Task<()>,
}

impl Served {
    fn start() -> Self {
        let place = tempfile::tempdir().unwrap();
        let text = format!("[admin]\naddress = \"127.0.0.1:0\"\nkey = \"{KEY}\"\nhosts = [\"homing.example.com\"]\n");
        let config = Config::within(place.path(), &text).unwrap();
        let (listener, gate) = smol::block_on(listen(&config)).unwrap().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, listener.local_addr().unwrap().port()));
        Self { address, _task: os::spawn(serve(listener, Arc::new(gate), Arc::new(Fake::default()))) }
    }

    /// Sends bytes as they are and returns everything that came back.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        // A refused request may be answered, and the connection closed, before all of it is sent.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    /// Sends a request with the key, further header lines and a body.
    fn ask(&self, line: &str, fields: &str, body: &str) -> String {
        let (host, length) = (self.address, body.len());
        let head = format!("{line} HTTP/1.1\r\nHost: {host}\r\nX-Admin-Key: {KEY}\r\nContent-Length: {length}\r\n");
        self.raw(format!("{head}{fields}\r\n{body}").as_bytes())
    }
}

/// The status of an answer; 0 where there was none.
fn status(answer: &str) -> u16 {
    answer.get(9..12).and_then(|code| code.parse().ok()).unwrap_or(0)
}

/// The JSON body of an answer.
fn json(answer: &str) -> serde_json::Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}
