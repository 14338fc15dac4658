//! A hash of text whose state can be stored: the hashes of the standard library cannot continue in another process.
//!
//! In: bytes, in pieces of any size. Out: a number. Owns: the state so far. Never: protects against a peer that wants two texts with one
//! hash. Only use it where that peer would deceive itself alone.

use serde::{Deserialize, Serialize};

/// FNV-1a with 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct TextHash(u64);

impl Default for TextHash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl TextHash {
    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Returns the hash of all bytes so far.
    pub fn finish(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_definition_and_continues_when_stored() {
        let hash = |text: &str| {
            let mut hash = TextHash::default();
            hash.write(text.as_bytes());
            hash.finish()
        };
        // From the tables of the authors.
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
        let mut half = TextHash::default();
        half.write(b"foo");
        let stored = serde_json::to_string(&half).unwrap();
        let mut rest: TextHash = serde_json::from_str(&stored).unwrap();
        rest.write(b"bar");
        assert_eq!(rest.finish(), hash("foobar"));
    }
}
