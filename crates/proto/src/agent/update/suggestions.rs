//! `prompt_suggestions_update`: the prompts that an agent expects the user to send next.

use acpd_model::text::misleads;
use acpd_model::{RawJson, json};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Suggestions that are used, from the first one on.
const SUGGESTIONS: usize = 8;
/// Blocks of a suggestion that is used.
const BLOCKS: usize = 16;
/// Bytes of the texts of a suggestion that is used. The beginning of a longer one would be another prompt.
const SUGGESTION_BYTES: usize = 4 << 10;

/// A prompt that the agent suggests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// ACP content blocks: text, and links to resources.
    pub prompt: Vec<RawJson>,
}

#[derive(Deserialize)]
struct Suggested {
    prompt: Vec<RawJson>,
}

/// The blocks that an agent may suggest to acpd, with the members that are shown.
#[derive(Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text { text: String },
    ResourceLink { uri: String, name: String },
}

/// Reads the suggestions that can be shown; skips the others.
pub(super) fn suggestions(list: &RawValue) -> Option<Vec<Suggestion>> {
    let list: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
    let usable = list.iter().filter_map(|suggested| suggestion(suggested));
    Some(usable.take(SUGGESTIONS).collect())
}

fn suggestion(suggested: &RawValue) -> Option<Suggestion> {
    let Suggested { prompt } = json::read(suggested.get()).ok()?;
    if prompt.len() > BLOCKS {
        return None;
    }
    let blocks: Vec<Block> = prompt
        .iter()
        .map(|block| block.read().ok().and_then(shown))
        .collect::<Option<_>>()?;
    let bytes: usize = blocks.iter().map(Block::bytes).sum();
    let says_something = blocks.iter().any(Block::says_something);
    let prompt = blocks.iter().map(|block| RawJson::of(block).ok());
    (says_something && bytes <= SUGGESTION_BYTES)
        .then(|| prompt.collect::<Option<_>>())
        .flatten()
        .map(|prompt| Suggestion { prompt })
}

/// Returns a block as users see it, without characters that would hide what it says; `None` if it would be another one
/// without them.
fn shown(block: Block) -> Option<Block> {
    match block {
        Block::Text { text } => {
            let is_shown = |c: &char| matches!(c, '\n' | '\t') || !misleads(*c);
            let text = text.chars().filter(is_shown).collect();
            Some(Block::Text { text })
        }
        Block::ResourceLink { uri, name } => {
            let misleads = uri.chars().chain(name.chars()).any(misleads);
            (!misleads).then_some(Block::ResourceLink { uri, name })
        }
    }
}

impl Block {
    fn bytes(&self) -> usize {
        match self {
            Self::Text { text } => text.len(),
            Self::ResourceLink { uri, name } => uri.len() + name.len(),
        }
    }

    fn says_something(&self) -> bool {
        match self {
            Self::Text { text } => !text.trim().is_empty(),
            Self::ResourceLink { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(list: &Value) -> Option<Value> {
        let list = serde_json::value::to_raw_value(list).unwrap();
        suggestions(&list).map(|read| serde_json::to_value(read).unwrap())
    }

    fn text(text: &str) -> Value {
        json!({ "prompt": [{ "type": "text", "text": text }] })
    }

    #[test]
    fn suggestions_that_cannot_be_shown_are_skipped() {
        let link = json!({ "type": "resource_link", "uri": "file:///w/a.rs", "name": "a.rs" });
        let linked = json!({ "prompt": [{ "type": "text", "text": "Explain" }, link] });
        let list = json!([
            text("Run the tests"),
            7,
            { "prompt": "Run" },
            { "prompt": [] },
            text(" \n"),
            text("\u{1b}\u{202e}"),
            { "prompt": [{ "type": "image", "data": "", "mimeType": "image/png" }] },
            { "prompt": [{ "type": "text", "text": "x" }, { "type": "hologram" }] },
            { "prompt": [{ "type": "resource_link", "uri": "file:///w/\u{202e}a", "name": "a" }] },
            text(&"x".repeat(SUGGESTION_BYTES + 1)),
            linked,
        ]);
        assert_eq!(read(&list).unwrap(), json!([text("Run the tests"), linked]));
        assert_eq!(read(&json!([])).unwrap(), json!([]));
        assert_eq!(read(&json!("none")), None);
    }

    #[test]
    fn texts_are_cleaned_and_have_only_known_members() {
        let list = json!([
            { "prompt": [{ "type": "text", "text": "a\u{1b}[31m\u{202e}b\nc\td", "annotations": {}, "_meta": {} }], "_meta": { "x": 1 } }
        ]);
        assert_eq!(read(&list).unwrap(), json!([text("a[31mb\nc\td")]));
    }

    #[test]
    fn an_absurd_list_is_shortened() {
        let list: Vec<Value> = (0..100_000).map(|number| text(&number.to_string())).collect();
        let kept = read(&list.into()).unwrap();
        assert_eq!(kept.as_array().unwrap().len(), SUGGESTIONS);
        assert_eq!(kept[7], text("7"));
        let blocks = vec![json!({ "type": "text", "text": "x" }); BLOCKS + 1];
        assert_eq!(read(&json!([{ "prompt": blocks }])).unwrap(), json!([]));
    }
}
