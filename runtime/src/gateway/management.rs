//! The management API on the data port, where `admin.management-on-data-port` asks for it (T5): read and written by our
//! codec, answered by the same gate and handlers as on the admin listener.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use http_types::{Method, Request, Response};
use smol::io::AsyncReadExt as _;

use super::call::Client;
use super::local::{self, Then};
use super::state::Gateway;
use crate::admin::{self, Control, Gate, Presented};
use crate::clock;
use crate::http::{Headers, HttpError, RequestHead};
use crate::wire::answer::Answer;

/// Largest request body, as on the admin listener.
const BODY_MAX: usize = 64 << 10;

/// What the data port needs to answer management requests.
pub(super) struct Management {
    pub(super) gate: Gate,
    pub(super) control: Arc<dyn Control>,
}

/// Answers a management request, or says that there is no such route where the data port does not serve them.
pub(super) async fn answer(gateway: &Gateway, client: &mut Client, head: &RequestHead) -> Result<Then, HttpError> {
    let Some(management) = gateway.management.get() else {
        return Ok(local::answer(client, &Answer::not_found()).await);
    };
    let peer = client.stream().peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
    let keys = keys(&head.headers);
    let presented = Presented {
        peer,
        host: head.headers.get_str("host").unwrap_or_default(),
        origin: head.headers.get_str("origin"),
        keys: &keys,
    };
    let response = match management.gate.admit(&presented, clock::monotonic()) {
        Err(refused) => refused.response(),
        Ok(()) => {
            let body = client.read_body(BODY_MAX, &gateway.budget).await?;
            match request(head, &body) {
                Some(request) => admin::handle(management.control.as_ref(), request).await,
                None => return Ok(local::answer(client, &Answer::not_found()).await),
            }
        }
    };
    Ok(local::answer(client, &taken(response).await).await)
}

/// Every key in the request.
fn keys(headers: &Headers) -> Vec<String> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).trim().to_owned();
    let bearer = headers.get_all("authorization").filter_map(|value| {
        let value = text(value);
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim().to_owned())
    });
    bearer.chain(headers.get_all("x-admin-key").map(text)).collect()
}

fn request(head: &RequestHead, body: &[u8]) -> Option<Request> {
    let method: Method = head.method.parse().ok()?;
    // The host stands for nothing here: the gate has seen the real one.
    let url = http_types::Url::parse("http://homing").ok()?.join(&head.target).ok()?;
    let mut request = Request::new(method, url);
    request.set_body(body);
    request.set_content_type(http_types::mime::JSON);
    Some(request)
}

async fn taken(mut response: Response) -> Answer {
    let mut body = Vec::new();
    if response.take_body().into_reader().read_to_end(&mut body).await.is_err() {
        return Answer::bad_gateway();
    }
    let mut headers = vec![("content-type", "application/json".to_owned())];
    for name in ["allow", "retry-after", "www-authenticate", "cache-control"] {
        headers.extend(response.header(name).map(|values| (name, values.last().to_string())));
    }
    Answer { status: u16::from(response.status()), headers, body }
}
