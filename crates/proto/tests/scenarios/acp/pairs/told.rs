//! What an editor shows of a thread, in the words of neither version.

use std::collections::BTreeMap;

use serde_json::Value;

/// The id of each message that acpd has named.
pub const UNNAMED: &str = "item";

/// The state of an editor.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// The conversations, by lane. That of the thread has no name.
    pub lanes: BTreeMap<String, Vec<Entry>>,
    /// The title and the state of each subagent, by lane.
    pub subagents: BTreeMap<String, (String, String)>,
    /// The steps of each plan with their statuses, by id.
    pub plans: BTreeMap<String, Vec<(String, String)>>,
    pub options: BTreeMap<String, String>,
    pub commands: Vec<String>,
    pub title: Option<String>,
    pub used: Option<u64>,
    pub notices: Vec<String>,
    pub compactions: BTreeMap<String, String>,
    pub questions: Vec<Question>,
    /// The states of the foreground, in order.
    pub states: Vec<String>,
    /// How each turn ended: the stop reason, or "error".
    pub stops: Vec<String>,
    /// The number of prompts that were never run.
    pub dropped: usize,
}

/// An entry of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    Message {
        role: Role,
        id: Option<String>,
        pieces: Vec<Piece>,
    },
    Call(Call),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    User,
    Agent,
    Thought,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub id: String,
    pub title: String,
    pub kind: String,
    pub status: String,
    pub input: Value,
    pub output: Value,
    pub pieces: Vec<Piece>,
}

/// A piece of content.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Text(String),
    /// Another block.
    Block(Value),
    Added(String, String),
    /// The path, and one line before and after for each place that changes.
    Modified(String, Vec<(String, String)>),
    Deleted(String, String),
    Moved(String, String),
    /// A change of a file that does not say what was changed.
    Changed(String),
    /// The lines of the change before, in words.
    Lines,
    /// A link to a session.
    Linked(String),
    /// A terminal, by its id.
    Terminal(String),
    /// A terminal: its output, and the exit code.
    Ran(String, Option<i64>),
}

/// A question: what it is about, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The tool call, or the words of a form.
    pub about: String,
    /// The kinds of its options.
    pub options: Vec<String>,
    pub outcome: String,
}

impl Call {
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            title: String::new(),
            kind: "other".to_owned(),
            status: "pending".to_owned(),
            input: Value::Null,
            output: Value::Null,
            pieces: Vec::new(),
        }
    }
}

impl Told {
    pub fn lane(&mut self, lane: &str) -> &mut Vec<Entry> {
        self.lanes.entry(lane.to_owned()).or_default()
    }

    /// Adds a piece to the message, which is new if the conversation does not have it.
    pub fn add(&mut self, lane: &str, role: Role, id: Option<&str>, piece: Piece) {
        let entries = self.lane(lane);
        let is_it = |entry: &Entry| matches!(entry, Entry::Message { role: r, id: i, .. } if *r == role && i.as_deref() == id);
        let at = match id {
            Some(id) if id != UNNAMED => entries.iter().position(is_it),
            _ => entries.len().checked_sub(1).filter(|last| is_it(&entries[*last])),
        };
        let at = at.unwrap_or_else(|| {
            let id = id.map(str::to_owned);
            entries.push(Entry::Message {
                role,
                id,
                pieces: Vec::new(),
            });
            entries.len() - 1
        });
        let Entry::Message { pieces, .. } = &mut entries[at] else {
            unreachable!("a message is found")
        };
        match (pieces.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(more)) => before.push_str(&more),
            (_, piece) => pieces.push(piece),
        }
    }

    /// Replaces the pieces of a message.
    pub fn replace(&mut self, lane: &str, role: Role, id: Option<&str>, new: Vec<Piece>) {
        self.add(lane, role, id, Piece::Text(String::new()));
        for entry in self.lane(lane) {
            if let Entry::Message {
                role: known,
                id: of,
                pieces,
            } = entry
                && (*known, of.as_deref()) == (role, id)
            {
                pieces.clear();
            }
        }
        for piece in new {
            self.add(lane, role, id, piece);
        }
    }

    /// Adds a message of a user.
    pub fn add_prompt(&mut self, text: &str) {
        self.lane("").push(Entry::Message {
            role: Role::User,
            id: None,
            pieces: vec![Piece::Text(text.to_owned())],
        });
    }

    /// Returns a tool call, which is new if the conversation does not have it.
    pub fn call(&mut self, lane: &str, id: &str) -> &mut Call {
        let entries = self.lane(lane);
        let is_it = |entry: &Entry| matches!(entry, Entry::Call(call) if call.id == id);
        let at = entries.iter().position(is_it).unwrap_or_else(|| {
            entries.push(Entry::Call(Call::new(id)));
            entries.len() - 1
        });
        match &mut entries[at] {
            Entry::Call(call) => call,
            Entry::Message { .. } => unreachable!("a call is found"),
        }
    }

    /// Changes all pieces of all tool calls.
    pub fn change_pieces(&mut self, change: &mut dyn FnMut(Piece) -> Option<Piece>) {
        for entry in self.lanes.values_mut().flatten() {
            if let Entry::Call(call) = entry {
                let pieces = std::mem::take(&mut call.pieces);
                call.pieces = pieces.into_iter().filter_map(&mut *change).collect();
            }
        }
    }

    /// Returns what an editor has that opens the session now: the conversation and the present state.
    pub fn opened_later(mut self) -> Self {
        self.notices.clear();
        self.questions.clear();
        self.states.clear();
        self.stops.clear();
        self.dropped = 0;
        self
    }
}
