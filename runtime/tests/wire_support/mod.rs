//! A server of the codec alone, and a reader of raw answers that shares no code with it.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use homing::http::{
    BodyKind, Headers, HttpError, Limits, MemoryBudget, RequestHead, ServerConn, WriteError, prepare_tcp,
};

/// Repeats what it understood of each request as `METHOD target length:body`.
pub(crate) struct EchoServer {
    addr: SocketAddr,
    _task: smol::Task<()>,
}

/// Bytes of one request body at most.
const MAX_BODY: usize = 1 << 20;

impl EchoServer {
    pub(crate) fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let listener = smol::net::TcpListener::try_from(listener).unwrap();
        let limits = Arc::new(Limits::default());
        let budget = MemoryBudget::new(64 << 20);
        let _task = smol::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                prepare_tcp(&stream).unwrap();
                let conn = ServerConn::new(stream, Arc::clone(&limits));
                smol::spawn(serve(conn, budget.clone())).detach();
            }
        });
        Self { addr, _task }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.addr).unwrap();
        stream.set_nodelay(true).unwrap();
        // Only there to turn a hang into a failure.
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }
}

async fn serve(mut conn: ServerConn<smol::net::TcpStream>, budget: MemoryBudget) {
    loop {
        match conn.next_request().await {
            Ok(None) => return,
            Err(error) => return conn.refuse(&error).await,
            Ok(Some(head)) => match answer(&mut conn, &head, &budget).await {
                Ok(()) => {}
                Err(Trouble::Http(error)) => return conn.refuse(&error).await,
                Err(Trouble::Write(_)) => return conn.abort(),
            },
        }
    }
}

enum Trouble {
    Http(HttpError),
    Write(#[allow(dead_code)] WriteError),
}

async fn answer(
    conn: &mut ServerConn<smol::net::TcpStream>,
    head: &RequestHead,
    budget: &MemoryBudget,
) -> Result<(), Trouble> {
    let headers = Headers::new();
    let send =
        |conn: &mut ServerConn<_>, status, kind| conn.start_response(status, &headers, kind).map_err(Trouble::Write);
    match head.target.as_str() {
        "/unread" => {
            send(conn, 200, BodyKind::Length(6))?;
            conn.finish_with(b"unread").await.map_err(Trouble::Write)?;
        }
        "/204" => {
            send(conn, 204, BodyKind::None)?;
            conn.finish().await.map_err(Trouble::Write)?;
        }
        "/chunked" => {
            conn.read_body(MAX_BODY, budget).await.map_err(Trouble::Http)?;
            send(conn, 200, BodyKind::Chunked)?;
            for piece in ["one", "", "two"] {
                conn.write_data(piece.as_bytes()).await.map_err(Trouble::Write)?;
            }
            conn.finish_with(b"three").await.map_err(Trouble::Write)?;
        }
        _ => {
            let body = conn.read_body(MAX_BODY, budget).await.map_err(Trouble::Http)?;
            let mut text = format!("{} {} {}:", head.method, head.target, body.len()).into_bytes();
            text.extend_from_slice(&body[..body.len().min(64)]);
            send(conn, 200, BodyKind::Length(text.len() as u64))?;
            conn.finish_with(&text).await.map_err(Trouble::Write)?;
        }
    }
    Ok(())
}

/// One answer as a client sees it.
pub(crate) struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub(crate) fn body_starts(&self, with: &str) -> bool {
        self.body.starts_with(with.as_bytes())
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().filter_map(|l| l.split_once(": ")).find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v)
    }

    pub(crate) fn assert_is_refusal(&self, case: &str) {
        assert_eq!(self.field("connection"), Some("close"), "{case}: {self:?}");
        let json: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{case}: {self:?}"));
        for field in ["message", "type", "code"] {
            assert!(json["error"][field].is_string(), "{case}: {self:?}");
        }
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.status, String::from_utf8_lossy(&self.body[..self.body.len().min(120)]))
    }
}

/// Everything until the server closes, taken apart into answers. A reset or a hang is a failure.
pub(crate) fn read_answers(stream: &mut TcpStream) -> Vec<Answer> {
    let mut wire = Vec::new();
    stream.read_to_end(&mut wire).expect("the answer could not be read to its end");
    let mut rest = wire.as_slice();
    let mut answers = Vec::new();
    while !rest.is_empty() {
        let end = rest.windows(4).position(|w| w == b"\r\n\r\n").expect("a head without an end") + 4;
        let head = std::str::from_utf8(&rest[..end]).unwrap().to_owned();
        rest = &rest[end..];
        let mut answer = Answer { status: head[9..12].parse().unwrap(), head, body: Vec::new() };
        if answer.status == 100 {
            continue;
        }
        if let Some(length) = answer.field("content-length") {
            // The answer to a HEAD names the length of a body that does not follow.
            let length = length.parse::<usize>().unwrap();
            if !rest.starts_with(b"HTTP/1.1 ") && rest.len() >= length {
                answer.body = rest[..length].to_vec();
                rest = &rest[length..];
            }
        } else if answer.field("transfer-encoding") == Some("chunked") {
            loop {
                let end = rest.windows(2).position(|w| w == b"\r\n").unwrap();
                let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
                answer.body.extend_from_slice(&rest[end + 2..end + 2 + size]);
                assert_eq!(&rest[end + 2 + size..end + 4 + size], b"\r\n");
                rest = &rest[end + 4 + size..];
                if size == 0 {
                    break;
                }
            }
        } else if answer.field("connection") == Some("close") && answer.status == 200 {
            answer.body = rest.to_vec();
            rest = &[];
        }
        answers.push(answer);
    }
    answers
}
