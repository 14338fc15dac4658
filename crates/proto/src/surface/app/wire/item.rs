//! Items, as results and notifications contain them.

use std::borrow::Cow;

use acpd_model::item::ToolStatus;
use acpd_model::{
    BlobId, ItemEnd, ItemId, ItemOutcome, ItemStart, LaneId, MessageType, Millis, RawJson, Replaced,
};

use super::OrNull;
use super::origin::By;
use super::words::{FileChangeType, TerminalCommandType, ToolCallType};
use crate::projection::{self, content_text};

#[cfg(test)]
use crate::surface::app::describe::Acp;

wire! {
    /// One part of a turn. `outcome` is `null` until the item ends.
    struct Item<'a> {
        item_id: ItemId,
        /// Id of the item that contains this one.
        parent_item_id: Option<ItemId>,
        /// The subagent that the item belongs to, as in `thread/lanes`; absent for the main agent.
        lane: Option<LaneId>,
        outcome: Option<ItemOutcome> | null,
        /// When the message started, in milliseconds since the epoch. Only messages have it, except in imported turns. Notifications
        /// have `ts` instead.
        started_at: Option<Millis> as Option<u64>,
        [flatten] content: ItemContent<'a>,
    }
}

impl<'a> Item<'a> {
    fn of(item: &'a projection::Item, content: Option<&'a ItemEnd>) -> Self {
        let mut content = match content {
            Some(end) => ItemContent::ended(end, Some(&item.start)),
            None => ItemContent::started(&item.start, None),
        };
        if let ItemContent::TerminalCommand(command) = &mut content
            && let Some(secret) = item.waiting()
        {
            command.waiting = Some(true);
            command.secret = secret.then_some(true);
        }
        Self {
            item_id: item.id,
            parent_item_id: item.parent,
            lane: item.lane,
            outcome: item.end.as_ref().map(|(outcome, _)| *outcome),
            started_at: item
                .started_at
                .filter(|_| matches!(item.start, ItemStart::Message { .. })),
            content,
        }
    }
}

shown! { projection::Item as Item, |item| Item::of(item, item.content().as_ref()) }

wire! {
    /// Type and content of an item.
    enum ItemContent<'a> of {
        Message(Message<'a>),
        ToolCall(ToolCall<'a>),
        FileChange(FileChange<'a>),
        TerminalCommand(TerminalCommand<'a>),
    }
}

impl<'a> ItemContent<'a> {
    /// Describes an item that has just started. `raw` is the agent's update that opened it.
    pub fn started(start: &'a ItemStart, raw: Option<&'a RawJson>) -> Self {
        match start {
            ItemStart::Message { role, message_id, .. } => {
                Self::Message(Message::new(*role, message_id.as_ref(), None, None))
            }
            ItemStart::ToolCall {
                tool_call_id,
                title,
                kind,
                status,
            } => Self::ToolCall(ToolCall {
                r#type: ToolCallType::ToolCall,
                name: Some(title),
                title: Some(title),
                kind: Some(kind),
                status: *status,
                tool_call_id: Some(tool_call_id),
                tool_call: raw,
            }),
            ItemStart::FileChange { path } => {
                Self::FileChange(FileChange::new(FileChangeType::FileChange, path, None, None))
            }
            ItemStart::TerminalCommand {
                terminal_id,
                command,
                args,
                cwd,
                output_bytes: _,
                requested_by,
            } => Self::TerminalCommand(TerminalCommand {
                command: Some(command),
                args: Some(args),
                cwd: Some(cwd),
                requested_by: requested_by.as_deref().map(By::from),
                ..TerminalCommand::in_terminal(terminal_id)
            }),
        }
    }

    /// Describes an item with its content. `start` adds what only the beginning of the item says.
    pub fn ended(end: &'a ItemEnd, start: Option<&'a ItemStart>) -> Self {
        match end {
            ItemEnd::Message { role, content } => Self::Message(Message {
                r#type: *role,
                message_id: None,
                text: Some(Cow::Owned(content_text(content))),
                content: Some(content),
            }),
            ItemEnd::ToolCall { status, call } => Self::ToolCall(ToolCall {
                r#type: ToolCallType::ToolCall,
                name: None,
                title: None,
                kind: None,
                status: *status,
                tool_call_id: None,
                tool_call: Some(call),
            }),
            ItemEnd::FileChange { path, diff, replaced } => Self::FileChange(FileChange {
                r#type: FileChangeType::FileChange,
                path,
                diff: Some(diff),
                replaced: *replaced,
            }),
            ItemEnd::TerminalCommand {
                terminal_id,
                exit_code,
                signal,
                output,
                output_blob,
                truncated,
            } => {
                let ended = TerminalCommand {
                    exit_code: Some(OrNull(*exit_code)),
                    signal: Some(OrNull(signal.as_ref())),
                    output: Some(output),
                    output_blob: output_blob.as_deref(),
                    truncated: Some(*truncated),
                    ..TerminalCommand::in_terminal(terminal_id)
                };
                Self::TerminalCommand(match start {
                    Some(ItemStart::TerminalCommand {
                        command,
                        args,
                        cwd,
                        requested_by,
                        ..
                    }) => TerminalCommand {
                        command: Some(command),
                        args: Some(args),
                        cwd: Some(cwd),
                        requested_by: requested_by.as_deref().map(By::from),
                        ..ended
                    },
                    _ => ended,
                })
            }
        }
    }
}

wire! {
    /// A message or a thought.
    struct Message<'a> {
        r#type: MessageType,
        /// The agent's own id for the message.
        message_id: Option<&'a String>,
        /// The whole text.
        text: Option<Cow<'a, str>>,
        /// ACP content blocks.
        content: Option<&'a [RawJson]> as Option<Vec<Acp>>,
    }

    /// A tool call.
    struct ToolCall<'a> {
        r#type: ToolCallType,
        /// The same as `title`.
        name: Option<&'a str>,
        /// The agent's title for the call.
        title: Option<&'a str>,
        /// ACP's `ToolKind`.
        kind: Option<&'a str>,
        status: ToolStatus,
        /// The agent's id for the call.
        tool_call_id: Option<&'a str>,
        /// The ACP tool call with all its updates applied.
        tool_call: Option<&'a RawJson> as Option<Acp>,
    }

    /// A change to a file.
    struct FileChange<'a> {
        r#type: FileChangeType,
        /// Absolute path of the file.
        path: &'a str,
        /// Unified diff, once it is known.
        diff: Option<&'a str>,
        /// What the write replaced, if the daemon wrote the file.
        replaced: Option<Replaced>,
    }

    /// A command in a terminal.
    struct TerminalCommand<'a> {
        r#type: TerminalCommandType,
        terminal_id: &'a str,
        command: Option<&'a str>,
        args: Option<&'a [String]>,
        cwd: Option<&'a str>,
        /// The client whose user requested the command: `command` is the whole line then, without `args`. Absent for a command
        /// of the agent.
        requested_by: Option<By<'a>>,
        /// Exit code, if the command exited normally.
        exit_code: Option<OrNull<i32>> as Option<i64>,
        /// Name of the signal that terminated the command.
        signal: Option<OrNull<&'a String>>,
        /// The last part of the output.
        output: Option<&'a str>,
        /// Blob with all kept output, at `GET /api/blobs/{outputBlob}`, if `output` is only the end of it.
        output_blob: Option<&'a BlobId>,
        /// Whether some of the output was not kept.
        truncated: Option<bool>,
        /// Whether the running command has been silent and waits for input.
        waiting: Option<bool>,
        /// Whether the terminal of a waiting command does not show what is typed, as for a password.
        secret: Option<bool>,
    }
}

impl<'a> TerminalCommand<'a> {
    /// Describes a command of which only the terminal is known.
    fn in_terminal(terminal_id: &'a str) -> Self {
        Self {
            r#type: TerminalCommandType::TerminalCommand,
            terminal_id,
            command: None,
            args: None,
            cwd: None,
            requested_by: None,
            exit_code: None,
            signal: None,
            output: None,
            output_blob: None,
            truncated: None,
            waiting: None,
            secret: None,
        }
    }
}
