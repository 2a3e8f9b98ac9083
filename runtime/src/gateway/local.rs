//! Answers of the gateway's own, written on a client's connection.

use super::call::Client;
use crate::http::{BodyKind, Headers};
use crate::wire::answer::Answer;

/// What the connection does after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// Waits for the next request.
    Next,
    /// Closes in order.
    Close,
    /// Breaks off, so that the client sees that the answer is not whole.
    Abort,
}

/// Writes a whole answer.
pub(super) async fn answer(client: &mut Client, answer: &Answer) -> Then {
    let mut headers = Headers::new();
    for (name, value) in &answer.headers {
        if headers.push(name, value).is_err() {
            tracing::error!(name, "an answer of ours has a header that cannot be written");
        }
    }
    let kind = BodyKind::Length(answer.body.len() as u64);
    if client.start_response(answer.status, &headers, kind).is_err() {
        return Then::Abort;
    }
    match client.finish_with(&answer.body).await {
        Ok(true) => Then::Next,
        Ok(false) => Then::Close,
        Err(_) => Then::Abort,
    }
}
