//! One attempt on one account: send the request, read its answer as far as it decides (R2, R3).

use std::time::Duration;

use homing_core::failure::Failure;

use super::outgoing::Outgoing;
use super::received::{Events, Received, Whole};
use super::state::Gateway;
use crate::accounts::Bearer;
use crate::clock;
use crate::config::Config;
use crate::http::{Deadlines, Exchange, Headers, MemoryBudget, Reservation, SendError};
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
    match answer.stated_failure().filter(|_| is_responses) {
        Some(failure) => Attempt::Failed(failure, Some(Received::Whole(answer))),
        None => Attempt::Served(Received::Whole(answer)),
    }
}

/// Whole answers count against the same memory as request bodies.
fn fits(held: &mut Reservation, bytes: usize) -> bool {
    bytes <= WHOLE_BODY_MAX && held.grow_to(bytes.next_multiple_of(BUDGET_STEP)).is_ok()
}

fn is_event_stream(headers: &Headers) -> bool {
    let kind = headers.get_str("content-type").unwrap_or_default();
    let readable = headers.get_str("content-encoding").is_none_or(|e| e.eq_ignore_ascii_case("identity"));
    readable && kind.trim_start().get(..17).is_some_and(|k| k.eq_ignore_ascii_case("text/event-stream"))
}
