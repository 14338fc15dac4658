//! Threads that begin with the events of other threads.

use acpd_model::event::Outcome;
use acpd_model::{Event, EventKind, Inherited, Origin, RequestEvent, RequestId, Seq, ThreadId, TurnId};

use super::read_all::read_all;
use super::sample;
use super::turns::{TURN_EVENTS, append, page, turn, wanted};
use crate::{Append, LogError, SharedLog, Snapshot, TurnsWanted};

/// Forks a thread after `until`, with one event of the fork's own.
async fn fork(log: &SharedLog, from: ThreadId, until: Seq) -> Result<ThreadId, LogError> {
    let fork = sample::new_thread();
    let summary = sample::summary("fork", 1);
    let inherits = Some(Inherited { from, until });
    let own = [sample::event(until + 1, 30)];
    let append = Append {
        inherits,
        summary: Some(&summary),
        ..Append::new(fork, &own)
    };
    log.store(append).await.map(|()| fork)
}

pub(super) async fn a_fork_begins_with_the_events_of_its_origin(log: &SharedLog) {
    let from = sample::new_thread();
    append(log, from, 1..=4).await;
    // In the middle of what one append stored.
    let until = 2 * TURN_EVENTS + 3;
    let fork = fork(log, from, until).await.unwrap();
    assert_eq!(log.last_seq(fork).await, Ok(until + 1));
    for after in [0, 5, TURN_EVENTS, until - 1, until, until + 1] {
        let events = read_all(log, fork, after).await;
        assert_eq!(events, sample_run(after + 1, until + 1), "after {after}");
    }
    let looked_up = log.events(fork, vec![1, until, until + 1]).await.unwrap();
    let seqs: Vec<Seq> = looked_up.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, [1, until, until + 1]);
    let found = page(log, fork, wanted(9)).await;
    assert_eq!(found.turns[..2], [turn(1), turn(2)]);
    assert_eq!((found.turns.len(), found.turns[2].items.len()), (3, 1));
    assert_eq!(
        log.client_turn(fork, "client 2".into()).await,
        Ok(Some(TurnId(2)))
    );
    assert_eq!(
        log.end_of_turns(fork, Some(TurnId(2))).await,
        Ok(Some(2 * TURN_EVENTS))
    );

    let word = sample::unique_word();
    let early = log.put_blob(from, word.clone().into_bytes()).await.unwrap();
    // Both continue alone.
    append(log, from, 5..=5).await;
    log.append(fork, &sample::run(until + 2..=until + 3, 30), None)
        .await
        .unwrap();
    assert_eq!(log.last_seq(fork).await, Ok(until + 3));
    assert_eq!(read_all(log, from, 0).await.len() as Seq, 5 * TURN_EVENTS);
    assert_eq!(page(log, fork, wanted(9)).await.turns.len(), 3);
    log.delete(from).await.unwrap();
    assert_eq!(log.blob(early).await, Ok(None), "no event of the fork needs it");
}

fn sample_run(first: Seq, last: Seq) -> Vec<Event> {
    let bytes = |seq| if seq == last { 30 } else { 20 };
    (first..=last).map(|seq| sample::event(seq, bytes(seq))).collect()
}

pub(super) async fn a_fork_of_a_fork_has_the_events_of_both(log: &SharedLog) {
    let from = sample::new_thread();
    append(log, from, 1..=2).await;
    let until = TURN_EVENTS;
    let first = fork(log, from, until).await.unwrap();
    // The fork has a second turn of its own.
    log.append_with(
        first,
        &sample::run(until + 2..=until + 1 + TURN_EVENTS, 20),
        None,
        &super::turns::marks(2, until + 1),
    )
    .await
    .unwrap();
    let end = until + 1 + TURN_EVENTS;
    let second = fork(log, first, end).await.unwrap();
    let early = fork(log, first, until - 1).await.unwrap();
    assert_eq!(read_all(log, second, 0).await.len() as Seq, end + 1);
    assert_eq!(read_all(log, early, 0).await, sample_run(1, until));
    let found = page(log, second, wanted(9)).await;
    assert_eq!(found.turns.len(), 2);
    assert_eq!(found.turns[0], turn(1));
    assert_eq!(found.turns[1].started, Some(until + 2));
    let part = TurnsWanted {
        until: until - 1,
        ..wanted(9)
    };
    assert_eq!(page(log, early, part).await.turns[0].settled, None);

    // Ids in events are those of the thread that is read.
    let question = |thread, seq| Event {
        seq,
        at: 0,
        turn: None,
        by: Origin::Daemon,
        kind: EventKind::Request(RequestEvent::Settled {
            request: RequestId { thread, number: 1 },
            outcome: Outcome::Cancelled,
            item: None,
            title: None,
        }),
        raw: None,
        raw_params: None,
        repeats_id: false,
        translated: false,
        lane: None,
    };
    log.append(second, &[question(second, end + 2)], None)
        .await
        .unwrap();
    let third = fork(log, second, end + 2).await.unwrap();
    let read = log.read(third, end + 1).await.unwrap();
    assert_eq!(read.events[0], question(third, end + 2));
    assert_eq!(
        log.events(third, vec![end + 2]).await.unwrap(),
        [question(third, end + 2)]
    );
}

pub(super) async fn a_fork_outlives_its_origin(log: &SharedLog) {
    let from = sample::new_thread();
    append(log, from, 1..=3).await;
    let snapshot = Snapshot {
        seq: 3 * TURN_EVENTS,
        weight: 1,
        format: 1,
        body: "state".into(),
    };
    let append = Append {
        after: 3 * TURN_EVENTS,
        snapshot: Some(&snapshot),
        ..Append::new(from, &[])
    };
    log.store(append).await.unwrap();
    let until = TURN_EVENTS + 2;
    let first = fork(log, from, until).await.unwrap();
    let second = fork(log, first, until - 1).await.unwrap();
    log.delete(from).await.unwrap();
    assert_eq!(log.last_seq(from).await, Err(LogError::NoSuchThread(from)));
    assert_eq!(read_all(log, first, 0).await, sample_run(1, until + 1));
    assert_eq!(page(log, first, wanted(9)).await.turns[0], turn(1));
    assert_eq!(
        log.snapshot(first, Seq::MAX, 1).await,
        Ok(None),
        "it is of a later event"
    );
    log.delete(first).await.unwrap();
    assert_eq!(read_all(log, second, 0).await, sample_run(1, until));
    // New threads do not get the rows that remain.
    let other = sample::new_thread();
    log.append(other, &sample::run(1..=1, 10), Some(&sample::summary("other", 1)))
        .await
        .unwrap();
    assert_eq!(read_all(log, other, 0).await.len(), 1);
    assert_eq!(page(log, other, wanted(9)).await.turns, []);
    log.delete(second).await.unwrap();
    assert_eq!(log.read(second, 0).await, Err(LogError::NoSuchThread(second)));
}

pub(super) async fn a_fork_needs_an_origin(log: &SharedLog) {
    let unknown = sample::new_thread();
    assert_eq!(fork(log, unknown, 3).await, Err(LogError::NoSuchThread(unknown)));
    let from = sample::new_thread();
    append(log, from, 1..=1).await;
    let beyond = TURN_EVENTS + 1;
    assert_eq!(fork(log, from, beyond).await, Err(LogError::NoSuchThread(from)));
}
