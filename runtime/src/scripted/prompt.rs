//! What the upstream reads of a Responses request.

use serde::Deserialize;
use serde_json::value::RawValue;

/// A tool call that the prompt asks for with "run echo ...".
pub(super) enum Call {
    /// A function with its JSON arguments.
    Function { name: String, namespace: Option<String>, arguments: String },
    /// A custom tool with its free-form input.
    Custom { name: String, namespace: Option<String>, input: String },
}

/// The parts of a request that decide the answer.
pub(super) struct Prompt {
    pub(super) model: String,
    pub(super) stream: bool,
    pub(super) previous: Option<String>,
    /// Whether the caller asked for `reasoning.encrypted_content`.
    pub(super) wants_sealed: bool,
    /// Encrypted contents that the input carries.
    pub(super) sealed: Vec<String>,
    /// Whether the last item is a `compaction_trigger`.
    pub(super) compaction: bool,
    pub(super) call: Option<Call>,
    /// A cache key, repeated in the response object as the real one does.
    pub(super) prompt_cache_key: Option<String>,
}

#[derive(Deserialize)]
struct Wire<'a> {
    model: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(default)]
    previous_response_id: Option<String>,
    #[serde(borrow, default)]
    include: Option<&'a RawValue>,
    #[serde(default)]
    prompt_cache_key: Option<String>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    role: Option<String>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    encrypted_content: Option<String>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize)]
struct Tool {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    tools: Vec<Self>,
}

impl Prompt {
    /// Reads a request body; the error is a text for the caller.
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        let wire: Wire<'_> =
            serde_json::from_slice(body).map_err(|e| format!("We could not parse the JSON body: {e}"))?;
        let model = wire.model.filter(|m| !m.is_empty()).ok_or("Missing required parameter: 'model'.")?;
        let items: Vec<Item<'_>> = wire.input.map(list).unwrap_or_default();
        let plain = wire.input.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        let include: Vec<String> = wire.include.map(list).unwrap_or_default();
        let asked = plain.or_else(|| last_question(&items)).unwrap_or_default();
        let call = command(&asked).and_then(|command| choose(&offered(wire.tools, &items), &command));
        Ok(Self {
            model,
            stream: wire.stream == Some(true),
            previous: wire.previous_response_id,
            wants_sealed: include.iter().any(|i| i == "reasoning.encrypted_content"),
            compaction: items.last().is_some_and(|i| i.kind.as_deref() == Some("compaction_trigger")),
            sealed: items.into_iter().filter_map(|i| i.encrypted_content).collect(),
            call,
            prompt_cache_key: wire.prompt_cache_key,
        })
    }
}

/// A JSON array of `T`, or nothing where it is something else.
fn list<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Vec<T> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// The text of the last user message, unless a tool has answered it, or a compaction has taken the answer in.
fn last_question(items: &[Item<'_>]) -> Option<String> {
    let is_user = |i: &Item<'_>| i.role.as_deref() == Some("user");
    let is_output =
        |i: &Item<'_>| i.kind.as_deref().is_some_and(|k| k.ends_with("_call_output") || k.starts_with("compaction"));
    let last = items.iter().rev().find(|i| is_user(i) || is_output(i)).filter(|i| is_user(i))?;
    let raw = last.content?;
    let parts: Vec<Part> = list(raw);
    let text = parts.into_iter().filter_map(|p| p.text).collect::<Vec<_>>().join("\n");
    serde_json::from_str(raw.get()).ok().or(Some(text))
}

/// `echo WORD` where the text asks to run it. One plain word only: nothing a shell would read otherwise.
fn command(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("run echo ")?;
    let word: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    (!word.is_empty()).then(|| format!("echo {word}"))
}

struct Offer {
    name: String,
    namespace: Option<String>,
    custom: bool,
}

/// Every named tool of the request: the `tools` list and `additional_tools` items, namespaces opened.
fn offered(tools: Option<&RawValue>, items: &[Item<'_>]) -> Vec<Offer> {
    let more = items.iter().filter_map(|i| i.tools);
    let all = tools.into_iter().chain(more).flat_map(list::<Tool>);
    all.flat_map(|tool| match tool.kind.as_str() {
        "namespace" => tool.tools.into_iter().map(|t| offer(t, Some(tool.name.clone()))).collect(),
        _ => vec![offer(tool, None)],
    })
    .collect()
}

fn offer(tool: Tool, namespace: Option<String>) -> Offer {
    Offer { custom: tool.kind == "custom", name: tool.name, namespace }
}

/// The call of the first tool that can run a command, in the shape its client expects.
fn choose(offers: &[Offer], command: &str) -> Option<Call> {
    use serde_json::json;
    let shapes = [
        ("exec_command", json!({"cmd": command})),
        ("shell", json!({"command": ["bash", "-lc", command]})),
        ("shell_command", json!({"command": command})),
        ("local_shell", json!({"command": ["bash", "-lc", command]})),
        ("bash", json!({"command": command, "description": "Runs the command"})),
    ];
    for (name, arguments) in shapes {
        if let Some(found) = offers.iter().find(|o| o.name == name && !o.custom) {
            let (name, namespace) = (name.to_owned(), found.namespace.clone());
            return Some(Call::Function { name, namespace, arguments: arguments.to_string() });
        }
    }
    let code = offers.iter().find(|o| o.name == "exec" && o.custom)?;
    let input = format!("const result = await tools.exec_command({{cmd: \"{command}\"}});\ntext(result.output);\n");
    Some(Call::Custom { name: code.name.clone(), namespace: code.namespace.clone(), input })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &serde_json::Value) -> Prompt {
        Prompt::read(value.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_call_is_made_once_and_only_of_an_offered_tool() {
        let user =
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "run echo hi"}]});
        let output = json!({"type": "function_call_output", "call_id": "c", "output": "hi"});
        let tools = json!([{"type": "function", "name": "view"}, {"type": "function", "name": "exec_command"}]);
        let first = read(&json!({"model": "m", "input": [user], "tools": tools}));
        assert!(matches!(first.call, Some(Call::Function { name, arguments, .. })
            if name == "exec_command" && arguments == r#"{"cmd":"echo hi"}"#));
        assert!(read(&json!({"model": "m", "input": [user, output], "tools": tools})).call.is_none());
        assert!(read(&json!({"model": "m", "input": [user, output, user], "tools": tools})).call.is_some());
        assert!(read(&json!({"model": "m", "input": [user], "tools": []})).call.is_none());
        let compacted = json!({"type": "compaction", "encrypted_content": "e"});
        assert!(read(&json!({"model": "m", "input": [user, compacted], "tools": tools})).call.is_none());
    }

    #[test]
    fn a_code_mode_request_gets_its_custom_tool() {
        let tools = json!([{"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}]);
        let request = json!({"model": "m", "input": [
            {"type": "additional_tools", "role": "developer", "tools": tools},
            {"role": "user", "content": "please run echo ok; rm x"},
        ]});
        assert!(matches!(read(&request).call, Some(Call::Custom { name, input, .. })
            if name == "exec" && input.contains("\"echo ok\"") && !input.contains("rm")));
    }

    #[test]
    fn the_rest_of_the_request_is_read() {
        let prompt = read(&json!({
            "model": "m", "stream": true, "input": [{"type": "reasoning", "encrypted_content": "e"}, {"type": "compaction_trigger"}],
            "include": ["reasoning.encrypted_content"], "previous_response_id": "resp_1",
        }));
        assert!(prompt.stream && prompt.wants_sealed && prompt.compaction);
        assert_eq!(
            (prompt.sealed.as_slice(), prompt.previous.as_deref()),
            (["e".to_owned()].as_slice(), Some("resp_1"))
        );
        assert!(Prompt::read(b"{").is_err() && Prompt::read(b"{\"input\":\"x\"}").is_err());
    }
}
