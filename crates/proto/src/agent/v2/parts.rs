//! The parts of JSON objects that the translation reads and writes. All other text stays as the agent wrote it.

use acpd_model::{RawJson, json};

use crate::wire::{decoded, member, members, object, others, spliced};

/// Bytes of content up to which each change of it is shown at once.
const SMALL_BYTES: usize = 4 << 10;

/// Returns whether content that has grown from `shown` to `bytes` bytes is shown again. Version 1 repeats the whole of it each time, which
/// small changes of a large content would make many times as large.
pub(super) fn is_due(shown: usize, bytes: usize) -> bool {
    bytes <= SMALL_BYTES || bytes >= shown + shown / 4
}

pub(super) fn empty() -> RawJson {
    RawJson::trusted("{}")
}

/// Returns a member that is an object.
pub(super) fn object_in(json: &RawJson, name: &str) -> Option<RawJson> {
    let value = member(json, name).filter(|value| value.starts_with('{'));
    value.map(RawJson::trusted)
}

/// Returns a member that is a string.
pub(super) fn text_in(json: &RawJson, name: &str) -> Option<String> {
    let value = member(json, name).filter(|value| value.starts_with('"'))?;
    json::read(value).ok()
}

/// Returns the objects of a member that is a list.
pub(super) fn objects_in(json: &RawJson, name: &str) -> Option<Vec<RawJson>> {
    let value = member(json, name).filter(|value| value.starts_with('['))?;
    let mut values: Vec<RawJson> = json::read(value).ok()?;
    values.retain(|value| value.get().starts_with('{'));
    Some(values)
}

/// Returns a list as JSON text.
pub(super) fn list(values: impl IntoIterator<Item = RawJson>) -> String {
    let values: Vec<RawJson> = values.into_iter().collect();
    let texts: Vec<&str> = values.iter().map(RawJson::get).collect();
    format!("[{}]", texts.join(","))
}

/// Returns an object in which members have other names.
pub(super) fn renamed(json: &RawJson, names: &[(&str, &str)]) -> RawJson {
    object(|out| {
        members(json, |key, value| {
            let name = decoded(key);
            let new = names.iter().find(|(old, _)| *old == name);
            out.raw(new.map_or(key, |(_, new)| *new), value);
        });
    })
}

/// Returns an object with `acpd`, a JSON object, in its `_meta`.
pub(super) fn noted(json: &RawJson, acpd: &str) -> RawJson {
    let meta = object_in(json, "_meta").unwrap_or_else(empty);
    let meta = spliced(&meta, &[("acpd", acpd)]);
    spliced(json, &[("_meta", meta.get())])
}

/// Returns an object without `acpd` in its `_meta`. The agent must not write what [`noted`] writes.
pub(super) fn without_notes(json: &RawJson) -> RawJson {
    let theirs = object_in(json, "_meta").filter(|meta| member(meta, "acpd").is_some());
    let Some(theirs) = theirs else {
        return json.clone();
    };
    let rest = others(&theirs, &["acpd"]).unwrap_or_else(empty);
    spliced(json, &[("_meta", rest.get())])
}

/// Returns a piece of a tool call's content that is text.
pub(super) fn text_piece(text: &str) -> RawJson {
    object(|out| {
        out.put("type", "content").object("content", |block| {
            block.put("type", "text").large("text", text);
        });
    })
}

/// Returns an object in which a member, a block or a list of them, has blocks of version 1 only.
pub(super) fn with_blocks(json: &RawJson, name: &str) -> RawJson {
    changed_blocks(json, name, generic)
}

/// Returns an object in which some blocks of a member, a block or a list of them, are replaced.
pub(super) fn changed_blocks(
    json: &RawJson,
    name: &str,
    change: impl Fn(&RawJson) -> Option<RawJson>,
) -> RawJson {
    if let Some(block) = object_in(json, name) {
        return match change(&block) {
            Some(block) => spliced(json, &[(name, block.get())]),
            None => json.clone(),
        };
    }
    let Some(mut blocks) = objects_in(json, name) else {
        return json.clone();
    };
    let mut is_changed = false;
    for block in &mut blocks {
        if let Some(new) = change(block) {
            (*block, is_changed) = (new, true);
        }
    }
    if is_changed {
        spliced(json, &[(name, &list(blocks))])
    } else {
        json.clone()
    }
}

/// Returns the text that stands for a block of a type that version 1 does not have, or the block without notes; `None` if it stays as it is.
/// Skills stay: they are in messages of the user, who has sent them.
fn generic(block: &RawJson) -> Option<RawJson> {
    let kind = text_in(block, "type");
    let kind = kind.as_deref().unwrap_or("unknown content");
    if ["text", "image", "audio", "resource_link", "resource", "skill"].contains(&kind) {
        let plain = without_notes(block);
        return (plain.get() != block.get()).then_some(plain);
    }
    let text = object(|out| {
        out.put("type", "text").put("text", &format!("[{kind}]"));
    });
    Some(noted(&text, &format!(r#"{{"block":{}}}"#, block.get())))
}

/// Returns an update of version 1 that changes nothing and has one of version 2 in its `_meta`.
pub(super) fn beside(update: &RawJson) -> RawJson {
    beside_first(update, false)
}

/// Returns the same, and says whether the update is the first one of its terminal.
pub(super) fn beside_first(update: &RawJson, begins: bool) -> RawJson {
    object(|out| {
        out.put("sessionUpdate", "session_info_update")
            .object("_meta", |meta| {
                meta.object("acpd", |acpd| {
                    acpd.raw("update", update.get());
                    if begins {
                        acpd.put("begins", &true);
                    }
                });
            });
    })
}
