//! Events that are shown between the items of a turn: notices, and answers to the agent's questions.
//!
//! A note is shown after the item that started last before it. If that item was dropped, the note is not shown. An item has
//! a limited number of notes, so that a page of turns stays small whatever an agent does.

use std::sync::Arc;

use acpd_model::{Event, EventKind, ItemId};
use serde::{Deserialize, Serialize};

/// Maximum number of notes after one item; further ones are only in the log.
const NOTES: u32 = 16;
/// Maximum weight of a note, in bytes.
const NOTE_BYTES: usize = 16 << 10;

/// An event that is shown between items.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// The id of the thread, as text.
    pub thread: Arc<str>,
    /// The item before it; `None` before the first item.
    pub after: Option<ItemId>,
    /// The event.
    pub event: Event,
}

/// Decides which events are notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NoteCount {
    /// Notes after the last item.
    notes: u32,
}

impl NoteCount {
    /// Returns whether the next event is a note.
    pub fn takes(self, event: &Event) -> bool {
        self.notes < NOTES && is_note(event)
    }

    /// Counts an event.
    pub fn count(&mut self, event: &Event) {
        if matches!(event.kind, EventKind::ItemStarted { .. }) {
            self.notes = 0;
        } else if is_note(event) {
            self.notes = self.notes.saturating_add(1);
        }
    }
}

fn is_note(event: &Event) -> bool {
    let is_note = matches!(
        event.kind,
        EventKind::AgentLost { .. }
            | EventKind::NoticeGiven { .. }
            | EventKind::LineMalformed { .. }
            | EventKind::CallRefused { .. }
            | EventKind::RequestSettled { .. }
    );
    is_note && event.weight() <= NOTE_BYTES
}
