//! One attempt on one account: send the request, read its answer as far as it decides (R2, R3).

use std::time::Duration;

use homing_core::failure::Failure;

use super::outgoing::Outgoing;
use super::received::{Events, Received, Whole};
use super::state::Gateway;
use crate::accounts::Bearer;
use crate::clock;
use crate::config::Config;
use crate::http::{BodyFraming, Deadlines, Exchange, Headers, MemoryBudget, Reservation, SendError};
use crate::wire::body;
use crate::wire::classify::classify_answer;

/// An error answer is read up to here: enough to say why, and what a client is shown.
const ERROR_BODY_MAX: usize = 256 << 10;
/// How long an error answer may take to arrive in full.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(10);
/// The largest answer that is no event stream. It is read whole, so that a cut one is never passed on as whole.
const WHOLE_BODY_MAX: usize = 64 << 20;

/// Memory is reserved in steps of this many bytes.
const BUDGET_STEP: usize = 64 << 10;

/// How an attempt stands when the machine has to know.
pub(super) enum Attempt {
    /// Visible output has come, or the head was held for as long as it may be.
    Visible(Box<Events>),
    /// The whole answer or the terminal event was read; nothing was passed on yet.
    Served(Received),
    /// It did not serve. The upstream's answer, if there was one.
    Failed(Failure, Option<Received>),
}

/// Bounds of an attempt, from the configuration.
pub(super) struct Bounds {
    pub(super) deadlines: Deadlines,
    /// Longest time, and most bytes, that the opening events are held (R3).
    pub(super) head_hold: Duration,
}

impl Bounds {
    /// `left` is what remains of the request's own deadline: no attempt waits longer for its answer to begin.
    pub(super) fn of(config: &Config, left: Duration) -> Self {
        let deadlines = Deadlines {
            connect: config.upstream.connect_timeout.min(left),
            head: config.upstream.head_timeout.min(left),
            body_idle: config.upstream.idle_timeout,
        };
        Self { deadlines, head_hold: config.routing.head_hold.min(left) }
    }
}

/// Sends the request to the account with this credential.
pub(super) async fn attempt(
    gateway: &Gateway,
    request: &Outgoing,
    bearer: &Bearer,
    turn_state: bool,
    bounds: Bounds,
) -> Attempt {
    let Ok(head) = request.head_for(bearer, turn_state) else {
        // A credential that no header can carry is a credential that does not work.
        return Attempt::Failed(Failure::Unauthorized, None);
    };
    let sent = gateway.pool.send(&gateway.origin, &head, request.body(), request.repeatable, &bounds.deadlines).await;
    match sent {
        Ok(exchange) => read(exchange, request.is_responses, bounds.head_hold, &gateway.budget).await,
        Err(error) => {
            tracing::debug!(%error, "the attempt brought no answer");
            Attempt::Failed(failure_of(&error), None)
        }
    }
}

fn failure_of(error: &SendError) -> Failure {
    match error {
        SendError::Connect(_) => Failure::Unreachable,
        _ => Failure::Server { retry_after: None },
    }
}

async fn read(exchange: Exchange, is_responses: bool, head_hold: Duration, budget: &MemoryBudget) -> Attempt {
    let status = exchange.head.status;
    if !(200..300).contains(&status) {
        return refused(exchange).await;
    }
    if is_responses && is_event_stream(&exchange.head.headers) {
        return Events::open(exchange, head_hold).await;
    }
    whole(exchange, is_responses, budget).await
}

/// An error answer: read, classed, kept in case the client is to have it.
async fn refused(mut exchange: Exchange) -> Attempt {
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(bytes)) = exchange.body.next().await {
            body.extend_from_slice(bytes);
            if body.len() > ERROR_BODY_MAX {
                break;
            }
        }
    };
    let ended = clock::within(ERROR_BODY_WAIT, reading).await;
    if ended.is_none() {
        tracing::debug!("an error answer did not arrive in full");
    }
    body.truncate(ERROR_BODY_MAX);
    let head = exchange.head;
    let failure = classify_answer(head.status, &head.headers, &body, super::state::now());
    Attempt::Failed(failure, Some(Received::Whole(Whole { head, body })))
}

/// Any other 2xx: served when it came whole and well-framed.
async fn whole(mut exchange: Exchange, is_responses: bool, budget: &MemoryBudget) -> Attempt {
    let (mut body, mut held) = (Vec::new(), budget.reservation());
    loop {
        match exchange.body.next().await {
            Ok(None) => break,
            Ok(Some(bytes)) if fits(&mut held, body.len() + bytes.len()) => body.extend_from_slice(bytes),
            Ok(Some(_)) | Err(_) => return Attempt::Failed(Failure::Server { retry_after: None }, None),
        }
    }
    let answer = Whole { head: exchange.head, body };
    if !is_complete(&answer, is_responses, exchange.body.framing()) {
        tracing::debug!(status = answer.head.status, "an answer that is not known to be whole");
        return Attempt::Failed(Failure::Server { retry_after: None }, None);
    }
    match answer.stated_failure().filter(|_| is_responses) {
        Some(failure) => Attempt::Failed(failure, Some(Received::Whole(answer))),
        None => Attempt::Served(Received::Whole(answer)),
    }
}

/// Whether the answer is all of what it says it is. A body that ends with its connection may have been cut off (W2), and a
/// Responses call brings an event stream or a JSON object: an empty answer, a page of some proxy or a stream of another
/// type is no success (spec §1).
fn is_complete(answer: &Whole, is_responses: bool, framing: BodyFraming) -> bool {
    let is_readable = is_identity(&answer.head.headers);
    let must_be_json = framing == BodyFraming::UntilClose || (is_responses && is_readable);
    !must_be_json || body::read(&answer.body).json
}

/// Whole answers count against the same memory as request bodies.
fn fits(held: &mut Reservation, bytes: usize) -> bool {
    bytes <= WHOLE_BODY_MAX && held.grow_to(bytes.next_multiple_of(BUDGET_STEP)).is_ok()
}

fn is_event_stream(headers: &Headers) -> bool {
    let kind = headers.get_str("content-type").unwrap_or_default();
    is_identity(headers) && kind.trim_start().get(..17).is_some_and(|k| k.eq_ignore_ascii_case("text/event-stream"))
}

fn is_identity(headers: &Headers) -> bool {
    headers.get_str("content-encoding").is_none_or(|coding| coding.eq_ignore_ascii_case("identity"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;
    use crate::http::{Connector, Origin, Pool, PoolLimits, RequestHead, Version};

    /// What an attempt makes of an upstream that answers with these bytes and closes.
    fn attempted(answer: &'static str, is_responses: bool) -> Attempt {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let upstream = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let attempt = smol::block_on(async {
            let origin = Origin::of_url(&url.parse().unwrap()).unwrap();
            let pool = Pool::new(Connector::new(None), PoolLimits::default());
            let (method, target) = ("POST".to_owned(), "/responses".to_owned());
            let head = RequestHead { method, target, version: Version::Http11, headers: Headers::new() };
            let exchange = pool.send(&origin, &head, b"{}", true, &Deadlines::default()).await.unwrap();
            read(exchange, is_responses, Duration::from_secs(60), &MemoryBudget::new(1 << 20)).await
        });
        upstream.join().unwrap();
        attempt
    }

    #[test]
    fn w2_what_may_have_been_cut_off_is_not_passed_on_as_whole() {
        const CUT: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"status\":\"compl";
        const WHOLE: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"status\":\"completed\"}";
        for is_responses in [true, false] {
            assert!(matches!(attempted(CUT, is_responses), Attempt::Failed(Failure::Server { .. }, None)));
            assert!(matches!(attempted(WHOLE, is_responses), Attempt::Served(Received::Whole(_))));
        }
    }

    #[test]
    fn a_responses_answer_is_an_event_stream_or_an_object() {
        for answer in [
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>",
            "HTTP/1.1 200 OK\r\nContent-Length: 31\r\n\r\nevent: response.created\ndata: {}\n",
        ] {
            assert!(matches!(attempted(answer, true), Attempt::Failed(Failure::Server { .. }, None)), "{answer}");
            assert!(
                matches!(attempted(answer, false), Attempt::Served(_)),
                "elsewhere any whole 2xx will do: {answer}"
            );
        }
    }

    #[test]
    fn what_follows_a_terminal_event_is_waited_for_only_so_long() {
        const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 200\r\n\r\n\
            data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n";
        let Attempt::Served(Received::Events(mut events)) = attempted(STREAM, true) else { panic!("not served") };
        assert!(smol::block_on(events.rest(clock::monotonic())).is_none());
    }
}
