//! Writes items as Codex's `ThreadItem`. Live notifications and pages of turns write the same text for the same item.

use std::borrow::Cow;

use acpd_model::{ItemId, ItemOutcome, MessageType, RawJson};
use acpd_policy::shell_line;
use serde::Deserialize;
use serde_json::json;

use super::bounded;
use super::call::{Call, FileUpdate, FileUpdateKind, Shape};
use crate::wire::{Object, write_json};

/// The progress of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Running,
    Completed,
    Failed,
    /// A user or a policy did not allow it.
    Declined,
}

impl Progress {
    /// Returns the progress of an item that ended so.
    pub fn ended(outcome: ItemOutcome, declined: bool) -> Self {
        match outcome {
            ItemOutcome::Completed => Self::Completed,
            _ if declined => Self::Declined,
            ItemOutcome::Failed | ItemOutcome::Interrupted => Self::Failed,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Running => "inProgress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Declined => "declined",
        }
    }

    /// Returns the word for an item that cannot be declined.
    fn plain_word(self) -> &'static str {
        match self {
            Self::Declined => "failed",
            Self::Running | Self::Completed | Self::Failed => self.word(),
        }
    }
}

/// The output of a command.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CommandOutput {
    pub text: Option<String>,
    pub exit_code: Option<i32>,
}

/// Writes the beginning of every item.
fn open<'a>(out: &'a mut Vec<u8>, kind: &str, id: ItemId) -> Object<'a> {
    let mut item = Object::open(out);
    item.plain("type", kind);
    id.with_text(|id| {
        item.plain("id", id);
    });
    item
}

/// Writes a message of the user. `client_id` is the client's own id for it.
pub(super) fn write_user_message(
    out: &mut Vec<u8>,
    id: ItemId,
    client_id: Option<&str>,
    content: &[RawJson],
) {
    let mut item = open(out, "userMessage", id);
    item.put("clientId", &client_id);
    item.with("content", |out| write_json(out, &user_input(content)));
    item.close();
}

/// Returns ACP content blocks as Codex's `UserInput`.
pub(super) fn user_input(content: &[RawJson]) -> Vec<serde_json::Value> {
    #[derive(Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Block {
        Text {
            text: String,
        },
        Image {
            data: String,
            #[serde(rename = "mimeType")]
            mime_type: String,
        },
        ResourceLink {
            uri: String,
            #[serde(default)]
            name: String,
        },
        Resource {
            resource: Resource,
        },
        #[serde(other)]
        Other,
    }
    #[derive(Deserialize)]
    struct Resource {
        uri: String,
    }
    let mention = |uri: String, name: String| {
        let path = uri.strip_prefix("file://").unwrap_or(&uri).to_owned();
        let name = if name.is_empty() { path.clone() } else { name };
        json!({ "type": "mention", "name": name, "path": path })
    };
    let text = |text: String| json!({ "type": "text", "text": text, "text_elements": [] });
    let blocks = content.iter().map(|block| match block.read() {
        Ok(Block::Text { text: words }) => text(words),
        Ok(Block::Image { data, mime_type }) => {
            json!({ "type": "image", "url": format!("data:{mime_type};base64,{data}") })
        }
        Ok(Block::ResourceLink { uri, name }) => mention(uri, name),
        Ok(Block::Resource { resource }) => mention(resource.uri, String::new()),
        Ok(Block::Other) | Err(_) => text("[content that Codex cannot show]".to_owned()),
    });
    blocks.collect()
}

/// Returns the text of an agent's message. Other content is named.
pub(super) fn shown_text(content: &[RawJson]) -> String {
    content.iter().map(shown_block).collect()
}

/// Returns the text for one content block.
pub(super) fn shown_block(block: &RawJson) -> String {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Block {
        r#type: String,
        text: String,
        uri: String,
        name: String,
    }
    let bytes = block.get().len();
    let block: Block = block.read().unwrap_or_default();
    match block.r#type.as_str() {
        "text" => block.text,
        "skill" => format!("/{} ", block.name),
        "resource_link" if block.name.is_empty() => block.uri,
        "resource_link" => format!("[{}]({})", block.name, block.uri),
        "" => String::new(),
        other => bounded::named(other, bytes),
    }
}

/// Returns a text as JSON writes it, without the quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_json(&mut out, text);
    String::from_utf8_lossy(&out[1..out.len() - 1]).into_owned()
}

/// Returns the method that adds text to a message or thought of the agent.
pub(super) fn delta_method(role: MessageType) -> Option<&'static str> {
    match role {
        MessageType::AgentMessage => Some("item/agentMessage/delta"),
        MessageType::AgentThought => Some("item/reasoning/summaryTextDelta"),
        // It is shown when it is complete.
        MessageType::UserMessage => None,
    }
}

/// Adds the members of a notification of that method which adds text to an item. `delta` writes the text as JSON.
pub(super) fn put_delta(params: &mut Object<'_>, method: &str, id: &str, delta: impl FnOnce(&mut Vec<u8>)) {
    params.plain("itemId", id);
    if method.starts_with("item/reasoning") {
        params.put("summaryIndex", &0);
    }
    params.with("delta", delta);
}

/// Writes a message or thought of the agent, whose text is escaped.
pub(super) fn write_text(out: &mut Vec<u8>, role: MessageType, id: &str, text: &str) {
    let quoted = |text: &str, open: &str, close: &str| format!("{open}\"{text}\"{close}");
    let mut item = Object::open(out);
    if role == MessageType::AgentThought {
        let summary = if text.is_empty() {
            "[]".to_owned()
        } else {
            quoted(text, "[", "]")
        };
        item.plain("type", "reasoning").plain("id", id);
        item.raw("summary", &summary).raw("content", "[]");
    } else {
        item.plain("type", "agentMessage").plain("id", id);
        item.raw("text", &quoted(text, "", ""));
    }
    item.close();
}

/// Writes a command in one of the daemon's terminals.
pub(super) fn write_terminal(
    out: &mut Vec<u8>,
    id: ItemId,
    command: &str,
    by_user: bool,
    cwd: &str,
    progress: Progress,
    output: &CommandOutput,
) {
    let mut item = open(out, "commandExecution", id);
    item.put("command", &*shown_command(command)).put("cwd", cwd);
    item.plain("source", if by_user { "userShell" } else { "agent" });
    let actions = json!([{ "type": "unknown", "command": command }]);
    item.put("commandActions", &actions);
    write_output(&mut item, progress, output);
    item.close();
}

fn write_output(item: &mut Object<'_>, progress: Progress, output: &CommandOutput) {
    item.plain("status", progress.word());
    match &output.text {
        Some(text) => item.large("aggregatedOutput", text),
        None => item.raw("aggregatedOutput", "null"),
    };
    item.put("exitCode", &output.exit_code);
}

/// Returns a program and its arguments as a command line.
pub(super) fn command_line(command: &str, args: &[String]) -> String {
    shell_line(command, args.iter().map(String::as_str))
}

/// Returns a command line as Codex's server writes it. Codex splits it at blanks and quotes each word again, so a line
/// that is more than words, such as a pipe, would be shown as other text than the one that runs. Codex shows the script
/// of a shell as it is.
pub(super) fn shown_command(line: &str) -> Cow<'_, str> {
    if is_words(line) {
        Cow::Borrowed(line)
    } else {
        Cow::Owned(command_line("/bin/bash", &["-lc".to_owned(), line.to_owned()]))
    }
}

/// Returns whether a shell reads nothing in a line but words, each plain or in quotes that expand nothing.
fn is_words(line: &str) -> bool {
    let mut rest = line.chars();
    let mut is_first = true;
    while let Some(char) = rest.next() {
        match char {
            '\'' if rest.by_ref().any(|end| end == '\'') => {}
            '"' => {
                let end = rest
                    .by_ref()
                    .find(|char| matches!(char, '"' | '$' | '`' | '\\' | '!'));
                if end != Some('"') {
                    return false;
                }
            }
            // Before the command, this sets a variable.
            '=' if is_first => return false,
            ' ' => is_first = false,
            _ if char.is_alphanumeric() || "_@%+=:,./-".contains(char) => {}
            _ => return false,
        }
    }
    !line.trim().is_empty()
}

/// A tool call, and what belongs to it.
pub(super) struct ShownCall<'a> {
    pub call: &'a Call,
    /// The working directory of the thread.
    pub cwd: &'a str,
    /// The changes of its files; if empty, those that the call shows.
    pub files: &'a [FileUpdate],
    /// The output of its terminal, if it has one.
    pub terminal: Option<&'a CommandOutput>,
}

/// Writes a tool call.
pub(super) fn write_call(
    out: &mut Vec<u8>,
    id: ItemId,
    shape: Shape,
    shown: &ShownCall<'_>,
    progress: Progress,
) {
    let ShownCall {
        call,
        cwd,
        files,
        terminal,
    } = *shown;
    match shape {
        Shape::Command => {
            let command = call.command();
            let mut item = open(out, "commandExecution", id);
            item.put("command", &*shown_command(&command))
                .put("cwd", cwd)
                .plain("source", "agent");
            item.put("commandActions", &[action(call, &command)]);
            let own = || CommandOutput {
                text: Some(call.output().to_owned()).filter(|text| !text.is_empty()),
                exit_code: exit_code(call, progress),
            };
            match terminal {
                Some(output) => write_output(&mut item, progress, output),
                None => write_output(&mut item, progress, &own()),
            }
            item.close();
        }
        Shape::Files => {
            let files = if files.is_empty() { call.changes() } else { files };
            write_files(out, id, files, progress);
        }
        Shape::Tool => {
            let mut item = open(out, "dynamicToolCall", id);
            item.put("tool", call.title());
            item.raw("arguments", call.input().map_or("{}", RawJson::get));
            item.plain("status", progress.plain_word());
            if progress != Progress::Running {
                let text = json!([{ "type": "inputText", "text": call.text() }]);
                let content = if call.text().is_empty() { json!([]) } else { text };
                item.put("contentItems", &content)
                    .put("success", &(progress == Progress::Completed));
            }
            item.close();
        }
    }
}

/// Returns the exit code of a command that ran without one of the daemon's terminals. Codex shows a command without an
/// exit code as failed.
fn exit_code(call: &Call, progress: Progress) -> Option<i32> {
    let unknown = match progress {
        // No code is made up for a command that may never have run.
        Progress::Running | Progress::Declined | Progress::Failed => None,
        Progress::Completed => Some(0),
    };
    call.exit_code()
        .filter(|_| progress != Progress::Running)
        .or(unknown)
}

fn action(call: &Call, command: &str) -> serde_json::Value {
    match call.looks_at() {
        Some(("read", Some(path))) => {
            let name = path.rsplit('/').next().unwrap_or(path);
            json!({ "type": "read", "command": command, "name": name, "path": path })
        }
        Some(("search", path)) => {
            json!({ "type": "search", "command": command, "query": call.query(), "path": path })
        }
        _ => json!({ "type": "unknown", "command": command }),
    }
}

/// Writes changes to files.
pub(super) fn write_files(out: &mut Vec<u8>, id: ItemId, files: &[FileUpdate], progress: Progress) {
    let mut item = open(out, "fileChange", id);
    item.with("changes", |out| write_changes(out, files));
    item.plain("status", progress.word());
    item.close();
}

fn write_changes(out: &mut Vec<u8>, files: &[FileUpdate]) {
    out.push(b'[');
    for (at, file) in files.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let mut change = Object::open(out);
        change.put("path", &file.path);
        change.raw(
            "kind",
            match file.change {
                FileUpdateKind::Add => r#"{"type":"add"}"#,
                FileUpdateKind::Delete => r#"{"type":"delete"}"#,
                FileUpdateKind::Update => r#"{"type":"update","move_path":null}"#,
            },
        );
        change.large("diff", &file.diff);
        change.close();
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_more_than_words_is_a_script_of_a_shell() {
        for words in [
            "ls",
            "cargo test --workspace",
            "printf '%s $HOME | x' \"a b\"",
            "grep -c x= a.txt",
            "cat ü.txt",
        ] {
            assert_eq!(shown_command(words), words);
        }
        for line in [
            "cat a.txt | grep -c x > out && echo $HOME; ls *.md",
            "A=1 make",
            "echo \"$HOME\"",
            "cat ~/x",
            "echo 'open",
            "sleep 1 &",
            "echo a\necho b",
            "ls # all",
            "! true",
            "",
        ] {
            let shown = shown_command(line);
            assert!(
                shown.starts_with("/bin/bash -lc '") && shown.ends_with('\''),
                "{line}: {shown}"
            );
        }
        assert_eq!(
            shown_command("cat 'a b' | wc"),
            r"/bin/bash -lc 'cat '\''a b'\'' | wc'"
        );
    }
}
