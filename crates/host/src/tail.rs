//! The last bytes of a stream.

/// Keeps the end of what was written, up to a number of bytes, cut between characters.
#[derive(Debug)]
pub struct Tail {
    bytes: Vec<u8>,
    limit: usize,
    truncated: bool,
}

impl Tail {
    /// Keeps up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            limit,
            truncated: false,
        }
    }

    /// Adds what was written.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Cut only when it is twice too long, so that a long stream is not moved once for each write.
        if self.bytes.len() > self.limit.saturating_mul(2).max(4096) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.bytes.len() <= self.limit {
            return;
        }
        let mut from = self.bytes.len() - self.limit;
        while from < self.bytes.len() && is_continuation(self.bytes[from]) {
            from += 1;
        }
        self.bytes.drain(..from);
        self.truncated = true;
    }

    /// The text kept, with U+FFFD for what is not UTF-8, and whether something before it was dropped.
    pub fn text(&mut self) -> (String, bool) {
        self.cut();
        (String::from_utf8_lossy(&self.bytes).into_owned(), self.truncated)
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_end_and_cuts_between_characters() {
        let mut tail = Tail::new(5);
        tail.push("aé😀b".as_bytes());
        assert_eq!(tail.text(), ("😀b".into(), true));
        let mut tail = Tail::new(4);
        tail.push("a😀b".as_bytes());
        assert_eq!(tail.text(), ("b".into(), true));
        let mut tail = Tail::new(10);
        tail.push(b"0123456789");
        assert_eq!(tail.text(), ("0123456789".into(), false));
        for _ in 0..10_000 {
            tail.push(b"0123456789");
        }
        assert_eq!(tail.text(), ("0123456789".into(), true));
        let mut none = Tail::new(0);
        none.push(b"x");
        assert_eq!(none.text(), (String::new(), true));
    }
}
