//! One request: routed, judged, logged, answered.

use std::sync::Arc;

use super::answers;
use super::behaviour::Behaviour;
use super::body::decode;
use super::catalogue;
use super::connection::{Connection, Head, ReadError};
use super::control;
use super::failures;
use super::log::{Outcome, Seen};
use super::oauth;
use super::play::Player;
use super::registry::Identity;
use super::reply::{Action, Answer};
use super::rules::Orders;
use super::state::State;

enum Route {
    Control,
    Token,
    Responses,
    Models,
    Upgrade,
    Unknown,
}

impl Route {
    fn of(head: &Head) -> Self {
        if head.path.starts_with("/_script/") {
            return Self::Control;
        }
        if head.path == oauth::PATH && head.method == "POST" {
            return Self::Token;
        }
        let prefixes = ["/backend-api/codex", "/v1"];
        let rest = prefixes.iter().find_map(|prefix| head.path.strip_prefix(prefix)).unwrap_or_default();
        match (head.method.as_str(), rest) {
            ("POST", "/responses" | "/responses/compact") => Self::Responses,
            ("GET", "/responses") if head.all("upgrade").any(|u| u.eq_ignore_ascii_case("websocket")) => Self::Upgrade,
            ("GET" | "HEAD", "/models") => Self::Models,
            _ => Self::Unknown,
        }
    }
}

/// Serves the request with this head. Returns whether the connection can carry another one.
pub(super) async fn serve(state: &State, connection: &mut Connection, head: &Head) -> Result<bool, ReadError> {
    let route = Route::of(head);
    let mut request = Request { state, head, account: None, orders: Orders::default(), violations: Vec::new() };
    let refusal = match route {
        Route::Control => return control::serve(state, connection, head).await,
        Route::Token | Route::Unknown => None,
        Route::Upgrade => Some(Answer::empty(426).with("upgrade", "HTTP/1.1")),
        Route::Responses | Route::Models => request.admit().err().map(|answer| *answer),
    };
    if let Some(early @ Behaviour::EarlyAnswer { .. }) = &request.orders.outcome {
        let action = failures::plain(early, "").unwrap_or(Action::Reset);
        return request.answer_early(connection, action).await;
    }
    let raw: Arc<[u8]> = match connection.body(head).await {
        Ok(raw) => raw.into(),
        Err(error) => {
            request.log(connection, Arc::from([]), None, Outcome::ClientLeft { events: 0 });
            return Err(error);
        }
    };
    let body = decode(&raw, head.single("content-encoding"));
    let action = match (refusal, route) {
        (Some(answer), _) => answer.into(),
        (None, Route::Token) => request.token(body.as_deref()),
        (None, Route::Responses) => request.responses(body.as_deref()),
        (None, Route::Models) => request.models(),
        (None, _) => Answer::empty(404).into(),
    };
    let number = request.log(connection, raw, body, Outcome::Open);
    request.play(connection, action, number).await
}

struct Request<'a> {
    state: &'a State,
    head: &'a Head,
    account: Option<Identity>,
    orders: Orders,
    violations: Vec<String>,
}

impl Request<'_> {
    /// Authenticates and takes the orders of the account.
    fn admit(&mut self) -> Result<(), Box<Answer>> {
        let identity = super::auth::authenticate(self.state, self.head)?;
        self.take_orders(&identity.name);
        self.account = Some(identity);
        Ok(())
    }

    fn take_orders(&mut self, account: &str) {
        self.orders = self.state.with(|inner| inner.rules.take(account, &self.head.path));
    }

    fn token(&mut self, body: Option<&[u8]>) -> Action {
        let token = body.and_then(oauth::refresh_token);
        self.account = token.as_deref().and_then(|t| self.state.with(|inner| inner.registry.by_refresh(t)));
        let name = self.account.as_ref().map(|a| a.name.clone()).unwrap_or_default();
        self.take_orders(&name);
        oauth::redeem(self.state, token.as_deref(), self.orders.outcome.as_ref())
    }

    fn responses(&mut self, body: Option<&[u8]>) -> Action {
        let Some(who) = &self.account else { return Answer::empty(500).into() };
        answers::respond(self.state, self.head, who, body, &self.orders, &mut self.violations)
    }

    fn models(&self) -> Action {
        let plan = self.account.as_ref().map_or("", |a| a.plan.as_str());
        let failure = self.orders.outcome.as_ref().and_then(|o| failures::plain(o, plan));
        failure.unwrap_or_else(|| answers::whole(catalogue::models(self.head), &self.orders).into())
    }

    fn log(&mut self, connection: &Connection, raw: Arc<[u8]>, body: Option<Arc<[u8]>>, outcome: Outcome) -> u64 {
        let seen = Seen {
            number: 0,
            connection: connection.number,
            on_connection: connection.requests,
            method: self.head.method.clone(),
            path: self.head.path.clone(),
            query: self.head.query.clone(),
            headers: self.head.headers.clone(),
            body: body.unwrap_or_else(|| Arc::from([])),
            raw_body: raw,
            account: self.account.as_ref().map(|a| a.name.clone()),
            violations: std::mem::take(&mut self.violations),
            outcome,
        };
        self.state.with(|inner| inner.log.push(seen))
    }

    async fn play(&self, connection: &mut Connection, action: Action, number: u64) -> Result<bool, ReadError> {
        let mut player = Player::new(self.state, connection, &self.orders.manners);
        player.chunked = self.head.minor == 1;
        player.keep_alive = self.head.keeps_alive() && player.chunked;
        player.head_only = self.head.method == "HEAD";
        let keep_alive = player.keep_alive;
        let outcome = player.play(action).await;
        self.state.with(|inner| inner.log.end(number, outcome));
        Ok(keep_alive && matches!(outcome, Outcome::Answered { .. }))
    }

    /// Answers before the body was read, then lets the client finish sending.
    async fn answer_early(&mut self, connection: &mut Connection, action: Action) -> Result<bool, ReadError> {
        let number = self.log(connection, Arc::from([]), None, Outcome::Open);
        let mut player = Player::new(self.state, connection, &self.orders.manners);
        player.keep_alive = false;
        let outcome = player.play(action).await;
        self.state.with(|inner| inner.log.end(number, outcome));
        // Closing with unread bytes would reset the connection and could take the answer with it.
        let _ = connection.stream.shutdown(std::net::Shutdown::Write);
        connection.drain().await;
        Ok(false)
    }
}
