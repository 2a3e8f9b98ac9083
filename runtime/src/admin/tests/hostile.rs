//! T5: who may not manage, and what never reaches the decoder.

use std::time::{Duration, Instant};

use super::*;

fn get(fields: &str) -> Vec<u8> {
    format!("GET /v0/management/health HTTP/1.1\r\n{fields}\r\n").into_bytes()
}

fn with_key(fields: &str) -> Vec<u8> {
    get(&format!("X-Admin-Key: {KEY}\r\n{fields}"))
}

#[test]
fn the_key_is_required_on_loopback_too() {
    let served = Served::start();
    let host = "Host: localhost\r\n";
    assert_eq!(status(&served.raw(&get(host))), 401);
    assert_eq!(status(&served.raw(&get(&format!("{host}Authorization: Bearer wrong\r\n")))), 401);
    assert_eq!(status(&served.raw(&get(&format!("{host}Authorization: Basic {KEY}\r\n")))), 401);
    assert_eq!(status(&served.raw(&get(&format!("{host}X-Admin-Key: {KEY}\r\nX-Admin-Key: other\r\n")))), 401);
    assert_eq!(status(&served.raw(&get(&format!("{host}authorization: bearer {KEY}\r\n")))), 200);
    assert_eq!(status(&served.raw(&get(&format!("{host}x-admin-key: {KEY}\r\n")))), 200);
}

#[test]
fn names_that_others_may_point_here_are_refused() {
    let served = Served::start();
    let port = served.address.port();
    for host in
        ["localhost", "LOCALHOST:1", &format!("127.0.0.1:{port}"), "[::1]:80", "10.1.2.3", "Homing.Example.Com:443"]
    {
        assert_eq!(status(&served.raw(&with_key(&format!("Host: {host}\r\n")))), 200, "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example:8318",
        "x.homing.example.com",
    ] {
        assert_eq!(status(&served.raw(&with_key(&format!("Host: {host}\r\n")))), 421, "{host}");
    }
    for host in ["", "a b", "localhost/", "user@localhost", "localhost,evil"] {
        assert_eq!(status(&served.raw(&with_key(&format!("Host: {host}\r\n")))), 400, "{host}");
    }
}

#[test]
fn pages_of_other_sites_are_refused() {
    let served = Served::start();
    let ask = |origin: &str| status(&served.raw(&with_key(&format!("Host: localhost:1\r\nOrigin: {origin}\r\n"))));
    assert_eq!(ask("http://localhost:1"), 200);
    for origin in [
        "null",
        "http://localhost",
        "http://localhost:2",
        "https://evil.example",
        "file://",
        "http://localhost:1.evil.example",
    ] {
        assert_eq!(ask(origin), 403, "{origin}");
    }
}

#[test]
fn after_ten_wrong_keys_even_the_right_one_waits() {
    let served = Served::start();
    for _ in 0..10 {
        assert_eq!(status(&served.raw(&get("Host: localhost\r\nX-Admin-Key: wrong\r\n"))), 401);
    }
    let answer = served.raw(&with_key("Host: localhost\r\n"));
    assert!(status(&answer) == 429 && answer.to_lowercase().contains("retry-after: "), "{answer}");
}

#[test]
fn wrong_keys_are_counted_for_each_address_and_forgotten() {
    let place = tempfile::tempdir().unwrap();
    let config = Config::within(place.path(), &format!("[admin]\nkey = \"{KEY}\"\n")).unwrap();
    let gate = Gate::new(config.admin.key.as_ref().unwrap(), config.admin.hosts.iter());
    let start = crate::clock::monotonic();
    let try_key = |peer: &str, key: &str, now: Instant| {
        let keys = [key.to_owned()];
        gate.admit(&Presented { peer: peer.parse().unwrap(), host: "localhost", origin: None, keys: &keys }, now)
    };
    for number in 0..10 {
        // Ten addresses of one IPv6 network are one guesser.
        assert_eq!(try_key(&format!("2001:db8::{number:x}"), "wrong", start), Err(Refused::WrongKey));
    }
    assert!(matches!(try_key("2001:db8::ffff", KEY, start), Err(Refused::TooMany { .. })));
    assert_eq!(try_key("2001:db8:0:1::1", KEY, start), Ok(()));
    let last = start + Duration::from_secs(59);
    assert_eq!(try_key("2001:db8::1", KEY, last), Err(Refused::TooMany { wait: Duration::from_secs(1) }));
    assert_eq!(try_key("2001:db8::1", KEY, start + Duration::from_secs(60)), Ok(()));
    // A flood of addresses forgets the oldest failures and grows no further.
    for number in 0..3000_u32 {
        let peer = Ipv4Addr::from(0x0a00_0000 + number).to_string();
        assert_eq!(try_key(&peer, "wrong", last), Err(Refused::WrongKey));
    }
    assert!(!format!("{gate:?}").contains(KEY));
}

#[test]
fn what_the_decoder_mistakes_is_refused_in_front_of_it() {
    let served = Served::start();
    let smuggled = "GET /v0/management/users HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let host = "Host: localhost\r\n";
    let post = |fields: &str, body: &str| {
        format!("POST /v0/management/users HTTP/1.1\r\n{host}X-Admin-Key: {KEY}\r\n{fields}\r\n{body}").into_bytes()
    };
    let many = (0..64).map(|number| format!("X-{number}: 1\r\n")).collect::<String>();
    let cases: Vec<(&str, Vec<u8>, u16)> = vec![
        ("unknown coding", post("Transfer-Encoding: xchunked\r\n", smuggled), 501),
        ("stacked coding", post("Transfer-Encoding: gzip, chunked\r\n", smuggled), 501),
        ("chunked", post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), 501),
        ("coding and length", post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 501),
        ("two lengths", post("Content-Length: 5\r\nContent-Length: 0\r\n", smuggled), 400),
        ("length list", post("Content-Length: 5, 5\r\n", smuggled), 400),
        ("signed length", post("Content-Length: +5\r\n", smuggled), 400),
        ("huge length", post("Content-Length: 99999999999999999999\r\n", ""), 400),
        ("too long", post("Content-Length: 65537\r\n", ""), 413),
        ("non-ASCII value", with_key("Host: localhost\r\nX-A: \u{e9}\r\n"), 400),
        ("non-UTF-8 value", [b"GET / HTTP/1.1\r\nHost: a\r\nX-A: \xff\r\n\r\n".as_slice()].concat(), 400),
        ("NUL in a value", with_key("Host: localhost\r\nX-A: a\0b\r\n"), 400),
        ("bare CR", with_key("Host: localhost\r\nX-A: a\rX-B: b\r\n"), 400),
        ("bare LF", with_key("Host: localhost\nX-A: a\r\n"), 400),
        ("folded line", with_key("Host: localhost\r\nX-A: a\r\n b\r\n"), 400),
        ("blank before the colon", with_key("Host : localhost\r\n"), 400),
        ("two hosts", with_key("Host: localhost\r\nHost: localhost\r\n"), 400),
        ("no host", with_key(""), 400),
        ("65 fields", with_key(&format!("{host}{many}")), 431),
        ("long head", with_key(&format!("{host}X-A: {}\r\n", "a".repeat(9000))), 431),
        ("endless line", vec![b'a'; 100_000], 431),
        ("HTTP/1.0", format!("GET / HTTP/1.0\r\n{host}\r\n").into_bytes(), 505),
        ("HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), 505),
        ("CONNECT", format!("CONNECT localhost:1 HTTP/1.1\r\n{host}\r\n").into_bytes(), 501),
        ("unknown method", format!("BREW / HTTP/1.1\r\n{host}\r\n").into_bytes(), 501),
        ("absolute target", format!("GET http://evil.example/ HTTP/1.1\r\n{host}\r\n").into_bytes(), 400),
        ("expect", post("Content-Length: 2\r\nExpect: 100-continue\r\n", "{}"), 417),
        ("upgrade", with_key("Host: localhost\r\nUpgrade: h2c\r\n"), 400),
        ("blank lines only", b"\r\n\r\n".to_vec(), 400),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(), 400),
    ];
    for (name, bytes, expected) in cases {
        let answer = served.raw(&bytes);
        assert_eq!(status(&answer), expected, "{name}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{name}: one answer, and nothing smuggled: {answer}");
    }
    assert_eq!(status(&served.raw(&with_key(host))), 200);
}

#[test]
fn what_follows_a_request_is_not_read() {
    let served = Served::start();
    let twice = [with_key("Host: localhost\r\n"), with_key("Host: localhost\r\n")].concat();
    let answer = served.raw(&twice);
    assert_eq!((status(&answer), answer.matches("HTTP/1.1 ").count()), (200, 1), "{answer}");
    assert!(answer.to_lowercase().contains("connection: close\r\n"), "{answer}");
}

#[test]
fn a_request_in_small_pieces_arrives_whole() {
    let served = Served::start();
    let body = r#"{"name":"bob"}"#;
    let head = format!(
        "Host: localhost\r\nX-Admin-Key: {KEY}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_nodelay(true).unwrap();
    for byte in format!("POST /v0/management/users HTTP/1.1\r\n{head}{body}").bytes() {
        stream.write_all(&[byte]).unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(status(&answer), 201, "{answer}");
}

#[test]
fn a_body_that_ends_early_is_answered() {
    let served = Served::start();
    let mut stream = TcpStream::connect(served.address).unwrap();
    let head = format!(
        "POST /v0/management/users HTTP/1.1\r\nHost: localhost\r\nX-Admin-Key: {KEY}\r\nContent-Length: 9\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(status(&answer), 400, "{answer}");
}

proptest::proptest! {
    /// Whatever the guard lets through, the decoder takes without a panic and understands the same.
    #[test]
    fn guard_and_decoder_agree(
        fields in proptest::collection::vec("(X-A|Content-Length|Host|Origin|Transfer-Encoding|[!-~]{1,8}): ?[ -~\u{e9}\t]{0,8}(\r\n|\n)", 0..4),
        target in "/[a-z/.~?=&%-]{0,12}",
        body in "[ -~\r\n]{0,40}",
    ) {
        let length = body.len();
        let fields = fields.concat();
        let bytes = format!("POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{fields}\r\n{body}").into_bytes();
        smol::block_on(async {
            let Ok(Some(whole)) = guard::read(&mut smol::io::Cursor::new(bytes)).await else { return };
            let Some(mut request) = serve_async_h1::decoded(whole.bytes).await else { return };
            assert_eq!(request.method(), whole.method);
            assert_eq!(request.header("host").unwrap().as_str(), whole.host);
            assert_eq!(request.body_bytes().await.unwrap(), body.as_bytes());
        });
    }

    #[test]
    fn any_bytes_are_an_outcome(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400)) {
        let whole = smol::block_on(guard::read(&mut smol::io::Cursor::new([bytes.as_slice(), b"\r\n\r\n"].concat())));
        // Random bytes are no request; the point is that this is said, not that it panics.
        assert!(whole.is_err());
    }
}
