//! One client request under way: what it sends upstream, what came back, what the client got of it.

use std::sync::Arc;
use std::time::Instant;

use homing_core::failure::Failure;
use homing_core::ids::{AccountId, TenantId};
use homing_core::turn::Reply;
use smol::net::TcpStream;

use super::attempt::{Attempt, Bounds, attempt};
use super::outgoing::Outgoing;
use super::received::{Events, Progress, Received};
use super::state::Gateway;
use crate::accounts::Bearer;
use crate::clock;
use crate::http::{BodyKind, Headers, ResponseHead, ServerConn, WriteError};
use crate::wire::headers::{TURN_STATE, passes_to_client};

/// A client's connection.
pub(super) type Client = ServerConn<TcpStream>;

/// One request between its admission and its end.
pub(super) struct Call<'a> {
    pub(super) gateway: &'a Arc<Gateway>,
    pub(super) client: &'a mut Client,
    pub(super) outgoing: Outgoing,
    pub(super) tenant: TenantId,
    /// The last attempt's answer, whole or up to its terminal event.
    pub(super) received: Option<Received>,
    /// The stream whose output reaches the client.
    pub(super) shown: Option<Box<Events>>,
    /// The status the client got, once it got one.
    pub(super) status: Option<u16>,
    /// The catalogue is asked for in the OpenAI shape (field J8).
    pub(super) catalogue_for_openai: bool,
    began: Instant,
    used: Option<Bearer>,
}

impl<'a> Call<'a> {
    pub(super) fn new(gateway: &'a Arc<Gateway>, client: &'a mut Client, outgoing: Outgoing, tenant: TenantId) -> Self {
        Self {
            gateway,
            client,
            outgoing,
            tenant,
            received: None,
            shown: None,
            status: None,
            catalogue_for_openai: false,
            began: clock::monotonic(),
            used: None,
        }
    }

    /// The credential of the last attempt: what a 401 was said of.
    pub(super) const fn used(&self) -> Option<&Bearer> {
        self.used.as_ref()
    }

    /// What `work` brings, or `None` if the client leaves first; `work` is dropped then (R5).
    pub(super) async fn unless_gone<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let client = &mut *self.client;
        smol::future::or(async { Some(work.await) }, async {
            client.gone().await;
            None
        })
        .await
    }

    /// One attempt, up to what decides.
    pub(super) async fn dial(&mut self, account: AccountId) -> Option<Reply> {
        self.received = None;
        let named = self.gateway.named(account);
        let Some(bearer) = named.and_then(|n| self.gateway.roster.bearer(&n.identity)) else {
            return Some(Reply::Failed(Failure::Unauthorized));
        };
        let mine = |token: &String| self.gateway.turn_states().belongs(self.tenant, token, account);
        let turn_state = self.outgoing.turn_state.as_ref().is_some_and(mine);
        let (gateway, client, outgoing) = (self.gateway, &mut *self.client, &self.outgoing);
        let left =
            gateway.config.routing.request_deadline.saturating_sub(clock::monotonic().duration_since(self.began));
        let work = attempt(gateway, outgoing, &bearer, turn_state, Bounds::of(&gateway.config, left));
        let attempt = smol::future::or(async { Some(work.await) }, async {
            client.gone().await;
            None
        })
        .await?;
        self.used = Some(bearer);
        Some(self.attempted(account, attempt))
    }

    fn attempted(&mut self, account: AccountId, attempt: Attempt) -> Reply {
        match attempt {
            Attempt::Visible(events) => {
                self.learn_turn_state(account, &events.head);
                self.shown = Some(events);
                Reply::Visible
            }
            Attempt::Served(received) => {
                self.learn_turn_state(account, received.head());
                self.received = Some(received);
                Reply::Served { issued: false }
            }
            Attempt::Failed(failure, received) => {
                self.received = received;
                Reply::Failed(failure)
            }
        }
    }

    /// R7: the token in this answer is good for this account alone.
    fn learn_turn_state(&self, account: AccountId, head: &ResponseHead) {
        if let Some(token) = head.headers.get_str(TURN_STATE) {
            self.gateway.turn_states().issued(self.tenant, token, account);
        }
    }

    /// Passes the shown stream on, up to its terminal event. `None` where the client left before that was read.
    pub(super) async fn stream(&mut self) -> Option<Reply> {
        let Some(mut events) = self.shown.take() else { return Some(Reply::Failed(Failure::CutOff)) };
        let reply = self.pass_on(&mut events).await;
        self.shown = Some(events);
        reply
    }

    async fn pass_on(&mut self, events: &mut Events) -> Option<Reply> {
        self.begin(&events.head, BodyKind::Chunked).ok()?;
        let mut out = Vec::new();
        loop {
            events.take_ready(&mut out);
            self.client.write_data(&out).await.ok()?;
            let progress = self.unless_gone(events.read()).await?;
            let reply = match progress {
                Progress::More => continue,
                Progress::Terminal(None) => Reply::Served { issued: false },
                Progress::Terminal(Some(failure)) => Reply::Failed(failure),
                Progress::Cut => Reply::Failed(Failure::CutOff),
            };
            // The terminal event was read: from here on a client that left changes nothing (B15).
            events.take_ready(&mut out);
            let _ = self.client.write_data(&out).await;
            return Some(reply);
        }
    }

    /// Starts the client's response with what passes of an upstream head.
    pub(super) fn begin(&mut self, head: &ResponseHead, kind: BodyKind) -> Result<(), WriteError> {
        self.status = Some(head.status);
        self.client.start_response(head.status, &passed(&head.headers), kind)
    }
}

/// What passes of the upstream's response headers.
fn passed(headers: &Headers) -> Headers {
    let mut out = headers.clone();
    let connection: Vec<Vec<u8>> = headers.get_all("connection").map(<[u8]>::to_vec).collect();
    out.retain(|name, _| passes_to_client(name, connection.iter().map(Vec::as_slice)));
    out
}
