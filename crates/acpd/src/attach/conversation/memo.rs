//! The layout of entries that were shown lately.

use std::collections::HashMap;
use std::rc::Rc;

use super::entry::Entry;
use super::line::{Line, Row, wrap_all};

/// The text of an entry, laid out.
#[derive(Debug, Default)]
pub struct Text {
    pub lines: Vec<Line>,
    pub rows: Vec<Row>,
}

/// Maximum number of rows whose layout is kept. One entry may have more.
const MEMO_ROWS: usize = 100_000;

/// The layout of entries: most pictures show the same ones as the picture before.
#[derive(Debug, Default)]
pub struct Memo {
    columns: usize,
    open: bool,
    texts: HashMap<String, Rc<Text>>,
    rows: usize,
}

impl Memo {
    /// Forgets an entry that has changed.
    pub fn forget(&mut self, entry: &str) {
        if let Some(text) = self.texts.remove(entry) {
            self.rows -= text.rows.len();
        }
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the text of an entry, whose lines are computed if they are not kept.
    pub fn text(
        &mut self,
        entry: &Entry,
        columns: usize,
        open: bool,
        lines: impl FnOnce() -> Vec<Line>,
    ) -> Rc<Text> {
        if (self.columns, self.open) != (columns, open) {
            *self = Self {
                columns,
                open,
                ..Self::default()
            };
        }
        if let Some(known) = self.texts.get(&entry.id) {
            return Rc::clone(known);
        }
        let lines = lines();
        let rows = wrap_all(&lines, columns);
        let text = Rc::new(Text { lines, rows });
        if self.rows + text.rows.len() > MEMO_ROWS {
            self.texts.clear();
            self.rows = 0;
        }
        self.rows += text.rows.len();
        self.texts.insert(entry.id.clone(), Rc::clone(&text));
        text
    }
}
