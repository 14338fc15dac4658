//! What one append stores.

use acpd_model::{Event, Extract, Inherited, Seq, Summary, ThreadId};
use bytes::Bytes;

use crate::{LogError, chunk};

/// Events for one thread, with everything that is stored in the same transaction. [`Append::new`] has the events alone.
#[derive(Debug, Clone, Copy)]
pub struct Append<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// The last event before this append: the thread's last `seq`, or 0 for a new thread.
    pub after: Seq,
    /// The events, numbered from `after` + 1. There may be none if a summary, a snapshot, a cursor or a memo is
    /// stored.
    pub events: &'a [Event],
    /// Replaces the thread's summary. The first append must have one.
    pub summary: Option<&'a Summary>,
    /// Data of the events that is stored beside them.
    pub extract: &'a Extract,
    /// The thread's state after the last event.
    pub snapshot: Option<&'a Snapshot>,
    /// Events of another thread that a new thread begins with. `after` is then the last of them.
    pub inherits: Option<Inherited>,
    /// How much of the agent's output the thread's events contain, in bytes since the agent's process started.
    pub cursor: Option<u64>,
    /// What another process needs to take over the running agent, in a form that the log does not know. An empty memo
    /// removes the stored one.
    pub memo: Option<&'a [u8]>,
    /// The caller's right to write the thread.
    pub claim: Claim,
}

/// An extract of events without any data.
static NOTHING: Extract = Extract::EMPTY;

impl<'a> Append<'a> {
    /// Appends events alone, after the event before the first of them.
    pub fn new(thread: ThreadId, events: &'a [Event]) -> Self {
        Self {
            thread,
            after: events.first().map_or(0, |first| first.seq.saturating_sub(1)),
            events,
            summary: None,
            extract: &NOTHING,
            snapshot: None,
            inherits: None,
            cursor: None,
            memo: None,
            claim: Claim::default(),
        }
    }

    /// Returns the thread's last event after this append. Returns [`LogError::NotContiguous`] if the events are not one run
    /// from `after` + 1, or if there is nothing to store.
    pub(crate) fn last(&self) -> Result<Seq, LogError> {
        let beside = self.cursor.is_some() || self.memo.is_some() || self.snapshot.is_some();
        let carries = beside || self.summary.is_some();
        if self.events.is_empty() && carries && self.after > 0 {
            return Ok(self.after);
        }
        let seqs = chunk::seqs(self.events)?;
        if self.after.checked_add(1) == Some(*seqs.start()) {
            Ok(*seqs.end())
        } else {
            Err(LogError::NotContiguous)
        }
    }
}

/// The state of a thread at one of its events. The log does not know its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The last event that the state contains.
    pub seq: Seq,
    /// Bytes of all events up to this one, in the caller's measure. It decides which older snapshots are kept.
    pub weight: u64,
    /// Version of the form of `body`. A reader skips other versions.
    pub format: u32,
    /// The state. Clones share it.
    pub body: Bytes,
}

/// The right to write a thread. Of two claims to the same thread, the one with the higher token is valid.
///
/// A log that one process uses alone grants every claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Claim {
    /// The fencing token.
    pub token: u64,
}

/// What the log knows of an agent's process that outlived the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Carried {
    /// See [`Append::cursor`].
    pub cursor: Option<u64>,
    /// See [`Append::memo`].
    pub memo: Option<Vec<u8>>,
}
