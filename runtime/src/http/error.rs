//! What can be wrong with a request on the wire, and the answer each fault gets.

use std::io;

/// Why a request was not accepted. Each has a status and a stable code; the text never repeats what the client sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The message is not HTTP/1.x, or its length could be read in two ways.
    #[error("malformed request: {0}")]
    BadRequest(&'static str),
    /// The head did not arrive in time.
    #[error("the request head did not arrive within {} s", .0.as_secs_f32())]
    HeadTimeout(std::time::Duration),
    /// The body brought no byte for too long.
    #[error("no byte of the request body arrived for {} s", .0.as_secs_f32())]
    BodyTimeout(std::time::Duration),
    /// The body is over the limit of one body.
    #[error("the request body is over the limit of {max} bytes")]
    BodyTooLarge {
        /// The limit, in bytes.
        max: usize,
    },
    /// The target is over the limit.
    #[error("the request target is over the limit of {max} bytes")]
    TargetTooLong {
        /// The limit, in bytes.
        max: usize,
    },
    /// `Expect` asks for something other than `100-continue`.
    #[error("this Expect header is not supported; only 100-continue is")]
    Expectation,
    /// The head is over the limit.
    #[error("the request head is over the limit of {max} bytes")]
    HeadTooLarge {
        /// The limit, in bytes.
        max: usize,
    },
    /// There are too many header fields.
    #[error("the request has more than {max} header fields")]
    TooManyFields {
        /// The limit.
        max: usize,
    },
    /// A transfer coding other than `chunked`.
    #[error("this transfer coding is not supported; send chunked or a Content-Length")]
    TransferCoding,
    /// A method that makes no sense here, such as CONNECT.
    #[error("this method is not supported")]
    Method,
    /// An HTTP version other than 1.0 and 1.1.
    #[error("this HTTP version is not supported; use HTTP/1.1")]
    Version,
    /// All request bodies together are over their limit (W5).
    #[error("the gateway holds as many request bodies as it may; try again in a moment")]
    Busy,
    /// The client left, so that there is nobody to answer.
    #[error("the client left while its request was being read ({0:?})")]
    Gone(io::ErrorKind),
}

impl HttpError {
    /// The status of the answer. [`HttpError::Gone`] has none on the wire; 499 stands for it in logs.
    pub fn status(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::HeadTimeout(_) | Self::BodyTimeout(_) => 408,
            Self::BodyTooLarge { .. } => 413,
            Self::TargetTooLong { .. } => 414,
            Self::Expectation => 417,
            Self::HeadTooLarge { .. } | Self::TooManyFields { .. } => 431,
            Self::Gone(_) => 499,
            Self::TransferCoding | Self::Method => 501,
            Self::Busy => 503,
            Self::Version => 505,
        }
    }

    /// A stable word for the `code` field of the answer and for metrics.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "malformed_request",
            Self::HeadTimeout(_) => "request_head_timeout",
            Self::BodyTimeout(_) => "request_body_timeout",
            Self::BodyTooLarge { .. } => "request_body_too_large",
            Self::TargetTooLong { .. } => "request_target_too_long",
            Self::Expectation => "expectation_failed",
            Self::HeadTooLarge { .. } => "request_head_too_large",
            Self::TooManyFields { .. } => "too_many_header_fields",
            Self::TransferCoding => "unsupported_transfer_coding",
            Self::Method => "unsupported_method",
            Self::Version => "unsupported_http_version",
            Self::Busy => "gateway_busy",
            Self::Gone(_) => "client_gone",
        }
    }

    /// Seconds for `Retry-After`, where waiting helps.
    pub fn retry_after(&self) -> Option<u32> {
        matches!(self, Self::Busy).then_some(1)
    }

    /// The JSON body of the answer, in the shape that API clients read.
    pub fn body(&self) -> Vec<u8> {
        let kind = if self.status() >= 500 { "server_error" } else { "invalid_request_error" };
        error_body(&self.to_string(), kind, self.code())
    }
}

/// `{"error":{"message","type","code"}}`, the error shape of the API that clients already read.
pub fn error_body(message: &str, kind: &str, code: &str) -> Vec<u8> {
    serde_json::json!({"error": {"message": message, "type": kind, "code": code}}).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_body_is_json_whatever_the_message() {
        let body = error_body("say \"no\"\n", "invalid_request_error", "x");
        let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(value["error"]["message"], "say \"no\"\n");
        assert_eq!(value["error"]["type"], "invalid_request_error");
        assert_eq!(value["error"]["code"], "x");
    }

    #[test]
    fn only_a_full_gateway_asks_to_wait() {
        assert_eq!(HttpError::Busy.retry_after(), Some(1));
        assert_eq!(HttpError::Version.retry_after(), None);
    }
}
