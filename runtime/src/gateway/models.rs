//! `GET /v1/models`: two shapes (field J8). With `client_version` the upstream's own catalogue, as Codex reads it; without,
//! the same catalogue in the shape of the OpenAI API.

use super::received::Whole;
use crate::http::Headers;
use crate::wire::models::to_openai;
use crate::wire::route::Route;

/// The query to send upstream in place of the client's, where the client names no version: the upstream needs one.
pub(super) fn query(route: &Route<'_>, query: Option<&str>, version: &str) -> Option<String> {
    match route {
        Route::Models { client_version: None } => {
            let rest = query.filter(|q| !q.is_empty()).map_or(String::new(), |q| format!("{q}&"));
            Some(format!("{rest}client_version={version}"))
        }
        _ => None,
    }
}

/// The catalogue as the OpenAI API shows it. An answer that is no catalogue stays as it is.
pub(super) fn for_openai(answer: &mut Whole) {
    if let Some(body) = to_openai(&answer.body) {
        answer.body = body;
        // They described the body that was.
        let described = |name: &str| ["etag", "content-encoding", "content-md5", "digest"].contains(&name);
        answer.head.headers.retain(|name, _| !described(&name.to_ascii_lowercase()));
        set_json(&mut answer.head.headers);
    }
}

fn set_json(headers: &mut Headers) {
    if let Err(error) = headers.set("content-type", "application/json") {
        tracing::error!(%error, "a fixed header cannot be written");
    }
}
