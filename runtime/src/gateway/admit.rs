//! From a client's bytes to an admitted request: signals, keys, model (K1 to K5).

use std::sync::Arc;

use homing_core::fleet::ModelId;
use homing_core::key::{Keys, SignalKind};
use homing_core::turn::Request;
use smol::lock::Semaphore;

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
const DECODED_INLINE: usize = 16 << 10;
/// Large compressed bodies decoded at once; further ones wait. A decoded body may have 64 MiB whatever its compressed size,
/// and is memory beyond the budget of the bodies themselves (W5).
const DECODERS: usize = 4;

static DECODING: Semaphore = Semaphore::new(DECODERS);

/// The request as the machine takes it. Only Responses calls name sessions; other calls take the pool's strategy.
pub(super) async fn admit(caller: &Caller, head: &RequestHead, outgoing: &Outgoing) -> Request {
    let began = now();
    let (keys, model) = match outgoing.is_responses {
        true => read(&caller.tenant.scope, &head.headers, outgoing).await,
        false => (Keys::default(), None),
    };
    Request { keys, model, repeatable: outgoing.repeatable, ..Request::new(caller.tenant.id, began) }
}

async fn read(scope: &Arc<str>, headers: &Headers, outgoing: &Outgoing) -> (Keys, Option<ModelId>) {
    let large = outgoing.body().len() > DECODED_INLINE && headers.count("content-encoding") > 0;
    let Some(body) = outgoing.shared_body().filter(|_| large) else {
        return identity(scope, headers, outgoing.body());
    };
    let (scope, headers) = (Arc::clone(scope), headers.clone());
    let permit = DECODING.acquire().await;
    smol::unblock(move || {
        // Held by the work, not by the waiting: a client that leaves does not end what was begun.
        let _permit = permit;
        identity(&scope, &headers, &body)
    })
    .await
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

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use smol::future::poll_once;

    use super::*;
    use crate::http::{Body, MemoryBudget, Origin, Version};

    /// A turn of more bytes than are decoded inline, compressed so far as nothing can be.
    fn compressed() -> (RequestHead, Outgoing) {
        let noise: String =
            (0..4 * DECODED_INLINE).map(|_| char::from(b'a' + (crate::entropy::jitter() % 26) as u8)).collect();
        let text = format!("{{\"session_id\":\"s\",\"model\":\"m\",\"input\":\"{noise}\"}}");
        let body = Body::new(zstd::encode_all(text.as_bytes(), 1).unwrap(), MemoryBudget::new(0).reservation());
        assert!(body.len() > DECODED_INLINE);
        let mut headers = Headers::new();
        headers.push("content-encoding", "zstd").unwrap();
        let (method, target) = ("POST".to_owned(), "/v1/responses".to_owned());
        let head = RequestHead { method, target, version: Version::Http11, headers };
        let origin = Origin::of_url(&"http://127.0.0.1".parse().unwrap()).unwrap();
        let outgoing = Outgoing::new(&head, "/responses".into(), &origin, &[], Some(body), true).unwrap();
        (head, outgoing)
    }

    #[test]
    fn only_so_many_large_bodies_are_decoded_at_once() {
        smol::block_on(async {
            let (head, outgoing) = compressed();
            let mut busy = Vec::new();
            for _ in 0..DECODERS {
                busy.push(DECODING.acquire().await);
            }
            let scope: Arc<str> = "scope".into();
            let mut reading = pin!(read(&scope, &head.headers, &outgoing));
            assert!(poll_once(&mut reading).await.is_none());
            drop(busy);
            let (keys, model) = reading.await;
            assert_eq!((keys.iter().count(), model), (1, Some(ModelId::of("m"))));
        });
    }
}
