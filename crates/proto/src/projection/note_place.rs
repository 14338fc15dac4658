//! Where the notes of a running thread are shown.

use acpd_model::{Event, ItemId, NotePlace};

use super::live::Live;
use super::notes::{NOTES, is_note};

impl Live {
    /// Returns where the next note is shown.
    pub(super) fn note_place(&self) -> NotePlace {
        match self.last_turn_shown {
            _ if self.turn.is_some() => NotePlace::Item(ItemId(self.last_item)),
            Some(turn) => NotePlace::Turn(turn),
            None => NotePlace::Start,
        }
    }

    /// Returns the place of the next event if it is a note.
    pub(super) fn place_of_note(&self, event: &Event) -> Option<NotePlace> {
        let place = self.note_place();
        (is_note(event) && self.notes.at(place) < NOTES).then_some(place)
    }
}
