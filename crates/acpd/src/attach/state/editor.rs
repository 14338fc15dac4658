//! A text of several lines that the user types.
//!
//! In: characters and movements. Out: the text, its rows and the place of the cursor. Never: keeps a character that a
//! terminal acts on, or more than [`TEXT_BYTES`].

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::attach::conversation::line::wrap;
use crate::terminal::plain::plain;

/// Maximum size of a text, in bytes. The daemon accepts a little more in a message.
const TEXT_BYTES: usize = 900 << 10;

/// Number of texts that can be recalled.
const HISTORY: usize = 100;

/// A text and a cursor in it.
#[derive(Debug, Default)]
pub struct Editor {
    text: String,
    /// Byte index of the cursor.
    at: usize,
    /// Texts that were sent, oldest first.
    history: Vec<String>,
    /// Index of the recalled text.
    recalled: Option<usize>,
}

/// A movement of the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Up,
    Down,
}

impl Editor {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the text, with the cursor at its end.
    pub fn set(&mut self, text: &str) {
        self.text.clear();
        self.at = 0;
        self.insert(text);
    }

    /// Takes the text, and keeps it to be recalled.
    pub fn take(&mut self) -> String {
        self.at = 0;
        self.recalled = None;
        let text = std::mem::take(&mut self.text);
        if self.history.last() != Some(&text) {
            self.history.push(text.clone());
        }
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
        text
    }

    /// Inserts text at the cursor. Returns whether all of it had room.
    pub fn insert(&mut self, text: &str) -> bool {
        let text = plain(&text.replace("\r\n", "\n").replace('\r', "\n")).replace('\t', "    ");
        let room = TEXT_BYTES.saturating_sub(self.text.len());
        let fit = &text[..text.floor_char_boundary(room.min(text.len()))];
        self.text.insert_str(self.at, fit);
        self.at += fit.len();
        fit.len() == text.len()
    }

    /// Deletes from the cursor to where a movement leads.
    pub fn delete(&mut self, to: Move) {
        let end = self.target(to);
        let range = self.at.min(end)..self.at.max(end);
        self.at = range.start;
        self.text.replace_range(range, "");
    }

    /// Moves the cursor. Returns whether it moved.
    pub fn go(&mut self, to: Move) -> bool {
        let target = self.target(to);
        std::mem::replace(&mut self.at, target) != target
    }

    fn target(&self, to: Move) -> usize {
        let (before, after) = self.text.split_at(self.at);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.at + after.find('\n').unwrap_or(after.len());
        match to {
            Move::Left => self.at - before.graphemes(true).next_back().map_or(0, str::len),
            Move::Right => self.at + after.graphemes(true).next().map_or(0, str::len),
            Move::WordLeft => {
                let word = before.trim_end_matches(|c: char| !c.is_alphanumeric());
                word.trim_end_matches(char::is_alphanumeric).len()
            }
            Move::WordRight => {
                let word = after.trim_start_matches(|c: char| !c.is_alphanumeric());
                self.text.len() - word.trim_start_matches(char::is_alphanumeric).len()
            }
            Move::LineStart => line_start,
            Move::LineEnd => line_end,
            Move::Up => match line_start.checked_sub(1) {
                Some(end) => {
                    let start = self.text[..end].rfind('\n').map_or(0, |at| at + 1);
                    start + self.at_column(start..end, &self.text[line_start..self.at])
                }
                None => self.at,
            },
            Move::Down if line_end < self.text.len() => {
                let start = line_end + 1;
                let end = self.text[start..]
                    .find('\n')
                    .map_or(self.text.len(), |at| start + at);
                start + self.at_column(start..end, &self.text[line_start..self.at])
            }
            Move::Down => self.at,
        }
    }

    /// Returns the offset in a line at which it is as wide as `before`.
    fn at_column(&self, line: Range<usize>, before: &str) -> usize {
        let columns = before.width();
        let (mut used, mut offset) = (0, 0);
        for cluster in self.text[line].graphemes(true) {
            used += cluster.width();
            if used > columns {
                break;
            }
            offset += cluster.len();
        }
        offset
    }

    /// Recalls an earlier text, or a later one.
    pub fn recall(&mut self, earlier: bool) {
        let at = match (self.recalled, earlier) {
            (None, true) => self.history.len().checked_sub(1),
            (None, false) => return,
            (Some(at), true) => Some(at.saturating_sub(1)),
            (Some(at), false) => Some(at + 1).filter(|at| *at < self.history.len()),
        };
        let text = at.and_then(|at| self.history.get(at)).cloned();
        if at.is_some() || !earlier {
            self.set(&text.unwrap_or_default());
        }
        self.recalled = at;
    }

    /// Returns the number of rows of the text at a width, or `most` if there are more.
    pub fn height(&self, columns: usize, most: usize) -> usize {
        let mut rows = 0;
        for line in self.text.split('\n') {
            rows += wrap(line, columns.saturating_sub(1)).len();
            if rows >= most {
                return most;
            }
        }
        rows
    }

    /// Returns the rows of a window of `height` rows with the cursor, and the cursor's row and column in it.
    pub fn rows(&self, columns: usize, height: usize) -> (Vec<&str>, (usize, usize)) {
        // One column less, so that the cursor has room after the last character.
        let columns = columns.saturating_sub(1);
        // Only the lines around the cursor are laid out: a pasted text may be long.
        let line_start = |at: usize| self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let mut start = line_start(self.at);
        for _ in 1..height {
            start = line_start(start.saturating_sub(1));
        }
        let (mut rows, mut cursor) = (Vec::new(), (0, 0));
        for line in self.text[start..].split('\n') {
            for range in wrap(line, columns) {
                let (from, to) = (start + range.start, start + range.end);
                if (from..=to).contains(&self.at) {
                    cursor = (rows.len(), self.text[from..self.at].width());
                }
                rows.push(&self.text[from..to]);
            }
            start += line.len() + 1;
            if start > self.at && rows.len() >= cursor.0 + height {
                break;
            }
        }
        // As many rows as fit, with the cursor in the last one if there are rows above.
        let top = (cursor.0 + 1).saturating_sub(height);
        let end = rows.len().min(top + height);
        (rows[top..end].to_vec(), (cursor.0 - top, cursor.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn editor(text: &str) -> Editor {
        let mut editor = Editor::default();
        editor.insert(text);
        editor
    }

    #[test]
    fn characters_are_deleted_as_the_user_sees_them() {
        let mut typed = editor("a👩\u{200d}💻é");
        typed.delete(Move::Left);
        typed.delete(Move::Left);
        assert_eq!(typed.text(), "a");
        typed.set("one two-three");
        typed.delete(Move::WordLeft);
        assert_eq!(typed.text(), "one two-");
        typed.delete(Move::LineStart);
        assert!(typed.is_empty());
        typed.delete(Move::Left);
        typed.delete(Move::Right);
        assert!(typed.is_empty());
    }

    #[test]
    fn the_cursor_moves_between_lines_by_columns() {
        let mut typed = editor("漢字x\nabcdef\ny");
        assert!(typed.go(Move::Up));
        typed.go(Move::Right);
        typed.go(Move::Right);
        assert_eq!(typed.rows(80, 9).1, (1, 3));
        typed.go(Move::Up);
        // The third column is in the middle of a wide character.
        assert_eq!(typed.rows(80, 9).1, (0, 2));
        assert!(!typed.go(Move::Up));
        typed.go(Move::LineEnd);
        typed.go(Move::Down);
        assert_eq!(typed.rows(80, 9).1, (1, 5));
        typed.go(Move::Down);
        assert_eq!(typed.rows(80, 9).1, (2, 1));
        assert!(!typed.go(Move::Down));
    }

    #[test]
    fn pasted_text_cannot_drive_the_terminal_and_is_bounded() {
        let mut typed = editor("a\r\nb\rc\u{1b}[2J\t.");
        assert_eq!(typed.text(), "a\nb\nc\u{fffd}[2J    .");
        assert!(!typed.insert(&"é".repeat(TEXT_BYTES)));
        assert!(typed.text().len() <= TEXT_BYTES);
    }

    #[test]
    fn long_lines_are_wrapped_with_room_for_the_cursor() {
        let typed = editor("abcd efgh\n");
        assert_eq!(typed.rows(6, 9), (vec!["abcd ", "efgh", ""], (2, 0)));
        assert_eq!(typed.rows(6, 2), (vec!["efgh", ""], (1, 0)));
        assert_eq!((typed.height(6, 9), typed.height(6, 2)), (3, 2));
        let mut typed = editor("abcde");
        assert_eq!(typed.rows(6, 9), (vec!["abcde"], (0, 5)));
        typed.set(&"x\n".repeat(100));
        typed.go(Move::Up);
        assert_eq!(typed.rows(6, 3), (vec!["x", "x", "x"], (2, 0)));
        typed.set("\n\nx");
        assert_eq!(typed.rows(6, 9), (vec!["", "", "x"], (2, 1)));
    }

    #[test]
    fn sent_texts_are_recalled() {
        let mut typed = editor("one");
        typed.recall(false);
        assert_eq!(typed.take(), "one");
        typed.insert("two");
        typed.take();
        typed.recall(true);
        assert_eq!(typed.text(), "two");
        typed.recall(true);
        typed.recall(true);
        assert_eq!(typed.text(), "one");
        typed.recall(false);
        assert_eq!(typed.text(), "two");
        typed.recall(false);
        assert_eq!(typed.text(), "");
    }
}
