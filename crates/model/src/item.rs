//! Items: the parts of a turn.

use serde::{Deserialize, Serialize};

use crate::ids::BlobId;
use crate::json::RawJson;
use crate::origin::{ClientOrigin, Origin};

/// Type of a message-like item, which also names its author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MessageType {
    /// A message of the user.
    UserMessage,
    /// The agent's answer.
    AgentMessage,
    /// The agent's reasoning.
    AgentThought,
}

/// The initial data of an item. Later content arrives as deltas and updates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ItemStart {
    /// A message or thought. Its content follows.
    Message {
        /// The type of the message.
        role: MessageType,
        /// ACP's `messageId`, if the agent sends one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
        /// The client's own id for input that it added to a running turn. The turn's start has the one for its prompt. Absent
        /// in logs from before this member existed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_message_id: Option<String>,
    },
    /// A tool call of the agent. The event's `raw` is the update that opened it.
    ToolCall {
        /// The agent's own id for the call.
        tool_call_id: String,
        /// The agent's title for the call.
        title: String,
        /// ACP's tool kind (`read`, `edit`, `execute`, …); other values are kept as received.
        kind: String,
        /// ACP's status when the call started.
        status: ToolStatus,
    },
    /// A change to a file by a tool call, or by the agent through the daemon.
    FileChange {
        /// Absolute path, as the agent named it.
        path: String,
    },
    /// A command in one of the daemon's terminals.
    TerminalCommand {
        /// The daemon's id for the terminal.
        terminal_id: String,
        /// The program, as the agent named it; for a command of a user, the line that `/bin/sh` runs.
        command: String,
        /// Arguments of the program.
        args: Box<[String]>,
        /// Working directory of the command.
        cwd: Box<str>,
        /// Limit on the output that is kept, in bytes. The log has no more of it until the command ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_bytes: Option<u32>,
        /// The client whose user requested the command; absent for a command of the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requested_by: Option<Box<ClientOrigin>>,
    },
}

impl ItemStart {
    /// Returns who requested the item: a client for a command of its user, else the agent.
    pub fn requester(&self) -> Origin {
        match self {
            Self::TerminalCommand {
                requested_by: Some(client),
                ..
            } => Origin::Client(client.clone()),
            _ => Origin::Agent,
        }
    }
}

/// The final data of an item. It is complete, so that readers do not need the deltas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ItemEnd {
    /// A message or thought.
    Message {
        /// The type of the message.
        role: MessageType,
        /// ACP content blocks; adjacent plain text is one block.
        content: Vec<RawJson>,
    },
    /// A tool call of the agent.
    ToolCall {
        /// Final status of the call.
        status: ToolStatus,
        /// The ACP tool call with all its updates applied.
        call: RawJson,
    },
    /// A change to a file.
    FileChange {
        /// Absolute path.
        path: String,
        /// Unified diff; empty if nothing changed.
        diff: String,
        /// What the write replaced, if the daemon wrote the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<Replaced>,
    },
    /// A command in one of the daemon's terminals.
    TerminalCommand {
        /// The daemon's id for the terminal.
        terminal_id: String,
        /// Exit code, if the command exited normally.
        exit_code: Option<i32>,
        /// Signal that terminated the command.
        signal: Option<String>,
        /// The last part of the output.
        output: String,
        /// All of the output that was kept, if `output` has only the end of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_blob: Option<Box<BlobId>>,
        /// Whether some output is missing: earlier output was dropped, or the last output is unknown because the daemon
        /// was killed.
        truncated: bool,
    },
}

/// How an item ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ItemOutcome {
    /// The item finished.
    Completed,
    /// The item failed, or its turn did.
    Failed,
    /// The item's turn was interrupted.
    Interrupted,
}

/// Returns ACP's word for the kind of a tool call; `other` for a kind that ACP does not define.
pub fn acp_tool_kind(kind: &str) -> &'static str {
    const KINDS: [&str; 9] = [
        "read",
        "edit",
        "delete",
        "move",
        "search",
        "execute",
        "think",
        "fetch",
        "switch_mode",
    ];
    KINDS.into_iter().find(|known| *known == kind).unwrap_or("other")
}

/// ACP's tool call status. It only moves forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The call has not started: its input is still streaming, or it waits for a permission.
    #[default]
    Pending,
    /// The call is running.
    InProgress,
    /// The call finished.
    Completed,
    /// The call finished with an error.
    Failed,
}

impl ToolStatus {
    /// Parses ACP's name of the status. Returns `None` for an unknown name.
    pub fn from_acp(word: &str) -> Option<Self> {
        Some(match word {
            "pending" => Self::Pending,
            "in_progress" => Self::InProgress,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            _ => return None,
        })
    }

    /// Returns ACP's name of the status.
    pub fn as_acp(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// Returns whether no other status can follow.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// The content of a file before it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviousContent {
    /// The file did not exist.
    Nothing,
    /// The previous text.
    Text(String),
    /// Content that cannot be shown: not UTF-8, too large or unreadable, or a client wrote the file.
    Unknown,
}

impl PreviousContent {
    /// Returns the text, if it is known. The text of a new file is empty.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Nothing => Some(""),
            Self::Text(text) => Some(text),
            Self::Unknown => None,
        }
    }

    /// Returns the same distinction without the content.
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
    /// The file did not exist before.
    Nothing,
    /// Text that the diff shows.
    Text,
    /// Content that cannot be shown: not UTF-8, too large or unreadable.
    Unknown,
}
