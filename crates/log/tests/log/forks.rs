//! `SQLite` and the backend in memory agree about forks: whatever is appended, forked and deleted in whatever order, both
//! return the same events, pages of turns and snapshots.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::sync::Arc;

use acpd_log::conformance::sample;
use acpd_log::{Append, Durability, LogError, Memory, SharedLog, Snapshot, Sqlite, TurnsFound, TurnsWanted};
use acpd_model::limits::{LOG_PAGE_BYTES, SNAPSHOT_SPACING};
use acpd_model::{
    Extract, Inherited, ItemId, ItemMark, LateMark, NotePlace, Seq, ThreadId, TurnId, TurnMark, TurnMarks,
    TurnPosition, TurnStep,
};
use proptest::prelude::*;

/// An operation on some of a few threads.
#[derive(Debug, Clone)]
enum Operation {
    Append {
        thread: u64,
        events: u64,
        bytes: usize,
        marks: Vec<(u32, u8)>,
        snapshot: bool,
    },
    Fork {
        from: u64,
        to: u64,
        back: Seq,
    },
    Delete(u64),
    Read {
        thread: u64,
        after: Seq,
    },
    Turns {
        thread: u64,
        wanted: TurnsWanted,
    },
    Look {
        thread: u64,
        turn: Option<u32>,
        until: Seq,
    },
    Reopen,
}

fn thread() -> impl Strategy<Value = u64> {
    0..4_u64
}

fn wanted() -> impl Strategy<Value = TurnsWanted> {
    let before = proptest::option::of((0..6_u32, proptest::option::of(1..8_u32)));
    let dropped = proptest::option::weighted(0.3, (1..4_u32, 0..2_u32));
    (before, 0..4_usize, 0..3000_u64, 0..40_u64, dropped).prop_map(
        |(before, turns, bytes, until, dropped)| TurnsWanted {
            before: before.map(|(turn, item)| TurnPosition {
                turn,
                item: item.map(ItemId),
            }),
            turns,
            bytes,
            until: if until > 30 { Seq::MAX } else { until },
            dropped: dropped
                .map(|(first, more)| first..=first + more)
                .into_iter()
                .collect(),
            open: Vec::new(),
        },
    )
}

fn operation() -> impl Strategy<Value = Operation> {
    let marks = proptest::collection::vec((1..8_u32, 0..6_u8), 0..3);
    let bytes = prop_oneof![9 => 0..300_usize, 1 => Just(LOG_PAGE_BYTES / 3)];
    prop_oneof![
        8 => (thread(), 1..6_u64, bytes, marks, proptest::bool::weighted(0.3)).prop_map(
            |(thread, events, bytes, marks, snapshot)| Operation::Append { thread, events, bytes, marks, snapshot }
        ),
        4 => (thread(), thread(), 0..12_u64).prop_map(|(from, to, back)| Operation::Fork { from, to, back }),
        2 => thread().prop_map(Operation::Delete),
        4 => (thread(), 0..30_u64).prop_map(|(thread, after)| Operation::Read { thread, after }),
        4 => (thread(), wanted()).prop_map(|(thread, wanted)| Operation::Turns { thread, wanted }),
        2 => (thread(), proptest::option::of(1..6_u32), 0..30_u64)
            .prop_map(|(thread, turn, until)| Operation::Look { thread, turn, until }),
        1 => Just(Operation::Reopen),
    ]
}

/// Returns places as an append of events from `first` to `last` may have them. Turns and items are placed in order.
fn extract(marks: &[(u32, u8)], first: Seq, last: Seq) -> Extract {
    let mut found = TurnMarks::default();
    for (item, kind) in marks {
        let turn = TurnId(1 + u32::try_from(first).unwrap() / 6);
        let item = ItemId(*item);
        // A turn takes each step once in its life, so that each has an event of its own among the six of a turn.
        let step = [TurnStep::Queued, TurnStep::Started, TurnStep::Settled]
            .into_iter()
            .zip([0, 2, 4])
            .find(|(_, at)| first % 6 == *at);
        match kind {
            0..=2 => found.turns.extend(step.map(|(step, _)| TurnMark {
                turn,
                step,
                seq: first,
            })),
            3 => found.late.push(LateMark {
                place: NotePlace::Item(item),
                seq: last,
            }),
            _ => found.items.push(ItemMark {
                // An item has one place in its life.
                item: ItemId(u32::try_from(first).unwrap()),
                turn: (turn.0 > 1).then_some(turn),
                first,
                last,
                bytes: 100 * u64::from(item.0),
            }),
        }
        if *kind < 2 && first.is_multiple_of(6) {
            // A client's id names one turn in the life of a thread, which looks it up before it makes another.
            found.client_turns.push((format!("client {}", turn.0), turn));
        }
    }
    found.items.dedup_by_key(|item| item.item);
    Extract {
        marks: found,
        ..Extract::default()
    }
}

async fn last_of(log: &SharedLog, thread: ThreadId) -> Seq {
    match log.last_seq(thread).await {
        Ok(last) => last,
        Err(LogError::NoSuchThread(_)) => 0,
        Err(error) => panic!("{error}"),
    }
}

/// Performs one operation. Returns the result as text.
async fn perform(log: &SharedLog, operation: &Operation) -> String {
    let summary = sample::summary("forks", 1);
    match operation {
        Operation::Append {
            thread,
            events,
            bytes,
            marks,
            snapshot,
        } => {
            let thread = sample::thread(*thread);
            let after = last_of(log, thread).await;
            let last = after + events;
            let events = sample::run(after + 1..=last, *bytes);
            let extract = extract(marks, after + 1, last);
            let state = Snapshot {
                seq: last,
                weight: last * SNAPSHOT_SPACING / 4,
                format: 1,
                body: format!("{thread} at {last}").into(),
            };
            let append = Append {
                summary: Some(&summary),
                extract: &extract,
                snapshot: snapshot.then_some(&state),
                ..Append::new(thread, &events)
            };
            format!("{:?}", log.store(append).await)
        }
        Operation::Fork { from, to, back } => {
            let (from, to) = (sample::thread(*from), sample::thread(*to));
            let until = last_of(log, from).await.saturating_sub(*back);
            let own = [sample::event(until + 1, 40)];
            let append = Append {
                summary: Some(&summary),
                inherits: Some(Inherited { from, until }),
                ..Append::new(to, &own)
            };
            format!("{:?}", log.store(append).await)
        }
        Operation::Delete(thread) => format!("{:?}", log.delete(sample::thread(*thread)).await),
        Operation::Read { thread, after } => {
            format!("{:?}", log.read(sample::thread(*thread), *after).await)
        }
        Operation::Turns { thread, wanted } => {
            let found = log.turns(sample::thread(*thread), wanted.clone()).await;
            let seqs = found.iter().flatten().flat_map(TurnsFound::seqs).collect();
            format!("{found:?} {:?}", log.events(sample::thread(*thread), seqs).await)
        }
        Operation::Look { thread, turn, .. } => {
            let thread = sample::thread(*thread);
            let name = format!("client {}", turn.unwrap_or(1));
            format!(
                "{:?} {:?} {:?}",
                log.last_seq(thread).await,
                log.end_of_turns(thread, turn.map(TurnId)).await,
                log.client_turn(thread, name).await,
            )
        }
        Operation::Reopen => String::new(),
    }
}

/// Compares the snapshots that a thread has up to `until`. In `SQLite` a fork uses those of its origin, which has fewer as it
/// grows, and in memory it has copies: `SQLite`'s may be an older one, or none.
async fn same_snapshots(
    memory: &SharedLog,
    sqlite: &SharedLog,
    thread: ThreadId,
    until: Seq,
) -> Result<(), TestCaseError> {
    let found = sqlite.snapshot(thread, until, 1).await;
    let until = match &found {
        Ok(Some(snapshot)) => snapshot.seq,
        Ok(None) => return Ok(()),
        Err(_) => until,
    };
    let same = memory.snapshot(thread, until, 1).await;
    prop_assert_eq!(format!("{same:?}"), format!("{found:?}"));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_and_memory_agree_about_forks(operations in proptest::collection::vec(operation(), 1..40)) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.db");
        let open = || -> SharedLog { Arc::new(Sqlite::open(&path, Durability::Process).unwrap()) };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let memory: SharedLog = Arc::new(Memory::new());
            let mut sqlite = open();
            for operation in &operations {
                if matches!(operation, Operation::Reopen) {
                    sqlite.close().await.unwrap();
                    sqlite = open();
                }
                let (one, other) = (perform(&memory, operation).await, perform(&sqlite, operation).await);
                prop_assert_eq!(one, other, "{:?}", operation);
                if let Operation::Look { thread, until, .. } = operation {
                    same_snapshots(&memory, &sqlite, sample::thread(*thread), *until).await?;
                }
            }
            Ok(())
        })?;
    }
}
