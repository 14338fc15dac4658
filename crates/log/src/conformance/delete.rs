//! Deletion: nothing of a deleted thread remains.

use super::read_all::read_all;
use super::sample;
use crate::{Filter, Lacking, LogError, Search, SharedLog};

pub(super) async fn a_deleted_thread_is_gone(log: &SharedLog) {
    let (thread, other) = (sample::new_thread(), sample::new_thread());
    let summary = sample::summary("short-lived", 1);
    let word = sample::unique_word();
    for thread in [thread, other] {
        let extract = sample::extract(1, &[&format!("{word} here")]);
        log.append_with(thread, &sample::run(1..=5, 10), Some(&summary), &extract)
            .await
            .unwrap();
    }
    assert_eq!(log.delete(thread).await, Ok(()));

    let not_found = LogError::NoSuchThread(thread);
    assert_eq!(log.read(thread, 0).await, Err(not_found.clone()));
    assert_eq!(log.read(thread, 5).await, Err(not_found.clone()));
    assert_eq!(log.last_seq(thread).await, Err(not_found.clone()));
    assert_eq!(log.summary(thread).await, Err(not_found.clone()));
    assert_eq!(
        log.catch_up(thread, Lacking::Texts, 1, &sample::extract(1, &["x"]), None)
            .await,
        Err(not_found.clone())
    );
    assert_eq!(log.delete(thread).await, Err(not_found));
    let listed = log.list(Filter::default(), None, usize::MAX).await.unwrap();
    assert!(listed.iter().all(|listed| listed.thread != thread));
    let search = Search {
        text: word,
        thread: None,
    };
    let hits = log.search(search, None, 9).await.unwrap();
    assert_eq!(
        hits.iter().map(|(_, hit)| hit.thread).collect::<Vec<_>>(),
        [other]
    );
    assert_eq!(read_all(log, other, 0).await, sample::run(1..=5, 10));
    log.append(other, &sample::run(6..=6, 10), None).await.unwrap();
}

pub(super) async fn its_writer_cannot_go_on(log: &SharedLog) {
    let thread = sample::new_thread();
    let summary = sample::summary("again", 1);
    log.append(thread, &sample::run(1..=3, 10), Some(&summary))
        .await
        .unwrap();
    // Not awaited: calls take effect in the order in which they were made.
    let append = log.append(thread, &sample::run(4..=4, 10), None);
    let delete = log.delete(thread);
    let late = log.append(thread, &sample::run(5..=5, 10), Some(&summary));
    assert_eq!((append.await, delete.await), (Ok(()), Ok(())));
    let conflict = LogError::Conflict {
        thread,
        expected: 4,
        last: 0,
    };
    assert_eq!(late.await, Err(conflict));
    assert_eq!(log.last_seq(thread).await, Err(LogError::NoSuchThread(thread)));

    log.append(thread, &sample::run(1..=2, 20), Some(&summary))
        .await
        .unwrap();
    assert_eq!(read_all(log, thread, 0).await, sample::run(1..=2, 20));
}
