//! The last bytes of a stream.

use std::collections::VecDeque;

/// Keeps the end of a stream, up to a number of bytes, and returns it cut at character boundaries.
#[derive(Debug)]
pub struct Tail {
    kept: VecDeque<u8>,
    limit: usize,
    /// Number of bytes ever written.
    written: u64,
}

impl Tail {
    /// Creates a tail that keeps up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            kept: VecDeque::new(),
            limit,
            written: 0,
        }
    }

    /// Returns the maximum number of bytes kept.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Adds bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.written += bytes.len() as u64;
        let bytes = &bytes[bytes.len().saturating_sub(self.limit)..];
        let too_many = (self.kept.len() + bytes.len()).saturating_sub(self.limit);
        self.kept.drain(..too_many);
        let needed = self.kept.len() + bytes.len();
        if needed > self.kept.capacity() {
            // Doubles the capacity, up to the limit.
            let wanted = needed.saturating_mul(2).min(self.limit);
            self.kept.reserve_exact(wanted - self.kept.len());
        }
        self.kept.extend(bytes);
    }

    /// Returns the number of bytes ever written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the text kept, with U+FFFD in place of bytes that are not UTF-8, and whether earlier bytes were dropped.
    /// The text is never longer than the limit. An incomplete last character is omitted, unless the stream is `over`.
    pub fn text(&self, over: bool) -> (String, bool) {
        let dropped = self.written > self.kept.len() as u64;
        let mut from = 0;
        while dropped && from < 3 && self.kept.get(from).is_some_and(|byte| is_continuation(*byte)) {
            from += 1;
        }
        let mut bytes = self.copy(from, self.kept.len());
        if !over {
            bytes.truncate(whole(&bytes));
        }
        let mut text = into_text(bytes);
        let too_long = text.len().saturating_sub(self.limit);
        if too_long > 0 {
            text.drain(..text.ceil_char_boundary(too_long));
        }
        (text, dropped || too_long > 0)
    }

    /// Returns the text from byte `from` on, at most `most` bytes of it, and its end position. Dropped bytes are
    /// skipped. As with [`Tail::text`], no character is cut. Returns `None` if there is no text.
    pub fn since(&self, from: u64, most: usize, over: bool) -> Option<(String, u64)> {
        let first = self.written - self.kept.len() as u64;
        let mut start = usize::try_from(from.saturating_sub(first)).ok()?;
        if from < first {
            while start < 3 && self.kept.get(start).is_some_and(|byte| is_continuation(*byte)) {
                start += 1;
            }
        }
        let end = self.kept.len().min(start.saturating_add(most));
        let mut bytes = self.copy(start, end);
        if !(over && end == self.kept.len()) {
            bytes.truncate(whole(&bytes));
        }
        let end = first + (start + bytes.len()) as u64;
        (!bytes.is_empty()).then(|| (into_text(bytes), end))
    }

    fn copy(&self, from: usize, to: usize) -> Vec<u8> {
        let (front, back) = self.kept.as_slices();
        let part = |slice: &[u8], from: usize, to: usize| -> std::ops::Range<usize> {
            from.min(slice.len())..to.min(slice.len())
        };
        let mut bytes = Vec::with_capacity(to.saturating_sub(from));
        bytes.extend_from_slice(&front[part(front, from, to)]);
        let (from, to) = (from.saturating_sub(front.len()), to.saturating_sub(front.len()));
        bytes.extend_from_slice(&back[part(back, from, to)]);
        bytes
    }
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns the length without an incomplete last character.
fn whole(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let length = match bytes[at] {
            0b1100_0000..=0b1101_1111 => 2,
            0b1110_0000..=0b1110_1111 => 3,
            0b1111_0000..=0b1111_0111 => 4,
            byte if is_continuation(byte) => continue,
            _ => return bytes.len(),
        };
        return if length > back { at } else { bytes.len() };
    }
    bytes.len()
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(limit: usize, text: &[u8]) -> Tail {
        let mut tail = Tail::new(limit);
        tail.push(text);
        tail
    }

    #[test]
    fn keeps_the_end_and_cuts_between_characters() {
        assert_eq!(tail(5, "aé😀b".as_bytes()).text(true), ("😀b".into(), true));
        assert_eq!(tail(4, "a😀b".as_bytes()).text(true), ("b".into(), true));
        assert_eq!(tail(0, b"x").text(true), (String::new(), true));
        let mut tail = tail(10, b"0123456789");
        assert_eq!(tail.text(true), ("0123456789".into(), false));
        for _ in 0..10_000 {
            tail.push(b"0123456789");
        }
        assert_eq!(tail.text(true), ("0123456789".into(), true));
        assert_eq!(tail.written(), 100_010);
        tail.push(b"ab");
        assert_eq!(tail.text(true), ("23456789ab".into(), true));
    }

    #[test]
    fn every_split_of_every_cut_is_text() {
        let text = "aé😀€b€😀éa".as_bytes();
        for limit in 0..=text.len() {
            for split in 0..=text.len() {
                let mut tail = Tail::new(limit);
                tail.push(&text[..split]);
                let (early, _) = tail.text(false);
                assert!(!early.contains('\u{fffd}'), "{limit} {split}: {early}");
                tail.push(&text[split..]);
                let (kept, cut) = tail.text(true);
                assert!(
                    std::str::from_utf8(text).unwrap().ends_with(&kept),
                    "{limit} {split}: {kept}"
                );
                assert!(kept.len() <= limit && kept.len() + 3 >= limit);
                assert_eq!(cut, limit < text.len());
            }
        }
    }

    #[test]
    fn invalid_bytes_do_not_exceed_the_limit() {
        let (kept, cut) = tail(10, &[0xff; 10]).text(true);
        assert_eq!((kept.as_str(), cut), ("\u{fffd}\u{fffd}\u{fffd}", true));
        let (kept, cut) = tail(9, &[0x80; 40]).text(true);
        assert_eq!((kept.as_str(), cut), ("\u{fffd}\u{fffd}\u{fffd}", true));
    }

    #[test]
    fn a_reader_that_is_late_skips_what_was_dropped() {
        let mut tail = tail(8, "é1é2".as_bytes());
        let (first, at) = tail.since(0, 4, false).unwrap();
        assert_eq!((first.as_str(), at), ("é1", 3));
        assert_eq!(tail.since(at, 100, false).unwrap(), ("é2".into(), 6));
        assert_eq!(tail.since(6, 100, false), None);
        tail.push(&"é".as_bytes()[..1]);
        assert_eq!(tail.since(6, 100, false), None, "it has only begun");
        assert_eq!(tail.since(6, 100, true).unwrap(), ("\u{fffd}".into(), 7));
        tail.push("é456789012".as_bytes());
        assert_eq!(tail.since(6, 100, false).unwrap().0, "56789012");
    }

    #[test]
    fn it_holds_no_more_memory_than_its_limit() {
        let mut tail = Tail::new(1000);
        for _ in 0..1000 {
            tail.push(&[b'x'; 333]);
            assert!(tail.kept.capacity() <= 1000);
        }
    }
}
