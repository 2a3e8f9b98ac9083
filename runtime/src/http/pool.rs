//! Keep-alive connections to upstreams.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};
use std::time::Instant;

use smol::io::AsyncRead;

use super::body_reader::BodyReader;
use super::buffer;
use super::client::{Answer, Conn, Deadlines, Exchange, Failure, SendError, coalesce, converse, write_head};
use super::connect::Connector;
use super::framing::response_framing;
use super::head::RequestHead;
use super::limits::PoolLimits;
use super::origin::Origin;
use crate::clock;

/// Sends requests to upstreams over connections that are kept for the next one. Cloning gives another handle.
#[derive(Clone)]
pub struct Pool {
    shelf: Arc<Shelf>,
    connector: Connector,
}

/// The idle connections, most recently used last.
pub(crate) struct Shelf {
    idle: Mutex<HashMap<Origin, Vec<Idle>>>,
    limits: PoolLimits,
}

struct Idle {
    conn: Box<Conn>,
    since: Instant,
}

impl Pool {
    /// An empty pool.
    pub fn new(connector: Connector, limits: PoolLimits) -> Self {
        Self { shelf: Arc::new(Shelf { idle: Mutex::default(), limits }), connector }
    }

    /// Sends a request and waits for the head of the final response.
    ///
    /// The version, framing fields, `Expect` and `TE` of `head` do not go out; `Host` is added if it is missing.
    /// A kept connection that breaks before it gave a byte was most likely closed by the upstream while it was idle:
    /// the request is sent once more on a fresh one, if it is `repeatable` or none of it had gone out.
    ///
    /// Dropping the future, or the exchange, closes the connection at once (R5).
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn send(
        &self,
        origin: &Origin,
        head: &RequestHead,
        body: &[u8],
        repeatable: bool,
        deadlines: &Deadlines,
    ) -> Result<Exchange, SendError> {
        let mut out = buffer::take_output();
        write_head(&mut out, origin, head, body.len())?;
        let (out, rest) = coalesce(out, body);
        let to_head = head.method == "HEAD";
        if let Some(conn) = self.shelf.take(origin) {
            match self.exchange(conn, origin, (&out, rest), to_head, deadlines).await {
                Ok(exchange) => {
                    buffer::give_output(out);
                    return Ok(exchange);
                }
                Err(Failure { error: SendError::Reset { bytes_sent, .. }, answered: false })
                    if repeatable || !bytes_sent => {}
                Err(failure) => return Err(failure.error),
            }
        }
        let conn = Box::new(Conn::new(self.connector.connect(origin, deadlines.connect).await?));
        let exchange = self.exchange(conn, origin, (&out, rest), to_head, deadlines).await.map_err(|f| f.error)?;
        buffer::give_output(out);
        Ok(exchange)
    }

    async fn exchange(
        &self,
        mut conn: Box<Conn>,
        origin: &Origin,
        (first, rest): (&[u8], &[u8]),
        to_head: bool,
        deadlines: &Deadlines,
    ) -> Result<Exchange, Failure> {
        let Answer { head, request_complete } =
            converse(&mut conn, origin, first, rest, deadlines, &self.shelf.limits).await?;
        let (framing, keep_alive) = response_framing(&head, to_head).map_err(|reason| Failure {
            error: SendError::BadResponse { origin: origin.to_string(), reason },
            answered: true,
        })?;
        let body = BodyReader::new(
            conn,
            origin.clone(),
            Arc::downgrade(&self.shelf),
            framing,
            keep_alive && request_complete,
            deadlines.body_idle,
        );
        Ok(Exchange { head, body })
    }

    /// The connector, for streams that are not pooled.
    pub fn connector(&self) -> &Connector {
        &self.connector
    }

    /// Idle connections kept for `origin`.
    pub fn idle(&self, origin: &Origin) -> usize {
        self.shelf.lock().get(origin).map_or(0, Vec::len)
    }

    /// Closes the idle connections that are too old. Old ones are never used; calling this now and then merely frees
    /// their sockets earlier.
    pub fn reap(&self) {
        let now = clock::monotonic();
        let limits = &self.shelf.limits;
        self.shelf.lock().retain(|_, idle| {
            idle.retain(|i| now.saturating_duration_since(i.since) < limits.idle_age);
            !idle.is_empty()
        });
    }
}

impl Shelf {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Origin, Vec<Idle>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection used last that is neither too old nor visibly closed.
    fn take(&self, origin: &Origin) -> Option<Box<Conn>> {
        let now = clock::monotonic();
        loop {
            let mut idle = self.lock().get_mut(origin)?.pop()?;
            if now.saturating_duration_since(idle.since) < self.limits.idle_age && is_quiet(&mut idle.conn) {
                return Some(idle.conn);
            }
        }
    }

    pub(crate) fn put(&self, origin: &Origin, mut conn: Box<Conn>) {
        // An idle connection wakes nobody and holds no buffer.
        conn.deadline.clear();
        conn.input.release();
        let since = clock::monotonic();
        let mut all = self.lock();
        let kept = match all.get_mut(origin) {
            Some(kept) => kept,
            None => all.entry(origin.clone()).or_default(),
        };
        if kept.len() >= self.limits.idle_per_origin {
            // The oldest is the likeliest to be closed by the upstream soon.
            kept.remove(0);
        }
        if self.limits.idle_per_origin > 0 {
            kept.push(Idle { conn, since });
        }
    }
}

/// Whether an idle connection is still open and silent. Anything to read, its end included, makes it useless.
fn is_quiet(conn: &mut Conn) -> bool {
    let mut byte = [0];
    Pin::new(&mut conn.stream).poll_read(&mut Context::from_waker(Waker::noop()), &mut byte).is_pending()
}
