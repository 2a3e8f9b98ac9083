//! The end of a request: what its outcome means for the client.

use std::time::Duration;

use homing_core::fleet::Out;
use homing_core::turn::Outcome;

use super::call::Call;
use super::local::{self, Then};
use super::models;
use super::received::{Events, Received, Whole};
use super::state::now;
use crate::clock;
use crate::http::{BodyKind, WriteError};
use crate::wire::answer::Answer;

/// How long the upstream may take to end a stream whose terminal event it sent, whatever else it sends meanwhile.
const REST_WAIT: Duration = Duration::from_secs(5);

impl Call<'_> {
    /// Gives the client what the outcome says.
    pub(super) async fn end(&mut self, outcome: Outcome) -> Then {
        let shown = self.shown.take();
        let received = self.received.take();
        let ended = match (outcome, shown, received) {
            (Outcome::Served, Some(events), _) => self.end_stream(*events).await,
            (Outcome::Broken, Some(events), _) if events.has_terminal() => self.end_stream(*events).await,
            // W2: what broke off upstream breaks off here, never ends cleanly.
            (Outcome::Broken, ..) => return Then::Abort,
            (Outcome::Served | Outcome::Relay, None, Some(received)) => self.give(received).await,
            (Outcome::Out(out), ..) => return self.answer(&self.all_out(out)).await,
            (Outcome::PinOut { .. }, ..) => return self.answer(&Answer::anchor_out()).await,
            (Outcome::NotFound { .. }, ..) => return self.answer(&Answer::anchor_not_found()).await,
            (Outcome::Apart { .. }, ..) => return self.answer(&Answer::anchors_apart()).await,
            (Outcome::PinsUnknown, ..) => return self.answer(&Answer::pins_unknown()).await,
            (Outcome::Unreachable | Outcome::Served | Outcome::Relay, ..) => {
                return self.answer(&Answer::bad_gateway()).await;
            }
        };
        match ended {
            Ok(true) => Then::Next,
            Ok(false) => Then::Close,
            Err(_) => Then::Abort,
        }
    }

    async fn answer(&mut self, answer: &Answer) -> Then {
        self.status = Some(answer.status);
        local::answer(self.client, answer).await
    }

    async fn give(&mut self, received: Received) -> Result<bool, WriteError> {
        match received {
            Received::Whole(mut whole) => {
                if self.catalogue_for_openai {
                    models::for_openai(&mut whole);
                }
                let Whole { head, body } = whole;
                self.begin(&head, BodyKind::Length(body.len() as u64))?;
                self.client.finish_with(&body).await
            }
            Received::Events(mut events) => {
                self.begin(&events.head, BodyKind::Chunked)?;
                let mut out = Vec::new();
                events.take_ready(&mut out);
                out.extend(events.take_terminal());
                self.client.write_data(&out).await?;
                self.end_rest(*events).await
            }
        }
    }

    /// The held terminal event and whatever follows it.
    async fn end_stream(&mut self, mut events: Events) -> Result<bool, WriteError> {
        let terminal = events.take_terminal();
        self.client.write_data(&terminal).await?;
        self.end_rest(events).await
    }

    async fn end_rest(&mut self, mut events: Events) -> Result<bool, WriteError> {
        let until = clock::monotonic() + REST_WAIT;
        while let Some(bytes) = events.rest(until).await {
            self.client.write_data(bytes).await?;
        }
        self.client.finish().await
    }

    /// R4.
    fn all_out(&self, out: Out) -> Answer {
        match out {
            Out::Soon { retry_after } => Answer::unavailable(retry_after),
            Out::Spent { until } => Answer::quota_spent(Some(until), None, now()),
            Out::NoModel => Answer::model_not_served(),
            Out::Later => Answer::no_account_usable(),
            Out::Empty => Answer::no_accounts(),
        }
    }
}
