//! Bounds and odd HTTP through the real binary (W5). The codec's own suite has the hostile cases in full; here a dozen show
//! that the program is wired to it.

#![allow(clippy::unwrap_used)]

use homing::scripted::{Behaviour, GatePoint, Rule};
use homing_tests::ask::Ask;
use homing_tests::gateway::Gateway;
use homing_tests::raw::{End, RawClient};

/// A turn whose body has exactly so many bytes.
fn padded(key: &str, bytes: usize) -> Ask {
    let mut body = Ask::turn(key).body();
    assert!(body.len() <= bytes);
    body.resize(bytes, b' ');
    Ask::turn(key).bytes(body)
}

fn chunked(ask: &Ask) -> Vec<u8> {
    let body = ask.body();
    let mut out = ask.clone().header("transfer-encoding", "chunked").bytes(Vec::new()).request();
    let text = String::from_utf8(out).unwrap().replace("content-length: 0\r\n", "");
    out = text.into_bytes();
    for piece in body.chunks(4096) {
        out.extend(format!("{:x}\r\n", piece.len()).into_bytes());
        out.extend(piece);
        out.extend(b"\r\n");
    }
    out.extend(b"0\r\n\r\n");
    out
}

#[test]
fn a_body_over_the_limit_is_413() {
    let gateway = Gateway::with_accounts(&["amber"]).toml("limits", "body = \"64KiB\"").start();
    let key = gateway.create_user("ada");
    let (fits, over) = (padded(&key, 64 << 10), padded(&key, (64 << 10) + 1));
    assert_eq!(fits.send(gateway.addr()).unwrap().status(), 200);
    assert_eq!(RawClient::connect(gateway.addr()).unwrap().exchange(&chunked(&fits)).unwrap().status(), 200);
    let seen = gateway.upstream().seen();
    for request in [over.request(), chunked(&over)] {
        let mut client = RawClient::connect(gateway.addr()).unwrap();
        // The refusal may come before all of the body is sent.
        let _ = client.send(&request);
        let answer = client.response().unwrap();
        assert_eq!(answer.status(), 413, "{}", answer.text());
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains("65536"), "{}", answer.text());
        assert!(client.is_closed(), "the rest of the body is not taken for a request");
    }
    // With Expect, nothing of the body is asked for.
    let mut client = RawClient::connect(gateway.addr()).unwrap();
    let request = over.clone().header("expect", "100-continue").request();
    client.send(&request[..request.len() - over.body().len()]).unwrap();
    let answer = client.response().unwrap();
    assert_eq!((answer.status(), answer.head.interim.len()), (413, 0));
    assert_eq!(gateway.upstream().seen(), seen, "nothing of it went upstream");
}

#[test]
fn all_bodies_together_are_bounded() {
    let limits = "body = \"64KiB\"\nbodies-total = \"100KiB\"";
    let gateway = Gateway::with_accounts(&["amber"]).toml("limits", limits).start();
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::once(Behaviour::held("hold", GatePoint::BeforeHeaders)));
    let ask = padded(&key, 60 << 10);
    let mut first = ask.begin(gateway.addr()).unwrap();
    assert!(gateway.upstream().wait_at("hold", 1));
    let refused = ask.send(gateway.addr()).unwrap();
    assert_eq!(refused.status(), 503, "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
    // A small one still fits.
    assert_eq!(Ask::turn(&key).send(gateway.addr()).unwrap().status(), 200);
    gateway.upstream().release("hold");
    assert_eq!(first.response().unwrap().status(), 200);
    assert!(gateway.eventually(|g| ask.send(g.addr()).unwrap().status() == 200), "the room is given back");
}

#[test]
fn field_f8_a_body_of_many_mebibytes_passes_unchanged() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let ask = padded(&key, 20 << 20);
    let answer = ask.send(gateway.addr()).unwrap();
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert!(*gateway.upstream().log()[0].raw_body == ask.body()[..]);
}

#[test]
fn hostile_heads_get_their_status_and_the_connection_ends() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let smuggled = format!(
        "POST /v1/responses HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {key}\r\ncontent-length: 2\r\n\r\n{{}}"
    );
    let get = |fields: &str| format!("GET /healthz HTTP/1.1\r\nhost: h\r\n{fields}\r\n\r\n");
    let post = |fields: &str| format!("POST /v1/responses HTTP/1.1\r\nhost: h\r\n{fields}\r\n\r\n{smuggled}");
    let cases: Vec<(u16, String)> = vec![
        (400, "GARBAGE\r\n\r\n".to_owned()),
        (400, "GET /healthz HTTP/1.1\r\n\r\n".to_owned()),
        (400, get("host: another")),
        (400, get("name : value")),
        (400, get("a: b\r\n folded: c")),
        (400, get("a: nul\0byte")),
        (400, get("a: bare\rreturn")),
        (400, post("content-length: 5\r\ncontent-length: 6")),
        (400, post("content-length: 5\r\ntransfer-encoding: chunked")),
        (400, post("content-length: +5")),
        (400, post("content-length: 99999999999999999999")),
        (400, "GET /a b HTTP/1.1\r\nhost: h\r\n\r\n".to_owned()),
        (414, format!("GET /{} HTTP/1.1\r\nhost: h\r\n\r\n", "a".repeat(20_000))),
        (417, post("content-length: 5\r\nexpect: the-unexpected")),
        (431, get(&format!("a: {}", "b".repeat(70_000)))),
        (431, get(&(0..200).map(|n| format!("x-{n}: v")).collect::<Vec<_>>().join("\r\n"))),
        (501, post("transfer-encoding: gzip, chunked")),
        (501, "CONNECT h:443 HTTP/1.1\r\nhost: h:443\r\n\r\n".to_owned()),
        (505, "GET /healthz HTTP/2.0\r\nhost: h\r\n\r\n".to_owned()),
    ];
    for (status, request) in cases {
        let shown: String = request.chars().take(70).collect();
        let mut client = RawClient::connect(gateway.addr()).unwrap();
        // A long head may be refused before it is sent in full.
        let _ = client.send(request.as_bytes());
        let answer = client.response().unwrap_or_else(|e| panic!("{shown:?}: {e}"));
        assert_eq!(answer.status(), status, "{shown:?}");
        assert!(answer.json()["error"]["code"].is_string(), "{shown:?}: {}", answer.text());
        assert!(client.is_closed(), "{shown:?}: nothing behind it is read as a request");
    }
    assert_eq!(gateway.upstream().seen(), 0, "nothing went upstream");
}

#[test]
fn slow_requests_are_answered_408() {
    let limits = "head-timeout = \"200ms\"\nbody-idle = \"200ms\"";
    let gateway = Gateway::with_accounts(&["amber"]).toml("limits", limits).start();
    let key = gateway.create_user("ada");
    let request = Ask::turn(&key).request();
    for sent in [20, request.len() - 10] {
        let mut client = RawClient::connect(gateway.addr()).unwrap();
        client.send(&request[..sent]).unwrap();
        assert_eq!(client.response().unwrap().status(), 408, "{sent} bytes sent");
        assert!(client.is_closed());
    }
}

#[test]
fn http_1_0_is_served() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let request =
        String::from_utf8(Ask::turn(&key).session("one").request()).unwrap().replacen("HTTP/1.1", "HTTP/1.0", 1);
    let mut client = RawClient::connect(gateway.addr()).unwrap();
    let answer = client.exchange(request.as_bytes()).unwrap();
    assert_eq!((answer.status(), answer.end), (200, End::UntilClose), "no chunks for HTTP/1.0");
    assert_eq!(answer.header("transfer-encoding"), None);
    assert_eq!(answer.event_types().last().map(String::as_str), Some("response.completed"));
    // Without a Host, and with keep-alive where the length is known.
    let request = "GET /healthz HTTP/1.0\r\nconnection: keep-alive\r\n\r\n";
    let mut client = RawClient::connect(gateway.addr()).unwrap();
    for _ in 0..2 {
        assert_eq!(client.exchange(request.as_bytes()).unwrap().status(), 200);
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let turn = |model: &str| Ask::turn(&key).model(model).request();
    let bytes = [turn("first"), Ask::get(&key, "/healthz").request(), turn("second"), turn("third")].concat();
    let mut client = RawClient::connect(gateway.addr()).unwrap();
    client.send(&bytes).unwrap();
    assert_eq!(client.response().unwrap().output_text(), "Hello from amber on first.");
    assert_eq!(client.response().unwrap().json()["status"], "ok");
    assert_eq!(client.response().unwrap().output_text(), "Hello from amber on second.");
    assert_eq!(client.response().unwrap().output_text(), "Hello from amber on third.");
}

#[test]
fn expect_100_continue_is_honoured() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).header("expect", "100-continue");
    let (request, body) = (ask.request(), ask.body());
    let mut client = RawClient::connect(gateway.addr()).unwrap();
    client.send(&request[..request.len() - body.len()]).unwrap();
    // The body is sent only once it is asked for.
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n\r\n") {
        line.push(client.byte().unwrap());
    }
    assert_eq!(line, b"HTTP/1.1 100 Continue\r\n\r\n");
    client.send(&body).unwrap();
    assert_eq!(client.response().unwrap().status(), 200);
    assert_eq!(gateway.upstream().log()[0].header("expect"), None, "it is the gateway's own affair");
}

#[test]
fn connections_are_kept_and_closed_as_asked() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let mut client = RawClient::connect(gateway.addr()).unwrap();
    for _ in 0..20 {
        assert_eq!(client.exchange(&Ask::turn(&key).request()).unwrap().status(), 200);
        // Errors of the gateway's own keep a connection too.
        assert_eq!(client.exchange(&Ask::get("unknown", "/v1/models").request()).unwrap().status(), 401);
        assert_eq!(client.exchange(&Ask::get(&key, "/nowhere").request()).unwrap().status(), 404);
    }
    let connections: std::collections::BTreeSet<u64> = gateway.upstream().log().iter().map(|s| s.connection).collect();
    assert_eq!(connections.len(), 1, "one connection upstream is enough");
    let answer = client.exchange(&Ask::turn(&key).header("connection", "close").request()).unwrap();
    assert_eq!((answer.status(), answer.header("connection").as_deref()), (200, Some("close")));
    assert!(client.is_closed());
}

#[test]
fn routes_and_methods_are_told_apart() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let send = |ask: Ask| ask.send(gateway.addr()).unwrap();
    assert_eq!(send(Ask::get(&key, "/v1/nothing")).status(), 404);
    let wrong = send(Ask::get(&key, "/v1/responses"));
    assert_eq!((wrong.status(), wrong.header("allow").as_deref()), (405, Some("POST, HEAD")));
    assert_eq!(send(Ask::turn(&key).method("DELETE")).status(), 405);
    assert_eq!(send(Ask::turn(&key).path("/v1/../v1/responses")).status(), 404, "nothing is normalised");
    let mut client = RawClient::connect(gateway.addr()).unwrap();
    for path in ["/v1/responses", "/healthz"] {
        client.send(&Ask::get(&key, path).method("HEAD").bytes("").request()).unwrap();
        let answer = client.response_to_head().unwrap();
        assert_eq!(answer.status(), 200, "{path}");
    }
    assert_eq!(gateway.upstream().seen(), 0);
}

#[test]
fn who_asks_is_told_by_one_credential() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let send = |ask: Ask| ask.send(gateway.addr()).unwrap().status();
    let nobody = Ask::turn(&key).without("authorization");
    assert_eq!(send(nobody.clone()), 401);
    assert_eq!(send(Ask::turn("hmg_wrong")), 401);
    assert_eq!(send(nobody.clone().header("x-api-key", &key)), 200);
    assert_eq!(send(nobody.clone().header("Authorization", format!("bearer {key}"))), 200);
    assert_eq!(send(nobody.header("authorization", format!("Basic {key}"))), 401);
    assert_eq!(send(Ask::turn(&key).header("authorization", format!("Bearer {key}"))), 401, "repeated: none");
    // Field G9: no credential of the caller's goes upstream.
    gateway.served(&Ask::turn(&key).header("x-api-key", &key).header("cookie", "a=b"));
    for seen in gateway.upstream().log() {
        assert_eq!((seen.header("x-api-key"), seen.header("cookie")), (None, None));
        assert!(!format!("{:?}", seen.headers).contains(&key));
        let token = gateway.upstream().account("amber").unwrap().access_token;
        assert_eq!(seen.header("authorization"), Some(format!("Bearer {token}")));
    }
}
