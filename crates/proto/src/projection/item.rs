//! An item, including one that is not finished.

use acpd_model::{EventKind, HostEvent, ItemEnd, ItemEvent, ItemStart, MessageType, RawJson};
use serde::{Deserialize, Serialize};

use super::tool::ToolView;

/// An item's content so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ItemView {
    /// A message or thought.
    Message(MessageView),
    /// A tool call.
    Tool(ToolView),
    /// A file change.
    File {
        /// Absolute path.
        path: String,
    },
    /// A command in a terminal of the daemon.
    Terminal {
        /// The daemon's id of the terminal.
        terminal_id: String,
        /// The command's output; only its end if it exceeds the limit.
        output: String,
        /// Total bytes of output in the log.
        written: usize,
        /// The terminal's output limit, in bytes; unknown in old logs.
        kept: Option<usize>,
        /// Whether the command waits for input, and if so, whether the terminal does not show it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waiting: Option<bool>,
    },
}

/// A message's content so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageView {
    /// The author of the message, and whether it is a thought.
    pub role: MessageType,
    /// ACP's `messageId`.
    pub message_id: Option<String>,
    /// The content, with adjacent text merged.
    pub parts: Vec<Part>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Part {
    /// Plain text.
    Text(String),
    /// Any other ACP content block.
    Block(RawJson),
}

impl ItemView {
    /// Creates the view of an item that has just started; `raw` is the raw JSON of its event.
    pub fn new(start: &ItemStart, raw: Option<&RawJson>) -> Self {
        match start {
            ItemStart::Message { role, message_id, .. } => Self::Message(MessageView {
                role: *role,
                message_id: message_id.clone(),
                parts: Vec::new(),
            }),
            ItemStart::ToolCall { .. } => {
                let mut tool = ToolView::default();
                if let Some(raw) = raw {
                    tool.apply(raw);
                }
                Self::Tool(tool)
            }
            ItemStart::FileChange { path } => Self::File { path: path.clone() },
            ItemStart::TerminalCommand {
                terminal_id,
                output_bytes,
                ..
            } => Self::Terminal {
                terminal_id: terminal_id.clone(),
                output: String::new(),
                written: 0,
                kept: output_bytes.and_then(|bytes| usize::try_from(bytes).ok()),
                waiting: None,
            },
        }
    }

    /// Applies an event about this item.
    pub fn apply(&mut self, kind: &EventKind, raw: Option<&RawJson>) {
        match (self, kind) {
            (Self::Message(message), EventKind::Item(ItemEvent::Delta { text, .. })) => {
                message.push_text(text)
            }
            (Self::Message(message), EventKind::Item(ItemEvent::Content { block, .. })) => {
                message.parts.push(Part::Block(block.clone()));
            }
            (Self::Message(message), EventKind::Item(ItemEvent::UserMessageAdded { content, .. })) => {
                message.parts.extend(content.iter().cloned().map(Part::Block));
            }
            (Self::Tool(tool), EventKind::Item(ItemEvent::Updated { .. })) => {
                if let Some(raw) = raw {
                    tool.apply(raw);
                }
            }
            (
                Self::Terminal {
                    output,
                    written,
                    kept,
                    waiting,
                    ..
                },
                EventKind::Host(HostEvent::TerminalOutput { text, .. }),
            ) => {
                *waiting = None;
                output.push_str(text);
                *written += text.len();
                let excess = output.len().saturating_sub(kept.unwrap_or(usize::MAX));
                output.drain(..output.ceil_char_boundary(excess));
            }
            (Self::Terminal { waiting, .. }, EventKind::Host(HostEvent::TerminalWaiting { secret, .. })) => {
                *waiting = Some(*secret)
            }
            (Self::Terminal { waiting, .. }, EventKind::Host(HostEvent::TerminalInput { .. })) => {
                *waiting = None
            }
            _ => {}
        }
    }

    /// Returns about how many bytes the content so far has.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Message(message) => message.parts.iter().map(Part::bytes).sum(),
            Self::Tool(tool) => tool.bytes(),
            Self::File { path } => path.len(),
            Self::Terminal { output, .. } => output.len(),
        }
    }

    /// Returns the content so far in the form of a finished item.
    pub fn to_end(&self) -> ItemEnd {
        match self {
            Self::Message(message) => ItemEnd::Message {
                role: message.role,
                content: message.content(),
            },
            Self::Tool(tool) => ItemEnd::ToolCall {
                status: tool.status(),
                call: tool.to_json(),
            },
            Self::File { path } => ItemEnd::FileChange {
                path: path.clone(),
                diff: String::new(),
                replaced: None,
            },
            Self::Terminal {
                terminal_id,
                output,
                written,
                kept,
                waiting: _,
            } => ItemEnd::TerminalCommand {
                terminal_id: terminal_id.clone(),
                exit_code: None,
                signal: None,
                output: output.clone(),
                output_blob: None,
                // At this point the output has reached its limit. The log has no more of it until the end.
                truncated: kept.is_some_and(|kept| *written >= kept),
            },
        }
    }
}

impl Part {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Block(block) => block.get().len(),
        }
    }
}

impl MessageView {
    fn push_text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Text(last)) => last.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    /// Returns the content as ACP content blocks.
    pub fn content(&self) -> Vec<RawJson> {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text_block(text),
                Part::Block(block) => block.clone(),
            })
            .collect()
    }
}

/// Returns an ACP content block of plain text.
pub fn text_block(text: &str) -> RawJson {
    serde_json::json!({ "type": "text", "text": text }).into()
}

/// Returns the text of a message, without its other content.
pub fn content_text(content: &[RawJson]) -> String {
    #[derive(Deserialize)]
    struct Block {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        text: String,
    }
    let blocks = content.iter().filter_map(|block| block.read::<Block>().ok());
    blocks
        .filter(|block| block.kind == "text")
        .map(|block| block.text)
        .collect()
}
