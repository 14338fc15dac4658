//! What a message says, over all of its items: of an earlier item, the thread does not keep the text.

use serde::{Deserialize, Serialize};

use crate::text_hash::TextHash;

/// The size and the hash of a message's text so far.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Said {
    bytes: usize,
    hash: TextHash,
}

impl Said {
    /// Adds a piece of the text.
    pub fn add(&mut self, text: &str) {
        self.bytes += text.len();
        self.hash.write(text.as_bytes());
    }

    /// Returns whether a text is the whole of it.
    pub fn is(&self, text: &str) -> bool {
        if self.bytes != text.len() {
            return false;
        }
        let mut other = Self::default();
        other.add(text);
        self.hash == other.hash
    }
}

/// What a message says that has only begun, or whose agent does not repeat messages.
#[expect(
    clippy::unnecessary_wraps,
    reason = "serde takes it as the default of the member"
)]
pub(super) fn unsaid() -> Option<Said> {
    Some(Said::default())
}

/// Returns whether a message says nothing yet.
#[expect(clippy::ref_option, reason = "serde passes a reference to the member")]
pub(super) fn is_unsaid(said: &Option<Said>) -> bool {
    *said == unsaid()
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

    #[test]
    fn the_hash_survives_json() {
        let mut said = Said::default();
        said.add("a");
        let json = serde_json::to_string(&said).unwrap();
        let mut again: Said = serde_json::from_str(&json).unwrap();
        again.add("b");
        assert!(again.is("ab") && !said.is("ab"), "{json}");
    }
}
