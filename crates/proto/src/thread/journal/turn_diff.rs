//! The diff of the running turn: shown live while files change, recorded once when the turn ends.

use acpd_model::event::DiffSize;
use acpd_model::{EventKind, Origin, TurnEvent};

use super::Journal;
use super::turn_files::FileChange;
use crate::fanout::{LiveDiff, LiveUpdate};

impl Journal {
    /// Adds a file change to the turn's diff. A change between turns belongs to none.
    pub fn note_file_change(&mut self, change: &FileChange<'_>) {
        if self.current_turn().is_none() {
            return;
        }
        self.files.note(change);
        let size = self.files.diff_bytes();
        self.live_diff.note(change.diff.len(), size, self.now.mono);
    }

    /// Discards the file changes of the turn.
    pub fn forget_file_changes(&mut self) {
        self.files.clear();
        self.live_diff = LiveDiff::default();
    }

    /// Records the diff of the turn that is about to end, if it changed files. Returns its size. The end of the turn must
    /// be the next event: that is where the diff is looked for.
    pub fn record_turn_diff(&mut self) -> Option<DiffSize> {
        let size = self.files.has_changes().then(|| {
            let (diff, size) = (self.files.diff(), self.files.diff_size());
            self.emit(
                Origin::Daemon,
                EventKind::Turn(TurnEvent::DiffUpdated { diff }),
                None,
            );
            size
        });
        self.forget_file_changes();
        size
    }

    /// Shows the diff of the running turn if it is due.
    pub(super) fn show_turn_diff(&mut self) {
        if !self.live_diff.is_due(self.now.mono) {
            return;
        }
        let diff = self.files.diff();
        if self.live_diff.show(&diff, self.now.mono) {
            self.show(LiveUpdate::TurnDiff(diff));
        }
    }
}
