//! The searchable data of a thread. The words of events are extracted before the events are stored, because the log
//! never decodes events.

use serde::{Deserialize, Serialize};

use crate::ids::{BlobId, ItemId, ThreadId, TurnId};
use crate::numbers::{Millis, Seq};
use crate::turn_index::TurnMarks;

/// The source of a searchable text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TextKind {
    /// A message of the user.
    UserMessage,
    /// The agent's answer.
    AgentMessage,
    /// The title of a tool call.
    ToolCall,
    /// A command line.
    Command,
    /// Paths of files, one per line.
    Path,
}

impl TextKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::UserMessage,
        Self::AgentMessage,
        Self::ToolCall,
        Self::Command,
        Self::Path,
    ];

    /// Returns the name of the kind, as the log and clients use it.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserMessage => "userMessage",
            Self::AgentMessage => "agentMessage",
            Self::ToolCall => "toolCall",
            Self::Command => "command",
            Self::Path => "path",
        }
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A text that a search can find, and its place in the thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchableText {
    /// The event that contains the text.
    pub seq: Seq,
    /// When the event happened.
    pub at: Millis,
    /// The turn that the event belongs to.
    pub turn: Option<TurnId>,
    /// The item that the text belongs to.
    pub item: Option<ItemId>,
    /// The source of the text.
    pub kind: TextKind,
    /// The text. Only its first [`SEARCH_TEXT_BYTES`](crate::limits::SEARCH_TEXT_BYTES) are searched.
    pub text: String,
}

/// A text that matches a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// The thread that contains the text.
    pub thread: ThreadId,
    /// Name of the thread, as last appended.
    pub name: Option<String>,
    /// The event that contains the text.
    pub seq: Seq,
    /// When the event happened.
    pub at: Millis,
    /// The turn that the event belongs to.
    pub turn: Option<TurnId>,
    /// The item that the text belongs to.
    pub item: Option<ItemId>,
    /// The source of the text.
    pub kind: TextKind,
    /// The snippet of the text: one line, in pieces.
    pub snippet: Vec<SnippetPiece>,
}

/// A piece of a snippet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetPiece {
    /// Text of the piece.
    pub text: String,
    /// Whether the piece matches the query.
    pub hit: bool,
}

/// Search and storage data that the log receives with a batch of events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extract {
    /// Texts to index.
    pub texts: Vec<SearchableText>,
    /// Blobs that the events reference. They are kept as long as the thread.
    pub blobs: Vec<BlobId>,
    /// Dropped turns, whose texts are removed from the index.
    pub dropped: Vec<TurnsDropped>,
    /// The places of turns and items.
    pub marks: TurnMarks,
}

/// A rollback: the turns after one turn are no longer part of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnsDropped {
    /// The event that records the rollback.
    pub seq: Seq,
    /// The last turn that is kept; absent if no turn is kept. Events between turns belong to the turn before them.
    pub last_kept: Option<TurnId>,
}

impl Extract {
    /// The extract of events that have no such data.
    pub const EMPTY: Self = Self {
        texts: Vec::new(),
        blobs: Vec::new(),
        dropped: Vec::new(),
        marks: TurnMarks::EMPTY,
    };

    /// Returns whether the batch has no such data.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.blobs.is_empty() && self.dropped.is_empty() && self.marks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_one_name() {
        for kind in TextKind::ALL {
            assert_eq!(TextKind::from_name(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(TextKind::from_name("thought"), None);
    }
}
