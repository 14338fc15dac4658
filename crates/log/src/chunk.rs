//! Encodes the events of one append into rows of bounded size, and decodes pages from such rows.
//!
//! A chunk is a format byte ([`FORMAT`]), a checksum, and a JSON text sequence (RFC 7464). For each event, the sequence
//! has a record separator, the event as JSON, and a newline. Newlines alone could not separate the events, because a
//! [`RawJson`](acpd_model::RawJson) keeps the white space of its sender. A record separator cannot occur in JSON text.
//!
//! The checksum is the CRC-32 of the sequence, in four bytes with the lowest first. [`CHECKED`] is set in the format byte;
//! chunks of earlier versions have none.
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
use acpd_model::{Event, Seq, ThreadId, without_content};

use crate::{LogError, Page};

pub mod large;

/// Precedes each event (RFC 7464, ASCII RS).
const RECORD: u8 = 0x1e;

/// Marks a compressed chunk in its format byte.
const PACKED: u8 = 0x80;

/// Marks a chunk with a checksum in its format byte.
const CHECKED: u8 = 0x40;

/// Length of the format byte and the checksum.
const HEAD: usize = 5;

/// Length of the uncompressed length of a compressed chunk.
const LENGTH: usize = 4;

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
    let Some(mut first) = events.first().map(|event| event.seq) else {
        return Ok(Vec::new());
    };
    let mut chunks = Vec::with_capacity(1);
    let mut last = first;
    let mut body = Vec::with_capacity((HEAD + events.len() * USUAL_EVENT_BYTES).min(LOG_ROW_BYTES));
    body.extend_from_slice(&[0; HEAD]);
    for event in events {
        let before = body.len();
        body.push(RECORD);
        event
            .encode(&mut body)
            .map_err(|error| LogError::Storage(format!("event {} cannot be written: {error}", event.seq)))?;
        body.push(b'\n');
        if body.len() > LOG_ROW_BYTES && before > HEAD {
            let record = body.split_off(before);
            let full = std::mem::replace(&mut body, Vec::with_capacity(HEAD + record.len()));
            chunks.push(Chunk::new(first, last, full));
            body.extend_from_slice(&[0; HEAD]);
            body.extend_from_slice(&record);
            first = event.seq;
        }
        last = event.seq;
    }
    chunks.push(Chunk::new(first, last, body));
    Ok(chunks)
}

impl Chunk {
    /// Completes the head of a chunk.
    fn new(first: Seq, last: Seq, mut body: Vec<u8>) -> Self {
        let sum = crc32fast::hash(&body[HEAD..]);
        body[0] = FORMAT | CHECKED;
        body[1..HEAD].copy_from_slice(&sum.to_le_bytes());
        Self { first, last, body }
    }
}

/// Returns the compressed chunk if it is smaller, else the chunk itself. `room` holds the compressed chunk and can be
/// reused.
pub fn pack<'a>(chunk: &'a [u8], room: &'a mut Vec<u8>) -> &'a [u8] {
    match chunk.split_at_checked(HEAD) {
        Some((head, records)) if head[0] & PACKED == 0 && records.len() >= WORTH_PACKING => {
            packed(head, records, room)
                .filter(|packed| packed.len() < chunk.len())
                .unwrap_or(chunk)
        }
        _ => chunk,
    }
}

fn packed<'a>(head: &[u8], records: &[u8], room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    let length = u32::try_from(records.len()).ok()?;
    let begin = HEAD + LENGTH;
    let most = begin + lz4_flex::block::get_maximum_output_size(records.len());
    if room.len() < most {
        room.resize(most, 0);
    }
    let packed = lz4_flex::block::compress_into(records, &mut room[begin..]).ok()?;
    room[..HEAD].copy_from_slice(head);
    room[0] |= PACKED;
    room[HEAD..begin].copy_from_slice(&length.to_le_bytes());
    room.get(..begin + packed)
}

/// Returns the records of a chunk, decompressed if necessary. `Err` describes the damage.
fn records(chunk: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let (format, mut rest) = chunk.split_first().ok_or("nothing is left")?;
    if !(1..=FORMAT).contains(&(format & !(PACKED | CHECKED))) {
        return Err(format!("format {format} is not known"));
    }
    let mut number = || {
        let (number, after) = rest.split_first_chunk().ok_or("its head is cut off")?;
        rest = after;
        Ok::<u32, String>(u32::from_le_bytes(*number))
    };
    let sum = (format & CHECKED != 0).then(&mut number).transpose()?;
    let length = (format & PACKED != 0).then(&mut number).transpose()?;
    let records = match length {
        Some(length) => Cow::Owned(unpack(rest, length as usize)?),
        None => Cow::Borrowed(rest),
    };
    if sum.is_some_and(|sum| sum != crc32fast::hash(&records)) {
        return Err("its checksum is wrong".into());
    }
    Ok(records)
}

fn unpack(block: &[u8], length: usize) -> Result<Vec<u8>, String> {
    if length > block.len().saturating_mul(LZ4_BEST) {
        return Err("it cannot hold what it claims to".into());
    }
    lz4_flex::block::decompress(block, length).map_err(|error| error.to_string())
}

/// The events of a row that belong to a thread.
#[derive(Debug, Clone, Copy)]
pub struct RowSpan {
    /// The first event of the row.
    pub first: Seq,
    /// The last event of the row.
    pub last: Seq,
    /// The last event of the row's thread that belongs to this thread.
    pub until: Seq,
    /// Whether the row belongs to another thread, from which this one inherits.
    pub inherited: bool,
}

impl RowSpan {
    /// The span of a row that belongs to the thread as a whole.
    pub fn own(first: Seq, last: Seq) -> Self {
        Self {
            first,
            last,
            until: Seq::MAX,
            inherited: false,
        }
    }

    fn damaged(&self, thread: ThreadId, what: &str) -> LogError {
        self.damaged_from(thread, self.first, what)
    }

    /// Returns the error for a row of which nothing from event `first` on can be read.
    fn damaged_from(&self, thread: ThreadId, first: Seq, what: &str) -> LogError {
        LogError::DamagedEvents {
            thread,
            first: first.max(self.first),
            last: self.last.min(self.until),
            reason: what.to_owned(),
        }
    }

    fn decode(&self, thread: ThreadId, seq: Seq, record: &[u8]) -> Result<Event, LogError> {
        let mut event = Event::decode(record).map_err(|error| LogError::DamagedEvents {
            thread,
            first: seq,
            last: seq,
            reason: without_content(&error),
        })?;
        if event.seq != seq {
            let found = event.seq;
            return Err(self.damaged(thread, &format!("found event {found} where {seq} was expected")));
        }
        if self.inherited {
            event.readdress(thread);
        }
        Ok(event)
    }
}

/// Returns the events with the numbers `wanted`, which ascend and are in the row.
pub fn select(thread: ThreadId, span: RowSpan, chunk: &[u8], wanted: &[Seq]) -> Result<Vec<Event>, LogError> {
    let unpacked = records(chunk).map_err(|what| span.damaged(thread, &what))?;
    let mut records = Records(&unpacked);
    let mut next = span.first;
    let mut events = Vec::with_capacity(wanted.len());
    for &seq in wanted {
        let skipped = usize::try_from(seq.saturating_sub(next)).unwrap_or(usize::MAX);
        let record = records
            .nth(skipped)
            .ok_or_else(|| span.damaged(thread, &format!("event {seq} is missing")))?;
        events.push(span.decode(thread, seq, record)?);
        next = seq + 1;
    }
    Ok(events)
}

/// Returns a chunk with the events of this chunk up to `until` only. `Err` describes the damage.
pub fn cut(span: RowSpan, chunk: &[u8]) -> Result<Chunk, String> {
    let unpacked = records(chunk)?;
    let last = span.last.min(span.until);
    let kept = last
        .checked_sub(span.first)
        .ok_or_else(|| "its first number is invalid".to_owned())?;
    let kept = usize::try_from(kept).map_or(usize::MAX, |kept| kept.saturating_add(1));
    let mut rest = Records(&unpacked);
    rest.by_ref().take(kept).for_each(drop);
    let kept = &unpacked[..unpacked.len() - rest.0.len()];
    Ok(Chunk::new(span.first, last, [&[0; HEAD], kept].concat()))
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

    /// Returns the number of the next event.
    pub fn next(&self) -> Seq {
        self.next
    }

    /// Adds those events of a chunk that the page does not have yet and that fit. A page ends with a whole chunk if
    /// possible, so that no chunk is unpacked for two pages. Returns `false` if the page is full, or ends before damage.
    /// Returns [`LogError::DamagedEvents`] if the page is empty and its first event cannot be read.
    pub fn add(&mut self, span: RowSpan, chunk: &[u8]) -> Result<bool, LogError> {
        let added = self.extend(span, chunk);
        self.before_damage(added)
    }

    /// Records that the events up to `last` are in no chunk. Returns as [`add`](Self::add) does.
    pub fn missing(&mut self, last: Seq) -> Result<bool, LogError> {
        let missing = Err(LogError::DamagedEvents {
            thread: self.thread,
            first: self.next,
            last,
            reason: "their row is missing".to_owned(),
        });
        self.before_damage(missing)
    }

    fn before_damage(&mut self, added: Result<bool, LogError>) -> Result<bool, LogError> {
        match added {
            // The next page begins with the damage.
            Err(LogError::DamagedEvents { .. }) if !self.page.events.is_empty() => Ok(self.full()),
            added => added,
        }
    }

    fn extend(&mut self, span: RowSpan, chunk: &[u8]) -> Result<bool, LogError> {
        let RowSpan { first, last, .. } = span;
        if first > self.next {
            return self.missing(first - 1);
        }
        let begin = self.next;
        let damaged = |what: &str| span.damaged_from(self.thread, begin, what);
        if last < begin {
            let what = format!(
                "thread {}: a row ends with event {last}, before event {begin}",
                self.thread
            );
            return Err(LogError::Damaged(what));
        }
        if self.room == 0 {
            return Ok(self.full());
        }
        let unpacked = records(chunk).map_err(|what| damaged(&what))?;
        let whole = self.page.events.len();
        let fits = unpacked.len() <= LOG_ROW_BYTES;
        let mut records = Records(&unpacked);

        let seen = usize::try_from(self.next - first).unwrap_or(usize::MAX);
        records.by_ref().take(seen).for_each(drop);
        for seq in self.next..=last.min(span.until) {
            let Some(record) = records.next() else {
                self.page.events.truncate(whole);
                self.next = begin;
                return Err(damaged(&format!("event {seq} is missing")));
            };
            if !fits && record.len() > self.room && !self.page.events.is_empty() {
                return Ok(self.full());
            }
            let event = span.decode(self.thread, seq, record)?;
            self.page.events.push(event);
            self.room = self.room.saturating_sub(record.len());
            self.next = seq.saturating_add(1);
        }
        if records.0.is_empty() || last > span.until {
            Ok(true)
        } else {
            self.page.events.truncate(whole);
            self.next = begin;
            Err(damaged("something follows the last event"))
        }
    }

    fn full(&mut self) -> bool {
        self.page.at_end = false;
        false
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
            if !filling.add(RowSpan::own(*seqs.start(), *seqs.end()), chunk)? {
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
        let page = read(0, &chunks).unwrap();
        assert!(page.events.len() < 9, "{}", page.events.len());
        assert_eq!(page.events[..], many[..page.events.len()]);
        let next = page.events.len() as u64 + 1;
        assert!(
            chunks.iter().any(|(seqs, _)| *seqs.start() == next),
            "a page ends with a chunk"
        );
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
        let records = bodies
            .map(|body| body[HEAD..].to_vec())
            .collect::<Vec<_>>()
            .concat();
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
            (0, 1..=3, chunk[..3].to_vec()),
            (0, 1..=3, chunk[..chunk.len() - 9].to_vec()),
            (0, 1..=4, chunk.clone()),
            (0, 1..=2, chunk.clone()),
            (0, 2..=4, chunk.clone()),
            (1, 2..=4, chunk.clone()),
            (3, 1..=3, chunk.clone()),
            (0, 1..=3, [&chunk[..HEAD], b"x", &chunk[HEAD..]].concat()),
        ] {
            let answer = read(after, &[(seqs.clone(), chunk)]);
            assert!(
                matches!(answer, Err(LogError::DamagedEvents { .. } | LogError::Damaged(_))),
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
