//! The params of notifications about items.

use std::borrow::Cow;

use acpd_model::item::ToolStatus;
use acpd_model::{ItemId, ItemOutcome, Millis, RawJson, Seq, TurnId};

use super::item::{FileChange, Message, TerminalCommand, ToolCall};
use super::origin::By;
use super::{At, Plain, Value};
use crate::wire::Object;

#[cfg(test)]
use crate::surface::app::describe::Acp;

wire! {
    /// A message that started.
    struct MessageStarted<'a> {
        [flatten] at: At<'a>,
        item_id: ItemId,
        parent_item_id: Option<ItemId>,
        [flatten] message: Message<'a>,
    }

    /// A complete message.
    struct MessageCompleted<'a> {
        [flatten] at: At<'a>,
        item_id: ItemId,
        outcome: ItemOutcome,
        [flatten] message: Message<'a>,
    }

    /// A message of the user.
    struct UserMessage<'a> {
        [flatten] at: At<'a>,
        item_id: ItemId,
        text: Cow<'a, str>,
        /// ACP content blocks.
        content: UserContent<'a> as Vec<Acp>,
    }

    /// An addition to a message or thought.
    struct Delta<'a> {
        [flatten] at: At<'a>,
        item_id: ItemId,
        text: Cow<'a, str>,
        /// A content block other than plain text.
        content: Option<&'a RawJson> as Option<Acp>,
    }

    /// A tool call that started.
    struct ToolCallStarted<'a> {
        [flatten] at: At<'a>,
        item_id: ItemId,
        parent_item_id: Option<ItemId>,
        [flatten] call: ToolCall<'a>,
    }

    /// A change of a tool call.
    struct ToolCallUpdated<'a> {
        [flatten] at: At<'a>,
        item_id: ItemId,
        status: ToolStatus,
        /// ACP's `tool_call_update`. Absent members are unchanged.
        tool_call: Option<&'a RawJson> as Option<Acp>,
    }

    /// A tool call that ended.
    struct ToolCallCompleted<'a> {
        [flatten] at: At<'a>,
        item_id: ItemId,
        outcome: ItemOutcome,
        [flatten] call: ToolCall<'a>,
    }

    /// A file change that started.
    struct FileChangeStarted<'a> {
        [flatten] at: At<'a>,
        item_id: ItemId,
        parent_item_id: Option<ItemId>,
        [flatten] change: FileChange<'a>,
        /// The client that acts instead of the daemon.
        by: Option<By<'a>>,
    }

    /// A file change that ended.
    struct FileChangeCompleted<'a> {
        [flatten] at: At<'a>,
        item_id: ItemId,
        outcome: ItemOutcome,
        [flatten] change: FileChange<'a>,
        /// The client that acted instead of the daemon.
        by: Option<By<'a>>,
    }

    /// A command that started.
    struct TerminalCommandStarted<'a> {
        [flatten] at: At<'a>,
        item_id: ItemId,
        parent_item_id: Option<ItemId>,
        [flatten] command: TerminalCommand<'a>,
        /// The client that acted instead of the daemon, or whose user requested the command.
        by: Option<By<'a>>,
    }

    /// A command that ended.
    struct TerminalCommandCompleted<'a> {
        [flatten] at: At<'a>,
        item_id: ItemId,
        outcome: ItemOutcome,
        [flatten] command: TerminalCommand<'a>,
        /// The client that acted instead of the daemon, or whose user requested the command.
        by: Option<By<'a>>,
    }

    /// Output of a command in a terminal.
    struct TerminalOutput<'a> {
        thread_id: Plain<'a>,
        /// Number of the event; absent if the output is only shown live.
        seq: Option<Seq>,
        /// Milliseconds since the epoch.
        ts: Millis as u64,
        turn_id: Option<TurnId>,
        item_id: ItemId,
        terminal_id: &'a str,
        text: &'a str,
        /// Number of bytes before `text` that were omitted.
        skipped_bytes: Option<u64>,
    }
}

/// The content of a user's message: one block of text, or blocks.
pub enum UserContent<'a> {
    Text(&'a str),
    Blocks(&'a [RawJson]),
}

impl Value for UserContent<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => {
                out.push(b'[');
                let mut block = Object::open(out);
                block.put("text", *text).plain("type", "text");
                block.close();
                out.push(b']');
            }
            Self::Blocks(blocks) => blocks.write(out),
        }
    }
}
