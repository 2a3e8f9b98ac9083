use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;
use smol::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use smol::net::TcpStream;

use super::*;
use crate::http::chunk::{LAST_CHUNK, write_chunk};
use crate::http::transport::tests::tcp_pair;
use crate::http::{Headers, MemoryBudget};

use std::pin::Pin;

/// A client whose bytes arrive exactly in these pieces, each after a wait of its own.
struct Pieces {
    pieces: VecDeque<Vec<u8>>,
    wait: bool,
    written: Vec<u8>,
}

impl Pieces {
    fn new(pieces: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self { pieces: pieces.into_iter().filter(|p| !p.is_empty()).collect(), wait: true, written: Vec::new() }
    }
}

impl AsyncRead for Pieces {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        if std::mem::replace(&mut self.wait, false) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Some(mut piece) = self.pieces.pop_front() else { return Poll::Ready(Ok(0)) };
        let take = piece.len().min(room.len());
        room[..take].copy_from_slice(&piece[..take]);
        piece.drain(..take);
        if piece.is_empty() {
            self.wait = true;
        } else {
            self.pieces.push_front(piece);
        }
        Poll::Ready(Ok(take))
    }
}

impl AsyncWrite for Pieces {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.written.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Transport for Pieces {
    fn break_on_close(&self) {}
}

fn limits() -> Arc<Limits> {
    Arc::new(Limits::default())
}

fn budget() -> MemoryBudget {
    MemoryBudget::new(1 << 20)
}

async fn pair(limits: Limits) -> (TcpStream, ServerConn<TcpStream>) {
    let (client, server) = tcp_pair().await;
    (client, ServerConn::new(server, Arc::new(limits)))
}

/// All requests of a byte stream with their bodies, or the status of the fault that ended it.
async fn read_all(stream: Pieces) -> (Vec<(RequestHead, Vec<u8>)>, Option<u16>) {
    let mut conn = ServerConn::new(stream, limits());
    let mut seen = Vec::new();
    loop {
        let head = match conn.next_request().await {
            Ok(Some(head)) => head,
            Ok(None) => return (seen, None),
            Err(error) => return (seen, Some(error.status())),
        };
        match conn.read_body(1 << 16, &budget()).await {
            Ok(body) => seen.push((head, body.to_vec())),
            Err(error) => return (seen, Some(error.status())),
        }
        conn.start_response(200, &Headers::new(), BodyKind::None).unwrap();
        conn.finish().await.unwrap();
    }
}

const GET: &[u8] = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

#[derive(Debug, Clone)]
struct Sent {
    path: String,
    value: Vec<u8>,
    chunks: Option<Vec<Vec<u8>>>,
    body: Vec<u8>,
}

impl Sent {
    fn wire(&self) -> Vec<u8> {
        let mut out = format!("POST /{} HTTP/1.1\r\nHost: h\r\nX-V: ", self.path).into_bytes();
        out.extend_from_slice(&self.value);
        match &self.chunks {
            None => {
                out.extend_from_slice(format!("\r\nContent-Length: {}\r\n\r\n", self.body.len()).as_bytes());
                out.extend_from_slice(&self.body);
            }
            Some(chunks) => {
                out.extend_from_slice(b"\r\nTransfer-Encoding: chunked\r\n\r\n");
                chunks.iter().for_each(|chunk| write_chunk(&mut out, chunk));
                out.extend_from_slice(LAST_CHUNK);
            }
        }
        out
    }

    fn body(&self) -> Vec<u8> {
        self.chunks.as_ref().map_or_else(|| self.body.clone(), |chunks| chunks.concat())
    }
}

fn sent() -> impl Strategy<Value = Sent> {
    let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
    let value = prop::collection::vec(0x80u8..=0xff, 0..20);
    ("[a-z0-9%/?&=.]{0,20}", value, prop::option::of(prop::collection::vec(bytes(60), 0..5)), bytes(200))
        .prop_map(|(path, value, chunks, body)| Sent { path, value, chunks, body })
}

fn cut(wire: &[u8], cuts: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut at: Vec<usize> = cuts.iter().map(|i| i.index(wire.len() + 1)).chain([0, wire.len()]).collect();
    at.sort_unstable();
    at.windows(2).map(|w| wire[w[0]..w[1]].to_vec()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_split_of_a_valid_stream_reads_the_same(
        requests in prop::collection::vec(sent(), 1..5),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
    ) {
        let wire: Vec<u8> = requests.iter().flat_map(Sent::wire).collect();
        let (seen, fault) = smol::block_on(read_all(Pieces::new(cut(&wire, &cuts))));
        prop_assert_eq!(fault, None);
        prop_assert_eq!(seen.len(), requests.len());
        for ((head, body), sent) in seen.iter().zip(&requests) {
            prop_assert_eq!(&head.target[1..], &sent.path);
            prop_assert_eq!(head.headers.get("x-v"), Some(sent.value.as_slice()));
            prop_assert_eq!(body, &sent.body());
        }
    }

    #[test]
    fn any_split_of_any_stream_reads_the_same(
        mut wire in sent().prop_map(|s| s.wire()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"\r\n\0 :;,0a\xff".to_vec())), 0..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
    ) {
        for (at, byte) in changes {
            let at = at.index(wire.len());
            wire[at] = byte;
        }
        let whole = smol::block_on(read_all(Pieces::new([wire.clone()])));
        let split = smol::block_on(read_all(Pieces::new(cut(&wire, &cuts))));
        prop_assert_eq!(whole, split);
    }
}

#[test]
fn an_expected_continue_is_said_once_and_before_the_body() {
    smol::block_on(async {
        let (mut client, mut conn) = pair(Limits::default()).await;
        client
            .write_all(b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            .await
            .unwrap();
        conn.next_request().await.unwrap().unwrap();
        let budget = budget();
        let said = async {
            let mut line = vec![0; 25];
            client.read_exact(&mut line).await.unwrap();
            client.write_all(b"hi").await.unwrap();
            line
        };
        let (body, said) = smol::future::zip(conn.read_body(10, &budget), said).await;
        assert_eq!(body.unwrap().as_ref(), b"hi");
        assert_eq!(said, b"HTTP/1.1 100 Continue\r\n\r\n");
        conn.start_response(200, &Headers::new(), BodyKind::None).unwrap();
        assert!(conn.finish().await.unwrap());
        drop(conn);
        let mut rest = String::new();
        client.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
}

#[test]
fn a_body_over_the_limit_is_refused_before_it_is_asked_for() {
    smol::block_on(async {
        let (mut client, mut conn) = pair(Limits::default()).await;
        client
            .write_all(b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n")
            .await
            .unwrap();
        conn.next_request().await.unwrap().unwrap();
        let error = conn.read_body(10, &budget()).await.unwrap_err();
        assert_eq!(error, HttpError::BodyTooLarge { max: 10 });
        let mut text = String::new();
        let read = async {
            client.read_to_string(&mut text).await.unwrap();
            client.close().await.unwrap();
            drop(client);
        };
        smol::future::zip(conn.refuse(&error), read).await;
        assert!(text.starts_with("HTTP/1.1 413 Content Too Large\r\n"), "{text}");
    });
}

#[test]
fn bodies_count_against_the_budget_until_they_are_dropped() {
    smol::block_on(async {
        let budget = MemoryBudget::new(1000);
        let (mut client, mut conn) = pair(Limits::default()).await;
        let (mut other_client, mut other) = pair(Limits::default()).await;
        let post = [b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 600\r\n\r\n".as_slice(), &[b'x'; 600]].concat();
        for stream in [&mut client, &mut other_client] {
            stream.write_all(&post).await.unwrap();
        }
        conn.next_request().await.unwrap();
        other.next_request().await.unwrap();
        let held = conn.read_body(1000, &budget).await.unwrap();
        assert_eq!((held.len(), budget.used()), (600, 600));
        let refused = other.read_body(1000, &budget).await.unwrap_err();
        assert_eq!((refused.status(), refused.retry_after()), (503, Some(1)));
        assert_eq!(budget.used(), 600, "what a refused body held is given back");
        drop(held);
        assert_eq!(budget.used(), 0);
    });
}

#[test]
fn a_chunked_body_grows_only_as_far_as_the_budget() {
    smol::block_on(async {
        let mut wire = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        (0..100).for_each(|_| write_chunk(&mut wire, &[b'x'; 100]));
        let mut conn = ServerConn::new(Pieces::new([wire]), limits());
        conn.next_request().await.unwrap();
        let budget = MemoryBudget::new(5000);
        assert_eq!(conn.read_body(1 << 20, &budget).await.unwrap_err(), HttpError::Busy);
        assert_eq!(budget.used(), 0);
    });
}

#[test]
fn slow_heads_and_bodies_get_a_408_and_idle_connections_nothing() {
    let short = Duration::from_millis(20);
    for (sent, limits, expected) in [
        ("GET / HT", Limits { head: short, ..Limits::default() }, Some(408)),
        ("\r\n", Limits { head: short, ..Limits::default() }, Some(408)),
        (
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe",
            Limits { body_progress: short, ..Limits::default() },
            Some(408),
        ),
        (
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
            Limits { body_progress: short, ..Limits::default() },
            Some(408),
        ),
        ("", Limits { idle: short, ..Limits::default() }, None),
    ] {
        smol::block_on(async {
            let (mut client, mut conn) = pair(limits).await;
            client.write_all(sent.as_bytes()).await.unwrap();
            let outcome = match conn.next_request().await {
                Ok(Some(_)) => conn.read_body(100, &budget()).await.map(|_| ()),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            assert_eq!(outcome.as_ref().err().map(HttpError::status), expected, "{sent:?}");
            let read = async {
                let mut text = String::new();
                client.read_to_string(&mut text).await.unwrap();
                drop(client);
                text
            };
            let serve = async {
                match &outcome {
                    Err(error) => conn.refuse(error).await,
                    Ok(()) => drop(conn),
                }
            };
            let ((), text) = smol::future::zip(serve, read).await;
            assert_eq!(text.starts_with("HTTP/1.1 408 Request Timeout\r\n"), expected.is_some(), "{sent:?}: {text}");
        });
    }
}

#[test]
fn the_head_goes_out_with_the_first_data_and_each_piece_is_whole() {
    smol::block_on(async {
        let mut conn = ServerConn::new(Pieces::new([GET.to_vec()]), limits());
        conn.next_request().await.unwrap();
        let mut headers = Headers::new();
        for (name, value) in
            [("X-Codex-Plan", "a"), ("content-length", "9"), ("Keep-Alive", "x"), ("transfer-encoding", "gzip")]
        {
            headers.push(name, value).unwrap();
        }
        conn.start_response(529, &headers, BodyKind::Chunked).unwrap();
        assert!(conn.stream().written.is_empty());
        conn.write_data(b"event").await.unwrap();
        let head = "HTTP/1.1 529 \r\nX-Codex-Plan: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(conn.stream().written, format!("{head}5\r\nevent\r\n").as_bytes());
        conn.finish_with(b"!").await.unwrap();
        assert_eq!(conn.stream().written, format!("{head}5\r\nevent\r\n1\r\n!\r\n0\r\n\r\n").as_bytes());
    });
}

#[test]
fn a_wrongly_written_response_never_ends_cleanly() {
    smol::block_on(async {
        let mut conn = ServerConn::new(Pieces::new([GET.to_vec()]), limits());
        assert!(matches!(conn.start_response(200, &Headers::new(), BodyKind::None), Err(WriteError::Misuse(_))));
        conn.next_request().await.unwrap();
        assert!(matches!(conn.start_response(103, &Headers::new(), BodyKind::None), Err(WriteError::Misuse(_))));
        conn.start_response(200, &Headers::new(), BodyKind::Length(5)).unwrap();
        conn.write_data(b"abc").await.unwrap();
        assert!(matches!(conn.write_data(b"def").await, Err(WriteError::Misuse(_))));
        assert!(matches!(conn.finish().await, Err(WriteError::Misuse(_))));
        assert!(conn.stream().written.ends_with(b"\r\n\r\nabc"));
        assert_eq!(conn.next_request().await, Ok(None));
    });
}

/// What the client reads until the connection ends, and how it ended.
async fn read_to_break(client: &mut TcpStream) -> (Vec<u8>, io::Result<usize>) {
    let mut all = Vec::new();
    let mut room = [0; 4096];
    loop {
        match client.read(&mut room).await {
            Ok(read @ 1..) => all.extend_from_slice(&room[..read]),
            end => return (all, end),
        }
    }
}

#[test]
fn an_aborted_or_dropped_stream_is_a_reset_and_has_no_end() {
    for explicit in [true, false] {
        smol::block_on(async {
            let (mut client, mut conn) = pair(Limits::default()).await;
            client.write_all(GET).await.unwrap();
            conn.next_request().await.unwrap();
            conn.start_response(200, &Headers::new(), BodyKind::Chunked).unwrap();
            conn.write_data(b"event").await.unwrap();
            let mut seen = [0; 8];
            client.read_exact(&mut seen).await.unwrap();
            if explicit {
                conn.abort()
            } else {
                drop(conn)
            }
            let (rest, end) = read_to_break(&mut client).await;
            assert_eq!(end.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
            assert!(!rest.ends_with(LAST_CHUNK));
        });
    }
}

#[test]
fn the_clients_leave_is_noticed_while_its_stream_is_idle() {
    for half in [false, true] {
        smol::block_on(async {
            let (mut client, mut conn) = pair(Limits::default()).await;
            client.write_all(GET).await.unwrap();
            conn.next_request().await.unwrap();
            conn.start_response(200, &Headers::new(), BodyKind::Chunked).unwrap();
            conn.write_data(b"event").await.unwrap();
            assert!(smol::future::poll_once(conn.gone()).await.is_none());
            // A request sent ahead is no leave.
            client.write_all(GET).await.unwrap();
            assert!(smol::future::poll_once(conn.gone()).await.is_none());
            if half {
                client.close().await.unwrap()
            } else {
                drop(client)
            }
            conn.gone().await;
            conn.gone().await;
        });
    }
}

#[test]
fn requests_sent_ahead_are_kept_to_a_bound_and_answered_in_order() {
    smol::block_on(async {
        let (client, mut conn) = pair(Limits { pipelined_bytes: 20_000, ..Limits::default() }).await;
        let request = |n: usize| format!("GET /{n} HTTP/1.1\r\nHost: h\r\nX-Pad: {}\r\n\r\n", "p".repeat(1000));
        let requests = 100;
        let mut sender = client.clone();
        let send = async {
            for n in 0..requests {
                sender.write_all(request(n).as_bytes()).await.unwrap();
            }
        };
        let serve = async {
            for n in 0..requests {
                let head = conn.next_request().await.unwrap().unwrap();
                assert_eq!(head.target, format!("/{n}"));
                assert!(smol::future::poll_once(conn.gone()).await.is_none());
                assert!(conn.input.unread().len() <= 20_000 + crate::http::buffer::SIZE);
                conn.start_response(200, &Headers::new(), BodyKind::None).unwrap();
                conn.finish().await.unwrap();
            }
        };
        smol::future::zip(send, serve).await;
    });
}

#[test]
fn an_idle_stream_holds_no_buffer() {
    smol::block_on(async {
        let (mut client, mut conn) = pair(Limits::default()).await;
        client.write_all(GET).await.unwrap();
        conn.next_request().await.unwrap();
        conn.start_response(200, &Headers::new(), BodyKind::Chunked).unwrap();
        conn.write_data(b"event").await.unwrap();
        assert!(smol::future::poll_once(conn.gone()).await.is_none());
        assert_eq!(conn.input.held(), 0);
    });
}

#[test]
fn a_client_that_reads_nothing_or_leaves_ends_the_write() {
    for leaves in [false, true] {
        smol::block_on(async {
            let patience = if leaves { Duration::from_secs(3600) } else { Duration::from_millis(20) };
            let (mut client, mut conn) = pair(Limits { write_progress: patience, ..Limits::default() }).await;
            client.write_all(GET).await.unwrap();
            conn.next_request().await.unwrap();
            conn.start_response(200, &Headers::new(), BodyKind::Chunked).unwrap();
            let piece = vec![b'x'; 1 << 20];
            let write = async {
                loop {
                    if let Err(error) = conn.write_data(&piece).await {
                        return error;
                    }
                }
            };
            let leave = async {
                if leaves {
                    // Far fewer bytes than are sent: the writer is, or will be, waiting.
                    let mut seen = [0; 4096];
                    client.read_exact(&mut seen).await.unwrap();
                    drop(client);
                    None
                } else {
                    Some(client)
                }
            };
            let (error, _client) = smol::future::zip(write, leave).await;
            assert_eq!(error, if leaves { WriteError::Gone } else { WriteError::Stalled(patience) });
            assert!(matches!(conn.write_data(b"x").await, Err(WriteError::Misuse(_))), "nothing follows a torn write");
        });
    }
}

#[test]
fn an_upgraded_connection_loses_no_byte_sent_ahead() {
    smol::block_on(async {
        let (mut client, mut conn) = pair(Limits::default()).await;
        client
            .write_all(b"GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nahead")
            .await
            .unwrap();
        conn.next_request().await.unwrap();
        let mut headers = Headers::new();
        headers.push("Upgrade", "websocket").unwrap();
        conn.start_response(101, &headers, BodyKind::None).unwrap();
        conn.finish().await.unwrap();
        let mut upgraded = conn.into_upgraded();
        let mut ahead = [0; 5];
        upgraded.read_exact(&mut ahead).await.unwrap();
        assert_eq!(&ahead, b"ahead");
        client.write_all(b"later").await.unwrap();
        upgraded.read_exact(&mut ahead).await.unwrap();
        assert_eq!(&ahead, b"later");
        upgraded.write_all(b"frame").await.unwrap();
        drop(upgraded);
        let mut text = String::new();
        client.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nframe");
    });
}

#[test]
fn a_refusal_reaches_a_client_that_is_still_sending() {
    smol::block_on(async {
        let (client, mut conn) = pair(Limits::default()).await;
        let (mut sender, mut reader) = (client.clone(), client);
        let send = async {
            sender.write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000\r\n\r\n").await.unwrap();
            sender.write_all(&vec![b'x'; 9_000_000]).await.unwrap();
            let mut text = String::new();
            reader.read_to_string(&mut text).await.unwrap();
            drop((sender, reader));
            text
        };
        let serve = async {
            conn.next_request().await.unwrap();
            let error = conn.read_body(1000, &budget()).await.unwrap_err();
            conn.refuse(&error).await;
        };
        let (text, ()) = smol::future::zip(send, serve).await;
        assert!(text.starts_with("HTTP/1.1 413 "), "{text}");
    });
}

#[test]
fn a_shutdown_lets_the_current_answer_say_close() {
    smol::block_on(async {
        let mut conn = ServerConn::new(Pieces::new([[GET, GET].concat()]), limits());
        conn.next_request().await.unwrap();
        conn.close_after_response();
        conn.start_response(200, &Headers::new(), BodyKind::None).unwrap();
        assert!(!conn.finish().await.unwrap());
        assert_eq!(conn.next_request().await, Ok(None));
        assert_eq!(conn.stream().written, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
}
