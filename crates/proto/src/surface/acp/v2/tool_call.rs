//! Tool calls in the form of version 2.
//!
//! In: tool calls and their updates as agents of version 1 send them. Out: `tool_call_update`, which also creates a call. A member that
//! version 1 leaves unchanged with `null` is left out, because `null` clears in version 2. A translated call is written as the agent
//! wrote it.

use acpd_model::limits::DIFF_BYTES;
use acpd_model::{RawJson, json};
use serde::Deserialize;

use super::original::{self, CallNotes};
use crate::projection::changed_lines;
use crate::wire::{Object, decoded, has_string, member, members, object, others, string_in};

/// Returns the update of a call; `None` if it says nothing new.
pub(super) fn tool_call_update(call: &RawJson, is_translated: bool) -> Option<RawJson> {
    let notes = if is_translated {
        CallNotes::of(call)
    } else {
        CallNotes::default()
    };
    if notes.repeats {
        return None;
    }
    Some(object(|out| {
        out.plain("sessionUpdate", "tool_call_update");
        fill(out, call, &[], &notes);
    }))
}

/// Writes the members of a call, except for these. Members of a type that ACP does not have are left out.
pub(super) fn fill(out: &mut Object<'_>, call: &RawJson, without: &[&str], notes: &CallNotes) {
    let own;
    let call = if notes.is_translated {
        own = original::without_notes(call);
        &own
    } else {
        call
    };
    members(call, |key, value| {
        let name = decoded(key);
        let fits = match &*name {
            // An agent of version 1 cannot cancel a call by itself.
            "sessionUpdate" | "capabilities" => false,
            "toolCallId" | "name" | "title" | "kind" | "status" => value.starts_with('"'),
            "content" | "locations" => value.starts_with('['),
            "_meta" => value.starts_with('{'),
            _ => value != "null",
        };
        if !fits || without.contains(&&*name) || notes.replace(&name) {
            return;
        }
        match &*name {
            "content" => out.list("content", &content(value, notes)),
            "locations" => out.list("locations", &locations(value)),
            _ => out.raw(key, value),
        };
    });
    for (key, value) in notes.members() {
        out.raw(key, value);
    }
}

/// Returns the locations of a call. Version 1 counts lines from 0 as well.
fn locations(list: &str) -> Vec<RawJson> {
    let list: Vec<RawJson> = json::read(list).unwrap_or_default();
    let named = list.into_iter().filter(|location| has_string(location, "path"));
    named
        .map(|location| {
            let line = member(&location, "line");
            let is_line = |line: &str| line.parse::<u32>().is_ok_and(|line| line > 0);
            if line.is_none_or(is_line) {
                return location;
            }
            others(&location, &["line"]).unwrap_or(location)
        })
        .collect()
}

/// Returns the content of a call.
fn content(list: &str, notes: &CallNotes) -> Vec<RawJson> {
    let blocks: Vec<RawJson> = json::read(list).unwrap_or_default();
    if notes.is_translated {
        return notes.content(&blocks);
    }
    let blocks = blocks
        .into_iter()
        .flat_map(|block| match string_in(&block, "type").as_deref() {
            Some("diff") => diff(&block),
            Some(_) => vec![block],
            None => Vec::new(),
        });
    blocks.collect()
}

/// The diff of version 1: what a file contained, or a part of it, and what it contains now.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Diff {
    path: String,
    #[serde(default)]
    old_text: Option<String>,
    new_text: String,
}

/// Returns the blocks for a diff. A patch needs the numbers of the lines, which are known for a new file only: the old text may be a
/// part of the file. The lines of any other change follow as text. `_meta` has both texts as the agent sent them.
fn diff(block: &RawJson) -> Vec<RawJson> {
    let Ok(Diff {
        path,
        old_text,
        new_text,
    }) = block.read::<Diff>()
    else {
        return Vec::new();
    };
    let operation = if old_text.is_some() { "modify" } else { "add" };
    let patch = match old_text {
        None => added(&path, &new_text),
        Some(_) => None,
    };
    let theirs = member(block, "_meta").filter(|meta| meta.starts_with('{'));
    let theirs = theirs.map(RawJson::trusted);
    let change = object(|out| {
        out.plain("type", "diff").with("changes", |list| {
            list.push(b'[');
            let mut change = Object::open(list);
            change.plain("operation", operation).put("path", &path);
            change.close();
            list.push(b']');
        });
        if let Some(patch) = &patch {
            out.object("patch", |out| {
                out.plain("format", "git_patch").large("text", patch);
            });
        }
        out.object("_meta", |meta| {
            meta.others(theirs.and_then(|theirs| others(&theirs, &["acpd"])).as_ref());
            if patch.is_none() {
                meta.object("acpd", |acpd| {
                    acpd.maybe("oldText", old_text.as_ref())
                        .large("newText", &new_text);
                });
            }
        });
    });
    if patch.is_some() {
        return vec![change];
    }
    let text = in_words(&path, old_text.as_deref().unwrap_or_default(), &new_text);
    let text = object(|out| {
        out.plain("type", "content").object("content", |content| {
            content.plain("type", "text").large("text", &text);
        });
    });
    vec![change, text]
}

/// Returns Git's patch for a new file; `None` if Git would quote the path.
fn added(path: &str, text: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    if !path.starts_with('/') || !path.bytes().all(is_plain) {
        return None;
    }
    let mut patch = format!("diff --git {path} {path}\nnew file mode 100644\n");
    if text.is_empty() {
        return Some(patch);
    }
    let lines = text.split_inclusive('\n').count();
    let range = if lines == 1 {
        "1".to_owned()
    } else {
        format!("1,{lines}")
    };
    patch.push_str(&format!("--- /dev/null\n+++ {path}\n@@ -0,0 +{range} @@\n"));
    for line in text.split_inclusive('\n') {
        patch.push('+');
        patch.push_str(line);
    }
    if !text.ends_with('\n') {
        patch.push_str("\n\\ No newline at end of file\n");
    }
    Some(patch)
}

/// Returns the lines that differ, as code. The headers of hunks are left out, because their numbers would be wrong.
fn in_words(path: &str, old: &str, new: &str) -> String {
    if old.len().max(new.len()) > DIFF_BYTES {
        return format!("{} bytes replaced by {} bytes in {path}", old.len(), new.len());
    }
    let lines = changed_lines(old, new);
    let lines: Vec<&str> = lines.lines().filter(|line| !line.starts_with("@@")).collect();
    let lines = lines.join("\n");
    let longest = lines.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}diff\n{lines}\n{fence}")
}

/// Returns whether a call has the id that every update of it needs.
pub(super) fn has_id(call: &RawJson) -> bool {
    has_string(call, "toolCallId")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn translated(call: &Value) -> Value {
        tool_call_update(&call.into(), false).unwrap().read().unwrap()
    }

    #[test]
    fn nothing_is_cleared_by_an_update_of_version_1() {
        let call = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "c", "title": null, "status": "completed", "kind": 7,
            "content": null, "locations": "none", "rawInput": null, "rawOutput": { "a": null }, "_meta": null,
            "capabilities": { "cancel": {} },
        });
        assert_eq!(
            translated(&call),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "rawOutput": { "a": null } })
        );
    }

    #[test]
    fn members_that_version_2_does_not_take_are_left_out() {
        let call = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "c", "name": 7, "locations": [
                { "path": "/w/a", "line": 0 }, { "path": "/w/b", "line": 1 }, { "path": "/w/c", "line": -1, "_meta": {} },
                { "path": "/w/d", "line": null }, { "path": 7, "line": 1 }, {}, 7,
            ],
        });
        assert_eq!(
            translated(&call),
            json!({
                "sessionUpdate": "tool_call_update", "toolCallId": "c", "locations": [
                    { "path": "/w/a" }, { "path": "/w/b", "line": 1 }, { "path": "/w/c", "_meta": {} }, { "path": "/w/d" },
                ],
            })
        );
    }

    #[test]
    fn names_may_be_written_with_escapes() {
        let call = r#"{"tool\u0043allId":"c","capabilit\u0069es":{"cancel":{}},"conten\u0074":[{"type":"d\u0069ff","path":"/w/a b",
            "newText":"","_meta":{"acp\u0064":1,"x":2}}]}"#;
        let call: Value = tool_call_update(&RawJson::parse(call).unwrap(), false)
            .unwrap()
            .read()
            .unwrap();
        assert_eq!(call.get("capabilities"), None);
        assert_eq!(call["toolCallId"], "c");
        let diff = &call["content"][0];
        assert_eq!(diff["changes"][0]["operation"], "add", "{call}");
        assert_eq!(diff["_meta"], json!({ "x": 2, "acpd": { "newText": "" } }));
    }

    #[test]
    fn a_new_file_has_a_patch_and_a_change_its_lines() {
        let call = json!({ "toolCallId": "c", "content": [
            { "type": "diff", "path": "/w/new", "oldText": null, "newText": "a\nb" },
            { "type": "diff", "path": "/w/old", "oldText": "a\n", "newText": "```\n", "_meta": { "x": 1 } },
            { "type": "diff", "path": 7 },
            { "type": "terminal", "terminalId": "term_1" },
            7,
        ] });
        assert_eq!(
            translated(&call)["content"],
            json!([
                { "type": "diff", "changes": [{ "operation": "add", "path": "/w/new" }], "_meta": {},
                  "patch": { "format": "git_patch", "text": concat!(
                      "diff --git /w/new /w/new\nnew file mode 100644\n--- /dev/null\n+++ /w/new\n@@ -0,0 +1,2 @@\n",
                      "+a\n+b\n\\ No newline at end of file\n"
                  ) } },
                { "type": "diff", "changes": [{ "operation": "modify", "path": "/w/old" }],
                  "_meta": { "x": 1, "acpd": { "oldText": "a\n", "newText": "```\n" } } },
                { "type": "content", "content": { "type": "text", "text": "````diff\n-a\n+```\n````" } },
                { "type": "terminal", "terminalId": "term_1" },
            ])
        );
    }

    #[test]
    fn paths_that_git_quotes_and_huge_changes_have_no_patch() {
        for path in ["relative", "/w/a b", "/w/ä", "/w/\"", "/w/\\"] {
            assert_eq!(added(path, "x"), None, "{path}");
        }
        assert_eq!(
            added("/e", "").as_deref(),
            Some("diff --git /e /e\nnew file mode 100644\n")
        );
        let long = "x\n".repeat(DIFF_BYTES);
        assert!(in_words("/w", "", &long).ends_with("bytes in /w"));
        assert_eq!(in_words("/w", "", ""), "```diff\n\n```");
    }
}
