//! Stores what the log lacks beside events: texts for the search, the places of turns and items, and what threads have used.
//!
//! In: a thread's events. Out: their data. Owns: nothing; if it is interrupted, it continues at the next start. Never: works
//! on more than a page at a time, so that other work on the log never waits long.

use std::sync::Arc;

use acpd_log::{Append, Backlog, Filter, Lacking, ListCursor, LogError, SharedLog};
use acpd_model::limits::{LIST_PAGE, SNAPSHOT_BYTES};
use acpd_model::{Event, Extract, Seq, ThreadId};
use acpd_proto::projection::{Live, extract, mark};
use tokio::sync::Notify;

use crate::stored::state::{SnapshotPlan, load_state, snapshot};

/// Bytes of searchable text after which a step of the background index ends. An append waits at most one step.
const INDEX_STEP_BYTES: usize = 8 << 10;

/// Indexes all that is due, newest threads first, and again whenever `due` is notified. Ends when the log is closed.
pub async fn index_backlog(log: SharedLog, due: Arc<Notify>) {
    let mut is_counted = false;
    loop {
        for lacks in [Lacking::Marks, Lacking::Texts] {
            match Indexer::new(&log, lacks).run().await {
                Ok(()) => {}
                Err(LogError::Closed) => return,
                Err(error) => tracing::warn!(%error, "older threads are not indexed until the next start"),
            }
        }
        // Later threads have their usage from the start.
        if !std::mem::replace(&mut is_counted, true) {
            match count_usage(&log).await {
                Ok(()) => {}
                Err(LogError::Closed) => return,
                Err(error) => {
                    tracing::warn!(%error, "the usage of older threads is not counted until the next start")
                }
            }
        }
        due.notified().await;
    }
}

/// Counts what threads have used whose summaries an older version stored, newest threads first.
async fn count_usage(log: &SharedLog) -> Result<(), LogError> {
    let mut cursor = None;
    loop {
        let page = log.list(Filter::default(), cursor, LIST_PAGE).await?;
        for listed in page.iter().filter(|listed| listed.summary.usage.is_none()) {
            match count_usage_of(log, listed.thread).await {
                // The thread was deleted in the meantime, or it has gone on, and its next summary has its usage.
                Ok(()) | Err(LogError::NoSuchThread(_) | LogError::Conflict { .. }) => {}
                Err(error @ (LogError::Damaged(_) | LogError::DamagedEvents { .. })) => {
                    tracing::warn!(thread = %listed.thread, %error, "the usage of a thread cannot be counted");
                }
                Err(error) => return Err(error),
            }
        }
        let Some(last) = page.last().filter(|_| page.len() == LIST_PAGE) else {
            return Ok(());
        };
        cursor = Some(ListCursor {
            updated_at: last.summary.updated_at,
            thread: last.thread,
        });
    }
}

/// Stores the summary of a thread again, with its usage. A state that takes long to fold is stored as well: snapshots of older
/// versions have no usage.
async fn count_usage_of(log: &SharedLog, thread: ThreadId) -> Result<(), LogError> {
    let live = load_state(log, thread, Seq::MAX).await?;
    let is_long = live.weight > SNAPSHOT_BYTES;
    let snapshot = if is_long { snapshot(&live) } else { None };
    // If the thread continues from here, the log refuses the append.
    let mut summary = log.summary(thread).await?;
    summary.usage = Some(live.summary.usage.unwrap_or_default());
    let append = Append {
        after: live.last_seq,
        summary: Some(&summary),
        snapshot: snapshot.as_ref(),
        ..Append::new(thread, &[])
    };
    log.store(append).await
}

/// Indexes the turns of a thread, and of the thread from which it inherits.
pub(super) async fn index_turns(log: &SharedLog, thread: ThreadId) -> Result<(), LogError> {
    let mut indexer = Indexer::new(log, Lacking::Marks);
    while let Some(backlog) = log.lacking_turns(thread).await? {
        indexer.page(backlog).await?;
    }
    Ok(())
}

/// Indexes one kind of data.
struct Indexer<'l> {
    log: &'l SharedLog,
    lacks: Lacking,
    /// The state of the thread after the last indexed event, for its places.
    live: Option<(Live, SnapshotPlan)>,
}

impl<'l> Indexer<'l> {
    fn new(log: &'l SharedLog, lacks: Lacking) -> Self {
        Self {
            log,
            lacks,
            live: None,
        }
    }

    async fn run(&mut self) -> Result<(), LogError> {
        let mut before = None;
        while let Some(backlog) = self.log.backlog(self.lacks, before).await? {
            let thread = backlog.thread;
            match self.page(backlog).await {
                Ok(()) => {}
                // The thread was deleted in the meantime.
                Err(LogError::NoSuchThread(_)) => before = Some(thread),
                // The thread stays in the backlog, so that no blob that it may need is dropped.
                Err(error @ (LogError::Damaged(_) | LogError::DamagedEvents { .. })) => {
                    tracing::warn!(%thread, %error, "a thread cannot be indexed");
                    before = Some(thread);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Indexes one page.
    async fn page(&mut self, backlog: Backlog) -> Result<(), LogError> {
        let Backlog {
            thread, done, until, ..
        } = backlog;
        if self.lacks == Lacking::Marks {
            self.log.divide_row(thread, done).await?;
        }
        let page = self.log.read(thread, done).await?;
        let end = page.events.partition_point(|event| event.seq <= until);
        let events = &page.events[..end];
        // A page without events means that there is nothing left to index.
        let through = events.last().map_or(until, |event| event.seq);
        if self.lacks == Lacking::Texts {
            return self.texts(thread, events, through).await;
        }
        let known = self.live.take();
        let known = known.filter(|(live, _)| (live.thread, live.last_seq) == (thread, done));
        let (mut live, mut plan) = match known {
            Some(known) => known,
            None => (
                load_state(self.log, thread, done).await?,
                SnapshotPlan::new(SNAPSHOT_BYTES),
            ),
        };
        let mut found = Extract::default();
        for event in events {
            mark(&live, event, &mut found.marks);
            live.fold(event);
        }
        let snapshot = plan.next(&live);
        self.log
            .catch_up(thread, self.lacks, through, &found, snapshot.as_ref())
            .await?;
        self.live = Some((live, plan));
        Ok(())
    }

    /// Stores the texts of events, some at a time, since an append waits until those before it are stored.
    async fn texts(&self, thread: ThreadId, events: &[Event], last: Seq) -> Result<(), LogError> {
        let mut found = Extract::default();
        let mut bytes = 0;
        for event in events {
            let mut more = extract(std::slice::from_ref(event));
            bytes += more.texts.iter().map(|found| found.text.len()).sum::<usize>();
            found.texts.append(&mut more.texts);
            found.blobs.append(&mut more.blobs);
            found.dropped.append(&mut more.dropped);
            if bytes >= INDEX_STEP_BYTES && event.seq < last {
                let step = std::mem::take(&mut found);
                self.log
                    .catch_up(thread, self.lacks, event.seq, &step, None)
                    .await?;
                bytes = 0;
            }
        }
        self.log.catch_up(thread, self.lacks, last, &found, None).await
    }
}

#[cfg(test)]
mod tests {
    use acpd_log::conformance::{read_all, sample};
    use acpd_log::{Durability, Sqlite};
    use acpd_model::limits::LOG_ROW_BYTES;
    use acpd_proto::projection::SNAPSHOT_FORMAT;
    use futures_util::FutureExt;
    use rusqlite::Connection;

    use super::*;

    /// Length of a row's head: its format and its checksum.
    const HEAD: usize = 5;

    /// Joins all rows of the only thread, as an older version stored what it received at once, without places.
    fn join_rows(path: &std::path::Path) {
        let database = Connection::open(path).unwrap();
        let mut rows = database
            .prepare("SELECT body FROM chunk ORDER BY last_seq")
            .unwrap();
        let bodies: Vec<Vec<u8>> = rows
            .query_map((), |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let records = bodies.iter().flat_map(|body| &body[HEAD..]);
        let joined: Vec<u8> = std::iter::once(&acpd_model::event::FORMAT)
            .chain(records)
            .copied()
            .collect();
        assert!(joined.len() > 2 * LOG_ROW_BYTES, "{}", joined.len());
        let last = i64::try_from(bodies.len()).unwrap();
        database
            .execute("DELETE FROM chunk WHERE last_seq < ?", [last])
            .unwrap();
        database
            .execute("UPDATE chunk SET first_seq = 1, body = ?", [joined])
            .unwrap();
        database
            .execute("INSERT INTO unmarked VALUES (1, 0, ?)", [last])
            .unwrap();
    }

    #[tokio::test]
    async fn usage_of_older_threads_is_counted_once() {
        let log: SharedLog = Arc::new(acpd_log::Memory::new());
        let thread = sample::thread(1);
        let report = |seq, cost: &str| acpd_model::Event {
            kind: acpd_model::EventKind::Turn(acpd_model::TurnEvent::UsageUpdated {
                used: 1,
                size: 2,
                cost: Some(acpd_model::RawJson::parse(cost).unwrap()),
                thread_cost: None,
            }),
            ..sample::event(seq, 10)
        };
        let events = [
            sample::event(1, 10),
            report(2, r#"{"amount":0.2,"currency":"USD"}"#),
            report(3, r#"{"amount":0.3,"currency":"USD"}"#),
        ];
        let summary = sample::summary("old", 1);
        assert!(summary.usage.is_none());
        log.append(thread, &events, Some(&summary)).await.unwrap();
        count_usage(&log).await.unwrap();
        let counted = log.summary(thread).await.unwrap().usage.unwrap();
        assert_eq!(counted.total().costs["USD"], 300_000_000);
        count_usage(&log).await.unwrap();
        assert_eq!(log.summary(thread).await.unwrap().usage, Some(counted));
        assert_eq!(log.last_seq(thread).await.unwrap(), 3, "no event is added");
    }

    #[tokio::test]
    async fn usage_is_counted_once_however_often_there_is_something_to_index() {
        let log: SharedLog = Arc::new(acpd_log::Memory::new());
        let due = Arc::new(Notify::new());
        let mut indexing = Box::pin(index_backlog(log.clone(), Arc::clone(&due)));
        let mut is_counted = Vec::new();
        for number in 1..=2 {
            let thread = sample::thread(number);
            let summary = sample::summary("old", 1);
            log.append(thread, &[sample::event(1, 10)], Some(&summary))
                .await
                .unwrap();
            due.notify_one();
            for _ in 0..50 {
                assert!((&mut indexing).now_or_never().is_none());
                tokio::task::yield_now().await;
            }
            is_counted.push(log.summary(thread).await.unwrap().usage.is_some());
        }
        assert_eq!(is_counted, [true, false], "only what was there at the start");
        let small = log.snapshot(sample::thread(1), Seq::MAX, SNAPSHOT_FORMAT).await;
        assert_eq!(small, Ok(None));
    }

    #[tokio::test]
    async fn a_large_row_is_divided_before_it_is_indexed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.db");
        let open = || -> SharedLog { Arc::new(Sqlite::open(&path, Durability::Process).unwrap()) };
        let log = open();
        let (thread, summary) = (sample::thread(1), sample::summary("large", 1));
        let events = sample::run(1..=600, 1000);
        for event in &events {
            log.append(thread, std::slice::from_ref(event), Some(&summary))
                .await
                .unwrap();
        }
        log.close().await.unwrap();
        drop(log);
        join_rows(&path);
        let log = open();
        Indexer::new(&log, Lacking::Marks).run().await.unwrap();
        assert_eq!(read_all(&log, thread, 0).await, events);
        log.close().await.unwrap();
        drop(log);
        let database = Connection::open(&path).unwrap();
        let largest = "SELECT max(last_seq - first_seq) FROM chunk";
        let largest: i64 = database.query_row(largest, (), |row| row.get(0)).unwrap();
        assert!(largest < 300, "a row has {largest} events");
    }
}
