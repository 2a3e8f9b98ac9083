use proptest::prelude::*;

use super::*;

/// Class and bytes of each event. Line feeds that came after their event was out are added to it.
fn events<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<(Class, String)>, String) {
    let mut scanner = Scanner::default();
    let mut events: Vec<(Class, String)> = Vec::new();
    let mut open = false;
    let mut passed = String::new();
    for chunk in chunks {
        scanner.push(chunk);
        while let Some(piece) = scanner.next_piece().unwrap() {
            let text = std::str::from_utf8(piece.bytes).unwrap();
            passed.push_str(text);
            assert_eq!(piece.starts, !open, "pieces of one event follow each other: {text:?}");
            assert!(!piece.bytes.is_empty());
            assert!(piece.ends || piece.class == Class::Visible, "only visible events come in parts");
            open = !piece.ends;
            match events.last_mut() {
                Some((_, last)) if text == "\n" && last.ends_with('\r') => last.push('\n'),
                Some((_, last)) if !piece.starts => last.push_str(text),
                _ => events.push((piece.class, text.to_owned())),
            }
        }
    }
    passed.push_str(std::str::from_utf8(scanner.pending()).unwrap());
    (events, passed)
}

fn classes(stream: &str) -> Vec<Class> {
    events([stream.as_bytes()]).0.into_iter().map(|(class, _)| class).collect()
}

const LIFECYCLE: Class = Class::Held(Held::Lifecycle);
const KEEP_ALIVE: Class = Class::Held(Held::KeepAlive);
const COMPLETED: Class = Class::Terminal(Terminal::Completed);
const FAILED: Class = Class::Terminal(Terminal::Failed);
const ERROR: Class = Class::Terminal(Terminal::Error);

#[test]
fn every_known_type_has_its_class() {
    for (name, want) in [
        ("response.created", LIFECYCLE),
        ("response.in_progress", LIFECYCLE),
        ("response.queued", LIFECYCLE),
        ("codex.rate_limits", Class::Held(Held::RateLimits)),
        ("response.rate_limits.updated", Class::Held(Held::RateLimits)),
        ("response.metadata", Class::Held(Held::Metadata)),
        ("keepalive", KEEP_ALIVE),
        ("response.output_text.delta", Class::Visible),
        ("response.output_item.added", Class::Visible),
        ("something.new", Class::Visible),
        ("response.completed", COMPLETED),
        ("response.incomplete", Class::Terminal(Terminal::Incomplete)),
        ("response.failed", FAILED),
        ("error", ERROR),
    ] {
        assert_eq!(classes(&format!("event: {name}\ndata: {{\"type\":\"{name}\"}}\n\n")), [want], "{name}");
        assert_eq!(classes(&format!("data: {{\"type\":\"{name}\"}}\n\n")), [want], "{name} without an event line");
        assert_eq!(classes(&format!("event:{name}\ndata: {{\"x\":1}}\n\n")), [want], "{name} by its event line");
    }
}

#[test]
fn odd_but_legal_streams_are_read() {
    for (stream, want) in [
        ("\u{feff}data: {\"type\":\"response.created\"}\n\n", vec![LIFECYCLE]),
        ("data: {\"type\":\ndata: \"response.failed\"}\n\n", vec![FAILED]),
        ("data:{\"type\":\"x\"}\nevent: response.failed\n\n", vec![Class::Visible]),
        ("data: {}\nevent: response.failed\n\n", vec![FAILED]),
        ("event: response.failed\nevent: x\ndata: {}\n\n", vec![Class::Visible]),
        ("id: 1\nretry: 5\nevent: error\n:note\ndata: {}\n\n", vec![ERROR]),
        ("data: [DONE]\n\n", vec![Class::Visible]),
        ("data\n\n", vec![Class::Visible]),
        ("event: response.completed\n\n", vec![KEEP_ALIVE]),
        ("dataset: {\"type\":\"error\"}\n\n", vec![KEEP_ALIVE]),
        (": ping\n", vec![KEEP_ALIVE]),
        (": ping\n\n\n", vec![KEEP_ALIVE, KEEP_ALIVE, KEEP_ALIVE]),
        (": ping\ndata: {\"type\":\"error\"}\n\n", vec![KEEP_ALIVE, ERROR]),
        ("data: {\"error\":{\"message\":\"no\"}}\n\n", vec![ERROR]),
        ("data: {\"error\":null}\n\n", vec![Class::Visible]),
        ("data: {\"type\":\"response.completed\"}\n", vec![]),
    ] {
        assert_eq!(classes(stream), want, "{stream:?}");
        for end in ["\r", "\r\n"] {
            assert_eq!(classes(&stream.replace('\n', end)), want, "{stream:?} with {end:?}");
        }
    }
}

#[test]
fn b15_the_data_decides_against_the_event_line() {
    let hidden = "event: response.output_text.delta\ndata: {\"n\":1,\"type\":\"response.completed\"}\n\n";
    assert_eq!(classes(hidden), [COMPLETED]);
    let nested = "event: response.output_item.done\ndata: {\"item\":{\"type\":\"error\"},\"type\":\"response.output_item.done\"}\n\n";
    assert_eq!(classes(nested), [Class::Visible]);
}

#[test]
fn w3_a_visible_event_passes_before_it_ends() {
    let mut scanner = Scanner::default();
    scanner.push(b"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.del");
    assert_eq!(scanner.next_piece().unwrap(), None);
    scanner.push(b"ta\",\"delta\":\"he");
    let piece = scanner.next_piece().unwrap().unwrap();
    assert_eq!((piece.class, piece.starts, piece.ends), (Class::Visible, true, false));
    assert!(piece.bytes.ends_with(b"\"he"));
    assert_eq!(piece.data(), None);
    assert_eq!(scanner.next_piece().unwrap(), None);
    for (chunk, ends) in [(&b"llo\"}"[..], false), (b"\n", false), (b"\n", true)] {
        scanner.push(chunk);
        let piece = scanner.next_piece().unwrap().unwrap();
        assert_eq!((piece.bytes, piece.starts, piece.ends), (chunk, false, ends));
    }
    assert_eq!(scanner.pending(), b"");
}

#[test]
fn b15_no_byte_of_a_terminal_event_passes_before_its_last() {
    let event =
        "event: response.completed\r\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\"}}\r\n\r\n";
    let mut scanner = Scanner::default();
    let last_needed = event.len() - 1; // The CR of the empty line; its LF may follow later.
    for byte in &event.as_bytes()[..last_needed - 1] {
        scanner.push(&[*byte]);
        assert_eq!(scanner.next_piece().unwrap(), None);
    }
    scanner.push(b"\r");
    let piece = scanner.next_piece().unwrap().unwrap();
    assert_eq!(piece.class, COMPLETED);
    assert_eq!(piece.data().unwrap(), &b"{\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\"}}"[..]);
    scanner.push(b"\n");
    assert_eq!(scanner.next_piece().unwrap().unwrap().bytes, b"\n");
}

#[test]
fn field_c6_the_head_before_a_refusal_is_all_held() {
    let stream = concat!(
        "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\"}}\n\n",
        ": keepalive\n\n",
        "event: codex.rate_limits\ndata: {\"type\":\"codex.rate_limits\",\"plan_type\":\"plus\"}\n\n",
        "event: response.in_progress\ndata: {\"type\":\"response.in_progress\"}\n\n",
        "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_is_overloaded\"}}}\n\n",
    );
    let (last, head) = classes(stream).split_last().map(|(last, head)| (*last, head.to_vec())).unwrap();
    assert!(head.iter().all(|class| matches!(class, Class::Held(_))), "{head:?}");
    assert_eq!(last, FAILED);
}

#[test]
fn field_c9_a_stream_cut_short_shows_no_terminal_event() {
    let (events, _) = events([&b"data: {\"type\":\"x\"}\n\ndata: {\"type\":\"response.completed\",\"resp"[..]]);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].0, Class::Visible);
}

#[test]
fn data_of_several_lines_is_joined() {
    let mut scanner = Scanner::default();
    scanner.push("\u{feff}event: error\r\ndata: {\"type\":\r\ndata:\"error\"}\r\ndata\r\n\r\n".as_bytes());
    let piece = scanner.next_piece().unwrap().unwrap();
    assert_eq!(piece.data().unwrap(), &b"{\"type\":\n\"error\"}\n"[..]);
}

/// Feeds a stream in small reads; gives how often a byte was looked at on average.
fn looks(head: &[u8], fill: u8, len: usize, tail: &[u8]) -> f64 {
    let mut scanner = Scanner::new(usize::MAX);
    let mut total = 0;
    let block = [fill; 1024];
    let mut feed = |bytes: &[u8]| {
        scanner.push(bytes);
        total += bytes.len();
        let mut pieces = 0;
        while scanner.next_piece().unwrap().is_some() {
            pieces += 1;
        }
        pieces
    };
    feed(head);
    for _ in 0..len / block.len() {
        feed(&block);
    }
    assert_eq!(feed(tail), 1);
    scanner.looked_at as f64 / total as f64
}

#[test]
fn field_c1_a_16_mib_event_in_1_kib_reads_is_scanned_in_linear_time() {
    let len = 16 << 20;
    for (head, tail) in [
        (&b"data: {\"type\":\"response.completed\",\"response\":\""[..], &b"\"}\n\n"[..]),
        (b"data: {\"response\":\"", b"\",\"type\":\"response.completed\"}\n\n"),
        (b"data: {\"type\":\"response.image\",\"b64\":\"", b"\"}\n\n"),
        (b"event: x\ndata: ", b"\n\n"),
    ] {
        let looks = looks(head, b'x', len, tail);
        assert!(looks <= 2.1, "{looks} looks a byte for {}", String::from_utf8_lossy(head));
    }
}

#[test]
fn an_event_past_the_bound_is_an_error_unless_it_may_pass() {
    let mut scanner = Scanner::new(1000);
    scanner.push(b"data: {\"type\":\"response.completed\",\"x\":\"");
    scanner.push(&[b'x'; 1000]);
    assert_eq!(scanner.next_piece(), Err(TooLarge { limit: 1000 }));
    assert_eq!(scanner.next_piece(), Err(TooLarge { limit: 1000 }));

    let mut scanner = Scanner::new(1000);
    scanner.push(b"data: {\"type\":\"x\",\"x\":\"");
    for _ in 0..100 {
        scanner.push(&[b'x'; 100]);
        assert!(scanner.next_piece().unwrap().is_some());
    }
    assert!(scanner.buf_len() < 1000, "what was given out is not kept");
}

fn stream() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("event: response.completed"),
        Just("event: x"),
        Just("event:error"),
        Just("data: {\"type\":\"response.created\"}"),
        Just("data: {\"type\":\"response.failed\",\"a\":\"ünï\"}"),
        Just("data: {\"type\":\"x\",\"delta\":\"hello\"}"),
        Just("data: {\"a\":{\"type\":\"no\"},"),
        Just("data: \"type\":\"response.in_progress\"}"),
        Just("data: {}"),
        Just("data: [DONE]"),
        Just("data"),
        Just("da"),
        Just(": comment"),
        Just("id: 1"),
        Just(""),
        Just(""),
        Just(""),
    ];
    let end = prop_oneof![4 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r")];
    (any::<bool>(), proptest::collection::vec((line, end), 0..30)).prop_map(|(bom, lines)| {
        let mut stream = String::from(if bom { "\u{feff}" } else { "" });
        lines.iter().for_each(|(line, end)| stream.extend([*line, *end]));
        stream
    })
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events_and_bytes(stream in stream(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        // Cut between characters, so that each part can be compared as text.
        let boundary = |mut at: usize| {
            while !stream.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let mut at: Vec<usize> = cuts.iter().map(|cut| boundary(cut.index(stream.len() + 1))).collect();
        at.extend([0, stream.len()]);
        at.sort_unstable();
        let whole = events([stream.as_bytes()]);
        prop_assert_eq!(&whole.1, &stream, "every byte comes out, in order");
        let split = events(at.windows(2).map(|w| &stream.as_bytes()[w[0]..w[1]]));
        prop_assert_eq!(&whole, &split);
        let single = events(stream.split_inclusive(|_| true).map(str::as_bytes));
        prop_assert_eq!(&whole, &single);
    }

    #[test]
    fn hostile_bytes_never_panic(chunks in proptest::collection::vec(proptest::collection::vec(prop_oneof![
        any::<u8>(), Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'"'), Just(b'{')], 0..60), 0..30)) {
        let mut scanner = Scanner::new(200);
        let mut passed = Vec::new();
        'stream: for chunk in &chunks {
            scanner.push(chunk);
            loop {
                match scanner.next_piece() {
                    Ok(Some(piece)) => { let _ = piece.data(); passed.extend_from_slice(piece.bytes) }
                    Ok(None) => break,
                    Err(TooLarge { .. }) => break 'stream,
                }
            }
        }
        passed.extend_from_slice(scanner.pending());
        prop_assert!(chunks.concat().starts_with(&passed));
    }
}
