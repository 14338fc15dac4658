//! The message or thought that the agent is sending, as one client knows it.
//!
//! In acpd, a message can continue after a tool call. Codex shows a question only after the message before it is complete,
//! so that here a message ends where another item starts, and continues as another item.

use acpd_model::{ItemId, MessageType};

use super::item::{delta_method, escaped, put_delta, shown_text, write_text};
use super::shown::{At, Messages};
use super::write::{notification, put_turn};
use crate::projection::ItemView;

/// The most text of one item, in bytes as JSON writes it. Longer text continues as another item, so that the connection
/// keeps a bounded part of it.
const TEXT_BYTES: usize = 1 << 20;

/// An open message or thought.
#[derive(Debug)]
pub(super) struct Spoken {
    item: ItemId,
    role: MessageType,
    /// The number of items that it already was.
    parts: u32,
    /// Whether the present item has started.
    is_started: bool,
    /// The text of the present item, escaped.
    text: String,
}

impl Spoken {
    /// Creates a message whose item has started.
    pub fn started(item: ItemId, role: MessageType) -> Self {
        Self {
            item,
            role,
            parts: 0,
            is_started: true,
            text: String::new(),
        }
    }

    /// Returns the open message of a thread whose items the client has read.
    pub fn of(item: ItemId, view: &ItemView) -> Option<Self> {
        match view {
            ItemView::Message(message) if delta_method(message.role).is_some() => Some(Self {
                text: escaped(&shown_text(&message.content())),
                ..Self::started(item, message.role)
            }),
            ItemView::Message(_) | ItemView::Tool(_) | ItemView::File { .. } | ItemView::Terminal { .. } => {
                None
            }
        }
    }

    /// Returns whether this is the message of that item.
    pub fn is(&self, item: ItemId) -> bool {
        self.item == item
    }

    /// Returns the id of the present item.
    fn id(&self) -> String {
        match self.parts {
            0 => self.item.to_string(),
            parts => format!("{}_{parts}", self.item),
        }
    }

    /// Adds escaped text. Returns whether the message of the frame can be sent as it is.
    pub fn add(&mut self, at: At, text: &str, messages: &mut Messages) -> bool {
        if self.is_started && self.text.len() + text.len() > TEXT_BYTES {
            self.end_part(at, messages);
        }
        if !self.is_started {
            self.is_started = true;
            let id = self.id();
            at.started(messages, |out| write_text(out, self.role, &id, ""));
        }
        self.text.push_str(text);
        if self.parts == 0 {
            return true;
        }
        if let Some(method) = delta_method(self.role) {
            let mut out = Vec::new();
            notification(&mut out, method, |params| {
                params.put("threadId", &at.thread);
                put_turn(params, at.thread, at.turn);
                put_delta(params, method, &self.id(), |out| {
                    out.push(b'"');
                    out.extend_from_slice(text.as_bytes());
                    out.push(b'"');
                });
            });
            messages.push((method, out.into()));
        }
        false
    }

    /// Ends the present item, because another item starts. An item without text continues.
    pub fn end_part(&mut self, at: At, messages: &mut Messages) {
        if !self.is_started || self.text.is_empty() {
            return;
        }
        let (id, text) = (self.id(), std::mem::take(&mut self.text));
        at.completed(messages, |out| write_text(out, self.role, &id, &text));
        self.parts += 1;
        self.is_started = false;
    }

    /// Ends the message. Returns whether the message of the frame can be sent as it is.
    pub fn end(mut self, at: At, messages: &mut Messages) -> bool {
        if self.parts == 0 {
            return true;
        }
        self.end_part(at, messages);
        false
    }
}
