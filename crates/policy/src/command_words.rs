//! The words of a command, held once for all who look at them.
//!
//! A command's words come in; the same words, or those of its end, come out. A script of a few hundred commands has a wrapper
//! around each of them, so that copies would grow with the product of both. Nobody changes a word.

use std::ops::Deref;
use std::sync::Arc;

use super::shell::Word;

/// Words of a command, from one of them on. A clone takes no memory for them.
#[derive(Debug, Clone, Default)]
pub struct CommandWords {
    all: Arc<[Word]>,
    start: usize,
}

impl CommandWords {
    /// The words from the one at `at` on; without one there, none.
    pub fn starting_at(&self, at: usize) -> Self {
        Self {
            all: Arc::clone(&self.all),
            start: self.all.len().min(self.start + at),
        }
    }
}

impl From<Vec<Word>> for CommandWords {
    fn from(words: Vec<Word>) -> Self {
        Self {
            all: words.into(),
            start: 0,
        }
    }
}

impl Deref for CommandWords {
    type Target = [Word];

    fn deref(&self) -> &[Word] {
        &self.all[self.start..]
    }
}

impl PartialEq for CommandWords {
    fn eq(&self, other: &Self) -> bool {
        let is_same = Arc::ptr_eq(&self.all, &other.all) && self.start == other.start;
        is_same || **self == **other
    }
}

impl Eq for CommandWords {}
