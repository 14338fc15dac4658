//! Plans, and the content of tool calls.

use std::cmp::Ordering;

use serde_json::{Value, json};

use crate::wire;

/// Returns a plan whose first `done` entries are completed, and the next one is in progress.
pub fn plan(contents: &[&str], done: usize) -> Value {
    let entries: Vec<Value> = contents
        .iter()
        .enumerate()
        .map(|(at, content)| {
            let status = match at.cmp(&done) {
                Ordering::Less => "completed",
                Ordering::Equal => "in_progress",
                Ordering::Greater => "pending",
            };
            let priority = ["high", "medium", "low"][at.min(2)];
            json!({ "content": content, "priority": priority, "status": status })
        })
        .collect();
    json!({ "sessionUpdate": "plan", "entries": entries })
}

/// Returns a file's diff as tool call content.
pub fn diff(path: &str, old: &str, new: &str) -> Value {
    json!([{ "type": "diff", "path": path, "oldText": old, "newText": new }])
}

/// Returns text as tool call content.
pub fn output(text: &str) -> Value {
    json!([{ "type": "content", "content": wire::text(text) }])
}
