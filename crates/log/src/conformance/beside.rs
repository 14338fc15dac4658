//! What is stored beside events: snapshots, what is known of an agent's process, clients' ids of turns, claims.

use acpd_model::limits::SNAPSHOT_SPACING;
use acpd_model::{Extract, Seq, ThreadId, TurnId, TurnMark, TurnMarks, TurnStep};

use super::sample;
use crate::{Append, Carried, LogError, SharedLog, Snapshot};

fn snapshot(seq: Seq, weight: u64) -> Snapshot {
    Snapshot {
        seq,
        weight,
        format: 1,
        body: format!("state at {seq}").into(),
    }
}

async fn thread(log: &SharedLog, events: Seq) -> ThreadId {
    let thread = sample::new_thread();
    let summary = sample::summary("beside", 1);
    log.append(thread, &sample::run(1..=events, 10), Some(&summary))
        .await
        .unwrap();
    thread
}

/// An append without events.
fn nothing(thread: ThreadId, after: Seq) -> Append<'static> {
    Append {
        after,
        ..Append::new(thread, &[])
    }
}

pub(super) async fn a_snapshot_is_found_by_its_event(log: &SharedLog) {
    let thread = thread(log, 3).await;
    assert_eq!(log.snapshot(thread, Seq::MAX, 1).await, Ok(None));
    let first = snapshot(3, 100);
    log.store(Append {
        snapshot: Some(&first),
        ..nothing(thread, 3)
    })
    .await
    .unwrap();
    let second = snapshot(5, 100 + SNAPSHOT_SPACING);
    let events = sample::run(4..=5, 10);
    log.store(Append {
        snapshot: Some(&second),
        ..Append::new(thread, &events)
    })
    .await
    .unwrap();
    for (until, expected) in [
        (2, None),
        (3, Some(&first)),
        (4, Some(&first)),
        (5, Some(&second)),
    ] {
        let found = log.snapshot(thread, until, 1).await.unwrap();
        assert_eq!(found.as_ref(), expected, "{until}");
    }
    assert_eq!(log.snapshot(thread, 5, 2).await, Ok(None), "of another format");
    let stale = log
        .store(Append {
            snapshot: Some(&snapshot(9, 1)),
            ..nothing(thread, 9)
        })
        .await;
    assert!(
        matches!(stale, Err(LogError::Conflict { last: 5, .. })),
        "{stale:?}"
    );
    assert_eq!(log.store(nothing(thread, 5)).await, Err(LogError::NotContiguous));
    let renamed = sample::summary("renamed", 1);
    let alone = Append {
        summary: Some(&renamed),
        ..nothing(thread, 5)
    };
    log.store(alone).await.unwrap();
    assert_eq!(log.summary(thread).await, Ok(renamed));
    assert_eq!(log.last_seq(thread).await, Ok(5));
}

pub(super) async fn old_snapshots_are_thinned_out(log: &SharedLog) {
    let thread = thread(log, 100).await;
    let weight = |seq: Seq| seq * SNAPSHOT_SPACING / 10;
    for seq in 1..=100 {
        // A snapshot may be of an earlier event: a reader of the events made it.
        let snapshot = snapshot(seq, weight(seq));
        log.store(Append {
            snapshot: Some(&snapshot),
            ..nothing(thread, 100)
        })
        .await
        .unwrap();
    }
    let mut kept = Vec::new();
    let mut until = Seq::MAX;
    while let Some(found) = log.snapshot(thread, until, 1).await.unwrap() {
        kept.push(found.seq);
        until = found.seq - 1;
    }
    assert!((10..=13).contains(&kept.len()), "{kept:?}");
    assert_eq!(kept[0], 100);
    for pair in kept[1..].windows(2) {
        assert!(weight(pair[0] - pair[1]) <= 2 * SNAPSHOT_SPACING, "{kept:?}");
    }
}

pub(super) async fn a_cursor_and_a_memo_are_stored_with_their_events(log: &SharedLog) {
    let thread = thread(log, 1).await;
    assert_eq!(log.carried(thread).await, Ok(Carried::default()));
    let events = sample::run(2..=3, 10);
    let append = Append {
        cursor: Some(70),
        memo: Some(b"process 7"),
        ..Append::new(thread, &events)
    };
    log.store(append).await.unwrap();
    let memo = Some(b"process 7".to_vec());
    let carried = |cursor, memo: &Option<Vec<u8>>| Carried {
        cursor: Some(cursor),
        memo: memo.clone(),
    };
    assert_eq!(log.carried(thread).await, Ok(carried(70, &memo)));
    let refused = log.store(append).await;
    assert!(
        matches!(refused, Err(LogError::Conflict { last: 3, .. })),
        "{refused:?}"
    );
    let refused = Append {
        cursor: Some(99),
        ..append
    };
    log.store(refused).await.unwrap_err();
    assert_eq!(
        log.carried(thread).await,
        Ok(carried(70, &memo)),
        "neither without the events"
    );

    log.store(Append {
        cursor: Some(80),
        ..nothing(thread, 3)
    })
    .await
    .unwrap();
    assert_eq!(log.carried(thread).await, Ok(carried(80, &memo)), "a memo stays");
    log.store(Append {
        memo: Some(&[]),
        ..nothing(thread, 3)
    })
    .await
    .unwrap();
    assert_eq!(
        log.carried(thread).await,
        Ok(carried(80, &None)),
        "an empty memo removes it"
    );
    assert_eq!(log.last_seq(thread).await, Ok(3));
}

pub(super) async fn a_client_turn_is_found(log: &SharedLog) {
    let (one, other) = (thread(log, 1).await, thread(log, 1).await);
    let named = |seq, turn| {
        let turn = TurnId(turn);
        let step = TurnStep::Queued;
        Extract {
            marks: TurnMarks {
                turns: vec![TurnMark { turn, step, seq }],
                client_turns: vec![("mine".into(), turn)],
                ..TurnMarks::default()
            },
            ..Extract::default()
        }
    };
    for (seq, turn) in [(2, 1), (3, 4)] {
        log.append_with(one, &[sample::event(seq, 10)], None, &named(seq, turn))
            .await
            .unwrap();
        assert_eq!(log.client_turn(one, "mine".into()).await, Ok(Some(TurnId(turn))));
    }
    assert_eq!(log.client_turn(one, "yours".into()).await, Ok(None));
    assert_eq!(log.client_turn(other, "mine".into()).await, Ok(None));
}

pub(super) async fn a_claim_is_granted(log: &SharedLog) {
    let thread = thread(log, 1).await;
    let claim = log.claim(thread).await.unwrap();
    let events = [sample::event(2, 10)];
    let append = Append {
        claim,
        ..Append::new(thread, &events)
    };
    log.store(append).await.unwrap();
    assert_eq!(log.last_seq(thread).await, Ok(2));
}

/// A log that one process uses alone grants every claim, and may return the same one again.
pub(super) async fn of_two_claims_only_the_newer_one_may_write(log: &SharedLog) {
    let thread = thread(log, 1).await;
    let older = log.claim(thread).await.unwrap();
    let newer = log.claim(thread).await.unwrap();
    assert!(newer >= older);
    let events = [sample::event(2, 10)];
    let append = |claim| Append {
        claim,
        cursor: Some(7),
        ..Append::new(thread, &events)
    };
    if newer > older {
        assert_eq!(log.store(append(older)).await, Err(LogError::Fenced(thread)));
        assert_eq!(log.last_seq(thread).await, Ok(1));
        assert_eq!(
            log.carried(thread).await,
            Ok(Carried::default()),
            "nothing was stored"
        );
    }
    log.store(append(newer)).await.unwrap();
    assert_eq!(log.last_seq(thread).await, Ok(2));
    let unknown = sample::new_thread();
    let refused = log.claim(unknown).await;
    assert!(
        matches!(refused, Ok(_) | Err(LogError::NoSuchThread(_))),
        "{refused:?}"
    );
}
