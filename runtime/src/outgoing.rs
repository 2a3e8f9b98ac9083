//! Our own outgoing calls: surf over a small HTTP client of ours, which is async-h1's codec on our connector. The only file
//! that knows either.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use async_trait::async_trait;
use http_client::{HttpClient, Request, Response};
use smol::future::FutureExt as _;
use smol::io::AsyncReadExt as _;

use crate::http::{Connector, Origin};

/// Limit for name, TCP and TLS together.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

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
            let mut body = Vec::new();
            let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
            response.take_body().into_reader().take(limit).read_to_end(&mut body).await?;
            if body.len() > most {
                return Err(surf::Error::from_str(surf::StatusCode::BadGateway, "the answer is too large"));
            }
            Ok((u16::from(response.status()), body))
        };
        // The decoder panics on some hostile heads; that is an answer that never came.
        let panicked = |_| Err(surf::Error::from_str(surf::StatusCode::BadGateway, "the answer is malformed"));
        AssertUnwindSafe(exchange).catch_unwind().await.unwrap_or_else(panicked)
    }
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
