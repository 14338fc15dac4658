//! What a read returns.

use acpd_model::limits::{LOG_LOOKUP_BYTES, LOG_PAGE_BYTES, LOG_ROW_BYTES};
use acpd_model::{Event, RawJson, Seq};

use super::read_all::read_all;
use super::sample;
use crate::{LogError, Page, SharedLog};

pub(super) async fn every_cursor_reads_the_rest(log: &SharedLog) {
    let thread = sample::new_thread();
    let summary = sample::summary("cursors", 1);
    let events = sample::run(1..=20, 50);
    for (from, to) in [(0, 1), (1, 6), (6, 7), (7, 7 + 12), (19, 20)] {
        log.append(thread, &events[from..to], Some(&summary))
            .await
            .unwrap();
    }
    for after in 0..=20 {
        let page = log.read(thread, after as Seq).await.unwrap();
        assert_eq!(page.events, events[after..]);
        assert!(page.at_end);
    }
    for beyond in [21, Seq::MAX] {
        let page = log.read(thread, beyond).await.unwrap();
        assert_eq!((page.events.len(), page.at_end), (0, true));
    }
}

pub(super) async fn pages_have_a_size(log: &SharedLog) {
    let thread = sample::new_thread();
    let summary = sample::summary("long", 1);
    let bytes = LOG_PAGE_BYTES / 40;
    let events = sample::run(1..=130, bytes);
    for batch in [&events[..100], &events[100..110], &events[110..]] {
        log.append(thread, batch, Some(&summary)).await.unwrap();
    }
    let first = log.read(thread, 0).await.unwrap();
    assert!(!first.at_end);
    assert!(
        first.events.len() > 20,
        "a page is not wasted: {}",
        first.events.len()
    );
    assert!(encoded_bytes(&first.events) <= LOG_PAGE_BYTES + LOG_ROW_BYTES);
    for after in [0, 1, 50, 99, 100, 105, 129] {
        assert_eq!(read_all(log, thread, after as Seq).await, events[after..]);
    }
}

pub(super) async fn a_large_event_comes_alone(log: &SharedLog) {
    let thread = sample::new_thread();
    let summary = sample::summary("large", 1);
    let mut events = sample::run(1..=3, 10);
    events[1] = sample::event(2, 2 * LOG_PAGE_BYTES);
    log.append(thread, &events, Some(&summary)).await.unwrap();
    for (event, at_end) in events.iter().zip([false, false, true]) {
        let page = log.read(thread, event.seq - 1).await.unwrap();
        let expected = Page {
            events: vec![event.clone()],
            at_end,
        };
        assert_eq!(page, expected);
    }
    log.append(thread, &[sample::event(4, LOG_PAGE_BYTES)], None)
        .await
        .unwrap();
    let page = log.read(thread, 2).await.unwrap();
    assert_eq!((page.events.len(), page.at_end), (1, false));
}

pub(super) async fn events_are_looked_up_by_number(log: &SharedLog) {
    let thread = sample::new_thread();
    let summary = sample::summary("looked up", 1);
    let events = sample::run(1..=60, LOG_LOOKUP_BYTES / 10);
    for batch in events.chunks(7) {
        log.append(thread, batch, Some(&summary)).await.unwrap();
    }
    let at = |seqs: &[Seq]| -> Vec<_> {
        let events = seqs.iter().map(|seq| &events[usize::try_from(seq - 1).unwrap()]);
        events.cloned().collect()
    };
    for seqs in [vec![], vec![1], vec![60], vec![3, 4, 30, 31, 59]] {
        assert_eq!(log.events(thread, seqs.clone()).await, Ok(at(&seqs)), "{seqs:?}");
    }
    let all: Vec<Seq> = (1..=60).collect();
    let found = log.events(thread, all.clone()).await.unwrap();
    assert!((9..=20).contains(&found.len()), "{}", found.len());
    assert_eq!(found, at(&all[..found.len()]));
    for seqs in [vec![0], vec![61], vec![5, Seq::MAX]] {
        let found = log.events(thread, seqs).await;
        assert!(matches!(found, Err(LogError::DamagedEvents { .. })), "{found:?}");
    }
    let unknown = sample::new_thread();
    assert_eq!(
        log.events(unknown, vec![1]).await,
        Err(LogError::NoSuchThread(unknown))
    );
}

pub(super) async fn an_unknown_thread_is_an_error(log: &SharedLog) {
    let thread = sample::new_thread();
    assert_eq!(log.read(thread, 0).await, Err(LogError::NoSuchThread(thread)));
    assert_eq!(log.last_seq(thread).await, Err(LogError::NoSuchThread(thread)));
    assert_eq!(log.summary(thread).await, Err(LogError::NoSuchThread(thread)));
}

pub(super) async fn text_is_kept_as_it_came(log: &SharedLog) {
    let thread = sample::new_thread();
    let raw =
        RawJson::parse("{\r\n\t\"n\": 1.10,\n\t\"big\": 123456789012345678901234567890,\n \"\\u001e\": 0 }");
    let raw = Some(raw.unwrap());
    let mut events = sample::run(1..=3, 10);
    events[0].raw.clone_from(&raw);
    events[1].raw_params.clone_from(&raw);
    let mut summary = sample::summary("line\nbreak \u{1f600} \0", 1);
    summary.metadata = raw;
    log.append(thread, &events, Some(&summary)).await.unwrap();
    assert_eq!(read_all(log, thread, 0).await, events);
    assert_eq!(read_all(log, thread, 1).await, events[1..]);
    assert_eq!(log.summary(thread).await, Ok(summary));
}

fn encoded_bytes(events: &[Event]) -> usize {
    let mut bytes = Vec::new();
    for event in events {
        event.encode(&mut bytes).unwrap();
    }
    bytes.len()
}
