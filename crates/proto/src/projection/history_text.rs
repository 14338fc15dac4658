//! The conversation so far as text, for an agent that has lost it.

use std::collections::VecDeque;

use acpd_model::{Event, EventKind, ItemEnd, ItemEvent, ItemOutcome, MessageType};

use super::ToolView;

/// Collects the end of a conversation from its end, in whole messages.
#[derive(Debug)]
pub struct HistoryText {
    room: usize,
    parts: VecDeque<String>,
    left_out: bool,
}

impl HistoryText {
    /// Collects at most `room` bytes.
    pub fn new(room: usize) -> Self {
        Self {
            room,
            parts: VecDeque::new(),
            left_out: false,
        }
    }

    /// Adds the event before those so far. Returns `false` if there is no room for it, and thus for no earlier one.
    pub fn prepend(&mut self, event: &Event) -> bool {
        let Some(part) = part(event) else {
            return true;
        };
        if part.len() <= self.room {
            self.room -= part.len();
            self.parts.push_front(part);
            return true;
        }
        self.left_out = true;
        // If nothing fits, the end of the last part is better than nothing.
        if self.parts.is_empty() {
            let from = part.ceil_char_boundary(part.len() - self.room);
            self.parts.push_front(part[from..].to_owned());
        }
        false
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

/// Returns the text of a finished item. The agent knows of its subagents what its own conversation says.
fn part(event: &Event) -> Option<String> {
    if event.lane.is_some() {
        return None;
    }
    let EventKind::Item(ItemEvent::Completed { outcome, end, .. }) = &event.kind else {
        return None;
    };
    match end {
        ItemEnd::Message { role, content } => {
            let speaker = match role {
                MessageType::UserMessage => "User",
                MessageType::AgentMessage => "Assistant",
                MessageType::AgentThought => return None,
            };
            let text = crate::projection::content_text(content);
            Some(format!("## {speaker}\n\n{}\n", text.trim()))
        }
        ItemEnd::ToolCall { status, call } => {
            let mut tool = ToolView::default();
            tool.apply(call);
            Some(format!(
                "(tool call: {}, {})\n",
                tool.shown_title(),
                status.as_acp()
            ))
        }
        ItemEnd::FileChange { path, .. } if *outcome == ItemOutcome::Completed => {
            Some(format!("(changed {path})\n"))
        }
        ItemEnd::FileChange { path, .. } => Some(format!("(did not change {path})\n")),
        ItemEnd::TerminalCommand { .. } => None,
    }
}
