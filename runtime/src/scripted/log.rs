//! What the upstream saw: one entry for each request, bounded in number and in bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

/// How a request ended, from the upstream's point of view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// Still being answered.
    Open,
    /// The whole scripted answer was written.
    Answered {
        /// Its status.
        status: u16,
    },
    /// The script ended the answer early: truncated, cut or reset.
    Broken {
        /// Events written before; 0 where no header was.
        events: u32,
    },
    /// The client left before the end.
    ClientLeft {
        /// Events written before.
        events: u32,
    },
}

/// One request as it arrived.
#[derive(Clone)]
pub struct Seen {
    /// Position in the log, from 0, never reused.
    pub number: u64,
    /// The TCP connection, from 1 in order of acceptance.
    pub connection: u64,
    /// Position on that connection, from 1.
    pub on_connection: u64,
    /// The method.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query without its question mark.
    pub query: Option<String>,
    /// Header fields in their order and case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body after transfer and content decoding; empty where it was not read or cannot be decoded.
    pub body: Arc<[u8]>,
    /// The body after transfer decoding alone. Both bodies are empty once the log's byte budget pushed them out.
    pub raw_body: Arc<[u8]>,
    /// The name of the account it was authorised as.
    pub account: Option<String>,
    /// What the client should never have sent, e.g. another account's turn state.
    pub violations: Vec<String>,
    /// How it ended.
    pub outcome: Outcome,
}

impl Seen {
    /// The first field of that name, in any case; bytes that are no UTF-8 are replaced.
    pub fn header(&self, name: &str) -> Option<String> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| String::from_utf8_lossy(v).into_owned())
    }

    /// How many fields have that name, in any case.
    pub fn header_count(&self, name: &str) -> usize {
        self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).count()
    }

    /// The decoded body as JSON, or null.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// Whether the client left before the answer ended.
    pub fn client_left(&self) -> bool {
        matches!(self.outcome, Outcome::ClientLeft { .. })
    }

    /// The entry as JSON, credentials replaced.
    pub(super) fn to_json(&self) -> Value {
        let headers: Vec<_> = self.headers.iter().map(|(n, v)| (n, shown(n, v))).collect();
        let secret = self.path == super::oauth::PATH;
        json!({
            "number": self.number,
            "connection": self.connection,
            "on_connection": self.on_connection,
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "headers": headers,
            "body": if secret { Value::Null } else { self.json() },
            "body_bytes": self.raw_body.len(),
            "account": self.account,
            "violations": self.violations,
            "outcome": self.outcome,
        })
    }
}

fn shown(name: &str, value: &[u8]) -> String {
    let secret = ["authorization", "cookie", "x-api-key"].iter().any(|s| name.eq_ignore_ascii_case(s));
    if secret { "(hidden)".to_owned() } else { String::from_utf8_lossy(value).into_owned() }
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(n, v)| format!("{n}: {}", shown(n, v))).collect();
        f.debug_struct("Seen")
            .field("number", &self.number)
            .field("connection", &(self.connection, self.on_connection))
            .field("request", &format!("{} {}", self.method, self.path))
            .field("account", &self.account)
            .field("headers", &headers)
            .field("body_bytes", &self.raw_body.len())
            .field("violations", &self.violations)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

/// The bounded log.
pub(super) struct Log {
    entries: VecDeque<Seen>,
    first: u64,
    capacity: usize,
    body_budget: usize,
    body_bytes: usize,
    /// The oldest entry that may still hold its bodies.
    oldest_body: u64,
}

impl Log {
    pub(super) fn new(capacity: usize, body_budget: usize) -> Self {
        let entries = VecDeque::new();
        Self { entries, first: 0, capacity: capacity.max(1), body_budget, body_bytes: 0, oldest_body: 0 }
    }

    /// Appends an entry and returns its number.
    pub(super) fn push(&mut self, mut seen: Seen) -> u64 {
        if self.entries.len() == self.capacity {
            self.strip(self.first);
            self.entries.pop_front();
            self.first += 1;
        }
        seen.number = self.first + self.entries.len() as u64;
        let number = seen.number;
        self.body_bytes += weight(&seen);
        self.entries.push_back(seen);
        while self.body_bytes > self.body_budget && self.oldest_body <= number {
            self.strip(self.oldest_body);
        }
        number
    }

    /// Requests seen in all, including those that have left the log.
    pub(super) fn total(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    pub(super) fn end(&mut self, number: u64, outcome: Outcome) {
        if let Some(entry) = self.entry(number) {
            entry.outcome = outcome;
        }
    }

    /// The entries from `number` on.
    pub(super) fn since(&self, number: u64) -> Vec<Seen> {
        let skip = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.entries.iter().skip(skip).cloned().collect()
    }

    /// Whether no entry is still being answered.
    pub(super) fn all_ended(&self) -> bool {
        self.entries.iter().all(|e| e.outcome != Outcome::Open)
    }

    fn entry(&mut self, number: u64) -> Option<&mut Seen> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.entries.get_mut(index)
    }

    fn strip(&mut self, number: u64) {
        let freed = self.entry(number).map_or(0, |entry| {
            let freed = weight(entry);
            (entry.body, entry.raw_body) = (Arc::from([]), Arc::from([]));
            freed
        });
        self.body_bytes -= freed;
        self.oldest_body = self.oldest_body.max(number + 1);
    }
}

/// Bytes an entry's bodies hold; a body that needed no decoding is held once.
fn weight(seen: &Seen) -> usize {
    let shared = Arc::ptr_eq(&seen.body, &seen.raw_body);
    seen.raw_body.len() + if shared { 0 } else { seen.body.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(bytes: usize) -> Seen {
        let body: Arc<[u8]> = vec![b'x'; bytes].into();
        Seen {
            number: 0,
            connection: 1,
            on_connection: 1,
            method: "POST".to_owned(),
            path: "/v1/responses".to_owned(),
            query: None,
            headers: vec![("Authorization".to_owned(), b"Bearer secret".to_vec())],
            body: body.clone(),
            raw_body: body,
            account: None,
            violations: Vec::new(),
            outcome: Outcome::Open,
        }
    }

    #[test]
    fn entries_and_bytes_are_bounded_and_numbers_go_on() {
        let mut log = Log::new(3, 10);
        for _ in 0..5 {
            log.push(seen(4));
        }
        assert_eq!(log.total(), 5);
        let kept = log.since(0);
        assert_eq!(kept.iter().map(|e| e.number).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(kept.iter().map(|e| e.raw_body.len()).collect::<Vec<_>>(), [0, 4, 4], "8 of 10 bytes are held");
        log.end(1, Outcome::Answered { status: 200 });
        log.end(4, Outcome::Answered { status: 200 });
        assert_eq!(log.since(4)[0].outcome, Outcome::Answered { status: 200 });
        assert!(!log.all_ended());
    }

    #[test]
    fn a_body_beyond_the_budget_is_dropped_at_once() {
        let mut log = Log::new(3, 10);
        log.push(seen(11));
        log.push(seen(10));
        assert_eq!(log.since(0).iter().map(|e| e.body.len()).collect::<Vec<_>>(), [0, 10]);
    }

    #[test]
    fn credentials_are_not_shown() {
        let entry = seen(1);
        assert!(!format!("{entry:?} {}", entry.to_json()).contains("secret"));
    }
}
