//! HTTP/1.1 on the wire: heads, framing, connections, TLS, the keep-alive pool.
//!
//! Two ends share one strict codec. [`ServerConn`] speaks to clients over any [`Transport`] (TCP, TLS, a Unix
//! socket); [`Pool`] speaks to upstreams and hands out an [`Exchange`] for each request. Neither guesses: a message
//! whose length could be read in two ways is refused, because two readers that disagree about where a message ends
//! are how requests are smuggled.
//!
//! Names keep their case and order and values their bytes (W5), a piece of a body goes on as soon as it is there
//! (W3), and a body that was cut short never ends cleanly (W2). A connection that waits holds no buffer.
//!
//! A serving loop looks like this:
//!
//! ```text
//! while let Some(head) = conn.next_request().await? {
//!     let body = conn.read_body(max, &budget).await?;
//!     let mut exchange = pool.send(&origin, &outgoing, &body, true, &deadlines).await?;
//!     conn.start_response(exchange.head.status, &exchange.head.headers, BodyKind::Chunked)?;
//!     // select: conn.gone() against exchange.body.next(); then
//!     conn.write_data(piece).await?;
//!     conn.finish().await?;
//! }
//! ```
//!
//! An [`HttpError`] out of `next_request` or `read_body` is answered with [`ServerConn::refuse`].

mod body_reader;
mod buffer;
mod chunk;
mod client;
mod connect;
mod deadline;
mod error;
mod framing;
mod head;
mod headers;
mod limits;
mod memory;
mod origin;
mod pool;
mod scan;
mod server;
mod tls;
mod transport;
mod watch;

pub use body_reader::{BodyError, BodyReader};
pub use client::{Deadlines, Exchange, SendError};
pub use connect::{ConnectError, Connector, UpstreamStream};
pub use error::{HttpError, error_body};
pub use framing::BodyFraming;
pub use head::{InvalidHead, RequestHead, ResponseHead, Version};
pub use headers::{Headers, InvalidField};
pub use limits::{Limits, PoolLimits};
pub use memory::{Body, BudgetExceeded, MemoryBudget, Reservation};
pub use origin::{InvalidOrigin, Origin, Scheme};
pub use pool::Pool;
pub use server::{BodyKind, ServerConn, Upgraded, WriteError};
pub use tls::{ClientTls, TlsError};
pub use transport::{Transport, prepare_tcp};
