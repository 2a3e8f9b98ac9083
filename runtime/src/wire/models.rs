//! The list of models in the shape a client asked for (field J8): Codex asks with `client_version` and reads
//! `{"models":[{"slug":..}]}`, everyone else reads OpenAI's `{"object":"list","data":[..]}`.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::json;

#[derive(Serialize)]
struct List<'a> {
    object: &'static str,
    data: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: Cow<'a, str>,
    object: &'static str,
    created: u64,
    owned_by: Cow<'a, str>,
}

/// The upstream's Codex-shaped list as OpenAI's shape, one entry for each model with a name, in the same order.
///
/// `None` where `body` is not Codex-shaped (it may be OpenAI's already): the caller passes it on as it is. Where the list is
/// rewritten, the upstream's `etag`, `content-length` and `content-encoding` no longer describe it.
pub fn to_openai(body: &[u8]) -> Option<Vec<u8>> {
    let [models] = json::members(body, ["models"])?;
    let models: Vec<&RawValue> = serde_json::from_str(models.raw()?).ok()?;
    let data = models.into_iter().filter_map(entry).collect();
    serde_json::to_vec(&List { object: "list", data }).ok()
}

fn entry(model: &RawValue) -> Option<Entry<'_>> {
    let [slug, id, created, owned_by] = json::members(model.get().as_bytes(), ["slug", "id", "created", "owned_by"])?;
    let id = slug.text().or_else(|| id.text()).filter(|id| !id.is_empty())?;
    Some(Entry {
        id,
        object: "model",
        created: created.count().unwrap_or(0),
        owned_by: owned_by.text().unwrap_or(Cow::Borrowed("openai")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(body: &str) -> Option<String> {
        to_openai(body.as_bytes()).map(|list| String::from_utf8(list).unwrap())
    }

    #[test]
    fn field_j8_a_codex_list_becomes_an_openai_list() {
        let list = converted(
            r#"{"models":[{"slug":"gpt-6-sol","display_name":"Sol","visibility":"list"},{"slug":"gpt-5.5","created":7,"owned_by":"me"}]}"#,
        );
        insta::assert_snapshot!(list.unwrap(), @r#"{"object":"list","data":[{"id":"gpt-6-sol","object":"model","created":0,"owned_by":"openai"},{"id":"gpt-5.5","object":"model","created":7,"owned_by":"me"}]}"#);
    }

    #[test]
    fn odd_entries_are_left_out() {
        let list = converted(r#"{"models":[{"slug":1},7,null,{"name":"x"},{"id":"kept"},{"slug":""}],"etag":"e"}"#);
        assert_eq!(
            list.unwrap(),
            r#"{"object":"list","data":[{"id":"kept","object":"model","created":0,"owned_by":"openai"}]}"#
        );
        assert_eq!(converted(r#"{"models":[]}"#).unwrap(), r#"{"object":"list","data":[]}"#);
    }

    #[test]
    fn other_shapes_are_left_alone() {
        for body in
            ["", "{}", "[]", "<html>", r#"{"models":{}}"#, r#"{"models":null}"#, r#"{"object":"list","data":[]}"#]
        {
            assert_eq!(converted(body), None, "{body}");
        }
    }
}
