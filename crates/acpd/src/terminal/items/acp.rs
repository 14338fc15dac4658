//! ACP's own objects, which the daemon passes on as the agent wrote them.
//!
//! In: these objects. Out: the members that a terminal shows. They are read by name, and here alone: any member may be missing or
//! of another type, and one that is costs no other.

use std::borrow::Cow;

use acpd_client::protocol::AcpObject;
use serde_json::Value;

/// A part of a tool call's content.
#[derive(Clone, Copy)]
pub enum Content<'c> {
    Text(&'c str),
    Diff {
        path: &'c str,
        old: &'c str,
        new: &'c str,
    },
    /// Content that a terminal cannot show, by its type.
    Other(&'c str),
}

/// Returns the title of a tool call.
pub fn title(call: &AcpObject) -> Option<&str> {
    text(call, "title")
}

/// Returns the kind of a tool call.
pub fn kind(call: &AcpObject) -> Option<&str> {
    text(call, "kind")
}

/// Returns the input of a tool call; `null` if it has none.
pub fn raw_input(call: Option<&AcpObject>) -> &Value {
    call.and_then(|call| call.get("rawInput")).unwrap_or(&Value::Null)
}

/// Returns the content of a tool call, if it has any.
pub fn content(call: &AcpObject) -> Option<impl Iterator<Item = Content<'_>>> {
    let parts = call.get("content")?.as_array()?;
    Some(parts.iter().filter_map(part))
}

fn part(part: &Value) -> Option<Content<'_>> {
    let text = |member: &str| part[member].as_str().unwrap_or_default();
    match part["type"].as_str() {
        Some("diff") => Some(Content::Diff {
            path: text("path"),
            old: text("oldText"),
            new: text("newText"),
        }),
        // The command in the terminal is an item of its own.
        Some("terminal") => None,
        kind => match part["content"]["text"].as_str() {
            Some(text) => Some(Content::Text(text)),
            None => part["content"]["type"].as_str().or(kind).map(Content::Other),
        },
    }
}

/// Returns the text of a whole message, with other content named in brackets.
pub fn message(blocks: &[AcpObject]) -> String {
    let texts = blocks.iter().map(|block| match text(block, "type") {
        Some("text") => Cow::Borrowed(text(block, "text").unwrap_or_default()),
        kind => format!("[{}]", kind.unwrap_or("?")).into(),
    });
    texts.collect()
}

/// Returns the text of a piece of a message: that of its content if it has any, else `plain`.
pub fn piece<'p>(content: Option<&'p AcpObject>, plain: &'p str) -> Cow<'p, str> {
    let Some(content) = content else {
        return plain.into();
    };
    match text(content, "type") {
        None => plain.into(),
        Some("text") => text(content, "text").unwrap_or_default().into(),
        Some(kind) => format!("[{kind}]").into(),
    }
}

/// Returns whether a block has text and nothing else.
pub fn is_text(block: &AcpObject) -> bool {
    text(block, "type") == Some("text")
}

/// Returns an amount of money, and its currency.
pub fn cost(cost: &AcpObject) -> Option<(f64, &str)> {
    let amount = cost.get("amount")?.as_f64()?;
    Some((amount, text(cost, "currency").unwrap_or_default()))
}

fn text<'o>(object: &'o AcpObject, member: &str) -> Option<&'o str> {
    object.get(member)?.as_str()
}
