//! What a client sees of a stream, and when: at once (W3), from the attempt that served (R3), its end only once the binding
//! is on disk (B15). Gates at the upstream take the place of clocks.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use homing::scripted::{Behaviour, GatePoint, Rule};
use homing_tests::ask::Ask;
use homing_tests::crowd::account_of;
use homing_tests::gateway::Gateway;
use homing_tests::raw::{End, RawClient, event_data};

fn next_type(client: &mut RawClient) -> String {
    let event = client.next_event().expect("no event while the upstream waits").expect("the stream goes on");
    event_data(&event).unwrap()["type"].as_str().unwrap().to_owned()
}

#[test]
fn every_event_passes_while_the_next_is_still_held() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let events = Ask::turn(&key).session("one").send(gateway.addr()).unwrap().event_types();
    // created and in_progress wait for the third event (R3); from there on each is passed on alone.
    for at in 3..u32::try_from(events.len()).unwrap() {
        let rule = Rule::once(Behaviour::held(&format!("after {at}"), GatePoint::AfterEvents(at)));
        gateway.upstream().fail(rule);
    }
    // Every rule counts for one request, and all manners of a request add up.
    let mut client = Ask::turn(&key).session("one").begin(gateway.addr()).unwrap();
    let mut seen = 0;
    for at in 3..events.len() {
        assert!(gateway.upstream().wait_at(&format!("after {at}"), 1));
        if seen == 0 {
            assert_eq!(client.head().unwrap().status, 200);
        }
        while seen < at {
            assert_eq!(next_type(&mut client), events[seen], "event {seen} while the upstream waits after {at}");
            seen += 1;
        }
        gateway.upstream().release(&format!("after {at}"));
    }
    assert_eq!(next_type(&mut client), "response.completed");
    assert_eq!(client.next_event().unwrap(), None);
}

#[test]
fn comments_and_keep_alives_pass_at_once_after_output() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    for comments in [false, true] {
        gateway.upstream().fail(Rule::once(Behaviour::KeepaliveEvents { count: 3, comments }));
        let answer = Ask::turn(&key).send(gateway.addr()).unwrap();
        assert_eq!((answer.status(), answer.end), (200, End::Complete));
        assert!(answer.text().matches("keepalive").count() >= 3, "nothing of the stream is lost");
    }
}

#[test]
fn opening_events_are_held_only_so_long() {
    // R3: at most head-hold, or 256 KiB.
    let gateway = Gateway::with_accounts(&["amber"]).toml("routing", "head-hold = \"1s\"").start();
    let key = gateway.create_user("ada");
    gateway.upstream().fail(Rule::once(Behaviour::held("time", GatePoint::AfterEvents(2))));
    let mut client = Ask::turn(&key).begin(gateway.addr()).unwrap();
    assert_eq!(client.head().unwrap().status, 200);
    assert_eq!([next_type(&mut client), next_type(&mut client)], ["response.created", "response.in_progress"]);
    gateway.upstream().release("time");
    while client.next_event().unwrap().is_some() {}

    let patient = Gateway::with_accounts(&["amber"]).toml("routing", "head-hold = \"5m\"").start();
    let key = patient.create_user("ada");
    patient.upstream().fail(Rule::once(Behaviour::KeepaliveEvents { count: 20_000, comments: false }));
    patient.upstream().fail(Rule::once(Behaviour::held("bytes", GatePoint::AfterEvents(20_002))));
    let mut client = Ask::turn(&key).begin(patient.addr()).unwrap();
    assert_eq!(client.head().unwrap().status, 200);
    assert!(patient.upstream().wait_at("bytes", 1), "the upstream has not begun its output");
    for _ in 0..20_002 {
        client.next_event().unwrap().unwrap();
    }
    patient.upstream().release("bytes");
    while client.next_event().unwrap().is_some() {}
}

#[test]
fn the_client_sees_the_attempt_that_served_alone() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one");
    let home = gateway.served(&ask);
    let reply = Behaviour::failed("usage_limit_reached");
    gateway.upstream().fail(Rule::once(Behaviour::held("held", GatePoint::AfterEvents(2))).on(&home));
    gateway.upstream().fail(Rule::once(reply).on(&home));
    let mut client = ask.begin(gateway.addr()).unwrap();
    assert!(gateway.upstream().wait_at("held", 1), "head and opening events of the first attempt are out");
    gateway.upstream().release("held");
    let answer = client.response().unwrap();
    let types = answer.event_types();
    assert_eq!(types.iter().filter(|t| *t == "response.created").count(), 1, "{types:?}");
    assert!(!types.iter().any(|t| t == "response.failed"));
    assert_ne!(account_of(&answer), home);
    let (ids, sequence): (Vec<_>, Vec<_>) =
        answer.events().iter().map(|e| (e["response"]["id"].clone(), e["sequence_number"].as_u64().unwrap())).unzip();
    let ids: std::collections::BTreeSet<_> = ids.iter().filter_map(|id| id.as_str()).collect();
    assert_eq!(ids.len(), 1, "one response");
    assert_eq!(sequence, (0..sequence.len() as u64).collect::<Vec<_>>(), "field C13: numbered without a gap");
}

#[test]
fn headers_that_clients_read_pass_and_others_do_not() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    let answer = Ask::turn(&key).model("gpt-5.5").send(gateway.addr()).unwrap();
    assert_eq!(answer.header("openai-model").as_deref(), Some("gpt-5.5"));
    for name in [
        "x-codex-turn-state",
        "x-request-id",
        "x-codex-primary-used-percent",
        "x-codex-primary-window-minutes",
        "x-codex-primary-reset-at",
        "x-codex-secondary-used-percent",
    ] {
        assert_eq!(answer.head.header_count(name), 1, "{name}");
    }
    for name in ["set-cookie", "alt-svc", "keep-alive", "proxy-authenticate"] {
        assert_eq!(answer.head.header_count(name), 0, "R6: {name}");
    }
    assert!(answer.header("content-type").unwrap().starts_with("text/event-stream"));
}

#[test]
fn bytes_pass_unchanged_however_they_are_cut() {
    let gateway = Gateway::with_accounts(&["amber"]).start();
    let key = gateway.create_user("ada");
    for behaviour in [Behaviour::SplitSegments, Behaviour::BigEvent { bytes: 4 << 20 }] {
        gateway.upstream().fail(Rule::once(behaviour.clone()));
        let answer = Ask::turn(&key).session("one").send(gateway.addr()).unwrap();
        assert_eq!((answer.status(), answer.end), (200, End::Complete));
        let types = answer.event_types();
        assert_eq!(types.last().map(String::as_str), Some("response.completed"));
        if let Behaviour::BigEvent { bytes } = behaviour {
            let largest = answer.events().iter().filter_map(|e| e["delta"].as_str().map(str::len)).max();
            assert_eq!(largest, Some(bytes as usize));
        }
    }
}

#[test]
fn an_answer_that_is_no_stream_comes_whole() {
    let gateway = Gateway::with_accounts(&["amber", "birch"]).start();
    let key = gateway.create_user("ada");
    let ask = Ask::turn(&key).session("one").whole();
    let answer = ask.send(gateway.addr()).unwrap();
    assert_eq!((answer.status(), answer.end), (200, End::Complete));
    assert_eq!(answer.json()["status"], "completed");
    assert_eq!(gateway.bindings()[0]["state"], "bound");
    let other = account_of(&answer);
    assert_eq!(gateway.served(&ask), other);
}

/// Turns of fresh sessions until the gateway is gone; what each client was told before.
fn until_killed(
    gateway: &Gateway,
    key: &str,
    round: usize,
    told: &Mutex<BTreeMap<String, String>>,
    ended: &AtomicUsize,
    stop: &AtomicBool,
    client: usize,
) {
    for turn in 0.. {
        let session = format!("{round}-{client}-{turn}");
        let Ok(mut connection) = Ask::turn(key).session(&session).begin(gateway.addr()) else { return };
        let Ok(head) = connection.head() else { return };
        assert_eq!(head.status, 200);
        let mut text = String::new();
        // The last event is what counts: the connection may well break behind it.
        while let Ok(Some(event)) = connection.next_event() {
            let data = event_data(&event).unwrap();
            text.push_str(data["delta"].as_str().unwrap_or_default());
            if data["type"] == "response.completed" {
                told.lock().unwrap().insert(session.clone(), text.clone());
                ended.fetch_add(1, Ordering::Relaxed);
            }
        }
        if stop.load(Ordering::Relaxed) {
            return;
        }
    }
}

#[test]
fn whoever_saw_the_end_of_a_turn_finds_its_binding_after_a_crash() {
    const ROUNDS: usize = 20;
    const CLIENTS: usize = 6;
    // However slow the disk: an event that goes out after commit-wait is not what is tested here.
    let patient = "commit-wait = \"1m\"";
    let mut gateway = Gateway::with_accounts(&["amber", "birch", "cedar"]).toml("affinity", patient).start();
    let key = gateway.create_user("ada");
    let mut all = 0;
    for round in 0..ROUNDS {
        let (told, ended, stop) = (Mutex::default(), AtomicUsize::new(0), AtomicBool::new(false));
        let pid = gateway.pid();
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (gateway, key, told, ended, stop) = (&gateway, &key, &told, &ended, &stop);
                scope.spawn(move || until_killed(gateway, key, round, told, ended, stop, client));
            }
            // At another moment in each round, with turns under way.
            while ended.load(Ordering::Relaxed) < 3 + round {
                std::thread::yield_now();
            }
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            stop.store(true, Ordering::Relaxed);
        });
        gateway.restart();
        let told = told.into_inner().unwrap();
        assert!(told.len() >= 3 + round);
        for (session, text) in &told {
            let answer = Ask::turn(&key).session(session).send(gateway.addr()).unwrap();
            assert_eq!(&answer.output_text(), text, "round {round}, session {session}: B15");
        }
        all += told.len();
    }
    assert!(gateway.bindings().len() >= all, "{all} sessions ended");
}
