//! The client's side of the codec against upstreams that behave, misbehave and vanish, over real sockets.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use homing::http::{
    BodyError, BodyFraming, ClientTls, ConnectError, Connector, Deadlines, Exchange, Headers, Origin, Pool, PoolLimits,
    RequestHead, SendError, Version,
};

/// An upstream that runs `script` for each connection, with its number from 0 on.
fn upstream(script: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> Origin {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = Origin::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let script = Arc::new(script);
    std::thread::spawn(move || {
        for (nth, stream) in listener.incoming().enumerate() {
            let (stream, script) = (stream.unwrap(), Arc::clone(&script));
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            std::thread::spawn(move || script(stream, nth));
        }
    });
    origin
}

/// Reads one request with its body, bytes of the head that are not ASCII as `?`; `None` once the client closed.
fn read_request(stream: &mut impl Read) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head: String = head.iter().map(|b| if b.is_ascii() { char::from(*b) } else { '?' }).collect();
    let length = head.lines().find_map(|l| l.strip_prefix("Content-Length: ")).map_or(0, |n| n.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn pool() -> Pool {
    Pool::new(Connector::new(None), PoolLimits::default())
}

fn request(method: &str) -> RequestHead {
    let mut headers = Headers::new();
    headers.push("X-Codex-Odd", b"caf\xe9".as_slice()).unwrap();
    for (name, value) in [("Connection", "close"), ("Content-Length", "77"), ("Expect", "100-continue"), ("TE", "x")] {
        headers.push(name, value).unwrap();
    }
    RequestHead { method: method.into(), target: "/a/../b?c".into(), version: Version::Http10, headers }
}

/// Sends a small repeatable request.
async fn send(pool: &Pool, origin: &Origin) -> Result<Exchange, SendError> {
    pool.send(origin, &request("POST"), b"hi", true, &Deadlines::default()).await
}

async fn read_body(exchange: &mut Exchange) -> Result<Vec<u8>, BodyError> {
    let mut all = Vec::new();
    while let Some(piece) = exchange.body.next().await? {
        all.extend_from_slice(piece);
    }
    Ok(all)
}

/// Answers every request of a connection with `answer`.
fn answering(answer: impl Into<Vec<u8>>) -> Origin {
    let answer = answer.into();
    upstream(move |mut stream, _| {
        while read_request(&mut stream).is_some() {
            stream.write_all(&answer).unwrap();
        }
    })
}

/// Answers one request with `answer` and closes.
fn answering_once(answer: impl Into<Vec<u8>>) -> Origin {
    let answer = answer.into();
    upstream(move |mut stream, _| {
        if read_request(&mut stream).is_some() {
            stream.write_all(&answer).unwrap();
            let _ = stream.shutdown(Shutdown::Write);
            let _ = stream.read(&mut [0]);
        }
    })
}

#[test]
fn a_request_goes_out_as_it_is_with_framing_of_our_own() {
    let (tell, told) = mpsc::channel();
    let origin = upstream(move |mut stream, _| {
        while let Some(request) = read_request(&mut stream) {
            tell.send(request).unwrap();
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        }
    });
    let pool = pool();
    smol::block_on(async {
        for (method, body) in [("POST", b"hi".as_slice()), ("POST", b""), ("GET", b"")] {
            let mut exchange = pool.send(&origin, &request(method), body, true, &Deadlines::default()).await.unwrap();
            assert_eq!(exchange.body.next().await, Ok(None));
        }
    });
    let heads: Vec<(String, Vec<u8>)> = told.try_iter().collect();
    let host = origin.authority();
    for ((head, body), (line, length)) in
        heads.iter().zip([("POST", "Content-Length: 2\r\n"), ("POST", "Content-Length: 0\r\n"), ("GET", "")])
    {
        assert_eq!(head, &format!("{line} /a/../b?c HTTP/1.1\r\nHost: {host}\r\nX-Codex-Odd: caf?\r\n{length}\r\n"));
        assert!(body.is_empty() || body == b"hi");
    }
    assert_eq!(heads.len(), 3);
}

#[test]
fn bodies_of_every_framing_are_read_and_the_connection_is_kept_only_after_an_exact_end() {
    for (answer, framing, body, kept) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", BodyFraming::Length(5), "hello", 1),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", BodyFraming::None, "", 1),
        (
            "HTTP/1.1 529 \r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nhe\r\n3\r\nllo\r\n0\r\nt: v\r\n\r\n",
            BodyFraming::Chunked,
            "hello",
            1,
        ),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            BodyFraming::Length(2),
            "hi",
            1,
        ),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", BodyFraming::Length(2), "hi", 0),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", BodyFraming::Length(2), "hi", 0),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n", BodyFraming::Length(2), "hi", 0),
        ("HTTP/1.1 204 No Content\r\n\r\nx", BodyFraming::None, "", 0),
    ] {
        let origin = answering(answer);
        let pool = pool();
        smol::block_on(async {
            let mut exchange = send(&pool, &origin).await.unwrap();
            assert_eq!(exchange.body.framing(), framing);
            assert_eq!(read_body(&mut exchange).await.unwrap(), body.as_bytes(), "{answer}");
            assert!(exchange.body.is_ended());
            assert_eq!(pool.idle(&origin), kept, "{answer}");
        });
    }
}

#[test]
fn a_body_until_close_ends_with_the_connection_and_says_so() {
    let origin = answering_once("HTTP/1.1 200 OK\r\n\r\nhello");
    let pool = pool();
    smol::block_on(async {
        let mut exchange = send(&pool, &origin).await.unwrap();
        assert_eq!(exchange.body.framing(), BodyFraming::UntilClose);
        assert_eq!(read_body(&mut exchange).await.unwrap(), b"hello");
        assert_eq!(pool.idle(&origin), 0);
    });
}

#[test]
fn a_lost_upstream_is_no_end() {
    for (answer, read) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", 5),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 5),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello", 5),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", 5),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0),
    ] {
        let origin = answering_once(answer);
        let pool = pool();
        smol::block_on(async {
            let mut exchange = send(&pool, &origin).await.unwrap();
            let error = read_body(&mut exchange).await.unwrap_err();
            let kind = std::io::ErrorKind::UnexpectedEof;
            assert_eq!(error, BodyError::Truncated { origin: origin.to_string(), read, kind }, "{answer}");
            assert_eq!(exchange.body.next().await, Err(error), "it stays lost");
            assert_eq!(pool.idle(&origin), 0);
        });
    }
}

#[test]
fn data_before_a_broken_chunk_is_passed_on_and_then_the_fault() {
    let origin = answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nxx\r\n");
    smol::block_on(async {
        let mut exchange = send(&pool(), &origin).await.unwrap();
        assert_eq!(exchange.body.next().await, Ok(Some(b"hi".as_slice())));
        assert!(matches!(exchange.body.next().await, Err(BodyError::Malformed { .. })));
    });
}

#[test]
fn responses_that_could_be_read_in_two_ways_are_refused() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nhi".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi".to_owned(),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nhi".to_owned(),
        "HTTP/1.1 200 OK\r\nX : a\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi".to_owned(),
        "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n".to_owned(),
        "HTTP/1.1 20 OK\r\n\r\n".to_owned(),
        "HTTP/2 200\r\n\r\n".to_owned(),
        "SSH-2.0-OpenSSH_9.6\r\n\r\n".to_owned(),
        "HTTP/1.1 101 Switching Protocols\r\n\r\n".to_owned(),
        "HTTP/1.1 100 Continue\r\n\r\n".repeat(100),
        format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(70_000)),
        format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(129)),
    ] {
        let origin = answering(answer.clone());
        let error = smol::block_on(send(&pool(), &origin)).unwrap_err();
        assert!(matches!(error, SendError::BadResponse { .. }), "{:.60}: {error}", answer);
    }
}

#[test]
fn a_non_ascii_response_header_is_kept() {
    let origin = answering(b"HTTP/1.1 200 OK\r\nX-Odd: caf\xe9\r\nContent-Length: 0\r\n\r\n".as_slice());
    let exchange = smol::block_on(send(&pool(), &origin)).unwrap();
    assert_eq!(exchange.head.headers.get("x-odd"), Some(b"caf\xe9".as_slice()));
}

#[test]
fn an_answer_that_comes_while_the_request_is_being_sent_is_read_at_once() {
    // The upstream never reads the body, so the request can never be sent completely.
    let (stop, stopped) = mpsc::channel::<()>();
    let stopped = std::sync::Mutex::new(stopped);
    let origin = upstream(move |mut stream, _| {
        let mut some = [0; 100];
        stream.read_exact(&mut some).unwrap();
        stream.write_all(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nlarge").unwrap();
        let _ = stopped.lock().unwrap().recv();
    });
    let pool = pool();
    smol::block_on(async {
        let body = vec![b'x'; 64 << 20];
        let mut exchange = pool.send(&origin, &request("POST"), &body, true, &Deadlines::default()).await.unwrap();
        assert_eq!(exchange.head.status, 413);
        assert_eq!(read_body(&mut exchange).await.unwrap(), b"large");
        assert_eq!(pool.idle(&origin), 0, "the rest of the request would be read as the next one");
    });
    drop(stop);
}

/// Answers the first request of the first connection, then breaks that connection at the second request. Later
/// connections answer all of theirs.
fn breaking_at_the_second() -> Origin {
    upstream(|mut stream, nth| {
        let mut served = 0;
        while let Some((_, body)) = read_request(&mut stream) {
            if nth == 0 && served == 1 {
                return;
            }
            served += 1;
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all(&[text.as_bytes(), &body].concat()).unwrap();
        }
    })
}

#[test]
fn a_kept_connection_that_breaks_at_once_is_replaced_if_the_request_may_be_repeated() {
    for repeatable in [true, false] {
        let origin = breaking_at_the_second();
        let pool = pool();
        smol::block_on(async {
            let mut first = send(&pool, &origin).await.unwrap();
            read_body(&mut first).await.unwrap();
            assert_eq!(pool.idle(&origin), 1);
            let second = pool.send(&origin, &request("POST"), b"again", repeatable, &Deadlines::default()).await;
            if repeatable {
                assert_eq!(read_body(&mut second.unwrap()).await.unwrap(), b"again");
            } else {
                assert!(matches!(second.unwrap_err(), SendError::Reset { bytes_sent: true, .. }));
            }
        });
    }
}

#[test]
fn a_fresh_connection_that_breaks_is_not_tried_again() {
    let (tell, told) = mpsc::channel();
    let origin = upstream(move |mut stream, nth| {
        tell.send(nth).unwrap();
        read_request(&mut stream);
    });
    let error = smol::block_on(send(&pool(), &origin)).unwrap_err();
    assert!(matches!(error, SendError::Reset { bytes_sent: true, .. }), "{error}");
    assert_eq!(told.try_iter().count(), 1);
}

#[test]
fn a_connection_closed_while_idle_is_not_used() {
    let (closed, wait) = mpsc::channel();
    let origin = upstream(move |mut stream, nth| {
        while read_request(&mut stream).is_some() {
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{nth}");
            stream.write_all(text.as_bytes()).unwrap();
            if nth == 0 {
                stream.shutdown(Shutdown::Both).unwrap();
                closed.send(()).unwrap();
                return;
            }
        }
    });
    let pool = pool();
    smol::block_on(async {
        let mut first = send(&pool, &origin).await.unwrap();
        assert_eq!(read_body(&mut first).await.unwrap(), b"0");
        wait.recv().unwrap();
        // Not repeatable: it works only because the dead connection is seen, or took no byte.
        let second = pool.send(&origin, &request("POST"), b"x", false, &Deadlines::default()).await;
        assert_eq!(read_body(&mut second.unwrap()).await.unwrap(), b"1");
    });
}

#[test]
fn idle_connections_are_bounded_in_number_and_age() {
    let origin = answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    let limits = PoolLimits { idle_per_origin: 2, ..PoolLimits::default() };
    let pool = Pool::new(Connector::new(None), limits);
    smol::block_on(async {
        let mut open = Vec::new();
        for _ in 0..4 {
            open.push(send(&pool, &origin).await.unwrap());
        }
        for exchange in &mut open {
            read_body(exchange).await.unwrap();
        }
        assert_eq!(pool.idle(&origin), 2);
        pool.reap();
        assert_eq!(pool.idle(&origin), 2);
    });
    let short = Pool::new(Connector::new(None), PoolLimits { idle_age: Duration::ZERO, ..PoolLimits::default() });
    smol::block_on(async {
        read_body(&mut send(&short, &origin).await.unwrap()).await.unwrap();
        assert_eq!(short.idle(&origin), 1);
        short.reap();
        assert_eq!(short.idle(&origin), 0);
    });
}

#[test]
fn dropping_an_exchange_closes_its_connection() {
    let (tell, told) = mpsc::channel();
    let origin = upstream(move |mut stream, _| {
        read_request(&mut stream).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nevent\r\n").unwrap();
        tell.send(stream.read(&mut [0]).map_or(0, |n| n)).unwrap();
    });
    smol::block_on(async {
        let pool = pool();
        let mut exchange = send(&pool, &origin).await.unwrap();
        assert_eq!(exchange.body.next().await, Ok(Some(b"event".as_slice())));
        drop(exchange);
        assert_eq!(pool.idle(&origin), 0);
    });
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(0));
}

#[test]
fn an_event_is_handed_out_before_the_next_one_comes() {
    let (go, gone_on) = mpsc::channel::<()>();
    let gone_on = std::sync::Mutex::new(gone_on);
    let origin = upstream(move |mut stream, _| {
        read_request(&mut stream).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        for event in ["3\r\none\r\n", "3\r\ntwo\r\n0\r\n\r\n"] {
            gone_on.lock().unwrap().recv().unwrap();
            stream.write_all(event.as_bytes()).unwrap();
        }
        let _ = stream.read(&mut [0]);
    });
    smol::block_on(async {
        let mut exchange = send(&pool(), &origin).await.unwrap();
        go.send(()).unwrap();
        assert_eq!(exchange.body.next().await, Ok(Some(b"one".as_slice())));
        assert!(!exchange.body.is_ended());
        go.send(()).unwrap();
        assert_eq!(exchange.body.next().await, Ok(Some(b"two".as_slice())));
        assert_eq!(exchange.body.next().await, Ok(None));
    });
}

#[test]
fn silent_upstreams_run_into_their_deadlines() {
    let silent = upstream(|mut stream, _| while read_request(&mut stream).is_some() {});
    let stalled = answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
    let short = Duration::from_millis(20);
    smol::block_on(async {
        let deadlines = Deadlines { head: short, ..Deadlines::default() };
        let error = pool().send(&silent, &request("GET"), b"", true, &deadlines).await.unwrap_err();
        assert_eq!(error, SendError::HeadTimeout { origin: silent.to_string(), after: short });
        let deadlines = Deadlines { body_idle: short, ..Deadlines::default() };
        let mut exchange = pool().send(&stalled, &request("GET"), b"", true, &deadlines).await.unwrap();
        let error = read_body(&mut exchange).await.unwrap_err();
        assert_eq!(error, BodyError::Idle { origin: stalled.to_string(), after: short });
    });
}

#[test]
fn no_connection_is_told_apart_from_a_broken_one() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (origin, expected) in [
        (format!("http://{unused}"), "Tcp"),
        // A label this long is refused without asking anybody.
        (format!("http://{}", "a".repeat(70)), "Resolve"),
        ("https://127.0.0.1:1".into(), "NoTls"),
    ] {
        let origin = Origin::parse(&origin).unwrap();
        let error = smol::block_on(send(&pool(), &origin)).unwrap_err();
        let SendError::Connect(error) = error else { panic!("{error}") };
        assert!(format!("{error:?}").starts_with(expected), "{error:?}");
    }
}

#[test]
fn every_address_of_a_name_is_tried() {
    // localhost is often ::1 first, where nobody listens.
    let origin = answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let named = Origin::parse(&format!("http://localhost:{}", origin.port())).unwrap();
    assert_eq!(smol::block_on(send(&pool(), &named)).unwrap().head.status, 200);
}

mod tls {
    use super::*;
    use futures_rustls::TlsAcceptor;
    use futures_rustls::rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
    use smol::io::AsyncWriteExt;

    /// A TLS upstream for `localhost` that answers each request, and its certificate as a PEM file.
    fn upstream(dir: &std::path::Path) -> (Origin, std::path::PathBuf) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let ca = dir.join("ca.pem");
        std::fs::write(&ca, made.cert.pem()).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let listener = smol::net::TcpListener::try_from(listener).unwrap();
        smol::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                smol::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
                    let limits = Arc::new(homing::http::Limits::default());
                    // The server's side of the codec works over TLS as well.
                    stream.flush().await.unwrap();
                    let mut conn = homing::http::ServerConn::new(stream, limits);
                    let budget = homing::http::MemoryBudget::new(1 << 20);
                    while let Ok(Some(_)) = conn.next_request().await {
                        let body = conn.read_body(1 << 20, &budget).await.unwrap();
                        conn.start_response(200, &Headers::new(), homing::http::BodyKind::Chunked).unwrap();
                        conn.write_data(&body).await.unwrap();
                        if body.starts_with(b"break") {
                            return conn.abort();
                        }
                        conn.finish().await.unwrap();
                    }
                })
                .detach();
            }
        })
        .detach();
        (Origin::parse(&format!("https://localhost:{port}")).unwrap(), ca)
    }

    #[test]
    fn requests_go_over_tls_and_connections_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (origin, ca) = upstream(dir.path());
        let pool = Pool::new(Connector::new(Some(ClientTls::only(&ca).unwrap())), PoolLimits::default());
        smol::block_on(async {
            for body in [b"hi".to_vec(), vec![b'x'; 300_000]] {
                let mut exchange =
                    pool.send(&origin, &request("POST"), &body, true, &Deadlines::default()).await.unwrap();
                assert!(read_body(&mut exchange).await.unwrap() == body);
                assert_eq!(pool.idle(&origin), 1);
            }
            let mut exchange =
                pool.send(&origin, &request("POST"), b"break", true, &Deadlines::default()).await.unwrap();
            assert!(matches!(read_body(&mut exchange).await, Err(BodyError::Truncated { .. })));
        });
    }

    #[test]
    fn a_certificate_nobody_vouches_for_is_no_connection() {
        let dir = tempfile::tempdir().unwrap();
        let (origin, _) = upstream(dir.path());
        let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let ca = dir.path().join("other.pem");
        std::fs::write(&ca, other.cert.pem()).unwrap();
        let pool = Pool::new(Connector::new(Some(ClientTls::only(&ca).unwrap())), PoolLimits::default());
        let error = smol::block_on(send(&pool, &origin)).unwrap_err();
        assert!(matches!(error, SendError::Connect(ConnectError::Tls { .. })), "{error}");
    }

    #[test]
    fn a_ca_file_that_cannot_be_used_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let empty = dir.path().join("empty.pem");
        std::fs::write(&empty, "no certificate").unwrap();
        for path in [empty, dir.path().join("absent.pem")] {
            let error = ClientTls::only(&path).unwrap_err().to_string();
            assert!(error.contains(path.to_str().unwrap()), "{error}");
        }
    }
}
