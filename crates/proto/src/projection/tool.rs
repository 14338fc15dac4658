//! A tool call with its sparse updates applied.

use std::borrow::Cow;
use std::collections::BTreeMap;

use acpd_model::item::ToolStatus;
use acpd_model::limits::PATH_BYTES;
use acpd_model::{PreviousContent, RawJson, json};
use acpd_policy::call_title;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::wire::{Text, may_have, members, plain_key};

/// An ACP tool call, stored as members of JSON text. Unknown members are kept, and all values stay as the agent wrote
/// them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolView {
    members: Vec<(String, String)>,
    /// Diffs of files in earlier content. Agents replace a diff by text such as "done" when the edit is complete.
    earlier: Vec<FileDiff>,
}

impl ToolView {
    /// Applies a `tool_call` or `tool_call_update` object: its members replace the stored ones, and absent members
    /// stay. `null` means unchanged. A status never goes back or changes after a final one. A value that is not an
    /// object changes nothing.
    pub fn apply(&mut self, update: &RawJson) {
        let mut names: Vec<Cow<'_, str>> = Vec::new();
        members(update, |key, json| {
            let name = plain_key(key);
            if names.contains(&name) {
                self.repeat(&name, json);
            } else {
                self.set(&name, json);
                names.push(name);
            }
        });
    }

    /// Adds a value of a member that an update has twice. Readers disagree about which one counts: both stay, so that a question about the
    /// call is refused.
    fn repeat(&mut self, key: &str, json: &str) {
        let known = self.members.iter().filter(|(name, _)| name == key).count();
        if known == 1 {
            self.members.push((key.to_owned(), json.to_owned()));
        }
    }

    fn set(&mut self, key: &str, json: &str) {
        if json == "null" || key == "sessionUpdate" {
            return;
        }
        let forward = |new| new >= self.status() && !self.status().is_final();
        if key == "status" && !status(json).is_some_and(forward) {
            return;
        }
        match self.members.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => {
                if key == "content" {
                    let shown = diffs_in(old);
                    self.earlier
                        .retain(|diff| shown.iter().all(|later| later.path != diff.path));
                    self.earlier.extend(shown);
                }
                old.clear();
                old.push_str(json);
            }
            None => self.members.push((key.to_owned(), json.to_owned())),
        }
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.members
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, json)| json.as_str())
    }

    /// Returns a member as a `T`; `None` if it is absent or has another type.
    pub fn read<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        json::read(self.get(key)?).ok()
    }

    /// Returns the status so far.
    pub fn status(&self) -> ToolStatus {
        self.get("status").and_then(status).unwrap_or_default()
    }

    /// Returns the title; empty if the agent did not set one.
    pub fn title(&self) -> String {
        self.read("title").unwrap_or_default()
    }

    /// Returns the title for a reader: a command in it has the quotes that it runs with.
    pub fn shown_title(&self) -> String {
        let input = self.read::<serde_json::Value>("rawInput").unwrap_or_default();
        call_title(&self.title(), &input).into_owned()
    }

    /// Returns ACP's tool kind; `other` if the agent did not set one.
    pub fn kind(&self) -> String {
        self.read("kind").unwrap_or_else(|| "other".to_owned())
    }

    /// Returns the diffs in the content. For a file that the content no longer has, returns its last diff.
    pub fn diffs(&self) -> Vec<FileDiff> {
        let now = self.get("content").map(diffs_in).unwrap_or_default();
        let is_dropped = |diff: &&FileDiff| now.iter().all(|shown| shown.path != diff.path);
        let mut diffs: Vec<FileDiff> = self.earlier.iter().filter(is_dropped).cloned().collect();
        diffs.extend(now);
        diffs
    }

    /// Returns the texts that came out of the call: those of its content, and the output itself or its members.
    pub fn output_text(&self) -> String {
        #[derive(Deserialize)]
        struct Shown {
            content: Block,
        }
        #[derive(Deserialize)]
        struct Block {
            text: String,
        }
        let shown: Vec<RawJson> = self.read("content").unwrap_or_default();
        let shown = shown.iter().filter_map(|shown| shown.read::<Shown>().ok());
        let mut texts: Vec<String> = shown.map(|shown| shown.content.text).collect();
        let members: BTreeMap<String, RawJson> = self.read("rawOutput").unwrap_or_default();
        texts.extend(members.values().filter_map(|member| member.read::<String>().ok()));
        texts.extend(self.read::<String>("rawOutput"));
        texts.join("\n")
    }

    /// Returns the size in bytes, including earlier diffs.
    pub fn bytes(&self) -> usize {
        let members = self.members.iter().map(|(key, json)| key.len() + json.len());
        let earlier = self.earlier.iter().map(FileDiff::bytes);
        members.sum::<usize>() + earlier.sum::<usize>()
    }

    /// Returns the whole call as JSON.
    pub fn to_json(&self) -> RawJson {
        let mut json = String::from("{");
        for (at, (key, value)) in self.members.iter().enumerate() {
            if at > 0 {
                json.push(',');
            }
            // The key still has the escapes that it needs.
            json.push('"');
            json.push_str(key);
            json.push_str("\":");
            json.push_str(value);
        }
        json.push('}');
        RawJson::parse(json).unwrap_or_else(|_| serde_json::json!({}).into())
    }
}

fn status(json: &str) -> Option<ToolStatus> {
    ToolStatus::from_acp(&json::read::<String>(json).ok()?)
}

/// A change of one file, as a tool call shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// Absolute path.
    pub path: String,
    /// The previous content; absent for a new file.
    #[serde(default)]
    pub old_text: Option<String>,
    /// The new content.
    pub new_text: String,
}

impl FileDiff {
    fn bytes(&self) -> usize {
        self.path.len() + self.old_text.as_ref().map_or(0, String::len) + self.new_text.len()
    }

    /// Returns the previous content according to the agent.
    pub fn before(&self) -> PreviousContent {
        self.old_text
            .clone()
            .map_or(PreviousContent::Nothing, PreviousContent::Text)
    }
}

/// Returns the diffs in a tool call's `content`; ignores other content, malformed diffs, and those of paths that no system has.
fn diffs_in(content: &str) -> Vec<FileDiff> {
    #[derive(Deserialize)]
    struct Tag<'a> {
        #[serde(rename = "type", borrow)]
        kind: Text<'a>,
    }
    if !may_have(content.as_bytes(), "\"diff\"") {
        return Vec::new();
    }
    let Ok(blocks) = serde_json::from_str::<Vec<&RawValue>>(content) else {
        return Vec::new();
    };
    let is_diff = |block: &&&RawValue| {
        let tag = |block: &str| serde_json::from_str::<Tag<'_>>(block).map(|tag| &*tag.kind == "diff");
        json::read_with(block.get(), tag).unwrap_or_default()
    };
    blocks
        .iter()
        .filter(is_diff)
        .filter_map(|block| json::read(block.get()).ok())
        .filter(|diff: &FileDiff| diff.path.len() <= PATH_BYTES)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(tool: &mut ToolView, update: &str) {
        tool.apply(&RawJson::parse(update).unwrap());
    }

    #[test]
    fn updates_are_sparse_and_unknown_members_stay() {
        let mut tool = ToolView::default();
        apply(
            &mut tool,
            r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"Edit","kind":"edit","odd":1.10,"status":"pending"}"#,
        );
        apply(
            &mut tool,
            r#"{"toolCallId":"t","title":null,"status":"in_progress","rawInput":{"b":1,"a":18446744073709551616}}"#,
        );
        assert_eq!(
            tool.to_json().get(),
            r#"{"toolCallId":"t","title":"Edit","kind":"edit","odd":1.10,"status":"in_progress","rawInput":{"b":1,"a":18446744073709551616}}"#
        );
    }

    #[test]
    fn a_status_never_goes_back() {
        let mut tool = ToolView::default();
        for status in ["completed", "pending", "in_progress", "failed", "sideways"] {
            apply(&mut tool, &format!(r#"{{"status":"{status}"}}"#));
        }
        assert_eq!(tool.status(), ToolStatus::Completed);
    }

    #[test]
    fn values_other_than_objects_change_nothing() {
        let mut tool = ToolView::default();
        for odd in ["[]", "1", "null", "\"{}\""] {
            apply(&mut tool, odd);
        }
        assert_eq!(tool, ToolView::default());
    }

    #[test]
    fn output_of_a_call_is_text() {
        for (call, expected) in [
            (
                r#"{"content":[{"type":"content","content":{"type":"text","text":"a"}},{"type":"diff","path":"/x","newText":"b"},7],"rawOutput":"c"}"#,
                "a\nc",
            ),
            (
                r#"{"rawOutput":{"code":1,"stderr":"e","more":{"text":"deep"}}}"#,
                "e",
            ),
            (r#"{"content":"odd","rawOutput":[1]}"#, ""),
        ] {
            let mut tool = ToolView::default();
            apply(&mut tool, call);
            assert_eq!(tool.output_text(), expected, "{call}");
        }
    }

    #[test]
    fn finds_the_diffs_among_other_content() {
        let mut tool = ToolView::default();
        apply(
            &mut tool,
            r#"{"content":[{"type":"content","content":{"type":"text","text":"\"diff\""}},{"type":"diff","path":"/a","newText":"x"},{"type":"diff","path":7},{"type":"diff","path":"/b","oldText":null,"newText":"y","_meta":{}}]}"#,
        );
        let paths: Vec<_> = tool.diffs().into_iter().map(|d| d.path).collect();
        assert_eq!(paths, ["/a", "/b"]);
    }
}
