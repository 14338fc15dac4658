//! What a request asks for, whichever API it came by.

use serde_json::Value;

/// A request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ask {
    /// What was said so far, oldest first. What the model said is left out: no script looks at it.
    pub said: Vec<Said>,
    /// What the model may call.
    pub tools: Vec<Tool>,
    /// The answer is to be JSON of this schema.
    pub json: Option<Value>,
    /// The answer is to be streamed.
    pub stream: bool,
    /// The model that was named; comes back in the answer.
    pub model: String,
}

/// One part of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A text block of a person, or what the agent says in a person's name.
    Person(String),
    /// What a tool answered.
    Result(String),
}

/// A tool that the agent offers.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// JSON schema of its arguments; `None` if it takes free text.
    pub schema: Option<Value>,
}

/// A text member; empty if there is none.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The members of a list; none if it is no list.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The texts of a content member: a string, or a list of blocks that have `text`.
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

/// A tool's result as text, whatever shape it has.
pub fn result(content: &Value) -> Said {
    let texts = texts(content);
    Said::Result(if texts.is_empty() && !content.is_null() {
        content.to_string()
    } else {
        texts.join("\n")
    })
}
