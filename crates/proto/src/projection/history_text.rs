//! The conversation so far as text, for an agent that has lost it.

use std::collections::VecDeque;

use acpd_model::{Event, EventKind, ItemEnd, MessageType, TurnId};

use super::history_filter::HistoryFilter;
use super::{DroppedTurns, ToolView};

/// Collects the end of a conversation, in whole messages.
#[derive(Debug)]
pub struct HistoryText {
    kept: HistoryFilter,
    room: usize,
    bytes: usize,
    parts: VecDeque<String>,
    left_out: bool,
}

impl HistoryText {
    /// Collects at most `room` bytes, without the turn `except` and the dropped turns.
    pub fn new(except: Option<TurnId>, dropped: DroppedTurns, room: usize) -> Self {
        Self {
            kept: HistoryFilter::new(except, dropped),
            room,
            bytes: 0,
            parts: VecDeque::new(),
            left_out: false,
        }
    }

    /// Applies the next event of the log.
    pub fn fold(&mut self, event: &Event) {
        if !self.kept.has(event) {
            return;
        }
        let EventKind::ItemCompleted { end, .. } = &event.kind else {
            return;
        };
        let part = match end {
            ItemEnd::Message { role, content } => {
                let speaker = match role {
                    MessageType::UserMessage => "User",
                    MessageType::AgentMessage => "Assistant",
                    MessageType::AgentThought => return,
                };
                let text = crate::projection::content_text(content);
                format!("## {speaker}\n\n{}\n", text.trim())
            }
            ItemEnd::ToolCall { status, call } => {
                let mut tool = ToolView::default();
                tool.apply(call);
                format!("(tool call: {}, {})\n", tool.title(), status.as_acp())
            }
            ItemEnd::FileChange { path, .. } => format!("(changed {path})\n"),
            ItemEnd::TerminalCommand { .. } => return,
        };
        // A part that exceeds the limit by itself is cut to its end.
        let from = part.ceil_char_boundary(part.len().saturating_sub(self.room));
        self.left_out |= from > 0;
        let part = part[from..].to_owned();
        self.bytes += part.len();
        self.parts.push_back(part);
        while self.bytes > self.room {
            let Some(oldest) = self.parts.pop_front() else {
                break;
            };
            self.bytes -= oldest.len();
            self.left_out = true;
        }
    }

    /// Returns the collected text; empty if there is no conversation.
    pub fn finish(self) -> String {
        let mut text = String::new();
        if self.left_out && !self.parts.is_empty() {
            text.push_str("(the beginning is left out)\n");
        }
        for part in self.parts {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&part);
        }
        text
    }
}
