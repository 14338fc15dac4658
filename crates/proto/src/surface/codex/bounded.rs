//! Items that are too large for a Codex client.
//!
//! In: the JSON of an item, or a text. Out: the same, or words in place of what is too large: how much it is, and where to read it.
//! Never: changes what a client can show.

use std::borrow::Cow;
use std::fmt::Display;

use acpd_model::limits::CODEX_ITEM_BYTES;
use acpd_model::{RawJson, json};
use serde_json::{Value, json};

use crate::wire::{Object, members, spliced};

/// Parts of an item that is too large stay as they are up to this size, in bytes.
const PART_BYTES: usize = 256 << 10;

/// Writes an item of `thread`, with words in place of large parts if the whole is too large.
pub(super) fn write_item(out: &mut Vec<u8>, thread: impl Display, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    write(out);
    let bytes = out.len() - start;
    if bytes <= CODEX_ITEM_BYTES {
        return;
    }
    let item = RawJson::trusted(&String::from_utf8_lossy(&out[start..]));
    out.truncate(start);
    let words = words(bytes, thread);
    let mut bounded = Object::open(out);
    members(&item, |key, value| {
        if value.len() <= PART_BYTES {
            bounded.raw(key, value);
        } else {
            bounded.raw(key, &stand_in(key, value, &words));
        }
    });
    bounded.close();
}

/// Returns a text of `thread`, or words if it is too large.
pub(super) fn text(text: &str, thread: impl Display) -> Cow<'_, str> {
    if text.len() <= CODEX_ITEM_BYTES {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(words(text.len(), thread))
    }
}

/// Returns a size in words.
pub(super) fn size(bytes: usize) -> String {
    let tenths = bytes.saturating_mul(10) >> 20;
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

fn words(bytes: usize, thread: impl Display) -> String {
    format!(
        "[{} that Codex cannot show. Read the whole in acpd’s web UI (acpd open), or with: acpd export {thread}]",
        size(bytes)
    )
}

/// Returns the substitute for a large member of an item, as JSON.
fn stand_in(key: &str, value: &str, words: &str) -> String {
    let quoted = Value::from(words).to_string();
    match key {
        "changes" => parts(value, |change| spliced(change, &[("diff", &quoted)])),
        "content" => {
            let text = json!({ "type": "text", "text": words, "text_elements": [] });
            parts(value, |_| RawJson::from(&text))
        }
        "contentItems" => {
            let text = json!({ "type": "inputText", "text": words });
            parts(value, |_| RawJson::from(&text))
        }
        "commandActions" => {
            let action = json!({ "type": "unknown", "command": words });
            parts(value, |_| RawJson::from(&action))
        }
        "summary" => parts(value, |_| RawJson::trusted(&quoted)),
        "arguments" => json!({ "omitted": words }).to_string(),
        _ => quoted,
    }
}

/// Returns a list with what `stand_in` returns in place of large parts. Once the room is used up, one such part stands for all
/// that follow.
fn parts(list: &str, stand_in: impl Fn(&RawJson) -> RawJson) -> String {
    let all: Vec<RawJson> = json::read(list).unwrap_or_default();
    let mut room = CODEX_ITEM_BYTES / 4;
    let mut bounded = Vec::new();
    for part in all {
        let part = if part.get().len() <= PART_BYTES.min(room) {
            part
        } else {
            stand_in(&part)
        };
        let bytes = part.get().len();
        if bytes <= PART_BYTES {
            bounded.push(part);
        }
        if bytes > room {
            break;
        }
        room -= bytes;
    }
    RawJson::of(&bounded).map_or_else(|_| "[]".to_owned(), |list| list.get().to_owned())
}

/// Returns words for content of this type that Codex cannot show.
pub(super) fn named(kind: &str, bytes: usize) -> String {
    if bytes <= CODEX_ITEM_BYTES {
        return format!("[{kind}]");
    }
    let size = size(bytes);
    format!("[{kind} of {size}: see it in acpd’s web UI (acpd open)]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_of_many_small_parts_shrinks_too() {
        let change = r#"{"path":"/workspace/a","kind":{"type":"add"},"diff":"x"}"#;
        let changes = vec![change; 100_000].join(",");
        let item = format!(r#"{{"type":"fileChange","changes":[{changes}],"id":"item_1"}}"#);
        let mut out = Vec::new();
        write_item(&mut out, "t", |out| out.extend_from_slice(item.as_bytes()));
        assert!(out.len() < CODEX_ITEM_BYTES / 2, "{}", out.len());
        let read: Value = serde_json::from_slice(&out).unwrap();
        let changes = read["changes"].as_array().unwrap();
        let last = changes.last().unwrap()["diff"].as_str().unwrap();
        assert!(changes.len() > 1000 && last.contains("acpd export t"), "{last}");
        assert_eq!(
            (&read["id"], &changes[0]["diff"]),
            (&json!("item_1"), &json!("x"))
        );
    }
}
