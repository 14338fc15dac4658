//! Items: the things a turn consists of.

use serde::{Deserialize, Serialize};

use crate::ids::BlobId;
use crate::json::RawJson;

/// Who speaks in a message-like item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MessageType {
    /// A person's words.
    UserMessage,
    /// The agent's answer.
    AgentMessage,
    /// The agent's reasoning.
    AgentThought,
}

/// How an item begins. What it says later comes as deltas and updates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ItemStart {
    /// A message or thought; its content follows.
    Message {
        /// Who speaks.
        role: MessageType,
        /// ACP's `messageId`, where the agent sends one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// A tool call of the agent; the event's `raw` is the update that opened it.
    ToolCall {
        /// The agent's own id for the call.
        tool_call_id: String,
        /// What the agent calls it.
        title: String,
        /// ACP's tool kind (`read`, `edit`, `execute`, …); other words are kept as they came.
        kind: String,
        /// ACP's status at the beginning.
        status: ToolStatus,
    },
    /// A file that a tool call, or the agent through us, is changing.
    FileChange {
        /// Absolute path, as the agent named it.
        path: String,
    },
    /// A command in one of our terminals.
    TerminalCommand {
        /// Our id for the terminal.
        terminal_id: String,
        /// Program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Where it runs.
        cwd: String,
        /// Bytes of its output that are kept; the log has no more of it until the command has ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_bytes: Option<u32>,
    },
}

/// How an item ended: whole, so that nobody needs its deltas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ItemEnd {
    /// A message or thought.
    Message {
        /// Who spoke.
        role: MessageType,
        /// ACP content blocks; adjacent plain text is one block.
        content: Vec<RawJson>,
    },
    /// A tool call.
    ToolCall {
        /// The call's last status.
        status: ToolStatus,
        /// The ACP tool call with all its updates applied.
        call: RawJson,
    },
    /// A file change.
    FileChange {
        /// Absolute path.
        path: String,
        /// Unified diff; empty if nothing changed.
        diff: String,
        /// What it replaced, where we wrote the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<Replaced>,
    },
    /// A command in one of our terminals.
    TerminalCommand {
        /// Our id for the terminal.
        terminal_id: String,
        /// Exit code, if it exited by itself.
        exit_code: Option<i32>,
        /// Signal that ended it.
        signal: Option<String>,
        /// The last of its output.
        output: String,
        /// All of the output that was kept, where `output` is only the end of that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_blob: Option<Box<BlobId>>,
        /// Whether some of its output is missing: earlier output was dropped, or what it wrote at last, while the
        /// daemon was killed, is not known.
        truncated: bool,
    },
}

/// Whether an item came to its own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ItemOutcome {
    /// It finished.
    Completed,
    /// It failed, or its turn did.
    Failed,
    /// Its turn was interrupted.
    Interrupted,
}

/// ACP's tool call status. It only moves forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Not begun: input still streams in, or a permission is awaited.
    #[default]
    Pending,
    /// Running.
    InProgress,
    /// Done.
    Completed,
    /// Done, with an error.
    Failed,
}

impl ToolStatus {
    /// Reads ACP's word; an unknown one is `None`.
    pub fn from_acp(word: &str) -> Option<Self> {
        Some(match word {
            "pending" => Self::Pending,
            "in_progress" => Self::InProgress,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            _ => return None,
        })
    }

    /// ACP's word.
    pub fn as_acp(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// Whether nothing may follow.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// What a file held before it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviousContent {
    /// There was no file.
    Nothing,
    /// This.
    Text(String),
    /// Something that cannot be shown: it is no UTF-8 text, too large, could not be read, or a client wrote the file.
    Unknown,
}

impl PreviousContent {
    /// The text, if it is known; that of a new file is empty.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Nothing => Some(""),
            Self::Text(text) => Some(text),
            Self::Unknown => None,
        }
    }

    /// Which of the three it is.
    pub fn replaced(&self) -> Replaced {
        match self {
            Self::Nothing => Replaced::Nothing,
            Self::Text(_) => Replaced::Text,
            Self::Unknown => Replaced::Unknown,
        }
    }
}

/// What a written file replaced, without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Replaced {
    /// Nothing: the file is new.
    Nothing,
    /// Text that the diff shows.
    Text,
    /// Something that cannot be shown: it is no UTF-8 text, too large, or could not be read.
    Unknown,
}
