//! What reads return.

use acpd_model::{Event, Seq, ThreadId};

/// Events of one thread that one read returned.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// The events in order, without gaps, starting right after the requested cursor.
    pub events: Vec<Event>,
    /// Whether the thread had no further event when it was read.
    pub at_end: bool,
}

/// Events of a thread whose data beside them is not stored yet: an older version stored the events, or the thread
/// inherited them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Id of the thread.
    pub thread: ThreadId,
    /// The missing data.
    pub lacks: Lacking,
    /// The last event whose data is stored.
    pub done: Seq,
    /// The last event whose data is missing.
    pub until: Seq,
}

/// Data of events that is missing beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lacking {
    /// The searchable texts, and the blobs that the events reference.
    Texts,
    /// The places of turns and items.
    Marks,
}

/// A part of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobPart {
    /// The bytes of the part.
    pub content: Vec<u8>,
    /// The size of the whole blob, in bytes.
    pub total: u64,
}

impl BlobPart {
    /// Returns the range of up to `most` bytes from the byte `from` on that a blob of `total` bytes has.
    pub(crate) fn range(total: usize, from: u64, most: usize) -> std::ops::Range<usize> {
        let from = usize::try_from(from).map_or(total, |from| from.min(total));
        from..from.saturating_add(most).min(total)
    }
}
