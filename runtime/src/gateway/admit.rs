//! From a client's bytes to an admitted request: signals, keys, model (K1 to K5).

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

/// The request as the machine takes it. Only Responses calls name sessions; other calls take the pool's strategy.
pub(super) fn admit(caller: &Caller, head: &RequestHead, outgoing: &Outgoing) -> Request {
    let mut request = Request {
        tenant: caller.tenant.id,
        keys: Keys::default(),
        model: None,
        repeatable: outgoing.repeatable,
        pin: None,
        began: now(),
    };
    if outgoing.is_responses {
        let text = decode(head.headers.get_all("content-encoding"), outgoing.body(), Limits::default());
        let fields = body::read(text.text());
        let signals = Signals::read(&head.headers, &fields);
        request.model = fields.model.one().map(ModelId::of);
        request.keys = Keys::session(
            &caller.tenant.scope,
            signals.session().map(|(kind, value)| (strength(kind), value.as_bytes())),
        );
    }
    request
}

const fn strength(kind: SessionKind) -> SignalKind {
    match kind {
        SessionKind::Header => SignalKind::SessionHeader,
        SessionKind::Body => SignalKind::BodySession,
        SessionKind::Conversation => SignalKind::Conversation,
        SessionKind::PromptCacheKey => SignalKind::PromptCacheKey,
    }
}
