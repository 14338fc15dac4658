//! Lines from bytes, up to a length.

/// Longest line that an agent may send, in bytes.
pub const LONGEST_LINE: usize = 4 << 20;

/// Bytes that came, and how far they were searched for the end of a line.
#[derive(Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    start: usize,
    searched: usize,
}

impl Lines {
    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next line that has ended, without its end.
    pub fn next(&mut self) -> Option<Vec<u8>> {
        let rest = &self.bytes[self.searched..];
        let Some(at) = rest.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.bytes.len();
            return None;
        };
        let end = self.searched + at;
        let line = self.bytes[self.start..end].to_vec();
        self.start = end + 1;
        self.searched = self.start;
        Some(line)
    }

    /// Returns whether a line is too long.
    pub fn is_over(&self) -> bool {
        self.bytes.len() - self.start > LONGEST_LINE
    }

    /// Returns what came behind the last end of a line.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_in_any_pieces() {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for piece in ["", "a", "b\nc\n", "\n", "d"] {
            lines.push(piece.as_bytes());
            while let Some(line) = lines.next() {
                found.push(String::from_utf8(line).unwrap());
            }
        }
        assert_eq!(found, ["ab", "c", ""]);
        assert_eq!(lines.rest(), b"d");
        assert!(!lines.is_over());
        lines.push(&vec![b'x'; LONGEST_LINE]);
        assert!(lines.is_over());
    }
}
