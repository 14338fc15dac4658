//! What can be searched of a thread: words of events, taken out before they are stored, because the log never looks
//! inside an event.

use serde::{Deserialize, Serialize};

use crate::event::{Millis, Seq};
use crate::ids::{BlobId, ItemId, TurnId};

/// What a searchable text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TextKind {
    /// A person's words.
    UserMessage,
    /// The agent's answer.
    AgentMessage,
    /// The title of a tool call.
    ToolCall,
    /// A command line.
    Command,
    /// Paths of files, one a line.
    Path,
}

impl TextKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::UserMessage,
        Self::AgentMessage,
        Self::ToolCall,
        Self::Command,
        Self::Path,
    ];

    /// Its name, in the log and for clients.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserMessage => "userMessage",
            Self::AgentMessage => "agentMessage",
            Self::ToolCall => "toolCall",
            Self::Command => "command",
            Self::Path => "path",
        }
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A text that a search finds, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchableText {
    /// The event that has it.
    pub seq: Seq,
    /// When that was.
    pub at: Millis,
    /// The turn in which it was.
    pub turn: Option<TurnId>,
    /// The item that it is part of.
    pub item: Option<ItemId>,
    /// What it is.
    pub kind: TextKind,
    /// The text; only its first [`SEARCH_TEXT_BYTES`](crate::limits::SEARCH_TEXT_BYTES) are searched.
    pub text: String,
}

/// What the log is told of a batch of events beside the events themselves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extract {
    /// What is to be found.
    pub texts: Vec<SearchableText>,
    /// Blobs that the events name: they are kept as long as the thread is.
    pub blobs: Vec<BlobId>,
    /// Turns that were dropped: their texts are not to be found any more.
    pub dropped: Vec<TurnsDropped>,
}

/// That a thread's turns after one are no longer part of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnsDropped {
    /// The event that says so.
    pub seq: Seq,
    /// The last turn that is kept; none if none is. What came between turns belongs to the one before.
    pub last_kept: Option<TurnId>,
}

impl Extract {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.blobs.is_empty() && self.dropped.is_empty()
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
