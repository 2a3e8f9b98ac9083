//! Noticing the client's leave, and what waiting for it costs.

use super::*;

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

/// A client whose socket never wakes anybody and counts how often it was read in vain.
#[derive(Clone, Default)]
struct Quiet(Arc<std::sync::Mutex<QuietState>>);

#[derive(Default)]
struct QuietState {
    bytes: VecDeque<u8>,
    ended: bool,
    in_vain: usize,
}

impl AsyncRead for Quiet {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut state = self.0.lock().unwrap();
        if state.bytes.is_empty() && !state.ended {
            state.in_vain += 1;
            return Poll::Pending;
        }
        let take = room.len().min(state.bytes.len());
        room.iter_mut().zip(state.bytes.drain(..take)).for_each(|(to, from)| *to = from);
        Poll::Ready(Ok(take))
    }
}

impl AsyncWrite for Quiet {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Transport for Quiet {
    fn break_on_close(&self) {}
}

#[test]
fn watching_reads_again_only_after_a_wake_or_after_somebody_else_read() {
    smol::block_on(async {
        let client = Quiet::default();
        let mut conn = ServerConn::new(client.clone(), Arc::new(Limits { pipelined_bytes: 100, ..Limits::default() }));
        let in_vain = || client.0.lock().unwrap().in_vain;
        for _ in 0..3 {
            assert!(smol::future::poll_once(conn.gone()).await.is_none());
        }
        assert_eq!(in_vain(), 1, "a poll that the client did not cause reads nothing");
        // Reading a request takes the watch's place at the socket, so the watch must look again afterwards.
        client.0.lock().unwrap().bytes.extend(GET);
        conn.next_request().await.unwrap().unwrap();
        assert!(smol::future::poll_once(conn.gone()).await.is_none());
        assert_eq!(in_vain(), 2);
        conn.start_response(200, &Headers::new(), BodyKind::None).unwrap();
        conn.finish().await.unwrap();
        // So it must when it had paused for too many requests sent ahead, even though nobody read since.
        client.0.lock().unwrap().bytes.extend(GET.repeat(5));
        for _ in 0..5 {
            conn.next_request().await.unwrap().unwrap();
            assert!(smol::future::poll_once(conn.gone()).await.is_none());
            conn.start_response(200, &Headers::new(), BodyKind::None).unwrap();
            conn.finish().await.unwrap();
        }
        client.0.lock().unwrap().bytes.extend(GET);
        conn.next_request().await.unwrap().unwrap();
        client.0.lock().unwrap().ended = true;
        assert!(smol::future::poll_once(conn.gone()).await.is_some());
    });
}

#[test]
fn a_watch_that_paused_goes_on_once_there_is_room() {
    smol::block_on(async {
        let client = Quiet::default();
        let mut conn = ServerConn::new(client.clone(), Arc::new(Limits { pipelined_bytes: 40, ..Limits::default() }));
        client.0.lock().unwrap().bytes.extend(GET.repeat(2));
        // Takes both requests into the buffer and pauses there.
        assert!(smol::future::poll_once(conn.gone()).await.is_none());
        client.0.lock().unwrap().ended = true;
        assert!(smol::future::poll_once(conn.gone()).await.is_none());
        for _ in 0..2 {
            conn.next_request().await.unwrap().unwrap();
            conn.start_response(200, &Headers::new(), BodyKind::None).unwrap();
            conn.finish().await.unwrap();
        }
        assert!(smol::future::poll_once(conn.gone()).await.is_some());
    });
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
