//! Serves the management API with async-h1's codec. The only file that serves with async-h1.
//!
//! Every connection carries one request: [`guard`] reads it whole, async-h1 decodes it from memory and
//! encodes the answer into memory, and the connection is closed.

use std::{
    io,
    net::SocketAddr,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use async_h1::server::{Encoder, decode};
use http_types::{Method, Request, Response, StatusCode};
use smol::{
    future::FutureExt,
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Cursor},
    lock::Semaphore,
    net::TcpListener,
};

use super::{Control, Gate, OwnerSocket, Presented, error_response, guard, handle};
use crate::{clock, config::Config, os};

/// Most management connections at once on one listener; further ones wait.
const MOST_CONNECTIONS: usize = 64;
/// Limit for the gateway to answer, and again for the peer to take the answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How long, and how much in bytes, of an unread request is taken off the wire so that the answer is not lost.
const LINGER: (Duration, u64) = (Duration::from_secs(1), 256 * 1024);

/// The admin listener could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("admin.address: {address} cannot be opened ({error}); stop what uses it or choose another address")]
pub struct ListenError {
    /// The address.
    pub address: SocketAddr,
    /// What the system said.
    pub error: io::Error,
}

/// Opens the admin listener with its gate. `None` where no admin key is set: the API then has no TCP port.
///
/// # Errors
/// Where the address is in use or not ours.
pub async fn listen(config: &Config) -> Result<Option<(TcpListener, Gate)>, ListenError> {
    let address = config.admin.address;
    let Some(key) = &config.admin.key else {
        tracing::info!(%address, "admin.key is not set: the management API has no TCP port, only state.socket");
        return Ok(None);
    };
    let listener = TcpListener::bind(address).await.map_err(|error| ListenError { address, error })?;
    Ok(Some((listener, Gate::new(key, config.admin.hosts.iter()))))
}

/// Serves the admin listener until the future is dropped.
pub async fn serve(listener: TcpListener, gate: Arc<Gate>, control: Arc<dyn Control>) {
    let permits = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let permit = permits.acquire_arc().await;
        match listener.accept().await {
            Ok((stream, peer)) => {
                let _ = stream.set_nodelay(true);
                let (gate, control) = (Arc::clone(&gate), Arc::clone(&control));
                let admitted = async move {
                    connection(stream, Some((gate, peer)), control).await;
                    drop(permit);
                };
                os::spawn(admitted).detach();
            }
            Err(error) => accept_failed(&error).await,
        }
    }
}

/// Serves the command line's socket until the future is dropped.
pub async fn serve_owner(socket: &OwnerSocket, control: Arc<dyn Control>) {
    let permits = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let permit = permits.acquire_arc().await;
        match socket.accept().await {
            Ok(stream) => {
                let control = Arc::clone(&control);
                let admitted = async move {
                    connection(stream, None, control).await;
                    drop(permit);
                };
                os::spawn(admitted).detach();
            }
            Err(error) => accept_failed(&error).await,
        }
    }
}

/// Out of file descriptors, most likely: trying again at once would only burn the processor.
async fn accept_failed(error: &io::Error) {
    tracing::warn!(%error, "a management connection could not be accepted");
    clock::sleep(Duration::from_millis(100)).await;
}

/// Answers the one request of a connection. Without a gate everyone who got this far may ask.
async fn connection<S>(mut stream: S, gate: Option<(Arc<Gate>, SocketAddr)>, control: Arc<dyn Control>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let (method, response) = match guard::read(&mut stream).await {
        Ok(None) => return,
        Err(refused) => (Method::Get, error_response(refused.status, "bad_request", refused.text)),
        Ok(Some(whole)) => (whole.method, admitted(whole, gate, control.as_ref()).await),
    };
    let written = clock::within(ANSWER_LIMIT, write(&mut stream, method, response)).await;
    if let Some(Ok(())) = written {
        let (limit, most) = LINGER;
        clock::within(limit, smol::io::copy((&mut stream).take(most), smol::io::sink())).await;
    }
}

/// The answer to a request that is safe to decode.
async fn admitted(whole: guard::Whole, gate: Option<(Arc<Gate>, SocketAddr)>, control: &dyn Control) -> Response {
    if let Some((gate, peer)) = gate {
        let (host, origin, keys) = (&whole.host, whole.origin.as_deref(), &whole.keys);
        let presented = Presented { peer: peer.ip(), host, origin, keys };
        if let Err(refused) = gate.admit(&presented, clock::monotonic()) {
            tracing::warn!(peer = %peer.ip(), reason = %refused, "a management request was refused");
            return refused.response();
        }
    }
    let answer = async {
        match decoded(whole.bytes).await {
            Some(request) => handle(control, request).await,
            None => error_response(StatusCode::BadRequest, "bad_request", "not an HTTP request; check Host and target"),
        }
    };
    match clock::within(ANSWER_LIMIT, AssertUnwindSafe(answer).catch_unwind()).await {
        Some(Ok(response)) => response,
        Some(Err(_)) => {
            tracing::error!("a management request panicked; this is a defect of homing");
            error_response(StatusCode::InternalServerError, "internal", "this is a defect of homing; see its log")
        }
        None => error_response(StatusCode::ServiceUnavailable, "unavailable", "the gateway is too busy; ask again"),
    }
}

/// Decodes a request that the guard let through; `None` where the decoder knows better.
pub(super) async fn decoded(bytes: Vec<u8>) -> Option<Request> {
    decode(Memory::new(bytes)).await.ok().flatten().map(|(request, _)| request)
}

/// Writes the answer and says that nothing follows.
async fn write<S: AsyncWrite + Unpin>(stream: &mut S, method: Method, mut response: Response) -> io::Result<()> {
    response.insert_header("connection", "close");
    let mut bytes = Vec::new();
    Encoder::new(response, method).read_to_end(&mut bytes).await?;
    stream.write_all(&bytes).await?;
    stream.flush().await?;
    stream.close().await
}

/// A request in memory in the shape that async-h1 reads from. Nothing is written to it: that would be the interim
/// answer to `Expect`, which the guard refuses.
#[derive(Clone)]
struct Memory(Arc<Mutex<Cursor<Vec<u8>>>>);

impl Memory {
    fn new(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(Cursor::new(bytes))))
    }
}

impl AsyncRead for Memory {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut cursor = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Pin::new(&mut *cursor).poll_read(context, buffer)
    }
}

impl AsyncWrite for Memory {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
