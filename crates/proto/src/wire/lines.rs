//! Splits a stream of bytes into newline-delimited messages of bounded length.

use acpd_model::limits::MALFORMED_BYTES;

/// Bytes read from an agent at once. The reader's buffer grows from here and shrinks back when idle.
const AGENT_READ_BYTES: usize = 128 << 10;

/// The text between two newlines.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line within the limit, without its line end. Never empty.
    Whole(&'a [u8]),
    /// A line that exceeds the limit. Its bytes were dropped as they arrived.
    TooLong {
        /// The first bytes of the line.
        head: &'a [u8],
        /// The last bytes of the line, none of them in the head.
        tail: &'a [u8],
        /// Length of the line, in bytes.
        bytes: u64,
    },
}

/// Size of the first read, also after the buffer was shrunk, in bytes.
const SMALL_READ_BYTES: usize = 4 << 10;

/// Splits a stream into lines. Reads append directly to its buffer, and lines borrow from it.
#[derive(Debug)]
pub struct LineDecoder {
    buffer: Vec<u8>,
    /// Start of the unread part.
    start: usize,
    /// End of the part that was searched for newlines.
    scanned: usize,
    limit: usize,
    /// Size of the next read, in bytes.
    room: usize,
    /// Number of dropped bytes of a line that is too long. Its head stays at the start of the buffer, and what was read last
    /// after it.
    dropping: Option<u64>,
}

impl LineDecoder {
    /// Creates a decoder for lines of up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            limit,
            room: 0,
            dropping: None,
        }
    }

    /// Returns the buffer, with room for one read, so that the caller can append to it. Unread lines move to its front.
    /// The room adapts to the traffic: it grows if reads fill it, and a silent agent uses no memory.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        let filled = self.buffer.len() == self.buffer.capacity();
        self.compact();
        if filled && self.room > 0 {
            self.room = (2 * self.room).min(AGENT_READ_BYTES);
        } else if self.room == 0 {
            self.room = SMALL_READ_BYTES;
        }
        if self.buffer.is_empty() && self.buffer.capacity() > 4 * AGENT_READ_BYTES {
            self.buffer = Vec::new();
        }
        self.buffer.reserve(self.room);
        &mut self.buffer
    }

    /// Frees the buffer's unused memory while no input is expected. An unfinished line is kept.
    pub fn shrink(&mut self) {
        self.compact();
        self.buffer.shrink_to_fit();
        self.room = 0;
    }

    fn compact(&mut self) {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
    }

    /// Returns the length of the unfinished line as far as it is kept, once all lines have been taken.
    pub fn unfinished(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Appends bytes that were read elsewhere.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer().extend_from_slice(bytes);
    }

    /// Returns the next line, if one is complete. Empty lines are skipped.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        loop {
            let Some(at) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) else {
                self.drop_excess();
                return None;
            };
            let (start, end) = (self.start, self.scanned + at);
            self.start = end + 1;
            self.scanned = self.start;
            if let Some(dropped) = self.dropping.take() {
                return Some(too_long(&self.buffer[start..end], dropped));
            }
            let line = self.buffer[start..end]
                .strip_suffix(b"\r")
                .unwrap_or(&self.buffer[start..end]);
            if line.len() > self.limit {
                return Some(too_long(&self.buffer[start..end], 0));
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                // Borrowed again, because the loop's borrow cannot be returned from a branch.
                let length = line.len();
                return Some(Line::Whole(&self.buffer[start..start + length]));
            }
        }
    }

    /// Returns the rest of the stream, if it does not end with a newline.
    pub fn finish(&mut self) -> Option<Line<'_>> {
        let rest = &self.buffer[self.start..];
        let dropped = self.dropping.take();
        let bytes = dropped.unwrap_or(0) + rest.len() as u64;
        self.start = self.buffer.len();
        self.scanned = self.start;
        let rest = &self.buffer[self.buffer.len() - usize::try_from(bytes - dropped.unwrap_or(0)).ok()?..];
        match dropped {
            _ if rest.is_empty() => None,
            Some(dropped) => Some(too_long(rest, dropped)),
            None if rest.len() > self.limit => Some(too_long(rest, 0)),
            None => Some(Line::Whole(rest)),
        }
    }

    /// Handles a part without a newline. If it exceeds the limit, only its head and its last bytes are kept and the other
    /// bytes are counted.
    fn drop_excess(&mut self) {
        self.scanned = self.buffer.len();
        let unread = self.buffer.len() - self.start;
        let keep = if self.dropping.is_some() {
            ENDS_BYTES
        } else {
            self.limit.max(ENDS_BYTES)
        };
        if unread > keep {
            let excess = unread - ENDS_BYTES;
            let head_end = self.start + MALFORMED_BYTES;
            self.buffer.drain(head_end..head_end + excess);
            self.scanned = self.buffer.len();
            *self.dropping.get_or_insert(0) += excess as u64;
            if self.buffer.capacity() > 4 * AGENT_READ_BYTES {
                self.buffer.shrink_to(AGENT_READ_BYTES);
            }
        }
    }
}

/// Bytes of the head and the tail of a line that is too long.
const ENDS_BYTES: usize = 2 * MALFORMED_BYTES;

/// Returns a line that is too long, of which `kept` is left.
fn too_long(kept: &[u8], dropped: u64) -> Line<'_> {
    let (head, rest) = kept.split_at(kept.len().min(MALFORMED_BYTES));
    Line::TooLong {
        head,
        tail: &rest[rest.len().saturating_sub(MALFORMED_BYTES)..],
        bytes: dropped + kept.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(decoder: &mut LineDecoder) -> Vec<String> {
        let mut out = Vec::new();
        while let Some(line) = decoder.next_line() {
            out.push(match line {
                Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Line::TooLong { bytes, .. } => format!("too long: {bytes}"),
            });
        }
        out
    }

    #[test]
    fn splits_and_skips_what_is_empty() {
        let mut decoder = LineDecoder::new(100);
        decoder.push(b"a\r\n\n  \nb");
        assert_eq!(lines(&mut decoder), ["a"]);
        decoder.push(b"c\nd");
        assert_eq!(lines(&mut decoder), ["bc"]);
        assert_eq!(decoder.finish(), Some(Line::Whole(b"d")));
        assert_eq!(decoder.finish(), None);
    }

    #[test]
    fn a_line_beyond_the_limit_is_counted_and_its_neighbours_live() {
        let limit = 10_000;
        let mut decoder = LineDecoder::new(limit);
        decoder.push(b"before\n");
        let mut seen = lines(&mut decoder);
        for _ in 0..1000 {
            decoder.push(&[b'x'; 1000]);
            seen.extend(lines(&mut decoder));
            assert!(decoder.buffer.len() <= limit + 1000, "the buffer stays bounded");
        }
        decoder.push(b"yy\nafter\n");
        seen.extend(lines(&mut decoder));
        assert_eq!(seen, ["before", "too long: 1000002", "after"]);
    }

    #[test]
    fn a_stream_that_ends_within_a_long_line() {
        let mut decoder = LineDecoder::new(5000);
        decoder.push(&[b'x'; 9000]);
        assert_eq!(lines(&mut decoder), Vec::<String>::new());
        assert!(matches!(
            decoder.finish(),
            Some(Line::TooLong { bytes: 9000, .. })
        ));
    }

    #[test]
    fn the_ends_of_a_long_line_are_kept_however_it_arrives() {
        let line = [&b"head"[..], &vec![b'x'; 50_000][..], b"the tail"].concat();
        for (limit, size) in [(100, 1), (100, 7), (10_000, 999), (20_000, 50_000), (100, 60_000)] {
            let mut decoder = LineDecoder::new(limit);
            let mut seen = 0;
            for part in [&line[..], b"\nnext\n"].concat().chunks(size) {
                decoder.push(part);
                while let Some(found) = decoder.next_line() {
                    match found {
                        Line::TooLong { head, tail, bytes } => {
                            assert_eq!(bytes, line.len() as u64);
                            assert_eq!(head, &line[..MALFORMED_BYTES]);
                            assert_eq!(tail, &line[line.len() - MALFORMED_BYTES..]);
                        }
                        Line::Whole(text) => assert_eq!(text, b"next"),
                    }
                    seen += 1;
                }
            }
            assert_eq!(seen, 2, "{limit} {size}");
        }
    }

    proptest! {
        /// The result does not depend on how the stream is split.
        #[test]
        fn cuts_do_not_matter(text in "[ab\n\r]{0,200}", cuts in prop::collection::vec(0usize..200, 0..8)) {
            let mut whole = LineDecoder::new(50);
            whole.push(text.as_bytes());
            let expected = lines(&mut whole);
            let mut cut = LineDecoder::new(50);
            let mut got = Vec::new();
            let mut at = 0;
            let mut cuts: Vec<_> = cuts.into_iter().map(|c| c.min(text.len())).collect();
            cuts.sort_unstable();
            cuts.push(text.len());
            for end in cuts {
                cut.push(&text.as_bytes()[at..end]);
                got.extend(lines(&mut cut));
                at = end;
            }
            prop_assert_eq!(got, expected);
        }
    }
}
