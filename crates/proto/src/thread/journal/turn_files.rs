//! The file changes of the running turn.
//!
//! In: each change. Out: one unified diff, from the start of the turn to now. Owns: the previous contents and the diffs
//! of the changed files, up to a limit. Never: computes the diff of an unchanged file again.

use std::collections::BTreeMap;

use acpd_model::PreviousContent;
use acpd_model::event::DiffSize;
use acpd_model::limits::TURN_DIFF_BYTES;

use crate::projection::unified_diff;

/// Memory for the files that one turn changed, in bytes: their paths, previous contents and diffs.
const TURN_FILES_BYTES: usize = 32 << 20;
const LEFT_OUT: &str = "\n\\ the rest of this diff was left out\n";

/// One change of a file.
#[derive(Debug)]
pub struct FileChange<'a> {
    /// Absolute path.
    pub path: &'a str,
    /// The content before the change.
    pub old: &'a PreviousContent,
    /// The content after the change.
    pub new: &'a str,
    /// The unified diff of this change alone.
    pub diff: &'a str,
}

/// The files that changed in a turn.
#[derive(Debug, Default)]
pub(super) struct TurnFiles {
    files: BTreeMap<String, Changed>,
    /// The size of all files, in bytes.
    bytes: usize,
    /// The size of all diffs, in bytes.
    diff_bytes: usize,
    /// Whether a file was too large to keep.
    incomplete: bool,
    /// Whether a file changed, even if it has its first content again.
    any: bool,
}

#[derive(Debug)]
struct Changed {
    before: PreviousContent,
    diff: String,
}

impl Changed {
    /// Returns the memory that the file takes, in bytes.
    fn bytes(&self, path: &str) -> usize {
        let texts = self.before.text().map_or(0, str::len) + self.diff.len();
        size_of::<(String, Self)>() + path.len() + texts
    }
}

impl TurnFiles {
    /// Records a change.
    pub fn note(&mut self, change: &FileChange<'_>) {
        let FileChange { path, old, new, diff } = *change;
        self.any = true;
        let changed = match self.remove(path) {
            Some(Changed { before, .. }) => Changed {
                diff: unified_diff(path, &before, new),
                before,
            },
            None => Changed {
                before: old.clone(),
                diff: diff.to_owned(),
            },
        };
        let bytes = changed.bytes(path);
        if self.bytes + bytes > TURN_FILES_BYTES {
            self.incomplete = true;
            return;
        }
        self.bytes += bytes;
        self.diff_bytes += changed.diff.len();
        self.files.insert(path.to_owned(), changed);
    }

    fn remove(&mut self, path: &str) -> Option<Changed> {
        let known = self.files.remove(path)?;
        self.bytes -= known.bytes(path);
        self.diff_bytes -= known.diff.len();
        Some(known)
    }

    /// Returns whether a file changed in the turn.
    pub fn has_changes(&self) -> bool {
        self.any
    }

    /// Returns about how many bytes the diff has.
    pub fn diff_bytes(&self) -> usize {
        self.diff_bytes.min(TURN_DIFF_BYTES)
    }

    /// Returns the diff of all files. It says so if a part is left out.
    pub fn diff(&self) -> String {
        let mut diff = String::with_capacity(self.diff_bytes() + LEFT_OUT.len());
        let mut incomplete = self.incomplete;
        for file in self.files.values() {
            let room = TURN_DIFF_BYTES - diff.len();
            diff.push_str(&file.diff[..file.diff.floor_char_boundary(room)]);
            if file.diff.len() > room {
                incomplete = true;
                break;
            }
        }
        if incomplete {
            diff.push_str(LEFT_OUT);
        }
        diff
    }

    /// Returns the size of that diff, in files and lines.
    pub fn diff_size(&self) -> DiffSize {
        let mut size = DiffSize {
            incomplete: self.incomplete || self.diff_bytes > TURN_DIFF_BYTES,
            ..DiffSize::default()
        };
        for file in self.files.values().filter(|file| !file.diff.is_empty()) {
            size.files += 1;
            // The first two lines are the names.
            for line in file.diff.lines().skip(2) {
                match line.as_bytes().first() {
                    Some(b'+') => size.added += 1,
                    Some(b'-') => size.removed += 1,
                    // A remark about lines that the diff does not show.
                    Some(b'\\') if !line.starts_with("\\ No newline") => size.incomplete = true,
                    _ => {}
                }
            }
        }
        size
    }

    /// Discards all changes.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(files: &mut TurnFiles, path: &str, old: &PreviousContent, new: &str) {
        let diff = unified_diff(path, old, new);
        files.note(&FileChange {
            path,
            old,
            new,
            diff: &diff,
        });
    }

    #[test]
    fn the_kept_files_of_a_turn_are_bounded() {
        let mut files = TurnFiles::default();
        let text = |letter: &str| letter.repeat(TURN_FILES_BYTES / 4);
        for (number, letter) in (0..9).zip(["a", "b", "c"].iter().cycle()) {
            let old = PreviousContent::Text(text("x"));
            note(&mut files, &format!("/w/{number}"), &old, &text(letter));
            assert!(files.bytes <= TURN_FILES_BYTES);
        }
        let diff = files.diff();
        assert!(
            diff.starts_with("--- a/w/0\n") && diff.ends_with(LEFT_OUT),
            "{diff}"
        );
        note(&mut files, "/w/0", &PreviousContent::Unknown, &text("x"));
        assert!(!files.diff().contains("/w/0"), "it is as it was");
        files.clear();
        note(&mut files, "/w/new", &PreviousContent::Nothing, "1\n");
        assert_eq!(
            files.diff(),
            unified_diff("/w/new", &PreviousContent::Nothing, "1\n")
        );
        assert_eq!(files.diff_bytes(), files.diff().len());
    }

    #[test]
    fn files_without_content_take_memory_too() {
        let mut files = TurnFiles::default();
        let unchanged = PreviousContent::Text(String::new());
        for number in 0..2 * TURN_FILES_BYTES / size_of::<Changed>() {
            note(&mut files, &number.to_string(), &unchanged, "");
        }
        assert!(files.incomplete && files.bytes <= TURN_FILES_BYTES);
        assert!(files.files.len() * size_of::<(String, Changed)>() <= TURN_FILES_BYTES);
    }

    #[test]
    fn a_long_diff_is_cut() {
        let mut files = TurnFiles::default();
        let line = "é".repeat(50);
        let text = format!("{line}\n").repeat(2000);
        for number in 0..12 {
            note(
                &mut files,
                &format!("/w/{number}"),
                &PreviousContent::Nothing,
                &text,
            );
        }
        let diff = files.diff();
        assert!(diff.len() <= TURN_DIFF_BYTES + LEFT_OUT.len() && diff.ends_with(LEFT_OUT));
        assert_eq!(files.diff_bytes(), TURN_DIFF_BYTES);
    }
}
