//! The words of a command, stored once and shared.
//!
//! In: a command's words. Out: the same words, or a suffix of them. A script of a few hundred commands has wrappers
//! around each of them, so copies would grow with the product of both. The words are immutable.

use std::ops::Deref;
use std::sync::Arc;

use super::shell::Word;

/// A suffix of a command's words. A clone shares the words.
#[derive(Debug, Clone, Default)]
pub struct CommandWords {
    all: Arc<[Word]>,
    start: usize,
}

impl CommandWords {
    /// Returns the words from `at` on, or none if there are fewer.
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
