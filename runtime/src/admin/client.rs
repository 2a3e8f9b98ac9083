//! The command line's side of the Unix socket.

use std::{io, path::Path, time::Duration};

use http_types::{Method, Request, StatusCode, Url};
use serde::Serialize;
use smol::{io::AsyncReadExt, net::unix::UnixStream};

use super::PREFIX;
use crate::clock;

/// Largest answer that is read, in bytes: a page of 1,000 items is far below.
const LARGEST_ANSWER: u64 = 16 << 20;
/// Limit for connecting, asking and reading the whole answer.
const LIMIT: Duration = Duration::from_secs(60);

/// An answer, read whole.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its body: JSON.
    pub body: Vec<u8>,
}

/// The gateway could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nobody listens on the socket.
    #[error("no gateway listens there; start one with `homing serve`")]
    NoGateway,
    /// The connection failed or the answer made no sense.
    #[error("the gateway could not be asked ({0}); look at its log")]
    Failed(String),
}

/// A management request: `path` is what follows `/v0/management`; `body` becomes JSON.
///
/// # Errors
/// [`CallError::Failed`] where path or body cannot be written as such.
pub fn request<T: Serialize>(
    method: Method,
    path: &str,
    query: &[(&str, String)],
    body: Option<&T>,
) -> Result<Request, CallError> {
    let mut url = Url::parse(&format!("http://localhost{PREFIX}{path}")).map_err(|error| failed(&error))?;
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    let mut request = Request::new(method, url);
    if let Some(body) = body {
        request.set_body(serde_json::to_vec(body).map_err(|error| failed(&error))?);
        request.insert_header("content-type", "application/json");
    }
    Ok(request)
}

/// Sends `request` to the gateway that listens on `socket`.
///
/// # Errors
/// [`CallError::NoGateway`] where there is none, else [`CallError::Failed`]. An error status is an [`Answer`].
pub async fn call(socket: &Path, request: Request) -> Result<Answer, CallError> {
    let exchange = async {
        let stream = UnixStream::connect(socket).await.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => CallError::NoGateway,
            _ => failed(&error),
        })?;
        let response = async_h1::connect(stream, request).await.map_err(|error| failed(&error))?;
        answer(response).await
    };
    clock::within(LIMIT, exchange).await.unwrap_or_else(|| Err(CallError::Failed("it took too long".into())))
}

/// Reads a response whole.
///
/// # Errors
/// [`CallError::Failed`] where it breaks off or is larger than 16 MiB.
pub async fn answer(mut response: http_types::Response) -> Result<Answer, CallError> {
    let mut body = Vec::new();
    let expected = response.len();
    response.take_body().take(LARGEST_ANSWER + 1).read_to_end(&mut body).await.map_err(|error| failed(&error))?;
    if body.len() as u64 > LARGEST_ANSWER || expected.is_some_and(|expected| expected != body.len()) {
        return Err(CallError::Failed("its answer is incomplete or too large".into()));
    }
    Ok(Answer { status: response.status(), body })
}

fn failed(error: &impl std::fmt::Display) -> CallError {
    CallError::Failed(error.to_string())
}
