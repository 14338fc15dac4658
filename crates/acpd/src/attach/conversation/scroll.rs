//! The place of the conversation that is on the screen.
//!
//! A place is a row of an entry, not a number of rows from the beginning: so a thread of any length has no layout as a
//! whole, and nothing moves when older pages come or go.

use std::rc::Rc;

use super::Conversation;
use super::entry::Entry;
use super::line::Line;
use super::memo::Text;

/// What the window follows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Scroll {
    /// The end of the thread.
    #[default]
    End,
    /// This row of this entry is the first in the window.
    At { entry: String, row: usize },
}

/// A row of an entry, by their indexes. The row 0 of an entry that has a gap above it is that gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub entry: usize,
    pub row: usize,
}

/// The conversation, laid out at a width.
#[derive(Clone, Copy)]
pub struct Layout<'c> {
    pub conversation: &'c Conversation,
    pub columns: usize,
    /// Whether folds are open.
    pub open: bool,
}

/// An entry, laid out.
pub struct Laid {
    /// Whether an empty row comes first.
    pub gap: bool,
    pub text: Rc<Text>,
}

impl Laid {
    fn height(&self) -> usize {
        usize::from(self.gap) + self.text.rows.len()
    }
}

impl Layout<'_> {
    /// Returns the lines of an entry, with the name of its subagent.
    pub fn lines(&self, entry: &Entry, open: bool) -> Vec<Line> {
        self.conversation.lines(entry, open, self.columns)
    }

    /// Lays out an entry.
    pub fn entry(&self, at: usize) -> Laid {
        let entries = self.conversation.entries();
        let Some(entry) = entries.get(at) else {
            return Laid {
                gap: false,
                text: Rc::default(),
            };
        };
        let mut memo = self.conversation.memo.borrow_mut();
        let text = memo.text(entry, self.columns, self.open, || self.lines(entry, self.open));
        let before = at.checked_sub(1).and_then(|before| entries.get(before));
        let is_together = |before: &Entry| before.is_brief() && entry.is_brief();
        Laid {
            gap: !text.rows.is_empty() && before.is_some_and(|before| !is_together(before)),
            text,
        }
    }

    fn height(&self, at: usize) -> usize {
        self.entry(at).height()
    }

    /// Returns the first place in a window of `rows` rows.
    pub fn top(&self, scroll: &Scroll, rows: usize) -> Place {
        match scroll {
            Scroll::End => self.top_at_end(rows),
            Scroll::At { entry, row } => match self.conversation.find(entry) {
                Some(at) => Place {
                    entry: at,
                    row: (*row).min(self.height(at).saturating_sub(1)),
                },
                None => self.top_at_end(rows),
            },
        }
    }

    /// Returns the first place of the last window.
    pub fn top_at_end(&self, rows: usize) -> Place {
        let end = Place {
            entry: self.conversation.entries().len(),
            row: 0,
        };
        self.up(end, rows)
    }

    /// Returns the place `rows` rows above.
    pub fn up(&self, from: Place, rows: usize) -> Place {
        let Place { mut entry, mut row } = from;
        let mut left = rows;
        while left > row {
            let Some(before) = entry.checked_sub(1) else {
                return Place { entry: 0, row: 0 };
            };
            left -= row;
            entry = before;
            row = self.height(entry);
        }
        Place {
            entry,
            row: row - left,
        }
    }

    /// Returns the place `rows` rows below, at most the end.
    pub fn down(&self, from: Place, rows: usize) -> Place {
        let Place { mut entry, mut row } = from;
        let count = self.conversation.entries().len();
        let mut left = rows;
        while entry < count {
            let below = self.height(entry).saturating_sub(row);
            if left < below {
                return Place {
                    entry,
                    row: row + left,
                };
            }
            left -= below;
            entry += 1;
            row = 0;
        }
        Place { entry: count, row: 0 }
    }

    /// Returns the scroll position whose window begins at a place, or the end.
    pub fn scroll(&self, top: Place, rows: usize) -> Scroll {
        if top >= self.top_at_end(rows) && self.conversation.newer().is_none() {
            return Scroll::End;
        }
        let top = top.min(self.top_at_end(rows));
        match self.conversation.entries().get(top.entry) {
            Some(entry) => Scroll::At {
                entry: entry.id.clone(),
                row: top.row,
            },
            None => Scroll::End,
        }
    }
}
