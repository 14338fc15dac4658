//! A thread's state, from its last snapshot in the log and the events after it.

use acpd_log::{Append, LogError, SharedLog, Snapshot};
use acpd_model::limits::{SNAPSHOT_BYTES, SNAPSHOT_SHARE};
use acpd_model::{Seq, ThreadId, without_content};
use acpd_proto::projection::{Live, SNAPSHOT_FORMAT};

/// How many times the usual bytes between two snapshots a reader folds before it stores a snapshot itself.
const LONG: u64 = 4;

/// Returns the state of a thread after its event `until`, or after its last event if that comes first.
pub async fn load_state(log: &SharedLog, thread: ThreadId, until: Seq) -> Result<Live, LogError> {
    load(log, thread, until, &mut |damage| Err(damage)).await
}

/// Returns the state of a thread as far as its events can be read, and the first damage after its last snapshot. A state
/// that lacks events is only for reading: what a thread decides must not depend on what was lost.
pub async fn load_readable(log: &SharedLog, thread: ThreadId) -> Result<(Live, Option<LogError>), LogError> {
    let mut damage = None;
    let mut skip = |found| {
        damage.get_or_insert(found);
        Ok(())
    };
    let live = load(log, thread, Seq::MAX, &mut skip).await?;
    Ok((live, damage))
}

/// Loads a state. `skip` decides about events that cannot be read: they are left out, or end the load.
async fn load(
    log: &SharedLog,
    thread: ThreadId,
    until: Seq,
    skip: &mut (dyn FnMut(LogError) -> Result<(), LogError> + Send),
) -> Result<Live, LogError> {
    let mut live = match log.snapshot(thread, until, SNAPSHOT_FORMAT).await? {
        Some(snapshot) => Live::from_snapshot(thread, &snapshot.body).unwrap_or_else(|error| {
            let error = without_content(&error);
            tracing::warn!(%thread, seq = snapshot.seq, error, "a snapshot cannot be read");
            Live::new(thread)
        }),
        None => Live::new(thread),
    };
    let loaded = live.weight;
    let mut is_whole = true;
    loop {
        let page = match log.read(thread, live.last_seq).await {
            Ok(page) => page,
            Err(LogError::DamagedEvents { first, .. }) if first > until => break,
            Err(damage) => {
                let LogError::DamagedEvents { last, .. } = damage else {
                    return Err(damage);
                };
                skip(damage)?;
                is_whole = false;
                live.last_seq = last.min(until);
                if live.last_seq >= until {
                    break;
                }
                continue;
            }
        };
        for event in page.events.iter().take_while(|event| event.seq <= until) {
            live.fold(event);
        }
        if page.at_end || live.last_seq >= until {
            break;
        }
    }
    if is_whole && live.weight - loaded > LONG * SNAPSHOT_BYTES {
        keep(log, &live).await;
    }
    Ok(live)
}

/// Stores a snapshot of a state that took long to fold. Without it, the next reader only takes as long again.
async fn keep(log: &SharedLog, live: &Live) {
    let Some(snapshot) = snapshot(live) else { return };
    let append = Append {
        after: live.last_seq,
        snapshot: Some(&snapshot),
        ..Append::new(live.thread, &[])
    };
    match log.store(append).await {
        // The thread has gone on, and its next snapshot comes with its events.
        Ok(()) | Err(LogError::Conflict { .. }) => {}
        Err(error) => tracing::warn!(thread = %live.thread, %error, "a snapshot is not stored"),
    }
}

/// Returns the stored form of a state.
pub fn snapshot(live: &Live) -> Option<Snapshot> {
    let body = live.to_snapshot();
    let body = body.inspect_err(|error| {
        let error = without_content(error);
        tracing::error!(thread = %live.thread, error, "a snapshot cannot be made");
    });
    Some(Snapshot {
        seq: live.last_seq,
        weight: live.weight,
        format: SNAPSHOT_FORMAT,
        body: body.ok()?.into(),
    })
}

/// Decides when a thread stores its next snapshot.
#[derive(Debug)]
pub struct SnapshotPlan {
    /// Bytes of events between two snapshots.
    every: u64,
    /// Weight of the thread at which the next snapshot is due, in bytes.
    due: u64,
}

impl SnapshotPlan {
    /// Plans the snapshots of a new thread, one for each `every` bytes of events.
    pub fn new(every: u64) -> Self {
        Self { every, due: every }
    }

    /// Plans the snapshots of a thread that has been loaded.
    pub fn loaded(&mut self, live: &Live) {
        self.due = live.weight + self.every;
    }

    /// Returns a snapshot if one is due.
    pub fn next(&mut self, live: &Live) -> Option<Snapshot> {
        if live.weight < self.due {
            return None;
        }
        let snapshot = snapshot(live)?;
        let bytes = SNAPSHOT_SHARE.saturating_mul(snapshot.body.len() as u64);
        self.due = live.weight + self.every.max(bytes);
        Some(snapshot)
    }
}
