//! Bodies, budgets and deadlines.

use super::*;

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
        assert_eq!(&body.unwrap()[..], b"hi");
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
