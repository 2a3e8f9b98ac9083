//! A token endpoint that does as it is told.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

/// What one request gets.
pub(super) enum Reply {
    Json(u16, Value),
    /// These pieces, each in a segment of its own, and then nothing until the client leaves.
    Pieces(Vec<Vec<u8>>),
    /// These bytes and the end of the connection.
    Bytes(Vec<u8>),
    /// Takes the request and resets the connection.
    Reset,
    /// Takes the request and says nothing.
    Silence,
    /// The reply, once it is let go.
    Held(Receiver<()>, Box<Self>),
}

impl Reply {
    /// A reply that waits, and what lets it go.
    pub(super) fn held(self) -> (Sender<()>, Self) {
        let (go, wait) = channel();
        (go, Self::Held(wait, Box::new(self)))
    }
}

#[derive(Default)]
struct Script {
    seen: Mutex<Vec<Value>>,
    replies: Mutex<VecDeque<Reply>>,
}

/// A server that gives its replies in turn, then 500.
pub(super) struct TokenServer {
    pub(super) url: String,
    script: Arc<Script>,
}

impl TokenServer {
    pub(super) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), replies)
    }

    pub(super) fn on(listener: TcpListener, replies: impl IntoIterator<Item = Reply>) -> Self {
        let script = Arc::new(Script { replies: Mutex::new(replies.into_iter().collect()), ..Script::default() });
        let url = format!("http://{}/oauth/token", listener.local_addr().unwrap());
        let serving = Arc::clone(&script);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let script = Arc::clone(&serving);
                std::thread::spawn(move || serve(stream, &script));
            }
        });
        Self { url, script }
    }

    /// The bodies of the requests so far.
    pub(super) fn seen(&self) -> Vec<Value> {
        self.script.seen.lock().unwrap().clone()
    }

    /// The refresh tokens it was sent so far.
    pub(super) fn sent(&self) -> Vec<String> {
        self.seen().iter().map(|body| body["refresh_token"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits for a request to arrive.
    pub(super) fn until_seen(&self, count: usize) {
        until(|| self.seen().len() >= count);
    }
}

/// Waits for what must come; fails after a long time.
pub(super) fn until(mut done: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it did not come");
}

fn serve(mut stream: TcpStream, script: &Script) {
    let Some(body) = request(&stream) else { return };
    script.seen.lock().unwrap().push(body);
    let reply = script.replies.lock().unwrap().pop_front();
    answer(&mut stream, reply.unwrap_or(Reply::Json(500, Value::Null)));
}

fn answer(stream: &mut TcpStream, reply: Reply) {
    match reply {
        Reply::Json(status, value) => {
            let body = value.to_string();
            let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n");
            let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
        }
        Reply::Pieces(pieces) => {
            stream.set_nodelay(true).unwrap();
            for piece in pieces {
                let _ = stream.write_all(&piece);
                std::thread::sleep(Duration::from_millis(30));
            }
            wait_for_leave(stream);
        }
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes);
        }
        Reply::Reset => socket2::SockRef::from(&*stream).set_linger(Some(Duration::ZERO)).unwrap(),
        Reply::Silence => wait_for_leave(stream),
        Reply::Held(wait, reply) => {
            let _ = wait.recv();
            answer(stream, *reply);
        }
    }
}

fn wait_for_leave(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0]);
}

fn request(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
