//! Both ends of the codec put together as a relay: what the client and the upstream see of each other's end.

#![allow(clippy::unwrap_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use homing::http::{
    BodyKind, Connector, Deadlines, Limits, MemoryBudget, Origin, Pool, PoolLimits, ServerConn, prepare_tcp,
};
use smol::future::or;

/// A relay in front of `origin`; where it listens.
fn relay(origin: Origin) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let listener = smol::net::TcpListener::try_from(listener).unwrap();
    let pool = Pool::new(Connector::new(None), PoolLimits::default());
    let budget = MemoryBudget::new(64 << 20);
    smol::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            prepare_tcp(&stream).unwrap();
            let conn = ServerConn::new(stream, Arc::new(Limits::default()));
            smol::spawn(serve(conn, pool.clone(), origin.clone(), budget.clone())).detach();
        }
    })
    .detach();
    addr
}

async fn serve(mut conn: ServerConn<smol::net::TcpStream>, pool: Pool, origin: Origin, budget: MemoryBudget) {
    while let Ok(Some(head)) = conn.next_request().await {
        let body = conn.read_body(1 << 26, &budget).await.unwrap();
        let deadlines = Deadlines::default();
        let Some(answer) = or(async { Some(pool.send(&origin, &head, &body, true, &deadlines).await) }, async {
            conn.gone().await;
            None
        })
        .await
        else {
            return conn.abort();
        };
        let mut exchange = answer.unwrap();
        exchange.head.headers.remove_hop_by_hop();
        let kind = BodyKind::from(exchange.body.framing());
        conn.start_response(exchange.head.status, &exchange.head.headers, kind).unwrap();
        loop {
            let piece = or(async { Some(exchange.body.next().await) }, async {
                conn.gone().await;
                None
            });
            match piece.await {
                Some(Ok(Some(piece))) if conn.write_data(piece).await.is_ok() => {}
                Some(Ok(None)) => break,
                _ => return conn.abort(),
            }
        }
        conn.finish().await.unwrap();
    }
}

/// An upstream whose one connection is played by `script`, called again for each request with the request's bytes.
fn upstream(script: impl Fn(&mut TcpStream, &[u8]) -> bool + Send + 'static) -> Origin {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = Origin::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut request = Vec::new();
        let mut room = [0; 4096];
        while let Ok(read @ 1..) = stream.read(&mut room) {
            request.extend_from_slice(&room[..read]);
            if request.ends_with(b"\r\n\r\n") && !script(&mut stream, &std::mem::take(&mut request)) {
                return;
            }
        }
    });
    origin
}

fn connect(addr: std::net::SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

const GET: &[u8] = b"GET /s HTTP/1.1\r\nhOsT: h\r\nX-Session: caf\xe9\r\n\r\n";
const STREAM: &[u8] = b"HTTP/1.1 200 OK\r\nX-Codex-Plan: p\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n";

fn read_exactly(stream: &mut TcpStream, expected: &[u8]) {
    let mut seen = vec![0; expected.len()];
    stream.read_exact(&mut seen).unwrap();
    assert_eq!(String::from_utf8_lossy(&seen), String::from_utf8_lossy(expected));
}

#[test]
fn requests_pass_unchanged_and_one_after_the_other_on_kept_connections() {
    let origin = upstream(|stream, request| {
        stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", request.len()).as_bytes()).unwrap();
        stream.write_all(request).unwrap();
        true
    });
    let mut client = connect(relay(origin));
    client.write_all(&[GET, GET].concat()).unwrap();
    let answer = [format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", GET.len()).as_bytes(), GET].concat();
    read_exactly(&mut client, &[answer.clone(), answer].concat());
}

#[test]
fn a_client_that_leaves_ends_the_call_to_the_upstream() {
    let (tell, told) = mpsc::channel();
    let origin = upstream(move |stream, _| {
        stream.write_all(STREAM).unwrap();
        // Silent from here on: only the relay's close can end this read.
        tell.send(stream.read(&mut [0]).map_err(|e| e.kind())).unwrap();
        false
    });
    let mut client = connect(relay(origin));
    client.write_all(GET).unwrap();
    read_exactly(&mut client, STREAM);
    drop(client);
    assert!(matches!(told.recv().unwrap(), Ok(0) | Err(ErrorKind::ConnectionReset)));
}

#[test]
fn a_client_that_leaves_before_the_answer_ends_the_call_too() {
    let (tell, told) = mpsc::channel();
    let (asked, was_asked) = mpsc::channel();
    let origin = upstream(move |stream, _| {
        asked.send(()).unwrap();
        tell.send(stream.read(&mut [0]).map_err(|e| e.kind())).unwrap();
        false
    });
    let mut client = connect(relay(origin));
    client.write_all(GET).unwrap();
    was_asked.recv().unwrap();
    drop(client);
    assert!(matches!(told.recv().unwrap(), Ok(0) | Err(ErrorKind::ConnectionReset)));
}

#[test]
fn a_lost_upstream_breaks_the_clients_stream() {
    let origin = upstream(|stream, _| {
        stream.write_all(STREAM).unwrap();
        false
    });
    let mut client = connect(relay(origin));
    client.write_all(GET).unwrap();
    // The reset may overtake the first event; what must not come is a clean end.
    let mut seen = Vec::new();
    let end = client.read_to_end(&mut seen);
    assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(STREAM.starts_with(&seen), "{}", String::from_utf8_lossy(&seen));
}
