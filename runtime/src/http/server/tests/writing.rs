//! Responses, their ends, and connections handed over.

use super::*;

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

#[cfg(unix)]
#[test]
fn a_unix_socket_serves_and_an_abort_leaves_the_body_unended() {
    smol::block_on(async {
        let (mut client, server) = smol::net::unix::UnixStream::pair().unwrap();
        let mut conn = ServerConn::new(server, limits());
        client.write_all(GET).await.unwrap();
        conn.next_request().await.unwrap();
        conn.start_response(200, &Headers::new(), BodyKind::Chunked).unwrap();
        conn.write_data(b"event").await.unwrap();
        conn.abort();
        let mut text = String::new();
        client.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nevent\r\n");
    });
}
