//! A request, independent of its API.

use serde_json::Value;

/// A parsed request to the model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ask {
    /// The conversation so far, oldest first. Omits the model's own messages, which no script reads.
    pub said: Vec<Said>,
    /// The tools that the model may call.
    pub tools: Vec<Tool>,
    /// JSON schema of the response, if the agent requires JSON.
    pub json: Option<Value>,
    /// Whether to stream the response.
    pub stream: bool,
    /// The requested model; the response repeats it.
    pub model: String,
}

/// One part of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A text block of the user, or the agent's text in the user's role.
    Person(String),
    /// The result of a tool call.
    Result(String),
}

/// A tool that the agent offers.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The tool's name, as the agent spells it.
    pub name: String,
    /// JSON schema of the arguments; `None` if the tool takes free text.
    pub schema: Option<Value>,
}

/// Returns a text member; empty if it is absent.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the members of a list; empty for any other value.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the texts of a content member: a string, or a list of blocks with `text`.
pub fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str().or(block.as_str()))
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns a tool's result as text, whatever its shape.
pub fn result(content: &Value) -> Said {
    let texts = texts(content);
    Said::Result(if texts.is_empty() && !content.is_null() {
        content.to_string()
    } else {
        texts.join("\n")
    })
}
