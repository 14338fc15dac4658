//! What an append stores, and what it refuses.

use std::collections::BTreeSet;
use std::sync::Arc;

use acpd_model::RawJson;
use acpd_model::limits::LOG_QUEUE;

use super::read_all::read_all;
use super::sample;
use crate::{Filter, LogError, SharedLog};

pub(super) async fn only_one_run_is_stored(log: &SharedLog) {
    let thread = sample::new_thread();
    let summary = sample::summary("runs", 1);
    let run = sample::run(1..=3, 10);
    for batch in [
        Vec::new(),
        vec![run[0].clone(), run[2].clone()],
        vec![run[0].clone(), run[0].clone()],
        vec![run[1].clone(), run[0].clone()],
        sample::run(0..=1, 10),
    ] {
        let answer = log.append(thread, &batch, Some(&summary)).await;
        assert_eq!(answer, Err(LogError::NotContiguous), "{batch:?}");
    }
    assert_eq!(log.last_seq(thread).await, Err(LogError::NoSuchThread(thread)));
}

pub(super) async fn a_conflict_changes_nothing(log: &SharedLog) {
    let thread = sample::new_thread();
    let conflict = |expected, last| {
        Err(LogError::Conflict {
            thread,
            expected,
            last,
        })
    };
    let (first, other) = (sample::summary("first", 1), sample::summary("other", 2));
    let answer = log.append(thread, &sample::run(2..=2, 10), Some(&first)).await;
    assert_eq!(answer, conflict(1, 0));
    assert_eq!(log.summary(thread).await, Err(LogError::NoSuchThread(thread)));

    let events = sample::run(1..=4, 10);
    log.append(thread, &events, Some(&first)).await.unwrap();
    for seqs in [1..=1, 1..=5, 4..=5, 6..=6] {
        let expected = seqs.start() - 1;
        let answer = log.append(thread, &sample::run(seqs, 20), Some(&other)).await;
        assert_eq!(answer, conflict(expected, 4));
    }
    assert_eq!(log.last_seq(thread).await, Ok(4));
    assert_eq!(log.summary(thread).await, Ok(first));
    assert_eq!(read_all(log, thread, 0).await, events);
}

pub(super) async fn the_first_append_brings_a_summary(log: &SharedLog) {
    let thread = sample::new_thread();
    let events = sample::run(1..=2, 10);
    let answer = log.append(thread, &events, None).await;
    assert_eq!(answer, Err(LogError::NoSuchThread(thread)));
    assert_eq!(log.last_seq(thread).await, Err(LogError::NoSuchThread(thread)));
    let summary = sample::summary("first", 1);
    log.append(thread, &events, Some(&summary)).await.unwrap();
    assert_eq!(log.last_seq(thread).await, Ok(2));
}

pub(super) async fn a_summary_is_stored_with_its_events(log: &SharedLog) {
    let thread = sample::new_thread();
    let (first, second) = (sample::summary("first", 1), sample::summary("second", 2));
    log.append(thread, &sample::run(1..=1, 10), Some(&first))
        .await
        .unwrap();
    log.append(thread, &sample::run(2..=2, 10), None).await.unwrap();
    assert_eq!(log.summary(thread).await.as_ref(), Ok(&first));
    log.append(thread, &sample::run(3..=3, 10), Some(&second))
        .await
        .unwrap();
    assert_eq!(log.summary(thread).await.as_ref(), Ok(&second));
    log.append(thread, &sample::run(3..=3, 10), Some(&first))
        .await
        .unwrap_err();
    assert_eq!(log.summary(thread).await.as_ref(), Ok(&second));
}

pub(super) async fn metadata_is_part_of_the_summary(log: &SharedLog) {
    let (thread, plain) = (sample::new_thread(), sample::new_thread());
    let mut summary = sample::summary("with metadata", 1);
    log.append(plain, &sample::run(1..=1, 10), Some(&summary))
        .await
        .unwrap();
    let texts = [
        None,
        Some(r#"{ "a":1.10 }"#),
        Some(r#"{ "a":1.10 }"#),
        Some("2"),
        None,
    ];
    for (seq, text) in (1..).zip(texts) {
        summary.metadata = text.map(RawJson::trusted);
        summary.turns += 1;
        log.append(thread, &sample::run(seq..=seq, 10), Some(&summary))
            .await
            .unwrap();
        assert_eq!(log.summary(thread).await.as_ref(), Ok(&summary));
        let listed = log.list(Filter::default(), None, usize::MAX).await.unwrap();
        let of = |id| listed.iter().find(|listed| listed.thread == id).unwrap();
        assert_eq!(of(thread).summary, summary);
        assert_eq!(of(plain).summary.metadata, None);
    }
    log.delete(thread).await.unwrap();
    summary.metadata = None;
    log.append(thread, &sample::run(1..=1, 10), Some(&summary))
        .await
        .unwrap();
    assert_eq!(log.summary(thread).await, Ok(summary));
}

pub(super) async fn one_of_two_racing_callers_wins(log: &SharedLog) {
    let thread = sample::new_thread();
    let mut stored = Vec::new();
    for seq in 1..=20 {
        let race = ["a", "b"].map(|name| {
            let log = Arc::clone(log);
            let (events, summary) = (
                sample::run(seq..=seq, 10 * name.len()),
                sample::summary(name, seq.cast_signed()),
            );
            tokio::spawn(async move { log.append(thread, &events, Some(&summary)).await })
        });
        let [a, b] = race;
        let answers = [("a", a.await.unwrap()), ("b", b.await.unwrap())];
        let winners: Vec<_> = answers.iter().filter(|(_, answer)| answer.is_ok()).collect();
        let [(winner, _)] = winners[..] else {
            panic!("one of two wins: {answers:?}");
        };
        assert!(
            answers.iter().any(|(_, answer)| {
                matches!(answer, Err(LogError::Conflict { last, .. }) if *last == seq)
            })
        );
        let summary = log.summary(thread).await.unwrap();
        assert_eq!(summary.name.as_deref(), Some(*winner));
        stored.push(sample::event(seq, 10 * winner.len()));
    }
    assert_eq!(read_all(log, thread, 0).await, stored);
}

pub(super) async fn many_threads_append_at_once(log: &SharedLog) {
    let appending: Vec<_> = (0..40)
        .map(|number| {
            let log = Arc::clone(log);
            let thread = sample::new_thread();
            tokio::spawn(async move {
                let summary = sample::summary(&format!("busy {number}"), number);
                for batch in 0..10_u64 {
                    let events = sample::run(batch * 3 + 1..=batch * 3 + 3, 30);
                    let summary = (batch % 4 == 0).then_some(&summary);
                    log.append(thread, &events, summary).await.unwrap();
                    assert_eq!(log.last_seq(thread).await, Ok(batch * 3 + 3));
                }
                thread
            })
        })
        .collect();
    let mut threads = BTreeSet::new();
    for appending in appending {
        let thread = appending.await.unwrap();
        assert_eq!(read_all(log, thread, 0).await, sample::run(1..=30, 30));
        threads.insert(thread);
    }
    assert_eq!(threads.len(), 40);
}

pub(super) async fn order_does_not_need_awaiting(log: &SharedLog) {
    let thread = sample::new_thread();
    let summary = sample::summary("eager", 1);
    let count = LOG_QUEUE as u64;
    let mut answers: Vec<_> = (1..=count)
        .map(|seq| log.append(thread, &[sample::event(seq, 10)], Some(&summary)))
        .collect();
    while let Some(last) = answers.pop() {
        assert_eq!(last.await, Ok(()));
    }
    assert_eq!(read_all(log, thread, 0).await, sample::run(1..=count, 10));
}

pub(super) async fn an_answer_can_be_dropped(log: &SharedLog) {
    let thread = sample::new_thread();
    let summary = sample::summary("forgetful", 1);
    drop(log.append(thread, &sample::run(1..=2, 10), Some(&summary)));
    log.append(thread, &sample::run(3..=3, 10), None).await.unwrap();
    assert_eq!(read_all(log, thread, 0).await, sample::run(1..=3, 10));
}
