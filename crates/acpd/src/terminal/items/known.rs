//! What the daemon says about an item, whichever of its types says it.

use acpd_client::protocol::{
    self, AcpObject, Delta, ItemObject, ItemOutcome, MessageType, Notification, TerminalCommand,
    TerminalCommandCompleted, TerminalCommandStarted, TerminalOutput, ToolStatus,
};
use acpd_policy::shell_line;

use crate::terminal::plain::{plain_line, visible};

/// What a page or a notification says about an item.
pub struct Known<'k> {
    /// The item's id.
    pub id: &'k str,
    /// The lane of the subagent that it belongs to. Absent in changes of a known item.
    pub lane: Option<&'k str>,
    /// The tool call that it belongs to.
    pub parent: Option<&'k str>,
    pub outcome: Option<&'k ItemOutcome>,
    pub object: Object<'k>,
}

/// The members of an item. Absent ones are unchanged.
pub enum Object<'k> {
    Message {
        kind: &'k MessageType,
        text: Option<&'k str>,
        content: Option<&'k [AcpObject]>,
    },
    ToolCall {
        title: Option<&'k str>,
        status: &'k ToolStatus,
        call: Option<&'k AcpObject>,
    },
    FileChange {
        path: &'k str,
        diff: Option<&'k str>,
    },
    Command(Command<'k>),
    /// An item of a kind that this version does not know.
    Unknown,
}

/// A command in a terminal.
pub struct Command<'k> {
    pub program: Option<&'k str>,
    pub args: &'k [String],
    pub output: Option<&'k str>,
    /// Whether the output is the end of a longer one, which the daemon keeps elsewhere.
    pub has_more_output: bool,
    pub exit_code: Option<i64>,
    pub signal: Option<&'k str>,
}

/// How a notification changes an item.
pub enum Change<'n> {
    /// A new item of this turn.
    Started {
        turn: Option<&'n str>,
        item: Known<'n>,
    },
    Updated(Known<'n>),
    /// A piece of a message or a thought.
    Piece(&'n Delta),
    /// Output of a command.
    Output(&'n TerminalOutput),
}

/// Reads the types of the protocol that have the same members.
macro_rules! commands {
    ($($command:ty),+) => {$(
        impl<'k> From<&'k $command> for Command<'k> {
            fn from(command: &'k $command) -> Self {
                Self {
                    program: command.command.as_deref(),
                    args: command.args.as_deref().unwrap_or_default(),
                    output: command.output.as_deref(),
                    has_more_output: command.output_blob.is_some(),
                    exit_code: command.exit_code,
                    signal: command.signal.as_deref(),
                }
            }
        }
    )+};
}

commands!(TerminalCommand, TerminalCommandStarted, TerminalCommandCompleted);

impl Command<'_> {
    /// Formats the command and its arguments as a shell line.
    pub fn line(&self) -> String {
        let args = self.args.iter().map(String::as_str);
        visible(&shell_line(self.program.unwrap_or_default(), args))
    }

    /// Describes how the command ended.
    pub fn end(&self) -> String {
        match (self.exit_code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("ended by {}", plain_line(signal)),
            (None, None) => "ended".to_owned(),
        }
    }
}

/// Returns the members of an item of a kind.
macro_rules! object {
    (Message, $of:expr) => {
        Object::Message {
            kind: &$of.r#type,
            text: $of.text.as_deref(),
            content: $of.content.as_deref(),
        }
    };
    (ToolCall, $of:expr) => {
        Object::ToolCall {
            title: $of.title.as_deref(),
            status: &$of.status,
            call: $of.tool_call.as_ref(),
        }
    };
    (FileChange, $of:expr) => {
        Object::FileChange {
            path: &$of.path,
            diff: $of.diff.as_deref(),
        }
    };
    (Command, $of:expr) => {
        Object::Command($of.into())
    };
}

macro_rules! started {
    ($kind:ident, $of:expr) => {
        Change::Started {
            turn: $of.turn_id.as_deref(),
            item: Known {
                id: &$of.item_id,
                lane: $of.lane.as_deref(),
                parent: $of.parent_item_id.as_deref(),
                outcome: None,
                object: object!($kind, $of),
            },
        }
    };
}

macro_rules! completed {
    ($kind:ident, $of:expr) => {
        Change::updated(&$of.item_id, Some(&$of.outcome), object!($kind, $of))
    };
}

impl<'n> Change<'n> {
    /// Returns how a notification changes an item, if it changes one.
    pub fn of(notification: &'n Notification) -> Option<Self> {
        Some(match notification {
            Notification::ItemStarted(of) => started!(Message, of),
            Notification::ItemToolCallStarted(of) => started!(ToolCall, of),
            Notification::ItemFileChangeStarted(of) => started!(FileChange, of),
            Notification::ItemTerminalCommandStarted(of) => started!(Command, of),
            Notification::ItemCompleted(of) => completed!(Message, of),
            Notification::ItemToolCallCompleted(of) => completed!(ToolCall, of),
            Notification::ItemFileChangeCompleted(of) => completed!(FileChange, of),
            Notification::ItemTerminalCommandCompleted(of) => completed!(Command, of),
            Notification::ItemUpdated(of) => {
                let object = Object::ToolCall {
                    title: None,
                    status: &of.status,
                    call: of.tool_call.as_ref(),
                };
                Self::updated(&of.item_id, None, object)
            }
            Notification::ItemUserMessage(of) => {
                let object = Object::Message {
                    kind: &MessageType::UserMessage,
                    text: Some(&of.text),
                    content: Some(&of.content),
                };
                Self::updated(&of.item_id, None, object)
            }
            Notification::ItemAgentMessageDelta(delta) | Notification::ItemAgentThoughtDelta(delta) => {
                Self::Piece(delta)
            }
            Notification::ItemTerminalCommandOutput(output) => Self::Output(output),
            _ => return None,
        })
    }

    fn updated(id: &'n str, outcome: Option<&'n ItemOutcome>, object: Object<'n>) -> Self {
        Self::Updated(Known {
            id,
            lane: None,
            parent: None,
            outcome,
            object,
        })
    }

    /// Returns the id of the item.
    pub fn item_id(&self) -> &'n str {
        match self {
            Self::Started { item, .. } | Self::Updated(item) => item.id,
            Self::Piece(delta) => &delta.item_id,
            Self::Output(output) => &output.item_id,
        }
    }
}

impl<'k> From<&'k protocol::Item> for Known<'k> {
    fn from(item: &'k protocol::Item) -> Self {
        Self {
            id: &item.item_id,
            lane: item.lane.as_deref(),
            parent: item.parent_item_id.as_deref(),
            outcome: item.outcome.as_ref(),
            object: match &item.object {
                ItemObject::Message(of) => object!(Message, of),
                ItemObject::ToolCall(of) => object!(ToolCall, of),
                ItemObject::FileChange(of) => object!(FileChange, of),
                ItemObject::TerminalCommand(of) => object!(Command, of),
                _ => Object::Unknown,
            },
        }
    }
}
