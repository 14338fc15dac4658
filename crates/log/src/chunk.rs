//! Encodes the events of one append into rows of bounded size, and decodes pages from such rows.
//!
//! A chunk is a format byte ([`FORMAT`]), followed by a JSON text sequence (RFC 7464). For each event, the sequence has
//! a record separator, the event as JSON, and a newline. Newlines alone could not separate the events, because a
//! [`RawJson`](acpd_model::RawJson) keeps the white space of its sender. A record separator cannot occur in JSON text.
//!
//! A chunk is compressed if that saves space. Its format byte then has the highest bit set. The uncompressed length
//! follows, in four bytes with the lowest first, then one LZ4 block. Updates of one agent are similar, and compressed
//! data is cheaper to write to the write-ahead log and to move out of it.
//!
//! A chunk does not contain its position in the thread. The row has the position, and readers check one against the
//! other.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use acpd_model::event::FORMAT;
use acpd_model::limits::{LOG_PAGE_BYTES, LOG_ROW_BYTES};
use acpd_model::{Event, Seq, ThreadId};

use crate::{LogError, Page};

/// Precedes each event (RFC 7464, ASCII RS).
const RECORD: u8 = 0x1e;

/// Marks a compressed chunk in its format byte.
const PACKED: u8 = 0x80;

/// Chunks below this many bytes are not compressed.
const WORTH_PACKING: usize = 2048;

/// The best ratio of LZ4: one byte stands for 255. A larger declared length is invalid and would waste memory.
const LZ4_BEST: usize = 255;

/// Bytes that are reserved for an event before its length is known.
const USUAL_EVENT_BYTES: usize = 512;

/// Returns the numbers of `events`. Returns [`LogError::NotContiguous`] if there are none, if they are not consecutive,
/// or if they begin before 1.
pub fn seqs(events: &[Event]) -> Result<RangeInclusive<Seq>, LogError> {
    let [first, .., last] = events else {
        return match events {
            [only] if only.seq > 0 => Ok(only.seq..=only.seq),
            _ => Err(LogError::NotContiguous),
        };
    };
    let contiguous = events
        .windows(2)
        .all(|pair| pair[0].seq.checked_add(1) == Some(pair[1].seq));
    if first.seq > 0 && contiguous {
        Ok(first.seq..=last.seq)
    } else {
        Err(LogError::NotContiguous)
    }
}

/// The events of one row.
#[derive(Debug)]
pub struct Chunk {
    /// The first event's number.
    pub first: Seq,
    /// The last event's number.
    pub last: Seq,
    /// The encoded events, not compressed.
    pub body: Vec<u8>,
}

/// Encodes `events` into chunks of at most [`LOG_ROW_BYTES`], or of one event that is larger. A reader unpacks a whole
/// chunk, so the cost of a page must not depend on how much was appended at once. Fails with [`LogError::Storage`] only
/// for an event that is never written, [`EventKind::Unknown`](acpd_model::EventKind::Unknown).
pub fn encode(events: &[Event]) -> Result<Vec<Chunk>, LogError> {
    let mut chunks = Vec::with_capacity(1);
    let mut first = events.first().map_or(0, |event| event.seq);
    let mut last = first;
    let mut body = Vec::with_capacity((1 + events.len() * USUAL_EVENT_BYTES).min(LOG_ROW_BYTES));
    body.push(FORMAT);
    for event in events {
        let before = body.len();
        body.push(RECORD);
        event
            .encode(&mut body)
            .map_err(|error| LogError::Storage(format!("event {} cannot be written: {error}", event.seq)))?;
        body.push(b'\n');
        if body.len() > LOG_ROW_BYTES && before > 1 {
            let record = body.split_off(before);
            let full = std::mem::replace(&mut body, Vec::with_capacity(1 + record.len()));
            chunks.push(Chunk {
                first,
                last,
                body: full,
            });
            body.push(FORMAT);
            body.extend_from_slice(&record);
            first = event.seq;
        }
        last = event.seq;
    }
    chunks.push(Chunk { first, last, body });
    Ok(chunks)
}

/// Returns the compressed chunk if it is smaller, else the chunk itself. `room` holds the compressed chunk and can be
/// reused.
pub fn pack<'a>(chunk: &'a [u8], room: &'a mut Vec<u8>) -> &'a [u8] {
    match chunk {
        [1..=FORMAT, records @ ..] if records.len() >= WORTH_PACKING => packed(records, room)
            .filter(|packed| packed.len() < chunk.len())
            .unwrap_or(chunk),
        _ => chunk,
    }
}

fn packed<'a>(records: &[u8], room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    let length = u32::try_from(records.len()).ok()?;
    let most = HEAD + lz4_flex::block::get_maximum_output_size(records.len());
    if room.len() < most {
        room.resize(most, 0);
    }
    let packed = lz4_flex::block::compress_into(records, &mut room[HEAD..]).ok()?;
    room[0] = PACKED | FORMAT;
    room[1..HEAD].copy_from_slice(&length.to_le_bytes());
    room.get(..HEAD + packed)
}

/// Length of the format byte and the length of a compressed chunk, in bytes.
const HEAD: usize = 5;

/// Returns the records of a chunk, decompressed if necessary. `Err` describes the damage.
fn records(chunk: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    match chunk {
        [] => Err("nothing is left".into()),
        [1..=FORMAT, records @ ..] => Ok(Cow::Borrowed(records)),
        [format, a, b, c, d, block @ ..] if (1..=FORMAT).contains(&(format ^ PACKED)) => {
            let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
            if length > block.len().saturating_mul(LZ4_BEST) {
                return Err("it cannot hold what it claims to".into());
            }
            let unpacked = lz4_flex::block::decompress(block, length).map_err(|error| error.to_string())?;
            Ok(Cow::Owned(unpacked))
        }
        [format, ..] => Err(format!("format {format} is not known")),
    }
}

/// A page that is built from a thread's chunks, in order.
#[derive(Debug)]
pub struct ChunkBuilder {
    thread: ThreadId,
    next: Seq,
    room: usize,
    page: Page,
}

impl ChunkBuilder {
    /// Creates an empty page of `thread` that begins right after `after`.
    pub fn new(thread: ThreadId, after: Seq) -> Self {
        Self {
            thread,
            next: after.saturating_add(1),
            room: LOG_PAGE_BYTES,
            page: Page {
                events: Vec::new(),
                at_end: true,
            },
        }
    }

    /// Adds those events of a chunk with `seqs` that the page does not have yet and that fit. Returns `false` if the
    /// page is full. Returns [`LogError::Damaged`] if the chunk is invalid or is not the next one.
    pub fn add(&mut self, seqs: RangeInclusive<Seq>, chunk: &[u8]) -> Result<bool, LogError> {
        let (first, last) = (*seqs.start(), *seqs.end());
        let thread = self.thread;
        let damaged =
            |what: String| LogError::Damaged(format!("thread {thread}, events {first} to {last}: {what}"));
        if !seqs.contains(&self.next) {
            return Err(damaged(format!("event {} should be here", self.next)));
        }
        let unpacked = records(chunk).map_err(damaged)?;
        let mut records = Records(&unpacked);

        let seen = usize::try_from(self.next - first).unwrap_or(usize::MAX);
        records.by_ref().take(seen).for_each(drop);
        for seq in self.next..=last {
            let record = records
                .next()
                .ok_or_else(|| damaged(format!("event {seq} is missing")))?;
            if record.len() > self.room && !self.page.events.is_empty() {
                self.page.at_end = false;
                return Ok(false);
            }
            let event = Event::decode(record).map_err(|error| damaged(format!("event {seq}: {error}")))?;
            if event.seq != seq {
                return Err(damaged(format!(
                    "found event {} where {seq} was expected",
                    event.seq
                )));
            }
            self.page.events.push(event);
            self.room = self.room.saturating_sub(record.len());
            self.next = seq.saturating_add(1);
        }
        if records.0.is_empty() {
            Ok(true)
        } else {
            Err(damaged("something follows the last event".into()))
        }
    }

    /// Returns the page. Its `at_end` is valid if the caller added every chunk of the thread, or stopped at a full
    /// page.
    pub fn finish(self) -> Page {
        self.page
    }
}

/// The records of a chunk, without their separators and not decoded. Ends early at invalid data.
struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.0.strip_prefix(&[RECORD])?;
        let end = memchr::memchr(RECORD, rest).unwrap_or(rest.len());
        let (record, rest) = rest.split_at(end);
        self.0 = rest;
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::conformance::sample;

    fn read(after: Seq, chunks: &[(RangeInclusive<Seq>, Vec<u8>)]) -> Result<Page, LogError> {
        let mut filling = ChunkBuilder::new(sample::thread(1), after);
        for (seqs, chunk) in chunks {
            if !filling.add(seqs.clone(), chunk)? {
                break;
            }
        }
        Ok(filling.finish())
    }

    #[test]
    fn only_one_run_of_events_has_numbers() {
        let run = sample::run(3..=5, 10);
        assert_eq!(seqs(&run), Ok(3..=5));
        assert_eq!(seqs(&run[..1]), Ok(3..=3));
        assert_eq!(seqs(&[]), Err(LogError::NotContiguous));
        assert_eq!(
            seqs(&[run[0].clone(), run[2].clone()]),
            Err(LogError::NotContiguous)
        );
        assert_eq!(
            seqs(&[run[1].clone(), run[0].clone()]),
            Err(LogError::NotContiguous)
        );
        assert_eq!(seqs(&sample::run(0..=0, 10)), Err(LogError::NotContiguous));
        assert_eq!(seqs(&sample::run(0..=1, 10)), Err(LogError::NotContiguous));
    }

    /// Encodes events that fit into one chunk.
    fn one(events: &[Event]) -> Vec<u8> {
        let [chunk] = <[Chunk; 1]>::try_from(encode(events).unwrap()).unwrap();
        chunk.body
    }

    #[test]
    fn an_append_of_any_size_becomes_chunks_of_bounded_size() {
        let small = sample::run(1..=3, 10);
        assert_eq!(encode(&small).unwrap().len(), 1);
        let many = sample::run(1..=40, LOG_ROW_BYTES / 4);
        let chunks = encode(&many).unwrap();
        assert!(chunks.len() >= 10, "{}", chunks.len());
        let mut next = 1;
        for chunk in &chunks {
            assert_eq!(chunk.first, next);
            assert!(chunk.body.len() <= LOG_ROW_BYTES, "{}", chunk.body.len());
            next = chunk.last + 1;
        }
        assert_eq!(next, 41);
        let large = sample::run(1..=3, 3 * LOG_ROW_BYTES);
        let spans: Vec<_> = encode(&large)
            .unwrap()
            .iter()
            .map(|chunk| (chunk.first, chunk.last))
            .collect();
        assert_eq!(spans, [(1, 1), (2, 2), (3, 3)], "an event has a row of its own");
        let chunks: Vec<_> = chunks
            .into_iter()
            .map(|chunk| (chunk.first..=chunk.last, chunk.body))
            .collect();
        assert_eq!(read(0, &chunks).unwrap().events[..], many[..3]);
    }

    #[test]
    fn every_cursor_reads_the_rest() {
        let events = sample::run(1..=6, 10);
        let chunks = [(1..=4, one(&events[..4])), (5..=6, one(&events[4..]))];
        for after in 0..4 {
            let page = read(after, &chunks).unwrap();
            assert_eq!(page.events, events[usize::try_from(after).unwrap()..]);
            assert!(page.at_end);
        }
        assert_eq!(read(4, &chunks[1..]).unwrap().events, events[4..]);
    }

    #[test]
    fn a_chunk_larger_than_a_page_is_cut() {
        // Earlier versions wrote such chunks.
        let events = sample::run(1..=5, LOG_PAGE_BYTES / 3);
        let bodies = encode(&events).unwrap().into_iter().map(|chunk| chunk.body);
        let records = bodies.map(|body| body[1..].to_vec()).collect::<Vec<_>>().concat();
        let chunks = [(1..=5, [&[FORMAT][..], &records].concat())];
        let page = read(0, &chunks).unwrap();
        assert_eq!((page.events.as_slice(), page.at_end), (&events[..2], false));
        let page = read(4, &chunks).unwrap();
        assert_eq!((page.events.as_slice(), page.at_end), (&events[4..], true));
    }

    #[test]
    fn damage_is_reported() {
        let events = sample::run(1..=3, 10);
        let chunk = one(&events);
        let with_first_byte = |byte| {
            let mut chunk = chunk.clone();
            chunk[0] = byte;
            chunk
        };
        for (after, seqs, chunk) in [
            (0, 1..=3, Vec::new()),
            (0, 1..=3, with_first_byte(0)),
            (0, 1..=3, with_first_byte(FORMAT + 1)),
            (0, 1..=3, chunk[..chunk.len() - 9].to_vec()),
            (0, 1..=4, chunk.clone()),
            (0, 1..=2, chunk.clone()),
            (0, 2..=4, chunk.clone()),
            (1, 2..=4, chunk.clone()),
            (3, 1..=3, chunk.clone()),
            (0, 1..=3, [&chunk[..1], b"x", &chunk[1..]].concat()),
        ] {
            let answer = read(after, &[(seqs.clone(), chunk)]);
            assert!(
                matches!(answer, Err(LogError::Damaged(_))),
                "{after} {seqs:?}: {answer:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn garbage_never_panics(after: Seq, first: Seq, last: Seq, chunk: Vec<u8>) {
            let _ = read(after, &[(first..=last, chunk)]);
        }

        #[test]
        fn damage_never_panics(after in 0_u64..5, at in 0_usize..300, byte: u8) {
            let mut chunk = one(&sample::run(1..=3, 20));
            let at = at % chunk.len();
            chunk[at] = byte;
            let _ = read(after, &[(1..=3, chunk)]);
        }
    }
}
