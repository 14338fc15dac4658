//! The items of a thread, as text for a terminal.
//!
//! In: items of pages of the app protocol, and the notifications that change them. Out: blocks of plain text. Owns: an item's
//! texts, at most [`ITEM_BYTES`] each. Never: lets an agent's text reach a terminal as it is.

pub mod acp;
mod changes;
#[cfg(test)]
pub mod fixtures;
mod known;
pub mod lanes;
pub mod rejected;
pub mod remarks;

use acpd_client::protocol::{Delta, ItemOutcome, MessageType, TerminalOutput, ToolStatus};
use acpd_model::line_ends::shown_diff;
use acpd_model::text::shorten;
use acpd_policy::call_title;

use self::acp::Content;
use self::changes::changed_lines;
use self::known::Object;
pub use self::known::{Change, Command, Known};
use crate::terminal::plain::{plain, plain_line, visible_line};

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
    /// The lane of the subagent that it belongs to.
    pub lane: Option<String>,
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
        status: ToolStatus,
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
    /// A message of an agent to its subagent.
    Told,
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
    /// Creates an item from what a page or the notification of its start says about it.
    pub fn new(known: &Known<'_>) -> Self {
        let mut item = Self {
            id: known.id.to_owned(),
            is_over: false,
            lane: known.lane.map(str::to_owned),
            parent: known.parent.map(str::to_owned),
            unmade: None,
            is_rejected: false,
            has_others: false,
            kind: match &known.object {
                Object::Message { kind, .. } => match kind {
                    MessageType::UserMessage => Kind::User(Text::default()),
                    MessageType::AgentMessage => Kind::Answer(Text::default()),
                    MessageType::AgentThought => Kind::Thought(Text::default()),
                    _ => Kind::Unknown,
                },
                Object::ToolCall { .. } => Kind::ToolCall {
                    title: String::new(),
                    status: ToolStatus::Pending,
                    parts: Vec::new(),
                },
                Object::FileChange { .. } => Kind::FileChange {
                    path: String::new(),
                    diff: Text::default(),
                },
                Object::Command(_) => Kind::Command {
                    line: String::new(),
                    output: Text::default(),
                    end: None,
                },
                Object::Unknown => Kind::Unknown,
            },
        };
        item.update(known);
        item
    }

    /// Applies a notification about the item.
    pub fn apply(&mut self, change: &Change<'_>) {
        match change {
            Change::Started { item, .. } | Change::Updated(item) => self.update(item),
            Change::Piece(delta) => self.append(delta),
            Change::Output(output) => self.append_output(output),
        }
    }

    /// Applies what is known of it; the rest is unchanged.
    fn update(&mut self, known: &Known<'_>) {
        self.is_over |= known.outcome.is_some();
        self.unmade = unmade(known.outcome, false).or(self.unmade);
        match (&mut self.kind, &known.object) {
            (
                Kind::User(text) | Kind::Answer(text) | Kind::Thought(text),
                Object::Message {
                    text: known, content, ..
                },
            ) => {
                if let Some(blocks) = content {
                    *text = Text::of(&acp::message(blocks));
                    self.has_others = !blocks.iter().all(acp::is_text);
                } else if let Some(known) = known {
                    *text = Text::of(known);
                    self.has_others = false;
                }
            }
            (
                Kind::ToolCall { title, status, parts },
                Object::ToolCall {
                    title: known,
                    status: next,
                    call,
                },
            ) => {
                if let Some(named) = call.and_then(acp::title).or(*known) {
                    let named = call_title(named, acp::raw_input(*call));
                    *title = shorten(&plain_line(&named), TITLE_CHARS);
                }
                if steps(next) >= steps(status) {
                    *status = (*next).clone();
                }
                if let Some(content) = call.and_then(acp::content) {
                    *parts = content.map(Part::new).collect();
                }
            }
            (
                Kind::FileChange { path, diff },
                Object::FileChange {
                    path: known,
                    diff: new,
                },
            ) => {
                *path = shorten(&visible_line(known), TITLE_CHARS);
                if let Some(new) = new {
                    *diff = Text::of(new);
                }
            }
            (Kind::Command { line, output, end }, Object::Command(known_command)) => {
                if known_command.program.is_some() {
                    *line = shorten(&known_command.line(), TITLE_CHARS);
                }
                if let Some(known_output) = known_command.output {
                    *output = Text::of(known_output);
                    output.is_cut |= known_command.has_more_output;
                }
                if known.outcome.is_some() {
                    *end = Some(known_command.end());
                }
            }
            _ => {}
        }
    }

    /// Returns whether it is a message of the user. Agents send their subagents messages as well, which do not count.
    pub fn is_of_user(&self) -> bool {
        matches!(self.kind, Kind::User(_)) && self.lane.is_none()
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
    fn append(&mut self, delta: &Delta) {
        let piece = acp::piece(delta.content.as_ref(), &delta.text);
        self.has_others |= delta.content.as_ref().is_some_and(|block| !acp::is_text(block));
        if let Kind::User(text) | Kind::Answer(text) | Kind::Thought(text) = &mut self.kind {
            text.push(&piece);
        }
    }

    /// Appends output of a command. Output that is only shown live and skipped bytes is the end of all output so far.
    fn append_output(&mut self, more: &TerminalOutput) {
        let Kind::Command { output, .. } = &mut self.kind else {
            return;
        };
        if self.is_over {
            // The completed item has all of its output.
            return;
        }
        let skips = more.skipped_bytes.is_some_and(|bytes| bytes > 0);
        if skips && more.seq.is_none() {
            output.end.clear();
        }
        output.is_cut |= skips;
        output.push(&more.text);
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
        let ids = [&self.lane, &self.parent].into_iter().flatten().map(String::len);
        size_of::<Self>() + self.id.len() + ids.sum::<usize>() + texts
    }

    /// Returns the item as text.
    pub fn blocks(&self) -> Vec<Block> {
        match &self.kind {
            Kind::User(text) if self.lane.is_some() => text.blocks(Role::Told),
            Kind::User(text) => text.blocks(Role::User),
            Kind::Answer(text) => text.blocks(Role::Answer),
            Kind::Thought(text) => text.blocks(Role::Thought),
            Kind::ToolCall { title, status, parts } => {
                let title = if title.is_empty() { "tool call" } else { title };
                let status = self.unmade().unwrap_or(status.as_str());
                let role = if matches!(status, "failed" | "rejected") {
                    Role::Failed
                } else {
                    Role::Title
                };
                let mut blocks = vec![Block::new(role, format!("● {title} [{}]", plain_line(status)))];
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
    fn new(content: Content<'_>) -> Self {
        match content {
            Content::Text(text) => Self::Text(Text::of(text)),
            Content::Diff { path, old, new } => Self::Changes(Text::of(&changed_lines(path, old, new))),
            Content::Other(kind) => Self::Other(plain_line(kind)),
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

/// Returns how an item ended that did not complete: an item that was rejected was neither carried out nor interrupted.
pub fn unmade(outcome: Option<&ItemOutcome>, is_rejected: bool) -> Option<&'static str> {
    match outcome? {
        ItemOutcome::Failed | ItemOutcome::Interrupted if is_rejected => Some("rejected"),
        ItemOutcome::Failed => Some("failed"),
        ItemOutcome::Interrupted => Some("interrupted"),
        _ => None,
    }
}

/// Returns the place of a status in the course of a tool call, which never goes back.
fn steps(status: &ToolStatus) -> usize {
    match status {
        ToolStatus::InProgress => 1,
        ToolStatus::Completed => 2,
        ToolStatus::Failed => 3,
        _ => 0,
    }
}

/// Returns the short form of a thread's id.
pub fn short_id(id: &str) -> &str {
    id.len()
        .checked_sub(SHORT)
        .and_then(|at| id.get(at..))
        .unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use acpd_client::protocol::Turn;
    use serde_json::{Value, json};

    use super::fixtures::{notification, object};
    use super::*;

    fn texts(item: &Item) -> Vec<(Role, String)> {
        let blocks = item.blocks().into_iter();
        blocks.map(|block| (block.role, block.text)).collect()
    }

    /// Returns the item that a notification starts.
    fn started(method: &str, mut params: Value) -> Item {
        params["itemId"] = json!("item_1");
        match Change::of(&notification(method, params)) {
            Some(Change::Started { item, .. }) => Item::new(&item),
            _ => panic!("{method} starts no item"),
        }
    }

    fn apply(item: &mut Item, method: &str, mut params: Value) {
        params["itemId"] = json!("item_1");
        let read = notification(method, params);
        item.apply(&Change::of(&read).expect("it changes an item"));
    }

    #[test]
    fn an_item_is_the_same_whether_it_was_followed_or_read() {
        let mut item = started("item/toolCall/started", json!({ "toolCall": { "title": "ls" } }));
        let content = json!([
            { "type": "content", "content": { "type": "text", "text": "a\u{1b}[2Jb" } },
            { "type": "content", "content": { "type": "image" } },
            { "type": "terminal", "terminalId": "t" },
            { "type": "diff", "path": "/w/x", "oldText": "1\n2\n3\n", "newText": "1\nb\n3\n" },
            5,
        ]);
        apply(
            &mut item,
            "item/updated",
            json!({ "status": "in_progress", "toolCall": { "content": content } }),
        );
        // A status never goes back, and a member of another type costs no other one.
        let odd = json!({ "title": 5, "content": "x", "rawInput": [1] });
        apply(
            &mut item,
            "item/updated",
            json!({ "status": "pending", "toolCall": odd }),
        );
        let shown = [
            (Role::Output, "a\u{fffd}[2Jb".to_owned()),
            (Role::Output, "[image]".to_owned()),
            (Role::Diff, "/w/x\n 1\n-2\n+b\n 3".to_owned()),
        ];
        assert_eq!(texts(&item)[0], (Role::Title, "● ls [in_progress]".to_owned()));
        assert_eq!(texts(&item)[1..], shown);
        apply(
            &mut item,
            "item/toolCall/completed",
            json!({ "status": "failed", "outcome": "failed" }),
        );
        assert_eq!(texts(&item)[0], (Role::Failed, "● ls [failed]".to_owned()));
        assert!(item.is_over);

        let read: Turn = object(json!({ "status": "completed", "items": [
            { "itemId": "item_1", "type": "toolCall", "status": "failed", "outcome": "failed",
                "toolCall": { "title": "ls", "content": content } },
            { "itemId": "item_2", "type": "later", "text": "x" },
            { "itemId": "item_3", "type": "terminalCommand" },
        ] }));
        let read = Item::of_turn(&read);
        assert_eq!(texts(&read[0]), texts(&item));
        // What this version does not know, or cannot read, is passed over.
        assert_eq!(read[1..].iter().flat_map(texts).next(), None);
    }

    #[test]
    fn rejected_and_interrupted_edits_are_not_changes() {
        let edit = |outcome: &str, answers: &[&str]| -> Turn {
            let diff = "--- a/w/x\n+++ b/w/x\n@@ -1 +1 @@\n-one\n+two\n";
            let answer = |outcome: &&str| {
                json!({ "itemId": "item_1", "outcome": outcome, "requestId": "req_1", "threadId": "t", "seq": 1, "ts": 1,
                    "by": { "kind": "daemon" } })
            };
            object(json!({ "status": "completed", "items": [
                { "itemId": "item_1", "type": "toolCall", "status": "pending", "outcome": outcome, "toolCall": { "title": "Edit" } },
                { "itemId": "item_2", "parentItemId": "item_1", "type": "fileChange", "path": "/w/x", "diff": diff,
                    "outcome": outcome },
            ], "answers": answers.iter().map(answer).collect::<Vec<_>>() }))
        };
        let shown =
            |turn: &Turn| -> Vec<(Role, String)> { Item::of_turn(turn).iter().flat_map(texts).collect() };
        let both = |role: Role, how: &str| {
            vec![
                (role, format!("● Edit [{how}]")),
                (Role::Failed, format!("✎ /w/x [{how}]")),
            ]
        };
        assert_eq!(shown(&edit("interrupted", &[])), both(Role::Title, "interrupted"));
        assert_eq!(shown(&edit("failed", &[])), both(Role::Failed, "failed"));
        // The agent may ask about a call again: the last answer decides.
        for (outcome, answered, how) in [
            ("failed", &["declined"][..], "rejected"),
            ("interrupted", &["declined"][..], "rejected"),
            ("failed", &["accepted"][..], "failed"),
            ("failed", &["declined", "accepted"][..], "failed"),
            ("failed", &["accepted", "declined"][..], "rejected"),
            ("interrupted", &["declined", "void"][..], "rejected"),
        ] {
            let turn = edit(outcome, answered);
            assert_eq!(shown(&turn), both(Role::Failed, how), "{answered:?}");
        }
        // A call that was carried out in spite of the answer is not called rejected.
        let turn = edit("completed", &["declined"]);
        assert!(shown(&turn).contains(&(Role::Title, "✎ /w/x".to_owned())));
    }

    #[test]
    fn a_change_of_nothing_but_line_ends_or_the_last_one_is_seen() {
        let item = started(
            "item/fileChange/started",
            json!({ "path": "/w/x", "diff": "--- a/w/x\n+++ b/w/x\n@@ -1 +1 @@\n-one\n+one\r\n" }),
        );
        assert_eq!(
            texts(&item)[1].1,
            "--- a/w/x\n+++ b/w/x\n\\ line ends changed from LF to CRLF\n@@ -1 +1 @@\n-one\n+one␍"
        );
        let changed = |old: &str, new: &str| {
            let content = json!([{ "type": "diff", "path": "/w/x", "oldText": old, "newText": new }]);
            let call = json!({ "toolCall": { "title": "t", "content": content } });
            texts(&started("item/toolCall/started", call))[1].1.clone()
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
        let mut item = started("item/started", json!({ "type": "agentMessage" }));
        assert!(item.blocks().is_empty());
        let delta = "item/agentMessage/delta";
        apply(&mut item, delta, json!({ "text": "one " }));
        assert_eq!(item.whole_text(), Some("one "));
        apply(
            &mut item,
            delta,
            json!({ "text": "", "content": { "type": "audio" } }),
        );
        assert_eq!(texts(&item), [(Role::Answer, "one [audio]".to_owned())]);
        assert_eq!(item.whole_text(), None);
        apply(&mut item, "item/completed", json!({ "text": "one two" }));
        assert_eq!(texts(&item), [(Role::Answer, "one two".to_owned())]);
        assert!(
            started("item/started", json!({ "type": "later", "text": "x" }))
                .blocks()
                .is_empty()
        );
    }

    #[test]
    fn a_flood_of_output_keeps_its_end_alone() {
        let command = json!({ "command": "make", "args": ["a b"] });
        let mut item = started("item/terminalCommand/started", command);
        let output = "item/terminalCommand/output";
        for _ in 0..100 {
            let text = "ä".repeat(ITEM_BYTES / 10);
            apply(&mut item, output, json!({ "seq": 1, "text": text }));
        }
        assert!(item.bytes() < 3 * ITEM_BYTES, "{}", item.bytes());
        apply(
            &mut item,
            output,
            json!({ "text": "the end\n", "skippedBytes": 5 }),
        );
        apply(
            &mut item,
            "item/terminalCommand/completed",
            json!({ "exitCode": 2 }),
        );
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
}
