//! What this protocol shows of an agent's tool call.
//!
//! In: the call's updates. Out: facts about it. Owns: nothing of the call's content but what its item shows.

use std::sync::Arc;

use acpd_model::item::ToolStatus;
use acpd_model::{PreviousContent, RawJson, json};
use acpd_policy::shell_line;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::bounded::named;
use crate::projection::{FileDiff, unified_diff};
use crate::wire::{decoded, may_have, member, members};

/// The type of item that shows a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `commandExecution`: commands, and what only looks at files.
    Command,
    /// `fileChange`.
    Files,
    /// `dynamicToolCall`: everything else.
    Tool,
}

/// A change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileUpdate {
    /// Path of the file.
    pub path: String,
    /// What happens to it.
    pub change: FileUpdateKind,
    /// The content of a new or deleted file; otherwise the hunks of a unified diff.
    pub diff: String,
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileUpdateKind {
    Add,
    Delete,
    Update,
}

impl FileUpdate {
    /// Describes a unified diff with its two file lines.
    pub fn of_unified(path: &str, unified: &str) -> Self {
        let is_new = unified.starts_with("--- /dev/null\n");
        let hunks = unified
            .split_inclusive('\n')
            .skip_while(|line| line.starts_with("--- ") || line.starts_with("+++ "));
        let (change, diff) = if is_new {
            (FileUpdateKind::Add, added(hunks))
        } else {
            (FileUpdateKind::Update, hunks.collect())
        };
        Self {
            path: path.to_owned(),
            change,
            diff,
        }
    }

    fn deleted(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            change: FileUpdateKind::Delete,
            diff: String::new(),
        }
    }

    fn of_diff(diff: &FileDiff) -> Self {
        if diff.old_text.is_none() {
            return Self {
                path: diff.path.clone(),
                change: FileUpdateKind::Add,
                diff: diff.new_text.clone(),
            };
        }
        let before = PreviousContent::Text(diff.old_text.clone().unwrap_or_default());
        Self::of_unified(&diff.path, &unified_diff(&diff.path, &before, &diff.new_text))
    }
}

/// Returns the content of a new file, from the lines of its diff.
fn added<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut content = String::new();
    for line in lines {
        if let Some(line) = line.strip_prefix('+') {
            content.push_str(line);
        } else if line.starts_with(NO_NEWLINE) && content.ends_with('\n') {
            content.pop();
        } else if line.starts_with('\\') {
            // The diff has only the size of a large file.
            content.push_str(line);
        }
    }
    content
}

/// Follows the last line of a file that does not end with a line break.
const NO_NEWLINE: &str = "\\ No newline";

/// The facts that one or more updates of a call contain. Clones share their texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Call {
    kind: Option<Arc<str>>,
    title: Option<Arc<str>>,
    input: Option<RawJson>,
    path: Option<Arc<str>>,
    status: Option<ToolStatus>,
    /// The text in its content.
    text: Option<Arc<str>>,
    exit_code: Option<i32>,
    changes: Option<Arc<[FileUpdate]>>,
    /// The daemon's ids of the terminals in its content.
    terminals: Option<Arc<[String]>>,
}

/// A block of a call's content.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Block {
    Content {
        content: Content,
    },
    Diff(FileDiff),
    Terminal {
        terminal_id: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Content {
    r#type: String,
    text: String,
    data: String,
}

impl Content {
    /// Returns its text. An image is named; resources are left out.
    fn into_text(self) -> String {
        match self.r#type.as_str() {
            kind @ ("image" | "audio") => named(kind, self.data.len()),
            _ => self.text,
        }
    }
}

impl Call {
    /// Reads a tool call. Members that do not follow ACP count as absent.
    pub fn read(call: &RawJson) -> Self {
        let mut read = Self::default();
        read.read_members(call, true);
        read
    }

    /// Reads an update of a tool call; `None` if it has nothing that is shown before the call ends. Most updates only
    /// replace the text of its content.
    pub fn read_update(update: &RawJson) -> Option<Self> {
        let mut read = Self::default();
        read.read_members(update, false);
        (read != Self::default()).then_some(read)
    }

    fn read_members(&mut self, call: &RawJson, with_text: bool) {
        members(call, |key, value| match &*decoded(key) {
            _ if value == "null" => {}
            "kind" => self.kind = text(value),
            "title" => self.title = text(value),
            "status" => self.status = text(value).and_then(|word| ToolStatus::from_acp(&word)),
            "rawInput" => self.input = Some(RawJson::trusted(value)),
            "rawOutput" if with_text => self.exit_code = exit_code(value),
            "locations" => self.path = first_path(value),
            "content" if with_text || shows_more_than_text(value) => self.read_content(value),
            _ => {}
        });
        if self.kind.as_deref() == Some("delete") && self.changes.is_none() {
            let deleted = self.path.as_deref().map(FileUpdate::deleted);
            self.show_changes(deleted.into_iter().collect());
        }
    }

    fn read_content(&mut self, content: &str) {
        let Ok(blocks) = json::read::<Vec<RawJson>>(content) else {
            return;
        };
        let (mut texts, mut changes, mut terminals) = (Vec::new(), Vec::new(), Vec::new());
        for block in blocks.iter().filter_map(|block| block.read().ok()) {
            match block {
                Block::Content { content } => texts.push(content.into_text()),
                Block::Diff(diff) => changes.push(FileUpdate::of_diff(&diff)),
                Block::Terminal { terminal_id } => terminals.push(terminal_id),
                Block::Other => {}
            }
        }
        texts.retain(|text| !text.is_empty());
        self.text = Some(texts.join("\n").into());
        self.changes = Some(changes).filter(|changes| !changes.is_empty()).map(Arc::from);
        self.terminals = Some(terminals).filter(|ids| !ids.is_empty()).map(Arc::from);
    }

    /// Says in the title that a subagent makes the call.
    pub fn mark_subagents(&mut self) {
        self.title = self.title.take().map(|title| format!("Subagent: {title}").into());
    }

    /// Describes a call of which the event that started it says only this.
    pub fn started(title: &str, kind: &str, status: ToolStatus) -> Self {
        Self {
            kind: Some(kind.into()),
            title: Some(title.into()),
            status: Some(status),
            ..Self::default()
        }
    }

    /// Adds the facts of a later update.
    pub fn apply(&mut self, later: &Self) {
        fn replace<T: Clone>(old: &mut Option<T>, new: Option<&T>) {
            if let Some(new) = new {
                *old = Some(new.clone());
            }
        }
        replace(&mut self.kind, later.kind.as_ref());
        replace(&mut self.title, later.title.as_ref());
        replace(&mut self.input, later.input.as_ref());
        replace(&mut self.path, later.path.as_ref());
        replace(&mut self.status, later.status.as_ref());
        replace(&mut self.text, later.text.as_ref());
        replace(&mut self.exit_code, later.exit_code.as_ref());
        replace(&mut self.changes, later.changes.as_ref());
        replace(&mut self.terminals, later.terminals.as_ref());
    }

    /// Returns the type of item that shows the call, according to its kind.
    pub fn shape(&self) -> Shape {
        match self.kind.as_deref() {
            Some("execute" | "read" | "search") => Shape::Command,
            Some("edit" | "delete" | "move") => Shape::Files,
            _ => Shape::Tool,
        }
    }

    /// Returns whether its item can be shown: the type of an item cannot change.
    pub fn is_clear(&self) -> bool {
        match self.shape() {
            Shape::Command => self.is_named() || self.runs(),
            Shape::Files => self.changes.is_some(),
            Shape::Tool => self.runs(),
        }
    }

    fn runs(&self) -> bool {
        self.status.is_some_and(|status| status > ToolStatus::Pending)
    }

    /// Returns whether it is known what a command or a look at files concerns. Agents often tell it after the call.
    fn is_named(&self) -> bool {
        match &self.input {
            Some(input) if self.may_have_terminal() => member(input, "command").is_some(),
            Some(_) | None => self.path.is_some() || self.query().is_some(),
        }
    }

    /// Returns the ids of the terminals in its content.
    pub fn terminals(&self) -> &[String] {
        self.terminals.as_deref().unwrap_or_default()
    }

    /// Returns the changes that it shows.
    pub fn changes(&self) -> &[FileUpdate] {
        self.changes.as_deref().unwrap_or_default()
    }

    /// Sets the changes of a call that has shown none.
    pub fn show_changes(&mut self, changes: Vec<FileUpdate>) {
        self.changes = Some(changes).filter(|changes| !changes.is_empty()).map(Arc::from);
    }

    /// Sets the kind of a call whose item is not shown yet.
    pub fn set_kind(&mut self, kind: &str) {
        self.kind = Some(kind.into());
    }

    /// Returns whether the call runs a command, whose terminal may exist before the call shows it.
    pub fn may_have_terminal(&self) -> bool {
        self.kind.as_deref() == Some("execute")
    }

    /// Returns the agent's title.
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or_default()
    }

    /// Returns the input as the agent wrote it.
    pub fn input(&self) -> Option<&RawJson> {
        self.input.as_ref()
    }

    /// Returns the text of its content.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Returns the text of its content as the output of a command, without the fence that many agents put around it.
    pub fn output(&self) -> &str {
        let text = self.text();
        let inside = text.strip_prefix("```").and_then(|rest| {
            let (language, rest) = rest.split_once('\n')?;
            let inside = rest.trim_end().strip_suffix("```")?;
            (!language.contains('`') && !inside.contains("\n```")).then_some(inside)
        });
        inside.unwrap_or(text)
    }

    /// Returns the exit code of its command, if the agent says it.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    /// Returns what it does in one line: the command of a command, otherwise the title.
    pub fn command(&self) -> String {
        let input = self.input.as_ref().filter(|_| self.may_have_terminal());
        let line = input.and_then(|input| read::<String>(input, "command"));
        let args = |name| input.and_then(|input| read::<Vec<String>>(input, name));
        match (line, args("args"), args("command").as_deref()) {
            (Some(program), Some(args), _) => shell_line(&program, args.iter().map(String::as_str)),
            (Some(line), None, _) => line,
            (None, _, Some([program, args @ ..])) => shell_line(program, args.iter().map(String::as_str)),
            _ => self.title().to_owned(),
        }
    }

    /// Returns what the call looks at, as Codex's `CommandAction` names it: the action, and the path.
    pub fn looks_at(&self) -> Option<(&'static str, Option<&str>)> {
        match self.kind.as_deref() {
            Some("read") => Some(("read", self.path.as_deref())),
            Some("search") => Some(("search", self.path.as_deref())),
            _ => None,
        }
    }

    /// Returns the query of a search.
    pub fn query(&self) -> Option<String> {
        let input = self.input.as_ref()?;
        ["pattern", "query", "regex", "glob"]
            .into_iter()
            .find_map(|name| read(input, name))
    }
}

fn read<T: DeserializeOwned>(json: &RawJson, name: &str) -> Option<T> {
    json::read(member(json, name)?).ok()
}

fn text(value: &str) -> Option<Arc<str>> {
    json::read::<String>(value).ok().map(Arc::from)
}

/// Returns whether content has diffs or terminals. It may only mention them.
fn shows_more_than_text(content: &str) -> bool {
    let content = content.as_bytes();
    may_have(content, "\"diff\"") || may_have(content, "\"terminal\"")
}

fn first_path(locations: &str) -> Option<Arc<str>> {
    #[derive(Deserialize)]
    struct Location {
        path: String,
    }
    let locations: Vec<Location> = json::read(locations).ok()?;
    Some(locations.into_iter().next()?.path.into())
}

/// Reads the exit code in a call's raw output. Agents spell it in two ways.
fn exit_code(output: &str) -> Option<i32> {
    let output = RawJson::trusted(output);
    ["exitCode", "exit_code"]
        .into_iter()
        .find_map(|name| read(&output, name))
}
