//! The file changes of the running turn.
//!
//! In: each change. Out: one unified diff, from the start of the turn to now. Owns: the contents of the changed
//! files, up to a limit. Never: computes the diff of an unchanged file again.

use std::collections::BTreeMap;

use acpd_model::PreviousContent;
use acpd_model::limits::{TURN_DIFF_BYTES, TURN_FILES_BYTES};

use crate::projection::unified_diff;

const LEFT_OUT: &str = "\n\\ the rest of this diff was left out\n";

/// The files that changed in a turn.
#[derive(Debug, Default)]
pub(super) struct TurnFiles {
    files: BTreeMap<String, Changed>,
    bytes: usize,
    /// Whether a file was too large to keep.
    incomplete: bool,
    /// Whether the diff has changed since the last call of `take_diff`.
    changed: bool,
}

#[derive(Debug)]
struct Changed {
    before: PreviousContent,
    diff: String,
    /// The size of all fields, in bytes.
    bytes: usize,
}

impl TurnFiles {
    /// Records that a file changed from `old` to `new`.
    pub fn note(&mut self, path: &str, old: &PreviousContent, new: &str) {
        let known = self.files.remove(path);
        self.bytes -= known.as_ref().map_or(0, |known| known.bytes);
        let before = known.map_or_else(|| old.clone(), |known| known.before);
        let diff = unified_diff(path, &before, new);
        let bytes = path.len() + before.text().map_or(0, str::len) + diff.len();
        self.changed = true;
        if self.bytes + bytes > TURN_FILES_BYTES {
            self.incomplete = true;
            return;
        }
        self.bytes += bytes;
        let changed = Changed { before, diff, bytes };
        self.files.insert(path.to_owned(), changed);
    }

    /// Returns the diff, if it has changed since the last call.
    pub fn take_diff(&mut self) -> Option<String> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let mut diff = String::new();
        let mut incomplete = self.incomplete;
        for file in self.files.values() {
            diff.push_str(&file.diff);
            if diff.len() > TURN_DIFF_BYTES {
                diff.truncate(diff.floor_char_boundary(TURN_DIFF_BYTES));
                incomplete = true;
                break;
            }
        }
        if incomplete {
            diff.push_str(LEFT_OUT);
        }
        Some(diff)
    }

    /// Discards all changes, because another turn starts.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_turns_files_is_bounded() {
        let mut files = TurnFiles::default();
        let text = |letter: &str| letter.repeat(TURN_FILES_BYTES / 4);
        for (number, letter) in (0..9).zip(["a", "b", "c"].iter().cycle()) {
            let old = PreviousContent::Text(text("x"));
            files.note(&format!("/w/{number}"), &old, &text(letter));
            assert!(files.bytes <= TURN_FILES_BYTES);
        }
        let diff = files.take_diff().unwrap();
        assert!(
            diff.starts_with("--- a/w/0\n") && diff.ends_with(LEFT_OUT),
            "{diff}"
        );
        assert_eq!(files.take_diff(), None);
        files.note("/w/0", &PreviousContent::Unknown, &text("x"));
        assert!(!files.take_diff().unwrap().contains("/w/0"), "it is as it was");
        files.clear();
        files.note("/w/new", &PreviousContent::Nothing, "1\n");
        assert_eq!(
            files.take_diff().unwrap(),
            unified_diff("/w/new", &PreviousContent::Nothing, "1\n")
        );
    }
}
