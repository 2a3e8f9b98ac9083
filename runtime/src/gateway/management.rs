//! The management API on the data port, where `admin.management-on-data-port` is set (T5): the gate and the answers of the
//! admin listener, carried by the data plane's codec.

use std::net::IpAddr;
use std::str::FromStr as _;
use std::sync::{Arc, Weak};

use http_types::{Method, Request, Response, Url};

use super::call::Client;
use super::local::{self, Then};
use super::state::Gateway;
use crate::admin::{Control, Gate, LARGEST_BODY, Presented, handle};
use crate::clock;
use crate::http::{Headers, HttpError, RequestHead};
use crate::wire::answer::Answer;

/// Who may manage, and what answers. The control belongs to whoever serves: it holds the gateway in its turn.
pub(super) struct Management {
    pub(super) gate: Arc<Gate>,
    pub(super) control: Weak<dyn Control>,
}

/// Answers a management request; as for any unknown route where the data port does not serve them.
pub(super) async fn serve(gateway: &Gateway, client: &mut Client, head: &RequestHead) -> Result<Then, HttpError> {
    let Some(management) = gateway.management.get() else {
        return Ok(local::answer(client, &Answer::not_found()).await);
    };
    let Some(control) = management.control.upgrade() else {
        return Ok(local::answer(client, &Answer::busy("the gateway is stopping")).await);
    };
    // A host or a target that is no URL is none that the gate knows.
    let host = head.headers.get_str("host").unwrap_or_default();
    let origin = head.headers.get("origin").map(String::from_utf8_lossy);
    let presented = Presented { peer: peer(client), host, origin: origin.as_deref(), keys: &keys(&head.headers) };
    if let Err(refused) = management.gate.admit(&presented, clock::monotonic()) {
        tracing::warn!(peer = %presented.peer, reason = %refused, "a management request was refused");
        return Ok(write(client, refused.response()).await);
    }
    let body = client.read_body(LARGEST_BODY, &gateway.budget).await?;
    let response = match request(host, head, &body) {
        Some(request) => handle(control.as_ref(), request).await,
        None => return Ok(local::answer(client, &Answer::not_found()).await),
    };
    Ok(write(client, response).await)
}

/// The address that wrong keys are counted for. One that cannot be told counts with all others of its kind.
fn peer(client: &Client) -> IpAddr {
    client.stream().peer_addr().map_or(IpAddr::from([0, 0, 0, 0]), |address| address.ip())
}

/// Every admin key that is presented, as on the admin listener: an `Authorization` of another scheme is a wrong one.
fn keys(headers: &Headers) -> Vec<String> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).trim().to_owned();
    let bearer = |value: &[u8]| {
        let value = text(value);
        let key = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        key.map(|(_, key)| key.trim().to_owned()).unwrap_or_default()
    };
    let tokens = headers.get_all("authorization").map(bearer);
    headers.get_all("x-admin-key").map(text).chain(tokens).collect()
}

/// The request as the API takes it; `None` where it is none of its own.
fn request(host: &str, head: &RequestHead, body: &[u8]) -> Option<Request> {
    let method = Method::from_str(&head.method).ok()?;
    let url = Url::parse(&format!("http://{host}{}", head.target)).ok()?;
    let mut request = Request::new(method, url);
    request.set_body(body);
    // The header type panics on what is no ASCII.
    let kind = head.headers.get_str("content-type").filter(|kind| kind.is_ascii());
    request.remove_header("content-type");
    if let Some(kind) = kind {
        request.insert_header("content-type", kind);
    }
    Some(request)
}

async fn write(client: &mut Client, mut response: Response) -> Then {
    let mut headers = Headers::new();
    for (name, values) in response.iter() {
        for value in values {
            if headers.push(name.as_str(), value.as_str()).is_err() {
                tracing::error!(%name, "a management answer has a header that cannot be written");
            }
        }
    }
    match response.body_bytes().await {
        Ok(body) => local::write(client, response.status().into(), &headers, &body).await,
        Err(error) => {
            tracing::error!(%error, "a management answer has no body");
            Then::Abort
        }
    }
}
