//! The memory backend fails and waits when a test requests it.

use std::sync::Arc;

use acpd_log::conformance::{read_all, sample};
use acpd_log::{EventLog, Fault, LogError, Memory, SharedLog};
use acpd_model::Seq;

async fn append(log: &Memory, seq: Seq) -> Result<(), LogError> {
    let summary = sample::summary(&format!("at {seq}"), 1);
    log.append(sample::thread(1), &[sample::event(seq, 10)], Some(&summary))
        .await
}

#[tokio::test]
async fn an_append_fails_and_stores_nothing() {
    let log = Memory::new();
    log.inject(Fault::FailAppend { after: 1 });
    append(&log, 1).await.unwrap();
    assert!(matches!(append(&log, 2).await, Err(LogError::Storage(_))));
    assert_eq!(log.last_seq(sample::thread(1)).await, Ok(1));
    assert_eq!(
        log.summary(sample::thread(1)).await.unwrap().name.as_deref(),
        Some("at 1")
    );
    append(&log, 2).await.unwrap();
    append(&log, 3).await.unwrap();
}

#[tokio::test]
async fn faults_add_up() {
    let log = Memory::new();
    for after in [2, 0, 0] {
        log.inject(Fault::FailAppend { after });
    }
    let mut went_right = Vec::new();
    for _ in 0..5 {
        let seq = log.last_seq(sample::thread(1)).await.unwrap_or(0) + 1;
        went_right.push(append(&log, seq).await.is_ok());
    }
    assert_eq!(went_right, [false, false, false, true, true]);
}

#[tokio::test]
async fn a_read_fails() {
    let log = Memory::new();
    append(&log, 1).await.unwrap();
    log.inject(Fault::FailRead { after: 1 });
    let thread = sample::thread(1);
    assert!(log.read(thread, 0).await.is_ok());
    assert!(matches!(log.read(thread, 0).await, Err(LogError::Storage(_))));
    assert!(log.read(thread, 0).await.is_ok());
}

#[tokio::test]
async fn an_append_whose_answer_is_lost_is_found_by_its_last_event() {
    let log = Memory::new();
    log.inject(Fault::LoseAnswer { after: 1 });
    append(&log, 1).await.unwrap();
    assert!(matches!(append(&log, 2).await, Err(LogError::UnknownOutcome(_))));
    assert_eq!(log.last_seq(sample::thread(1)).await, Ok(2));
    // Appending it once more shows that it was stored.
    assert!(matches!(
        append(&log, 2).await,
        Err(LogError::Conflict { last: 2, .. })
    ));
    append(&log, 3).await.unwrap();
}

#[tokio::test]
async fn a_log_that_cannot_be_reached_stores_nothing_and_works_again() {
    let log = Memory::new();
    append(&log, 1).await.unwrap();
    log.inject(Fault::Unreachable);
    assert!(matches!(append(&log, 2).await, Err(LogError::Unavailable(_))));
    let read = log.read(sample::thread(1), 0).await;
    assert!(matches!(read, Err(LogError::Unavailable(_))), "{read:?}");
    log.heal();
    assert_eq!(log.last_seq(sample::thread(1)).await, Ok(1));
    append(&log, 2).await.unwrap();
}

#[tokio::test]
async fn held_appends_are_not_visible() {
    let log = Arc::new(Memory::new());
    let shared: SharedLog = log.clone();
    let thread = sample::thread(1);
    append(&log, 1).await.unwrap();
    log.hold();
    let appends: Vec<_> = [2, 3]
        .map(|seq| {
            let log = Arc::clone(&log);
            tokio::spawn(async move { append(&log, seq).await })
        })
        .into();
    let unawaited = shared.append(sample::thread(2), &[sample::event(1, 10)], None);
    tokio::task::yield_now().await;
    let close = shared.close();
    assert_eq!(read_all(&shared, thread, 0).await, sample::run(1..=1, 10));
    assert!(!appends.iter().any(tokio::task::JoinHandle::is_finished));

    log.release();
    for append in appends {
        assert_eq!(append.await.unwrap(), Ok(()));
    }
    assert_eq!(unawaited.await, Err(LogError::NoSuchThread(sample::thread(2))));
    assert_eq!(close.await, Ok(()));
    assert_eq!(shared.last_seq(thread).await, Err(LogError::Closed));
}

#[tokio::test]
async fn after_a_release_appends_are_as_ever() {
    let log = Memory::new();
    log.hold();
    log.release();
    append(&log, 1).await.unwrap();
    log.release();
    append(&log, 2).await.unwrap();
}

#[tokio::test]
async fn a_failure_lasts_until_it_is_healed() {
    for (fault, reads) in [
        (Fault::FullDisk, true),
        (Fault::ReadOnly, true),
        (Fault::Busy, true),
        (Fault::Io, false),
    ] {
        let log = Memory::new();
        append(&log, 1).await.unwrap();
        log.inject(fault);
        for _ in 0..3 {
            assert!(matches!(append(&log, 2).await, Err(LogError::Storage(_))));
            assert_eq!(log.read(sample::thread(1), 0).await.is_ok(), reads, "{fault:?}");
        }
        log.heal();
        append(&log, 2).await.unwrap();
    }
}

#[tokio::test]
async fn a_read_reports_the_damage_and_continues_after_it() {
    let (log, thread) = (Memory::new(), sample::thread(1));
    let summary = sample::summary("damaged", 1);
    for seqs in [1..=2, 3..=5, 6..=6] {
        log.append(thread, &sample::run(seqs, 10), Some(&summary))
            .await
            .unwrap();
    }
    assert_eq!(log.damage(thread, 4), Some((3, 5)));
    let page = log.read(thread, 0).await.unwrap();
    assert_eq!((page.events, page.at_end), (sample::run(1..=2, 10), false));
    for after in [2, 3] {
        let found = log.read(thread, after).await;
        let Err(LogError::DamagedEvents { first, last, .. }) = found else {
            panic!("{after}: {found:?}");
        };
        assert_eq!((first, last), (after + 1, 5));
    }
    let page = log.read(thread, 5).await.unwrap();
    assert_eq!((page.events, page.at_end), (sample::run(6..=6, 10), true));
    assert!(log.events(thread, vec![2, 6]).await.is_ok());
    let found = log.events(thread, vec![2, 4]).await;
    assert!(matches!(found, Err(LogError::DamagedEvents { .. })), "{found:?}");
}
