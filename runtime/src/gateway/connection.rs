//! A client's connection: requests one after another, each to its route.

use std::sync::Arc;

use homing_core::turn::{Outcome, Turn};
use smol::net::TcpStream;

use super::admit::admit;
use super::call::{Call, Client};
use super::caller::{Caller, authenticate};
use super::drive::{Driven, drive};
use super::local::{self, Then};
use super::outgoing::Outgoing;
use super::state::Gateway;
use super::{health, management, models, report};
use crate::clock;
use crate::http::{HttpError, RequestHead, ServerConn, prepare_tcp};
use crate::wire::answer::Answer;
use crate::wire::route::{Route, route, upstream_target};

/// Serves one connection to its end.
pub(super) async fn serve(gateway: Arc<Gateway>, stream: TcpStream) {
    if let Err(error) = prepare_tcp(&stream) {
        tracing::debug!(%error, "a connection could not be prepared");
        return;
    }
    let mut client = ServerConn::new(stream, gateway.limits.clone());
    loop {
        let head = match client.next_request().await {
            Ok(Some(head)) => head,
            Ok(None) => return client.close().await,
            Err(error) => return client.refuse(&error).await,
        };
        if gateway.is_draining() {
            client.close_after_response();
        }
        match respond(&gateway, &mut client, &head).await {
            Ok(Then::Next) => {}
            Ok(Then::Close) => return client.close().await,
            Ok(Then::Abort) => return client.abort(),
            Err(error) => return client.refuse(&error).await,
        }
    }
}

/// Tells a connection beyond `limits.connections` to come back: 503 to its first request.
pub(super) async fn turn_away(gateway: &Gateway, stream: TcpStream) {
    let mut client = ServerConn::new(stream, gateway.limits.clone());
    match client.next_request().await {
        Ok(Some(_)) => client.refuse(&HttpError::Busy).await,
        Ok(None) => client.close().await,
        Err(error) => client.refuse(&error).await,
    }
}

async fn respond(gateway: &Arc<Gateway>, client: &mut Client, head: &RequestHead) -> Result<Then, HttpError> {
    let (path, query) = match head.target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (head.target.as_str(), None),
    };
    let upgrade = head.headers.has_token("connection", "upgrade") && head.headers.has_token("upgrade", "websocket");
    let _busy = Busy::count(gateway);
    let route = route(&head.method, path, query, upgrade);
    let answer = match route {
        Route::Responses | Route::Compact | Route::Models { .. } => {
            return relay(gateway, client, head, route, query).await;
        }
        // The upgrade is refused for now; Codex goes on over HTTP without a word (W4).
        Route::ResponsesUpgrade => Answer::upgrade_required(),
        Route::Probe => Answer::empty_ok(),
        Route::Health => health::health(gateway),
        Route::Ready => health::ready(gateway),
        Route::MethodNotAllowed { allow } => Answer::method_not_allowed(allow),
        Route::Management { .. } => return management::answer(gateway, client, head).await,
        Route::NotFound => Answer::not_found(),
    };
    Ok(local::answer(client, &answer).await)
}

/// Counts a request for as long as it is under way, so that a stop can wait for it.
struct Busy<'a>(&'a Gateway);

impl<'a> Busy<'a> {
    fn count(gateway: &'a Gateway) -> Self {
        gateway.keeper().began();
        Self(gateway)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut keeper = self.0.keeper();
        keeper.ended();
        if keeper.draining() {
            self.0.kept.notify(usize::MAX);
        }
    }
}

/// A request that goes upstream.
async fn relay(
    gateway: &Arc<Gateway>,
    client: &mut Client,
    head: &RequestHead,
    route: Route<'_>,
    query: Option<&str>,
) -> Result<Then, HttpError> {
    let caller = match authenticate(gateway, &head.headers) {
        Ok(caller) => caller,
        Err(answer) => return Ok(local::answer(client, &answer).await),
    };
    let is_responses = !matches!(route, Route::Models { .. });
    let body = match is_responses {
        true => Some(client.read_body(gateway.config.limits.body.length(), &gateway.budget).await?),
        false => None,
    };
    let suffix = route.upstream_suffix().unwrap_or_default();
    let default_query = models::query(&route, query, &gateway.config.upstream.client_version);
    let target = upstream_target(&gateway.base_path, suffix, default_query.as_deref().or(query));
    let extra: Vec<&str> = gateway.config.headers.pass.iter().collect();
    let Ok(outgoing) = Outgoing::new(head, target, &gateway.origin, &extra, body, is_responses) else {
        return Err(HttpError::BadRequest("a header cannot be passed on"));
    };
    let mut call = Call::new(gateway, client, outgoing, caller.tenant.id);
    call.catalogue_for_openai = default_query.is_some();
    Ok(run(&mut call, &caller, head).await)
}

async fn run(call: &mut Call<'_>, caller: &Caller, head: &RequestHead) -> Then {
    let began = clock::monotonic();
    let request = admit(caller, head, &call.outgoing).await;
    let first = call.gateway.step(|env| Turn::start(request, env));
    match drive(call, first).await {
        Driven::Ended(outcome, turn) => {
            let then = call.end(outcome).await;
            report::request(call, caller, head, &turn, report::End::of(outcome, then), began);
            then
        }
        Driven::ClientLeft(turn) => {
            report::request(call, caller, head, &turn, report::End::ClientLeft, began);
            Then::Abort
        }
        Driven::Fault => call.end(Outcome::Broken).await,
    }
}
