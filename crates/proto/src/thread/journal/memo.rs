//! The journal for memos: values that no event has, and what a process that takes over a running turn continues with.
//!
//! In: values and times of memos. Out: their forms in memos and in this process. Never: makes a memo large: long JSON becomes a blob.

use std::time::Duration;

use acpd_model::{Millis, RawJson};

use super::{Journal, Kept, RecalledFiles};
use crate::time::Instant;

/// JSON up to this size is part of a memo, in bytes. A memo is stored again with each change.
const INLINE_BYTES: usize = 1024;

/// How long a deadline waits that has passed while no process was there: the agent's output of that time is read first.
const GRACE: Duration = Duration::from_secs(2);

/// The longest time that a memo may have anything wait. A memo that was changed must not make times that do not exist.
const LONGEST: Duration = Duration::from_hours(24 * 7);

impl Journal {
    /// Returns when a deadline of a memo is over. One that has passed meanwhile waits for a moment.
    pub fn deadline_of(&self, at: Millis) -> Instant {
        let (at, now) = (self.instant_of(at), self.now.mono);
        if at > now { at } else { now + GRACE }
    }

    /// Returns a time of a memo. It may have passed.
    pub fn instant_of(&self, at: Millis) -> Instant {
        self.anchor.instant(at).min(self.now.mono + LONGEST)
    }

    /// Returns the form of a JSON value for memos. A long one becomes a blob.
    pub fn keep(&mut self, json: &RawJson) -> Kept {
        if json.get().len() <= INLINE_BYTES {
            return Kept::Inline(json.clone());
        }
        Kept::Blob(self.blob(json.get().as_bytes().to_owned()))
    }

    /// Continues with the file changes of the running turn.
    pub fn recall_files(&mut self, recalled: RecalledFiles) {
        self.files = recalled.files;
        let bytes = self.files.diff_bytes();
        self.live_diff.note(bytes, bytes, self.now.mono);
    }

    /// Returns whether the running turn has changed files.
    pub fn has_file_changes(&self) -> bool {
        self.files.has_changes()
    }
}
