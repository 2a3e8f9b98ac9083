//! Our own outgoing calls: surf over a small HTTP client of ours, which is async-h1's codec on our connector. The only file
//! that knows either.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use async_trait::async_trait;
use http_client::{HttpClient, Request, Response};
use smol::future::FutureExt as _;
use smol::io::{AsyncRead, AsyncReadExt as _};
use zeroize::Zeroize as _;

use crate::http::{Connector, Origin};

/// Limit for name, TCP and TLS together.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Bytes of an answer read at once.
const PIECE: usize = 16 << 10;

/// The call failed before a byte of it was sent: it is safe to repeat.
#[derive(Debug, thiserror::Error)]
#[error("no connection: {0}")]
pub struct NotSent(String);

/// A client for calls of our own: token refresh and the like. Cheap to clone.
#[derive(Clone)]
pub struct Outgoing(surf::Client);

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outgoing")
    }
}

impl Outgoing {
    /// A client over this connector.
    pub fn new(connector: Connector) -> Self {
        Self(surf::Client::with_http_client(Codec(connector)))
    }

    /// Sends a request and reads the whole answer, at most `most` bytes of body: status and body.
    ///
    /// # Errors
    /// [`NotSent`] (to be had by `downcast_ref`) where no connection was made; anything else leaves open whether the peer
    /// took the request.
    pub async fn call(&self, request: surf::Request, most: usize) -> surf::Result<(u16, Vec<u8>)> {
        let exchange = async {
            let mut response = self.0.send(request).await?;
            let stated = response.header("content-length").and_then(|length| length.as_str().parse::<usize>().ok());
            let body = read(response.take_body().into_reader(), most).await?;
            // The decoder takes a body that was cut short for a whole one.
            if stated.is_some_and(|stated| stated > body.len()) && !is_json(&body) {
                return Err(bad("the answer was cut short"));
            }
            Ok((u16::from(response.status()), body))
        };
        // The decoder panics on some hostile heads; that is an answer that never came.
        let panicked = |_| Err(bad("the answer is malformed"));
        AssertUnwindSafe(exchange).catch_unwind().await.unwrap_or_else(panicked)
    }
}

/// The body, up to its end or to the end of a whole JSON object: where a chunked body's last line end arrives in two
/// pieces, the decoder never notices the end.
async fn read(mut reader: impl AsyncRead + Unpin, most: usize) -> surf::Result<Vec<u8>> {
    let (mut body, mut piece) = (Vec::new(), vec![0; PIECE]);
    loop {
        let length = reader.read(&mut piece).await?;
        body.extend_from_slice(&piece[..length]);
        piece[..length].zeroize();
        if body.len() > most {
            return Err(bad("the answer is too large"));
        }
        if length == 0 || is_json(&body) {
            return Ok(body);
        }
    }
}

fn is_json(body: &[u8]) -> bool {
    body.ends_with(b"}") && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

fn bad(why: &'static str) -> surf::Error {
    surf::Error::from_str(surf::StatusCode::BadGateway, why)
}

/// async-h1 on our connector, one connection a call.
struct Codec(Connector);

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Codec")
    }
}

#[async_trait]
impl HttpClient for Codec {
    async fn send(&self, request: Request) -> Result<Response, http_client::Error> {
        let not_sent = |why: String| http_client::Error::new(surf::StatusCode::BadGateway, NotSent(why));
        let origin = Origin::of_url(request.url()).map_err(|e| not_sent(e.to_string()))?;
        let stream = self.0.connect(&origin, CONNECT_LIMIT).await.map_err(|e| not_sent(e.to_string()))?;
        async_h1::connect(stream, request).await
    }
}
