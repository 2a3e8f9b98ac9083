//! What a connection from a client must be able to do, and the sockets that can.

use std::io;
use std::time::Duration;

use futures_rustls::server::TlsStream;
use smol::io::{AsyncRead, AsyncWrite};
use smol::net::TcpStream;

/// A byte stream from a client.
pub trait Transport: AsyncRead + AsyncWrite + Unpin + Send {
    /// Makes the coming close a visible break (W2): on TCP a reset instead of a FIN. Does nothing where the
    /// transport has no such thing; the missing end of a chunked body is the sign then.
    fn break_on_close(&self);
}

impl Transport for TcpStream {
    fn break_on_close(&self) {
        // Fails only on a socket that is already dead, which is as visible as it gets.
        let _ = socket2::SockRef::from(self).set_linger(Some(Duration::ZERO));
    }
}

#[cfg(unix)]
impl Transport for smol::net::unix::UnixStream {
    fn break_on_close(&self) {}
}

impl<S: Transport> Transport for TlsStream<S> {
    fn break_on_close(&self) {
        self.get_ref().0.break_on_close();
    }
}

/// Prepares an accepted TCP connection: no Nagle, so that no event waits for the one before (W3).
///
/// # Errors
/// The socket is already dead.
pub fn prepare_tcp(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use smol::net::TcpListener;

    /// Two ends of one TCP connection: the client's, the server's.
    pub(crate) async fn tcp_pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (client, accepted) = smol::future::zip(TcpStream::connect(addr), listener.accept()).await;
        let server = accepted.unwrap().0;
        prepare_tcp(&server).unwrap();
        (client.unwrap(), server)
    }

    #[test]
    fn an_accepted_connection_has_no_nagle() {
        let (_client, server) = smol::block_on(tcp_pair());
        assert!(server.nodelay().unwrap());
    }
}
