//! Events that are shown between the items of a turn: notices, and answers to the agent's questions.
//!
//! While a turn runs, a note is shown after the item that started last. While none runs, it is shown after the end of the
//! last turn, so that it never changes how a finished turn reads. A place has a limited number of notes, so that a page of
//! turns stays small whatever an agent does. Clients that follow a thread apply the same rules.

use std::sync::Arc;

use acpd_model::{Event, EventKind, ItemId, NotePlace, RequestEvent, SessionEvent};
use serde::{Deserialize, Serialize};

/// The code of the notice that the agent decides by itself what it may do.
pub(crate) const AGENT_DECIDES: &str = "agentDecides";

/// The code of the notice that the directory of the thread is gone.
pub(crate) const DIRECTORY_GONE: &str = "directoryGone";

/// Maximum number of notes at one place; further ones are only in the log.
pub(super) const NOTES: usize = 16;
/// Maximum weight of a note, in bytes.
const NOTE_BYTES: usize = 16 << 10;

/// An event that is shown between items.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// The id of the thread, as text.
    pub thread: Arc<str>,
    /// The item before it; `None` if it is shown before the first turn, or after the end of its turn.
    pub after: Option<ItemId>,
    /// Whether it is shown after the end of its turn.
    pub after_turn: bool,
    /// The event.
    pub event: Event,
}

impl Note {
    /// Returns whether the note is shown at this place of its turn.
    pub(super) fn is_at(&self, after: Option<ItemId>, after_turn: bool) -> bool {
        (self.after, self.after_turn) == (after, after_turn)
    }
}

/// Counts the notes at the current place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NoteCount {
    place: NotePlace,
    notes: usize,
}

impl NoteCount {
    /// Returns the number of notes at a place.
    pub(super) fn at(self, place: NotePlace) -> usize {
        if self.place == place { self.notes } else { 0 }
    }

    /// Counts an event at its place.
    pub(super) fn count(&mut self, place: NotePlace, event: &Event) {
        if is_note(event) {
            let notes = self.at(place).saturating_add(1);
            *self = Self { place, notes };
        }
    }
}

/// Returns whether an event is shown between items.
pub(super) fn is_note(event: &Event) -> bool {
    let is_note = matches!(
        event.kind,
        EventKind::Session(
            SessionEvent::AgentLost { .. }
                | SessionEvent::NoticeGiven { .. }
                | SessionEvent::LineMalformed { .. }
                | SessionEvent::CallRefused { .. }
        ) | EventKind::Request(RequestEvent::Settled { .. })
    );
    is_note && !is_too_large(event)
}

/// Returns whether an event is too large to be shown between items; then only the log has it.
pub(crate) fn is_too_large(event: &Event) -> bool {
    event.weight() > NOTE_BYTES
}
