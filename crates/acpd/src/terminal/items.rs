//! The items of a thread, as text for a terminal.
//!
//! In: items as pages and notifications of the app protocol have them, and their changes. Out: blocks of plain text. Owns:
//! an item's texts, at most [`ITEM_BYTES`] each. Never: lets an agent's text reach a terminal as it is.

mod changes;
pub mod rejected;

use acpd_model::line_ends::shown_diff;
use acpd_model::text::shorten;
use acpd_policy::{call_title, shell_line};
use serde_json::Value;

use self::changes::changed_lines;
use crate::terminal::plain::{plain, plain_line, visible, visible_line};

/// Number of characters of a short id. They are the last ones: ids begin with their time of creation, so that ids of one
/// day begin alike.
const SHORT: usize = 8;

/// Maximum size of a text that is kept of an item, in bytes. Of a longer one, the end is kept.
pub const ITEM_BYTES: usize = 256 << 10;

/// Maximum length of a title, a path or a command line, in characters.
const TITLE_CHARS: usize = 4000;

/// One item of a turn.
#[derive(Debug, Clone)]
pub struct Item {
    /// The item's id.
    pub id: String,
    /// Whether the item has ended.
    pub is_over: bool,
    /// The tool call that it belongs to.
    parent: Option<String>,
    /// How it ended, unless it completed.
    unmade: Option<&'static str>,
    /// Whether the last answer about its tool call declined it.
    is_rejected: bool,
    /// Whether a message has content that its text only names.
    has_others: bool,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    User(Text),
    Answer(Text),
    Thought(Text),
    ToolCall {
        title: String,
        status: String,
        parts: Vec<Part>,
    },
    FileChange {
        path: String,
        diff: Text,
    },
    Command {
        line: String,
        output: Text,
        end: Option<String>,
    },
    Unknown,
}

/// A part of a tool call's content.
#[derive(Debug, Clone)]
enum Part {
    Text(Text),
    /// A changed file, as lines that begin with a sign.
    Changes(Text),
    /// Content that a terminal cannot show, by its type.
    Other(String),
}

/// A text, or the end of one.
#[derive(Debug, Clone, Default)]
struct Text {
    end: String,
    is_cut: bool,
}

/// What a block of text is, which decides how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A message of the user.
    User,
    /// The agent's answer.
    Answer,
    /// The agent's reasoning.
    Thought,
    /// The title of a tool call, a command or a changed file.
    Title,
    /// The title of one that failed.
    Failed,
    /// Output of a tool call or a command.
    Output,
    /// A unified diff.
    Diff,
    /// A remark of acpd.
    Remark,
}

/// A part of an item, as plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What the text is.
    pub role: Role,
    /// The text, safe for a terminal.
    pub text: String,
}

impl Item {
    /// Reads an item of a page, or the params of the notification that starts it.
    pub fn read(item: &Value) -> Self {
        let mut read = Self {
            id: item["itemId"].as_str().unwrap_or_default().to_owned(),
            is_over: false,
            parent: item["parentItemId"].as_str().map(str::to_owned),
            unmade: None,
            is_rejected: false,
            has_others: false,
            kind: match item["type"].as_str() {
                Some("userMessage") => Kind::User(Text::default()),
                Some("agentMessage") => Kind::Answer(Text::default()),
                Some("agentThought") => Kind::Thought(Text::default()),
                Some("toolCall") => Kind::ToolCall {
                    title: String::new(),
                    status: String::new(),
                    parts: Vec::new(),
                },
                Some("fileChange") => Kind::FileChange {
                    path: String::new(),
                    diff: Text::default(),
                },
                Some("terminalCommand") => Kind::Command {
                    line: String::new(),
                    output: Text::default(),
                    end: None,
                },
                _ => Kind::Unknown,
            },
        };
        read.update(item);
        read
    }

    /// Applies the members that a notification or a page has; absent ones are unchanged.
    pub fn update(&mut self, known: &Value) {
        self.is_over |= known["outcome"].is_string();
        self.unmade = unmade(known, false).or(self.unmade);
        match &mut self.kind {
            Kind::User(text) | Kind::Answer(text) | Kind::Thought(text) => {
                if let Some(whole) = message(known) {
                    *text = Text::of(&whole);
                    self.has_others = known["content"]
                        .as_array()
                        .is_some_and(|blocks| blocks.iter().any(|block| block["type"] != "text"));
                }
            }
            Kind::ToolCall { title, status, parts } => {
                let call = &known["toolCall"];
                let named = call["title"].as_str().or(known["title"].as_str());
                if let Some(named) = named {
                    let named = call_title(named, &call["rawInput"]);
                    *title = shorten(&plain_line(&named), TITLE_CHARS);
                }
                if let Some(next) = known["status"]
                    .as_str()
                    .filter(|next| steps(next) >= steps(status))
                {
                    *status = plain_line(next);
                }
                if let Some(content) = call["content"].as_array() {
                    *parts = content.iter().filter_map(Part::read).collect();
                }
            }
            Kind::FileChange { path, diff } => {
                if let Some(known) = known["path"].as_str() {
                    *path = shorten(&visible_line(known), TITLE_CHARS);
                }
                if let Some(known) = known["diff"].as_str() {
                    *diff = Text::of(known);
                }
            }
            Kind::Command { line, output, end } => {
                if known["command"].is_string() {
                    *line = shorten(&command_line(known), TITLE_CHARS);
                }
                if let Some(known_output) = known["output"].as_str() {
                    *output = Text::of(known_output);
                    output.is_cut |= known["outputBlob"].is_string();
                }
                if known["outcome"].is_string() {
                    *end = Some(end_of_command(known));
                }
            }
            Kind::Unknown => {}
        }
    }

    /// Returns whether it is a message of the user.
    pub fn is_of_user(&self) -> bool {
        matches!(self.kind, Kind::User(_))
    }

    /// Returns the text of a message, if that is all that it contains.
    pub fn whole_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::User(text) | Kind::Answer(text) if !text.is_cut && !self.has_others => Some(&text.end),
            _ => None,
        }
    }

    /// Returns whether it is a tool call, or belongs to it.
    pub fn is_of(&self, call: &str) -> bool {
        self.id == call || self.parent.as_deref() == Some(call)
    }

    /// Takes note of whether the last answer about its tool call declined it.
    pub fn set_rejected(&mut self, is_rejected: bool) {
        self.is_rejected = is_rejected;
    }

    fn unmade(&self) -> Option<&'static str> {
        self.unmade
            .map(|how| if self.is_rejected { "rejected" } else { how })
    }

    /// Appends a piece of a message or a thought.
    pub fn append(&mut self, delta: &Value) {
        let piece = match delta["content"]["type"].as_str() {
            None => delta["text"].as_str().unwrap_or_default().to_owned(),
            Some("text") => delta["content"]["text"].as_str().unwrap_or_default().to_owned(),
            Some(kind) => format!("[{kind}]"),
        };
        self.has_others |= delta["content"]["type"]
            .as_str()
            .is_some_and(|kind| kind != "text");
        if let Kind::User(text) | Kind::Answer(text) | Kind::Thought(text) = &mut self.kind {
            text.push(&piece);
        }
    }

    /// Appends output of a command. Output that is only shown live and skipped bytes is the end of all output so far.
    pub fn append_output(&mut self, params: &Value) {
        let Kind::Command { output, .. } = &mut self.kind else {
            return;
        };
        if self.is_over {
            // The completed item has all of its output.
            return;
        }
        let skips = params["skippedBytes"].as_u64().is_some_and(|bytes| bytes > 0);
        if skips && params["seq"].is_null() {
            output.end.clear();
        }
        output.is_cut |= skips;
        output.push(params["text"].as_str().unwrap_or_default());
    }

    /// Returns the item's size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        let texts = match &self.kind {
            Kind::User(text) | Kind::Answer(text) | Kind::Thought(text) => text.end.len(),
            Kind::ToolCall { title, parts, .. } => title.len() + parts.iter().map(Part::bytes).sum::<usize>(),
            Kind::FileChange { path, diff } => path.len() + diff.end.len(),
            Kind::Command { line, output, .. } => line.len() + output.end.len(),
            Kind::Unknown => 0,
        };
        size_of::<Self>() + self.id.len() + self.parent.as_ref().map_or(0, String::len) + texts
    }

    /// Returns the item as text.
    pub fn blocks(&self) -> Vec<Block> {
        match &self.kind {
            Kind::User(text) => text.blocks(Role::User),
            Kind::Answer(text) => text.blocks(Role::Answer),
            Kind::Thought(text) => text.blocks(Role::Thought),
            Kind::ToolCall { title, status, parts } => {
                let title = if title.is_empty() { "tool call" } else { title };
                let status = self.unmade().unwrap_or(status);
                let role = if matches!(status, "failed" | "rejected") {
                    Role::Failed
                } else {
                    Role::Title
                };
                let mut blocks = vec![Block::new(role, format!("● {title} [{status}]"))];
                blocks.extend(parts.iter().flat_map(Part::blocks));
                blocks
            }
            // A change that was not made has no lines.
            Kind::FileChange { path, diff } => match self.unmade() {
                Some(how) => vec![Block::new(Role::Failed, format!("✎ {path} [{how}]"))],
                None => {
                    let mut blocks = vec![Block::new(Role::Title, format!("✎ {path}"))];
                    blocks.extend(diff.blocks(Role::Diff));
                    blocks
                }
            },
            Kind::Command { line, output, end } => {
                let mut blocks = vec![Block::new(Role::Title, format!("$ {line}"))];
                if output.is_cut {
                    blocks.push(Block::new(
                        Role::Remark,
                        "(only the end of its output)".to_owned(),
                    ));
                }
                blocks.extend(Block::some(Role::Output, plain(output.end.trim_end())));
                let end = end.iter().map(|end| Block::new(Role::Remark, end.clone()));
                blocks.extend(end);
                blocks
            }
            Kind::Unknown => Vec::new(),
        }
    }
}

impl Block {
    fn new(role: Role, text: String) -> Self {
        Self { role, text }
    }

    fn some(role: Role, text: String) -> Option<Self> {
        (!text.trim().is_empty()).then_some(Self { role, text })
    }
}

impl Part {
    fn read(part: &Value) -> Option<Self> {
        let text = |member: &str| part[member].as_str().unwrap_or_default();
        match part["type"].as_str() {
            Some("diff") => Some(Self::Changes(Text::of(&changed_lines(
                text("path"),
                text("oldText"),
                text("newText"),
            )))),
            // The command in the terminal is an item of its own.
            Some("terminal") => None,
            _ => match part["content"]["text"].as_str() {
                Some(text) => Some(Self::Text(Text::of(text))),
                None => {
                    let kind = part["content"]["type"].as_str().or(part["type"].as_str());
                    kind.map(|kind| Self::Other(plain_line(kind)))
                }
            },
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Changes(text) => text.end.len(),
            Self::Other(kind) => kind.len(),
        }
    }

    fn blocks(&self) -> Vec<Block> {
        match self {
            Self::Text(text) => text.blocks(Role::Output),
            Self::Changes(lines) => lines.blocks(Role::Diff),
            Self::Other(kind) => vec![Block::new(Role::Output, format!("[{kind}]"))],
        }
    }
}

impl Text {
    fn of(text: &str) -> Self {
        let mut read = Self::default();
        read.push(text);
        read
    }

    fn push(&mut self, piece: &str) {
        self.end.push_str(piece);
        // Cut rarely, so that a long stream does not copy the text with each piece.
        if self.end.len() > 2 * ITEM_BYTES {
            let from = self.end.ceil_char_boundary(self.end.len() - ITEM_BYTES);
            self.end.drain(..from);
            self.is_cut = true;
        }
    }

    fn blocks(&self, role: Role) -> Vec<Block> {
        let cut = self
            .is_cut
            .then(|| Block::new(Role::Remark, "(only the end of a long text)".to_owned()));
        let text = match role {
            Role::Diff => plain(shown_diff(&self.end).trim_end_matches('\n')),
            _ => plain(self.end.trim_end()),
        };
        let text = Block::some(role, text);
        cut.into_iter().chain(text).collect()
    }
}

/// Returns the text of a whole message, with other content named in brackets.
fn message(known: &Value) -> Option<String> {
    let Some(blocks) = known["content"].as_array() else {
        return known["text"].as_str().map(str::to_owned);
    };
    let texts = blocks.iter().map(|block| match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
        kind => format!("[{}]", kind.unwrap_or("?")),
    });
    Some(texts.collect())
}

/// Returns how an item ended that did not complete: an item that was rejected was neither carried out nor interrupted.
pub fn unmade(item: &Value, is_rejected: bool) -> Option<&'static str> {
    match item["outcome"].as_str() {
        Some("failed" | "interrupted") if is_rejected => Some("rejected"),
        Some("failed") => Some("failed"),
        Some("interrupted") => Some("interrupted"),
        _ => None,
    }
}

/// Returns the place of a status in the course of a tool call, which never goes back.
fn steps(status: &str) -> usize {
    let all = ["pending", "in_progress", "completed", "failed"];
    all.iter().position(|known| *known == status).unwrap_or_default()
}

/// Returns the short form of a thread's id.
pub fn short_id(id: &str) -> &str {
    id.len()
        .checked_sub(SHORT)
        .and_then(|at| id.get(at..))
        .unwrap_or(id)
}

/// Says that a command waits for input, and how to type.
pub fn waits_for_input(params: &Value) -> String {
    let text = |member: &str| plain_line(params[member].as_str().unwrap_or_default());
    let (thread, terminal) = (text("threadId"), text("terminalId"));
    format!(
        "the command in {terminal} is waiting for input; answer with: acpd type {} --terminal {terminal}",
        short_id(&thread)
    )
}

/// Formats a terminal's command and arguments as a shell line.
pub fn command_line(item: &Value) -> String {
    let args = item["args"].as_array().into_iter().flatten();
    let command = item["command"].as_str().unwrap_or_default();
    visible(&shell_line(command, args.filter_map(Value::as_str)))
}

/// Describes how a command ended.
pub fn end_of_command(item: &Value) -> String {
    match (&item["exitCode"], &item["signal"]) {
        (Value::Number(code), _) => format!("exit code {code}"),
        (_, Value::String(signal)) => format!("ended by {}", plain_line(signal)),
        _ => "ended".to_owned(),
    }
}

/// Formats a step of a plan.
pub fn plan_line(entry: &Value) -> String {
    let mark = match entry["status"].as_str() {
        Some("completed") => "●",
        Some("in_progress") => "◐",
        _ => "○",
    };
    format!(
        "{mark} {}",
        plain_line(entry["content"].as_str().unwrap_or_default())
    )
}

/// Returns whether a notice is only useful to agent developers: the agent violated the protocol, or called an unknown
/// method. Refusals by a policy, a client or the daemon are useful to all users.
pub fn is_about_protocol(notice: &Value) -> bool {
    let is_refused_call = notice["code"] == "callRefused" && notice["by"]["kind"] == "agent";
    notice["level"] == "info" && (notice["code"] == "protocolViolation" || is_refused_call)
}

/// Returns the rest of a warning or an error: why it is one, or the setting or command that mends it.
pub fn notice_detail(notice: &Value) -> Option<String> {
    let detail = plain(notice["detail"].as_str()?.trim_end());
    (notice["level"] != "info" && !detail.trim().is_empty()).then_some(detail)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(item: &Item) -> Vec<(Role, String)> {
        let blocks = item.blocks().into_iter();
        blocks.map(|block| (block.role, block.text)).collect()
    }

    #[test]
    fn an_item_is_the_same_whether_it_was_followed_or_read() {
        let start = json!({ "itemId": "item_1", "type": "toolCall", "status": "pending", "toolCall": { "title": "ls" } });
        let mut item = Item::read(&start);
        item.update(&json!({ "status": "in_progress", "toolCall": { "content": [
            { "type": "content", "content": { "type": "text", "text": "a\u{1b}[2Jb" } },
            { "type": "content", "content": { "type": "image" } },
            { "type": "terminal", "terminalId": "t" },
            { "type": "diff", "path": "/w/x", "oldText": "1\n2\n3\n", "newText": "1\nb\n3\n" },
        ] } }));
        // A status never goes back.
        item.update(&json!({ "status": "pending", "toolCall": {} }));
        assert_eq!(
            texts(&item),
            [
                (Role::Title, "● ls [in_progress]".to_owned()),
                (Role::Output, "a\u{fffd}[2Jb".to_owned()),
                (Role::Output, "[image]".to_owned()),
                (Role::Diff, "/w/x\n 1\n-2\n+b\n 3".to_owned()),
            ]
        );
        item.update(&json!({ "status": "failed", "outcome": "failed" }));
        assert_eq!(texts(&item)[0], (Role::Failed, "● ls [failed]".to_owned()));
        assert!(item.is_over);
    }

    #[test]
    fn a_rejected_or_interrupted_edit_is_no_change() {
        let edit = |outcome: &str| {
            let diff = "--- a/w/x\n+++ b/w/x\n@@ -1 +1 @@\n-one\n+two\n";
            json!({ "items": [
                { "itemId": "item_1", "type": "toolCall", "status": "pending", "outcome": outcome, "toolCall": { "title": "Edit" } },
                { "itemId": "item_2", "parentItemId": "item_1", "type": "fileChange", "path": "/w/x", "diff": diff,
                    "outcome": outcome },
            ] })
        };
        let shown =
            |turn: &Value| -> Vec<(Role, String)> { Item::of_turn(turn).iter().flat_map(texts).collect() };
        let both = |role: Role, how: &str| {
            vec![
                (role, format!("● Edit [{how}]")),
                (Role::Failed, format!("✎ /w/x [{how}]")),
            ]
        };
        assert_eq!(shown(&edit("interrupted")), both(Role::Title, "interrupted"));
        assert_eq!(shown(&edit("failed")), both(Role::Failed, "failed"));
        let answers = |outcomes: &[&str]| -> Value {
            let answer = |outcome: &&str| json!({ "itemId": "item_1", "outcome": outcome });
            outcomes.iter().map(answer).collect()
        };
        // The agent may ask about a call again: the last answer decides.
        for (outcome, answered, how) in [
            ("failed", &["declined"][..], "rejected"),
            ("interrupted", &["declined"][..], "rejected"),
            ("failed", &["accepted"][..], "failed"),
            ("failed", &["declined", "accepted"][..], "failed"),
            ("failed", &["accepted", "declined"][..], "rejected"),
            ("interrupted", &["declined", "void"][..], "rejected"),
        ] {
            let mut turn = edit(outcome);
            turn["answers"] = answers(answered);
            assert_eq!(shown(&turn), both(Role::Failed, how), "{answered:?}");
        }
        // A call that was carried out in spite of the answer is not called rejected.
        let mut turn = edit("completed");
        turn["answers"] = json!([{ "itemId": "item_1", "outcome": "declined" }]);
        assert!(shown(&turn).contains(&(Role::Title, "✎ /w/x".to_owned())));
    }

    #[test]
    fn a_change_of_nothing_but_line_ends_or_the_last_one_is_seen() {
        let item = Item::read(&json!({ "itemId": "item_1", "type": "fileChange", "path": "/w/x",
            "diff": "--- a/w/x\n+++ b/w/x\n@@ -1 +1 @@\n-one\n+one\r\n" }));
        assert_eq!(
            texts(&item)[1].1,
            "--- a/w/x\n+++ b/w/x\n\\ line ends changed from LF to CRLF\n@@ -1 +1 @@\n-one\n+one␍"
        );
        let changed = |old: &str, new: &str| {
            let item = Item::read(
                &json!({ "itemId": "item_1", "type": "toolCall", "toolCall": { "title": "t", "content": [
                { "type": "diff", "path": "/w/x", "oldText": old, "newText": new },
            ] } }),
            );
            texts(&item)[1].1.clone()
        };
        assert_eq!(
            changed("one\r\n", "one\n"),
            "/w/x\n\\ line ends changed from CRLF to LF\n-one␍\n+one"
        );
        assert_eq!(
            changed("one\n", "\u{feff}one\n"),
            "/w/x\n\\ byte order mark added\n-one\n+⟨U+FEFF⟩one"
        );
        assert_eq!(
            changed("one\n", "one"),
            "/w/x\n-one\n+one\n\\ No newline at end of file"
        );
        assert_eq!(changed("ls\n", "rm x\r-ls\n"), "/w/x\n-ls\n+rm x␍-ls");
    }

    #[test]
    fn a_message_grows_by_pieces_and_ends_whole() {
        let mut item = Item::read(&json!({ "itemId": "item_1", "type": "agentMessage" }));
        assert!(item.blocks().is_empty());
        item.append(&json!({ "text": "one " }));
        item.append(&json!({ "text": "", "content": { "type": "audio" } }));
        assert_eq!(texts(&item), [(Role::Answer, "one [audio]".to_owned())]);
        item.update(&json!({ "outcome": "completed", "text": "one two" }));
        assert_eq!(texts(&item), [(Role::Answer, "one two".to_owned())]);
    }

    #[test]
    fn a_flood_of_output_keeps_its_end_alone() {
        let mut item = Item::read(
            &json!({ "itemId": "item_1", "type": "terminalCommand", "command": "make", "args": ["a b"] }),
        );
        for _ in 0..100 {
            item.append_output(&json!({ "seq": 1, "text": "ä".repeat(ITEM_BYTES / 10) }));
        }
        assert!(item.bytes() < 3 * ITEM_BYTES, "{}", item.bytes());
        item.append_output(&json!({ "text": "the end\n", "skippedBytes": 5 }));
        item.update(&json!({ "outcome": "completed", "exitCode": 2 }));
        assert_eq!(
            texts(&item),
            [
                (Role::Title, "$ make 'a b'".to_owned()),
                (Role::Remark, "(only the end of its output)".to_owned()),
                (Role::Output, "the end".to_owned()),
                (Role::Remark, "exit code 2".to_owned()),
            ]
        );
    }

    #[test]
    fn a_short_id_is_the_end_of_an_id() {
        assert_eq!(short_id("01a20bd1-5c7e-76be-943a-ee3d3a9a05e5"), "3a9a05e5");
        assert_eq!(short_id("é"), "é");
    }

    #[test]
    fn what_mends_a_warning_is_shown_and_remarks_have_no_more() {
        let notice = |level: &str, detail: &str| json!({ "level": level, "message": "m", "detail": detail });
        assert_eq!(
            notice_detail(&notice("warning", "add \u{1b}it\n")).as_deref(),
            Some("add \u{fffd}it")
        );
        assert_eq!(
            notice_detail(&notice("error", "last words")).as_deref(),
            Some("last words")
        );
        for notice in [
            notice("info", "x"),
            notice("warning", " \n"),
            json!({ "level": "error" }),
        ] {
            assert_eq!(notice_detail(&notice), None, "{notice}");
        }
    }
}
