//! Management requests to answers, whatever carried them.

use http_types::{Method, Request, Response, StatusCode, headers};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use smol::io::AsyncReadExt;

use super::{Control, ControlError, ExplainRequest, NewUser, PageRequest};

/// Where all management paths begin.
pub const PREFIX: &str = "/v0/management";

/// Largest request body, in bytes.
pub(super) const LARGEST_BODY: usize = 64 * 1024;

/// Longest session identifier that is looked at; longer ones are no keys by far (K1).
const LONGEST_SESSION_ID: usize = 4096;

/// What a user's name may be.
pub const USER_NAME_RULE: &str = "choose 1 to 64 of A-Z a-z 0-9 . _ @ - and begin with neither . nor -";

/// A change of a user.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UserChange {
    disabled: bool,
}

/// Why a request is not served.
enum Problem {
    /// The gateway would not.
    Control(ControlError),
    /// The request is not right in itself: status, type and message.
    Request(StatusCode, &'static str, String),
    /// The path takes other methods.
    Method(&'static str),
}

impl From<ControlError> for Problem {
    fn from(error: ControlError) -> Self {
        Self::Control(error)
    }
}

/// Answers `request`, which was admitted before. Never fails: what cannot be done is an answer too, with the JSON
/// `{"error": {"type", "message", ...}}`.
pub async fn handle(control: &dyn Control, mut request: Request) -> Response {
    match route(control, &mut request).await {
        Ok(response) => response,
        Err(Problem::Control(error)) => control_error(&error),
        Err(Problem::Request(status, kind, message)) => error_response(status, kind, &message),
        Err(Problem::Method(allowed)) => {
            let text = format!("this path does not take that method; use {allowed}");
            let mut response = error_response(StatusCode::MethodNotAllowed, "method_not_allowed", &text);
            response.insert_header(headers::ALLOW, allowed);
            response
        }
    }
}

async fn route(control: &dyn Control, request: &mut Request) -> Result<Response, Problem> {
    let path = request.url().path().to_owned();
    let rest = path.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('/'));
    let parts: Vec<&str> = rest.map(|rest| rest.split('/').collect()).unwrap_or_default();
    let reply = match (request.method(), parts.as_slice()) {
        (Method::Get, ["health"]) => ok(&control.health().await?),
        (Method::Get, ["users"]) => ok(&control.users(page(request)?).await?),
        (Method::Post, ["users"]) => {
            let user: NewUser = body(request).await?;
            check_name("name", &user.name)?;
            json(StatusCode::Created, &control.create_user(user).await?)
        }
        (Method::Get, ["users", user]) => ok(&control.user(known(user)?).await?),
        (Method::Patch, ["users", user]) => {
            let change: UserChange = body(request).await?;
            ok(&control.set_disabled(known(user)?, change.disabled).await?)
        }
        (Method::Delete, ["users", user]) => ok(&control.delete_user(known(user)?).await?),
        (Method::Post, ["users", user, "reset-key"]) => ok(&control.reset_key(known(user)?).await?),
        (Method::Get, ["accounts"]) => ok(&control.accounts().await?),
        (Method::Get, ["bindings"]) => ok(&control.bindings(page(request)?).await?),
        (Method::Post, ["bindings", "explain"]) => {
            let question: ExplainRequest = body(request).await?;
            if question.session_id.len() > LONGEST_SESSION_ID {
                let value = format!("{} bytes", question.session_id.len());
                return Err(invalid("session_id", value, "an identifier has at most 256 bytes"));
            }
            ok(&control.explain(question).await?)
        }
        (_, parts) => return Err(nothing_here(parts, &path)),
    };
    Ok(reply)
}

/// A known path with another method, or an unknown one.
fn nothing_here(parts: &[&str], path: &str) -> Problem {
    match parts {
        ["health" | "accounts" | "bindings"] => Problem::Method("GET"),
        ["users"] => Problem::Method("GET, POST"),
        ["users", user] if !user.is_empty() => Problem::Method("GET, PATCH, DELETE"),
        ["users", _, "reset-key"] | ["bindings", "explain"] => Problem::Method("POST"),
        _ => {
            let fix = format!("the management API begins at {PREFIX}/health");
            ControlError::NotFound { what: "path".into(), value: short(path), fix }.into()
        }
    }
}

/// The JSON body of a request.
async fn body<T: DeserializeOwned>(request: &mut Request) -> Result<T, Problem> {
    // A page of another site can send a form without asking; it cannot send this type.
    let kind = request.header(headers::CONTENT_TYPE).map(|values| values.last().as_str().to_ascii_lowercase());
    if kind.as_deref().and_then(|kind| kind.split(';').next()).map(str::trim) != Some("application/json") {
        let text = "the body must be JSON; send Content-Type: application/json".to_owned();
        return Err(Problem::Request(StatusCode::UnsupportedMediaType, "unsupported_media_type", text));
    }
    let mut bytes = Vec::new();
    let limit = LARGEST_BODY as u64 + 1;
    if request.take_body().take(limit).read_to_end(&mut bytes).await.is_err() {
        let text = "the body ended early; send all of it".to_owned();
        return Err(Problem::Request(StatusCode::BadRequest, "bad_request", text));
    }
    if bytes.len() > LARGEST_BODY {
        let text = format!("the body is longer than {LARGEST_BODY} bytes; send less");
        return Err(Problem::Request(StatusCode::PayloadTooLarge, "too_large", text));
    }
    // The parser's own message could repeat a value, so only place and kind are told.
    serde_json::from_slice(&bytes).map_err(|error| {
        let place = format!("line {} column {}", error.line(), error.column());
        let problem = if error.is_data() { "has a missing, unknown or wrongly typed field" } else { "is not JSON" };
        let text = format!("the body {problem} at {place}; see the README for the fields");
        Problem::Request(StatusCode::BadRequest, "bad_request", text)
    })
}

/// The part of a list that the query asks for.
fn page(request: &Request) -> Result<PageRequest, Problem> {
    let mut page = PageRequest { limit: PageRequest::USUAL, after: None };
    for (name, value) in request.url().query_pairs() {
        match &*name {
            "limit" => {
                let limit = value.parse().ok().filter(|limit| (1..=PageRequest::MOST).contains(limit));
                page.limit = limit.ok_or_else(|| invalid("limit", short(&value), "choose 1 to 1000"))?;
            }
            "after" if value.len() <= 256 => page.after = Some(value.into_owned()),
            "after" => return Err(invalid("after", short(&value), "give the `next` of the page before")),
            _ => return Err(invalid("query", short(&name), "only `limit` and `after` are known")),
        }
    }
    Ok(page)
}

/// A user's id or name from a path; what can be neither is not found.
fn known(user: &str) -> Result<&str, Problem> {
    if is_user_name(user) {
        return Ok(user);
    }
    let fix = "`homing users list` shows all".to_owned();
    Err(ControlError::NotFound { what: "user".into(), value: short(user), fix }.into())
}

/// Whether `name` can be a user's.
pub fn is_user_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._@-".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(fits) && !name.starts_with(['.', '-'])
}

fn check_name(field: &str, name: &str) -> Result<(), Problem> {
    if is_user_name(name) { Ok(()) } else { Err(invalid(field, short(name), USER_NAME_RULE)) }
}

/// The beginning of a text that came from outside.
fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

fn invalid(field: &str, value: String, fix: &str) -> Problem {
    ControlError::Invalid { field: field.into(), value, fix: fix.into() }.into()
}

fn ok<T: Serialize>(data: &T) -> Response {
    json(StatusCode::Ok, data)
}

/// The answer for what the gateway would not do.
fn control_error(error: &ControlError) -> Response {
    let status = match error {
        ControlError::NotFound { .. } => StatusCode::NotFound,
        ControlError::Conflict { .. } => StatusCode::Conflict,
        ControlError::Invalid { .. } => StatusCode::BadRequest,
        ControlError::Unavailable { .. } => StatusCode::ServiceUnavailable,
    };
    let message = error.to_string();
    #[derive(Serialize)]
    struct Detail<'a> {
        message: &'a str,
        #[serde(flatten)]
        error: &'a ControlError,
    }
    json(status, &serde_json::json!({ "error": Detail { message: &message, error } }))
}

/// An answer `{"error": {"type", "message"}}`.
pub fn error_response(status: StatusCode, kind: &str, message: &str) -> Response {
    json(status, &serde_json::json!({ "error": { "type": kind, "message": message } }))
}

fn json<T: Serialize>(status: StatusCode, data: &T) -> Response {
    let mut response = Response::new(status);
    match serde_json::to_vec(data) {
        Ok(mut bytes) => {
            bytes.push(b'\n');
            response.set_body(bytes);
        }
        Err(error) => {
            tracing::error!(%error, "an answer could not be written as JSON");
            response.set_status(StatusCode::InternalServerError);
        }
    }
    response.insert_header(headers::CONTENT_TYPE, "application/json");
    // Answers hold keys and the state of the moment.
    response.insert_header(headers::CACHE_CONTROL, "no-store");
    response.insert_header("x-content-type-options", "nosniff");
    response
}
