//! From a client's bytes to an admitted request: signals, keys, model (K1 to K5).

use std::sync::Arc;

use homing_core::fleet::ModelId;
use homing_core::key::{Keys, SignalKind};
use homing_core::turn::Request;

use super::caller::Caller;
use super::outgoing::Outgoing;
use super::state::now;
use crate::http::{Headers, RequestHead};
use crate::wire::body;
use crate::wire::decode::{Limits, decode};
use crate::wire::headers::HeaderSource;
use crate::wire::signals::{SessionKind, Signals};

impl HeaderSource for Headers {
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.get_all(name)
    }
}

/// A compressed body above this is decoded on a thread that may block: it would keep other requests waiting.
const DECODED_INLINE: usize = 64 << 10;

/// The request as the machine takes it. Only Responses calls name sessions; other calls take the pool's strategy.
pub(super) async fn admit(caller: &Caller, head: &RequestHead, outgoing: &Outgoing) -> Request {
    let began = now();
    let (keys, model) = match outgoing.is_responses {
        true => read(&caller.tenant.scope, &head.headers, outgoing).await,
        false => (Keys::default(), None),
    };
    Request { tenant: caller.tenant.id, keys, model, repeatable: outgoing.repeatable, pin: None, began }
}

async fn read(scope: &Arc<str>, headers: &Headers, outgoing: &Outgoing) -> (Keys, Option<ModelId>) {
    let large = outgoing.body().len() > DECODED_INLINE && headers.count("content-encoding") > 0;
    let Some(body) = outgoing.shared_body().filter(|_| large) else {
        return identity(scope, headers, outgoing.body());
    };
    let (scope, headers) = (Arc::clone(scope), headers.clone());
    smol::unblock(move || identity(&scope, &headers, &body)).await
}

/// What the headers and the body say of the session and the model.
fn identity(scope: &str, headers: &Headers, body: &[u8]) -> (Keys, Option<ModelId>) {
    let text = decode(headers.get_all("content-encoding"), body, Limits::default());
    let fields = body::read(text.text());
    let signals = Signals::read(headers, &fields);
    let values = signals.session().map(|(kind, value)| (strength(kind), value.as_bytes()));
    (Keys::session(scope, values), fields.model.one().map(ModelId::of))
}

const fn strength(kind: SessionKind) -> SignalKind {
    match kind {
        SessionKind::Header => SignalKind::SessionHeader,
        SessionKind::Body => SignalKind::BodySession,
        SessionKind::Conversation => SignalKind::Conversation,
        SessionKind::PromptCacheKey => SignalKind::PromptCacheKey,
    }
}
