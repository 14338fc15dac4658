//! What happened to an item.

use super::row::kinds;
use crate::ids::ItemId;
use crate::item::{ItemEnd, ItemOutcome, ItemStart, MessageType, ToolStatus};
use crate::json::RawJson;

kinds! {
    /// What happened to an item.
    ItemEvent {
        /// An item started.
        "itemStarted" as started(start) in Item => Started {
            /// Id of the new item.
            item: ItemId,
            /// The tool call that the item belongs to.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            parent: Option<ItemId>,
            /// The initial data of the item.
            start: ItemStart,
        },
        /// Text was added to a message. The daemon has already merged small deltas.
        "itemDelta" as chunk(role) in Delta => Delta {
            /// The item that the text belongs to.
            item: ItemId,
            /// The type of the message.
            role: MessageType,
            /// The added text.
            text: String,
            /// ACP's `messageId`, if chunks with one were merged, so that no `raw` contains it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            message_id: Option<String>,
        },
        /// A content block other than plain text was added to a message.
        "itemContent" as chunk(role) in Item => Content {
            /// The item that the block belongs to.
            item: ItemId,
            /// The type of the message.
            role: MessageType,
            /// The ACP content block.
            block: RawJson,
        },
        /// A tool call changed. `raw` has the agent's partial update.
        "itemUpdated" as "tool:result" in Item => Updated {
            /// The tool call's item.
            item: ItemId,
            /// The current status. An update never moves the status backwards.
            status: ToolStatus,
        },
        /// An item is complete.
        "itemCompleted" as completed(end) in Item => Completed {
            /// The completed item.
            item: ItemId,
            /// How the item ended.
            outcome: ItemOutcome,
            /// The final content of the item.
            end: ItemEnd,
        },
        /// A user's message was added to a turn.
        "userMessageAdded" as "prompt:sent" in Item => UserMessageAdded {
            /// The message's item.
            item: ItemId,
            /// ACP content blocks.
            content: Vec<RawJson>,
        },
    }
}

impl ItemEvent {
    /// Returns the item.
    pub fn item(&self) -> ItemId {
        match self {
            Self::Started { item, .. }
            | Self::Delta { item, .. }
            | Self::Content { item, .. }
            | Self::Updated { item, .. }
            | Self::Completed { item, .. }
            | Self::UserMessageAdded { item, .. } => *item,
        }
    }
}

fn started(start: &ItemStart) -> &'static str {
    match start {
        ItemStart::Message { role, .. } => match role {
            MessageType::UserMessage => "prompt:start",
            MessageType::AgentMessage => "message:start",
            MessageType::AgentThought => "thought:start",
        },
        ItemStart::ToolCall { .. } => "tool:call",
        ItemStart::FileChange { .. } => "change:start",
        ItemStart::TerminalCommand { .. } => "terminal:create",
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the table passes members by reference"
)]
fn chunk(role: &MessageType) -> &'static str {
    match role {
        MessageType::UserMessage => "prompt:chunk",
        MessageType::AgentMessage => "message:chunk",
        MessageType::AgentThought => "thought:chunk",
    }
}

fn completed(end: &ItemEnd) -> &'static str {
    match end {
        ItemEnd::Message { role, .. } => match role {
            MessageType::UserMessage => "prompt:complete",
            MessageType::AgentMessage => "message:complete",
            MessageType::AgentThought => "thought:complete",
        },
        ItemEnd::ToolCall { .. } => "tool:complete",
        ItemEnd::FileChange { .. } => "change:complete",
        ItemEnd::TerminalCommand { .. } => "terminal:exit",
    }
}
