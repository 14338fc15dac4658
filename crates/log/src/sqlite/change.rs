//! What is stored: appends and other changes, encoded by the caller.

use acpd_model::{BlobId, Extract, Inherited, Millis, RawJson, Seq, Summary, ThreadId, TurnMarks};

use super::blocks::Packed;
use super::divide::Part;
use super::index::Entries;
use crate::chunk::Chunk;
use crate::{Append, Lacking, LogError, Snapshot, chunk};

/// A change to store.
#[derive(Debug)]
pub(super) enum Change {
    Append(Batch),
    Blob {
        thread: ThreadId,
        id: BlobId,
        content: Vec<u8>,
    },
    CatchUp {
        thread: ThreadId,
        through: Seq,
        data: Missing,
    },
    Divide(Part),
    Delete(ThreadId),
    /// Removes blobs that only threads need which do nothing and were not used since `before`.
    RemoveBlobs {
        thread: ThreadId,
        before: Millis,
    },
}

impl Change {
    /// Returns the thread that the change belongs to.
    pub(super) fn thread(&self) -> ThreadId {
        match self {
            Self::Append(batch) => batch.thread,
            Self::Divide(part) => part.thread(),
            Self::Blob { thread, .. }
            | Self::CatchUp { thread, .. }
            | Self::Delete(thread)
            | Self::RemoveBlobs { thread, .. } => *thread,
        }
    }

    /// Returns about how many bytes the change holds until it is stored.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Append(batch) => batch.bytes(),
            Self::Blob { content, .. } => content.len(),
            Self::CatchUp { data, .. } => data.bytes(),
            Self::Divide(part) => part.bytes(),
            Self::Delete(_) | Self::RemoveBlobs { .. } => 0,
        }
    }
}

/// Data that is stored after its events.
#[derive(Debug)]
pub(super) enum Missing {
    Texts(Entries),
    Marks(TurnMarks, Option<Snapshot>),
}

impl Missing {
    pub(super) fn new(lacks: Lacking, extract: &Extract, snapshot: Option<&Snapshot>) -> Self {
        match lacks {
            Lacking::Texts => Self::Texts(Entries::new(extract)),
            Lacking::Marks => Self::Marks(extract.marks.clone(), snapshot.cloned()),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Texts(entries) => entries.bytes(),
            Self::Marks(_, snapshot) => snapshot_bytes(snapshot.as_ref()),
        }
    }
}

/// An append, ready to be written. The caller's task, not the single writing thread, pays for the encoding.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) thread: ThreadId,
    pub(super) after: Seq,
    pub(super) last: Seq,
    pub(super) chunks: Vec<Chunk>,
    pub(super) summary: Option<Box<Columns>>,
    pub(super) beside: Option<Box<Beside>>,
}

/// What an append stores beside its events.
#[derive(Debug)]
pub(super) struct Beside {
    pub(super) entries: Entries,
    pub(super) marks: TurnMarks,
    pub(super) snapshot: Option<Snapshot>,
    pub(super) inherits: Option<Inherited>,
    pub(super) cursor: Option<u64>,
    pub(super) memo: Option<Vec<u8>>,
}

impl Batch {
    pub(super) fn new(append: &Append<'_>) -> Result<Self, LogError> {
        let beside = Beside::new(append).map(Box::new);
        Ok(Self {
            thread: append.thread,
            after: append.after,
            last: append.last()?,
            chunks: chunk::encode(append.events)?,
            summary: append
                .summary
                .map(|summary| Columns::boxed(append.thread, summary))
                .transpose()?,
            beside,
        })
    }

    /// Returns whether turns are dropped, whose texts are to be erased.
    pub(super) fn drops_turns(&self) -> bool {
        self.beside
            .as_ref()
            .is_some_and(|beside| beside.entries.drops_turns())
    }

    fn bytes(&self) -> usize {
        let events: usize = self.chunks.iter().map(|chunk| chunk.body.len()).sum();
        events + self.beside.as_ref().map_or(0, |beside| beside.bytes())
    }
}

impl Beside {
    /// Returns `None` for the frequent append of events alone.
    fn new(append: &Append<'_>) -> Option<Self> {
        let Append {
            extract,
            snapshot,
            inherits,
            cursor,
            memo,
            ..
        } = append;
        let carries = snapshot.is_some() || inherits.is_some() || cursor.is_some() || memo.is_some();
        (carries || !extract.is_empty()).then(|| Self {
            entries: Entries::new(extract),
            marks: extract.marks.clone(),
            snapshot: snapshot.cloned(),
            inherits: *inherits,
            cursor: *cursor,
            memo: memo.map(<[u8]>::to_vec),
        })
    }

    fn bytes(&self) -> usize {
        let memo = self.memo.as_ref().map_or(0, Vec::len);
        self.entries.bytes() + snapshot_bytes(self.snapshot.as_ref()) + memo
    }
}

fn snapshot_bytes(snapshot: Option<&Snapshot>) -> usize {
    snapshot.map_or(0, |snapshot| snapshot.body.len())
}

/// A summary with its table columns.
#[derive(Debug)]
pub(super) struct Columns {
    /// The summary without its metadata.
    pub(super) summary: Summary,
    pub(super) json: String,
    pub(super) metadata: Option<RawJson>,
    pub(super) packed: Packed,
}

impl Columns {
    fn boxed(thread: ThreadId, summary: &Summary) -> Result<Box<Self>, LogError> {
        let mut summary = summary.clone();
        let metadata = summary.metadata.take();
        let json = serde_json::to_string(&summary)
            .map_err(|error| LogError::Storage(format!("the summary cannot be written: {error}")))?;
        Ok(Box::new(Self {
            packed: Packed::new(thread, &summary),
            summary,
            json,
            metadata,
        }))
    }
}
