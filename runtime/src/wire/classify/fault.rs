//! What an error body or a failed event says, whichever of the known shapes it has.

use std::borrow::Cow;

use homing_core::time::{Millis, Time};

use super::retry;
use crate::wire::json::{self, Member};

/// The error of an answer or event, as far as it was given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fault<'a> {
    /// `code`.
    pub code: Option<Cow<'a, str>>,
    /// `type` (of the error, not of the event).
    pub kind: Option<Cow<'a, str>>,
    /// `message`.
    pub message: Option<Cow<'a, str>>,
    /// `param`.
    pub param: Option<Cow<'a, str>>,
    /// `plan_type`.
    pub plan_type: Option<Cow<'a, str>>,
    /// The status an error event names beside its error.
    pub status: Option<u16>,
    resets_at: Option<f64>,
    resets_in_seconds: Option<f64>,
    /// `Retry-After` among the headers an error event carries.
    retry_after: Option<Cow<'a, str>>,
}

impl<'a> Fault<'a> {
    /// Reads `{"error":{..}}`, `{"error":".."}`, `{"detail":..}`, `{"response":{"error":{..}}}` and errors whose fields stand
    /// at the top level. `None` where it is not one JSON object.
    pub fn read(json: &'a [u8]) -> Option<Self> {
        let [error, detail, response, status, status_code, headers] =
            json::members(json, ["error", "detail", "response", "status", "status_code", "headers"])?;
        let nested = response.members(["error"]).map_or(Member::Absent, |[error]| error);
        let mut fault =
            [error, nested, detail].into_iter().find_map(Self::of_member).unwrap_or_else(|| Self::top(json));
        fault.status = [status, status_code].into_iter().find_map(Member::count).and_then(|s| u16::try_from(s).ok());
        fault.retry_after = headers
            .members(["Retry-After", "retry-after"])
            .and_then(|[title, lower]| [title, lower].into_iter().find_map(scalar));
        Some(fault)
    }

    fn of_member(member: Member<'a>) -> Option<Self> {
        if let Some(message) = member.text() {
            return Some(Self { message: Some(message), ..Self::default() });
        }
        Self::of_object(member.raw()?.as_bytes())
    }

    fn of_object(json: &'a [u8]) -> Option<Self> {
        let [code, kind, message, param, plan_type, at, in_seconds] =
            json::members(json, ["code", "type", "message", "param", "plan_type", "resets_at", "resets_in_seconds"])?;
        Some(Self {
            code: code.text(),
            kind: kind.text(),
            message: message.text(),
            param: param.text(),
            plan_type: plan_type.text(),
            resets_at: at.number(),
            resets_in_seconds: in_seconds.number(),
            ..Self::default()
        })
    }

    /// An error whose fields stand at the top level. There `type` is the event's.
    fn top(json: &'a [u8]) -> Self {
        Self { kind: None, ..Self::of_object(json).unwrap_or_default() }
    }

    /// Whether code or type is that name.
    pub fn is(&self, name: &str) -> bool {
        self.code.as_deref() == Some(name) || self.kind.as_deref() == Some(name)
    }

    /// Whether code or type is one of those names.
    pub(super) fn is_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.is(name))
    }

    /// When quota comes back, where a believable time is given.
    pub fn reset(&self, now: Time) -> Option<Time> {
        retry::reset(self.resets_at, self.resets_in_seconds, now)
    }

    /// How long to wait by the error itself: its headers, its reset or its text.
    pub(super) fn wait(&self, now: Time) -> Option<Millis> {
        self.retry_after
            .as_deref()
            .and_then(|value| retry::after(value.trim(), now))
            .or_else(|| self.reset(now).map(|time| time.since(now)))
            .or_else(|| retry::in_text(self.message.as_deref()?))
    }

    /// The message in lower case, for the few faults that only their text tells.
    pub(super) fn lower_message(&self) -> String {
        self.message.as_deref().unwrap_or_default().to_ascii_lowercase()
    }
}

/// A string, or a number as its digits.
fn scalar(member: Member<'_>) -> Option<Cow<'_, str>> {
    member.text().or_else(|| member.number().and(member.raw()).map(Cow::Borrowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_shape_is_read() {
        for (json, code, message) in [
            (r#"{"error":{"code":"c","message":"m"}}"#, Some("c"), Some("m")),
            (r#"{"error":"m"}"#, None, Some("m")),
            (r#"{"detail":"m"}"#, None, Some("m")),
            (r#"{"detail":{"code":"c","message":"m"}}"#, Some("c"), Some("m")),
            (
                r#"{"type":"response.failed","response":{"id":"r","error":{"code":"c","message":"m"}}}"#,
                Some("c"),
                Some("m"),
            ),
            (r#"{"type":"error","code":"c","message":"m","param":null}"#, Some("c"), Some("m")),
            (r#"{"error":null,"message":"m"}"#, None, Some("m")),
            (r#"{"error":{"code":429,"message":["m"]}}"#, None, None),
            ("{}", None, None),
        ] {
            let fault = Fault::read(json.as_bytes()).unwrap();
            assert_eq!((fault.code.as_deref(), fault.message.as_deref()), (code, message), "{json}");
            assert_eq!(fault.kind, None, "{json}");
        }
        for json in ["", "<html>", "[]", "\"error\"", "{\"error\":"] {
            assert_eq!(Fault::read(json.as_bytes()), None, "{json}");
        }
    }

    #[test]
    fn an_error_frame_brings_status_and_headers() {
        let frame = br#"{"type":"error","status":429,"error":{"type":"t"},"headers":{"Retry-After":"3"}}"#;
        let fault = Fault::read(frame).unwrap();
        assert_eq!(fault.status, Some(429));
        assert_eq!(fault.wait(Time(0)), Some(Millis(3_000)));
        let fault = Fault::read(br#"{"type":"error","status_code":503,"headers":{"retry-after":4}}"#).unwrap();
        assert_eq!((fault.status, fault.wait(Time(0))), (Some(503), Some(Millis(4_000))));
    }
}
