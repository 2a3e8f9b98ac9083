//! A client's request as it goes upstream: header allow-list, the account's credentials, the body as it came (R6, K3).

use std::sync::Arc;

use crate::accounts::Bearer;
use crate::http::{Body, Headers, InvalidField, Origin, RequestHead, Version};
use crate::wire::headers::{TURN_STATE, passes_upstream};

/// What is the same in every attempt of a request.
pub(super) struct Outgoing {
    method: String,
    target: String,
    /// What passes of the client's headers.
    headers: Headers,
    body: Option<Arc<Body>>,
    /// The client's turn-state token, which goes back only to the account that issued it (R7).
    pub(super) turn_state: Option<String>,
    /// Whether it may be sent again once bytes of it were sent (R2).
    pub(super) repeatable: bool,
    /// Whether the answer is a Responses answer: an event stream or a response object.
    pub(super) is_responses: bool,
}

impl Outgoing {
    /// The request for `target` at the upstream, from what the client sent.
    ///
    /// # Errors
    /// [`InvalidField`] where a header of the client's cannot be written again.
    pub(super) fn new(
        head: &RequestHead,
        target: String,
        origin: &Origin,
        extra: &[&str],
        body: Option<Body>,
        is_responses: bool,
    ) -> Result<Self, InvalidField> {
        let mut headers = Headers::with_capacity(head.headers.len() + 4);
        headers.push("host", origin.authority())?;
        for (name, value) in head.headers.iter() {
            if passes_upstream(name, extra, head.headers.get_all("connection")) {
                headers.push(name, value)?;
            }
        }
        let once = head.headers.count(TURN_STATE) == 1;
        let turn_state = head.headers.get_str(TURN_STATE).filter(|_| once).map(str::to_owned);
        let repeatable = is_responses || head.method == "GET";
        let body = body.map(Arc::new);
        Ok(Self { method: head.method.clone(), target, headers, body, turn_state, repeatable, is_responses })
    }

    /// The head for one account. Its bearer and account id stand in place of whatever the caller sent.
    ///
    /// # Errors
    /// [`InvalidField`] where a credential holds what no header can carry.
    pub(super) fn head_for(&self, bearer: &Bearer, turn_state: bool) -> Result<RequestHead, InvalidField> {
        let mut headers = self.headers.clone();
        let token = zeroize::Zeroizing::new(format!("Bearer {}", bearer.access_token.expose()));
        headers.push("authorization", token.as_bytes())?;
        if let Some(account_id) = &bearer.account_id {
            headers.push("chatgpt-account-id", account_id)?;
        }
        if let Some(token) = self.turn_state.as_deref().filter(|_| turn_state) {
            headers.push(TURN_STATE, token)?;
        }
        Ok(RequestHead { method: self.method.clone(), target: self.target.clone(), version: Version::Http11, headers })
    }

    /// The body, for another thread to read.
    pub(super) fn shared_body(&self) -> Option<Arc<Body>> {
        self.body.clone()
    }

    /// The body, as it came.
    pub(super) fn body(&self) -> &[u8] {
        self.body.as_ref().map_or(&[], |body| body)
    }
}
