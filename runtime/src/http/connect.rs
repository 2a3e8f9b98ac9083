//! Connections to an upstream: name, TCP, TLS, within one time limit.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_rustls::client::TlsStream;
use smol::io::{AsyncRead, AsyncWrite};
use smol::net::TcpStream;

use super::origin::{Origin, Scheme};
use super::tls::{ClientTls, server_name};
use crate::clock;

/// Why there is no connection; nothing was sent. The host's fault, no account's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The name does not resolve.
    #[error("{host} cannot be resolved ({kind:?}); check the name and the DNS of this machine")]
    Resolve {
        /// The host.
        host: String,
        /// What went wrong.
        kind: io::ErrorKind,
    },
    /// None of the addresses takes a connection; the last error.
    #[error("cannot connect to {origin}, {tried} address(es) tried, the last said {kind:?}")]
    Tcp {
        /// The origin.
        origin: String,
        /// Addresses tried.
        tried: usize,
        /// What the last one said.
        kind: io::ErrorKind,
    },
    /// The TLS handshake failed.
    #[error("the TLS handshake with {origin} failed: {reason}")]
    Tls {
        /// The origin.
        origin: String,
        /// What rustls says.
        reason: String,
    },
    /// It took too long.
    #[error("no connection to {origin} within {} s", .after.as_secs_f32())]
    Timeout {
        /// The origin.
        origin: String,
        /// The limit.
        after: Duration,
    },
    /// The origin is https and this connector has no TLS.
    #[error("{origin} needs TLS and none is set up; use an http origin or give root certificates")]
    NoTls {
        /// The origin.
        origin: String,
    },
}

/// Makes connections to upstreams, for the pool and for everything that speaks over a raw stream (WebSocket).
#[derive(Debug, Clone)]
pub struct Connector {
    tls: Option<ClientTls>,
}

impl Connector {
    /// A connector for http and, with `tls`, https.
    pub fn new(tls: Option<ClientTls>) -> Self {
        Self { tls }
    }

    /// A connection to `origin` without Nagle, TLS done, within `limit` for everything together.
    ///
    /// All addresses of the name are tried one after the other; each gets an equal share of the time that is left, so
    /// that one that swallows packets does not use up the time of the others.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(&self, origin: &Origin, limit: Duration) -> Result<UpstreamStream, ConnectError> {
        let tls = match (origin.scheme(), &self.tls) {
            (Scheme::Http, _) => None,
            (Scheme::Https, Some(tls)) => Some(tls),
            (Scheme::Https, None) => return Err(ConnectError::NoTls { origin: origin.to_string() }),
        };
        let started = clock::monotonic();
        clock::within(limit, async {
            let stream = dial(origin, started, limit).await?;
            match tls {
                None => Ok(UpstreamStream::Tcp(stream)),
                Some(tls) => handshake(tls, origin, stream).await,
            }
        })
        .await
        .unwrap_or_else(|| Err(ConnectError::Timeout { origin: origin.to_string(), after: limit }))
    }
}

async fn dial(origin: &Origin, started: Instant, limit: Duration) -> Result<TcpStream, ConnectError> {
    let unresolved = |kind| ConnectError::Resolve { host: origin.host().to_owned(), kind };
    let addresses =
        smol::net::resolve((origin.host(), origin.port())).await.map_err(|error| unresolved(error.kind()))?;
    let mut last = None;
    for (index, address) in addresses.iter().enumerate() {
        let spent = clock::monotonic().saturating_duration_since(started);
        let share = limit.saturating_sub(spent) / u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
        match dial_one(*address, share).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error.kind()),
        }
    }
    match last {
        Some(kind) => Err(ConnectError::Tcp { origin: origin.to_string(), tried: addresses.len(), kind }),
        None => Err(unresolved(io::ErrorKind::NotFound)),
    }
}

async fn dial_one(address: SocketAddr, share: Duration) -> io::Result<TcpStream> {
    let stream =
        clock::within(share, TcpStream::connect(address)).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn handshake(tls: &ClientTls, origin: &Origin, stream: TcpStream) -> Result<UpstreamStream, ConnectError> {
    let failed = |reason: String| ConnectError::Tls { origin: origin.to_string(), reason };
    let name = server_name(origin.host()).map_err(|error| failed(error.to_string()))?;
    let stream = tls.connector().connect(name, stream).await.map_err(|error| failed(error.to_string()))?;
    Ok(UpstreamStream::Tls(Box::new(stream)))
}

/// A connected stream to an upstream.
#[derive(Debug)]
pub enum UpstreamStream {
    /// Plain TCP.
    Tcp(TcpStream),
    /// TLS over TCP.
    Tls(Box<TlsStream<TcpStream>>),
}

impl UpstreamStream {
    /// The socket below.
    pub fn tcp(&self) -> &TcpStream {
        match self {
            Self::Tcp(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }
}

impl AsyncRead for UpstreamStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, room),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, room),
        }
    }
}

impl AsyncWrite for UpstreamStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_close(cx),
            Self::Tls(stream) => Pin::new(stream).poll_close(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_to_an_upstream_has_no_nagle() {
        smol::block_on(async {
            let listener = smol::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let origin = Origin::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
            let stream = Connector::new(None).connect(&origin, Duration::from_secs(10)).await.unwrap();
            assert!(stream.tcp().nodelay().unwrap());
        });
    }

    #[test]
    fn a_handshake_that_never_ends_runs_into_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let ca = dir.path().join("ca.pem");
        std::fs::write(&ca, made.cert.pem()).unwrap();
        smol::block_on(async {
            // The kernel accepts; nobody ever speaks.
            let listener = smol::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let origin = Origin::new(Scheme::Https, "127.0.0.1", listener.local_addr().unwrap().port()).unwrap();
            let limit = Duration::from_millis(50);
            let connector = Connector::new(Some(ClientTls::only(&ca).unwrap()));
            let error = connector.connect(&origin, limit).await.unwrap_err();
            assert_eq!(error, ConnectError::Timeout { origin: origin.to_string(), after: limit });
        });
    }
}
