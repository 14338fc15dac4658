//! What a message says, over all of its items: of an earlier item, the thread does not keep the text.

use std::hash::{DefaultHasher, Hasher};

/// The size and the hash of a message's text so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    bytes: usize,
    hasher: DefaultHasher,
}

impl Said {
    /// Adds a piece of the text.
    pub fn add(&mut self, text: &str) {
        self.bytes += text.len();
        self.hasher.write(text.as_bytes());
    }

    /// Returns whether a text is the whole of it.
    pub fn is(&self, text: &str) -> bool {
        if self.bytes != text.len() {
            return false;
        }
        let mut other = Self::default();
        other.add(text);
        self.hasher.finish() == other.hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Said;

    #[test]
    fn pieces_are_the_same_as_the_whole() {
        let mut said = Said::default();
        for piece in ["one ", "", "twö", " three four five"] {
            said.add(piece);
        }
        assert!(said.is("one twö three four five"));
        assert!(!said.is("one twö three four fivE") && !said.is("one twö three four"));
    }
}
