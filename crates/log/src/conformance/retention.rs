//! Which threads were not used for long, what they take, and the removal of their blobs.

use acpd_model::{Millis, Summary, ThreadId, ThreadStatus};
use uuid::Uuid;

use super::read_all::read_all;
use super::sample;
use crate::{ListCursor, LogError, Measure, SharedLog, Unused, UnusedThread};

/// The time of these threads, which no other thread of the suite has.
const LONG_AGO: Millis = -1_000_000;

/// Pages of a database are used in part.
const PAGES: u64 = 10_000;

async fn create(log: &SharedLog, updated_at: Millis, change: impl FnOnce(&mut Summary)) -> ThreadId {
    let thread = sample::new_thread();
    let mut summary = sample::summary("unused", updated_at);
    change(&mut summary);
    log.append(thread, &sample::run(1..=3, 100), Some(&summary))
        .await
        .unwrap();
    thread
}

async fn all(log: &SharedLog, wanted: Unused, limit: usize) -> Vec<UnusedThread> {
    let (mut threads, mut after) = (Vec::new(), wanted.after);
    loop {
        let page = log.unused(Unused { after, ..wanted }, limit).await.unwrap();
        assert!(page.threads.len() <= limit);
        threads.extend(page.threads);
        after = page.next;
        if after.is_none() {
            return threads;
        }
    }
}

fn unused(before: Millis, measure: Measure) -> Unused {
    Unused {
        before,
        archived: None,
        after: Some(ListCursor {
            updated_at: LONG_AGO - 1,
            thread: ThreadId(Uuid::max()),
        }),
        measure,
    }
}

pub(super) async fn the_longest_unused_comes_first(log: &SharedLog) {
    let second = create(log, LONG_AGO + 2, |_| {}).await;
    let first = create(log, LONG_AGO + 1, |summary| summary.archived = true).await;
    let third = create(log, LONG_AGO + 2, |_| {}).await;
    create(log, LONG_AGO, |summary| summary.status = ThreadStatus::Running).await;
    create(log, LONG_AGO, |summary| summary.status = ThreadStatus::Waiting).await;
    create(log, LONG_AGO + 3, |_| {}).await;
    let wanted = unused(LONG_AGO + 3, Measure::Thread);
    for limit in [1, 2, 100] {
        let found = all(log, wanted, limit).await;
        let ids: Vec<_> = found.iter().map(|found| found.thread).collect();
        assert_eq!(ids, [first, second, third], "{limit}");
        assert!(
            found.iter().all(|found| found.bytes > 200 && found.blobs == 0),
            "{found:?}"
        );
    }
    for (archived, expected) in [(true, vec![first]), (false, vec![second, third])] {
        let archived = Some(archived);
        let found = all(log, Unused { archived, ..wanted }, 100).await;
        let ids: Vec<_> = found.iter().map(|found| found.thread).collect();
        assert_eq!(ids, expected);
    }
    assert!(all(log, unused(LONG_AGO, Measure::Thread), 9).await.is_empty());
    for thread in [first, second, third] {
        log.delete(thread).await.unwrap();
    }
    assert!(all(log, wanted, 100).await.is_empty());
}

pub(super) async fn a_thread_is_measured_with_what_it_alone_needs(log: &SharedLog) {
    let measure = async |thread: ThreadId| {
        let found = all(log, unused(LONG_AGO + 13, Measure::Thread), 7).await;
        let found = found.into_iter().find(|found| found.thread == thread);
        found.expect("it is unused").bytes
    };
    let one = create(log, LONG_AGO + 11, |_| {}).await;
    let other = create(log, LONG_AGO + 12, |_| {}).await;
    let before = (measure(one).await, measure(other).await);
    let content = |first: u8| [&[first][..], one.0.as_bytes(), &vec![0; 100_000]].concat();
    log.put_blob(one, content(1)).await.unwrap();
    assert!(measure(one).await >= before.0 + 100_000);
    log.put_blob(other, content(1)).await.unwrap();
    assert_eq!((measure(one).await, measure(other).await), before);

    let used = log.usage().await.unwrap().remaining();
    log.put_blob(one, content(2)).await.unwrap();
    let with_blob = log.usage().await.unwrap().remaining();
    assert!(with_blob + PAGES >= used + 100_000, "{used} {with_blob}");
    log.delete(one).await.unwrap();
    let without = log.usage().await.unwrap().remaining();
    assert!(without + 100_000 <= with_blob + PAGES, "{with_blob} {without}");
    log.delete(other).await.unwrap();
}

pub(super) async fn blobs_are_removed_where_no_used_thread_needs_them(log: &SharedLog) {
    let (old, older) = (
        create(log, LONG_AGO + 22, |_| {}).await,
        create(log, LONG_AGO + 21, |_| {}).await,
    );
    let (new, busy) = (
        create(log, LONG_AGO + 24, |_| {}).await,
        create(log, LONG_AGO + 20, |summary| {
            summary.status = ThreadStatus::Running
        })
        .await,
    );
    let content = |name: &str| format!("{old} {name}").into_bytes();
    let put = async |thread: ThreadId, name: &str| log.put_blob(thread, content(name)).await.unwrap();
    let alone = put(old, "alone").await;
    let shared = (put(old, "both").await, put(older, "both").await).0;
    let needed = (put(old, "needed").await, put(new, "needed").await).0;
    let running = (put(old, "running").await, put(busy, "running").await).0;
    let before = LONG_AGO + 23;

    let wanted = unused(before, Measure::Blobs);
    let found = all(log, wanted, 1).await;
    let numbers: Vec<_> = found.iter().map(|found| (found.thread, found.blobs)).collect();
    assert_eq!(numbers, [(older, 1), (old, 2)]);
    let bytes: u64 = [content("alone"), content("both")]
        .iter()
        .map(|content| content.len() as u64)
        .sum();
    assert_eq!(found[1].bytes, bytes);

    log.remove_blobs(old, before).await.unwrap();
    for id in [alone, shared] {
        assert_eq!(log.blob(id).await, Ok(None));
        assert_eq!(log.is_removed(id).await, Ok(true));
    }
    for (id, name) in [(needed, "needed"), (running, "running")] {
        assert_eq!(log.blob(id).await, Ok(Some(content(name))));
        assert_eq!(log.is_removed(id).await, Ok(false));
    }
    assert!(all(log, wanted, 9).await.is_empty());
    // The events stay, and the same content can be stored again.
    assert_eq!(read_all(log, old, 0).await, sample::run(1..=3, 100));
    assert_eq!(put(new, "alone").await, alone);
    assert_eq!(log.blob(alone).await, Ok(Some(content("alone"))));
    assert_eq!(log.is_removed(alone).await, Ok(false));

    // A blob that no thread names is unknown, not removed.
    let unknown = crate::blob_id(b"unknown");
    assert_eq!(log.is_removed(unknown).await, Ok(false));
    log.delete(old).await.unwrap();
    assert_eq!(log.is_removed(shared).await, Ok(true));
    log.delete(older).await.unwrap();
    assert_eq!(log.is_removed(shared).await, Ok(false));
    assert_eq!(
        log.remove_blobs(older, before).await,
        Err(LogError::NoSuchThread(older))
    );
    for thread in [new, busy] {
        log.delete(thread).await.unwrap();
    }
}
