//! For the same operations, `SQLite` and memory return the same results.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use acpd_log::conformance::sample;
use acpd_log::{Durability, Filter, ListCursor, LogError, Memory, Search, SharedLog, Sqlite, blob_id};
use acpd_model::event::TurnStatus;
use acpd_model::{Event, Extract, Seq, Summary, ThreadStatus, TurnId, TurnsDropped};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Operation {
    /// `from` is relative to the thread's last event, so that most appends fit.
    Append {
        thread: u64,
        off: i64,
        events: u64,
        bytes: usize,
        summary: Option<Summary>,
        extract: Box<Extract>,
    },
    Broken {
        thread: u64,
        seqs: Vec<Seq>,
    },
    Read {
        thread: u64,
        after: Seq,
    },
    Look {
        thread: u64,
    },
    List {
        filter: Filter,
        cursor: Option<ListCursor>,
        limit: usize,
    },
    Keep {
        thread: u64,
        byte: u8,
    },
    Fetch(u8),
    Delete(u64),
    Search {
        text: String,
        thread: Option<u64>,
        limit: usize,
    },
    Reopen,
}

fn thread() -> impl Strategy<Value = u64> {
    0..4_u64
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a"),
        Just("ABC"),
        Just("b_"),
        Just("%"),
        Just("é"),
        Just("É!"),
        Just("")
    ]
    .prop_map(String::from)
}

const STATUSES: [ThreadStatus; 4] = [
    ThreadStatus::Idle,
    ThreadStatus::Running,
    ThreadStatus::Waiting,
    ThreadStatus::Deleting,
];

fn ended() -> impl Strategy<Value = Option<TurnStatus>> {
    proptest::sample::select(vec![None, Some(TurnStatus::Completed), Some(TurnStatus::Failed)])
}

fn summary() -> impl Strategy<Value = Summary> {
    (
        text(),
        text(),
        proptest::option::of(text()),
        0..STATUSES.len(),
        0..4_i64,
        any::<bool>(),
        ended(),
        proptest::option::of(text()),
    )
        .prop_map(
            |(agent, cwd, name, status, updated_at, archived, last_turn, session_id)| Summary {
                agent,
                cwd,
                name,
                status: STATUSES[status],
                last_turn,
                session_id,
                archived,
                ..sample::summary("", updated_at)
            },
        )
}

fn filter() -> impl Strategy<Value = Filter> {
    use proptest::option::weighted;
    (
        weighted(0.2, any::<bool>()),
        weighted(0.2, text()),
        weighted(0.2, text()),
        weighted(0.2, any::<bool>()),
        weighted(0.2, text()),
        weighted(0.2, 0..STATUSES.len()),
        ended(),
        weighted(0.2, text()),
    )
        .prop_map(
            |(archived, agent, cwd, active, search, status, last_turn, session_id)| Filter {
                archived,
                pinned: None,
                agent,
                cwd,
                active,
                search,
                status: status.map(|status| STATUSES[status]),
                last_turn,
                session_id,
                id: None,
                page_bytes: None,
            },
        )
}

fn cursor() -> impl Strategy<Value = ListCursor> {
    (-1..5_i64, thread()).prop_map(|(updated_at, thread)| ListCursor {
        updated_at,
        thread: sample::thread(thread),
    })
}

/// Similar words, and characters that separate them.
fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => proptest::sample::select(vec!["ab", "abc", "a", "É", "登录", "登", "x_y", "src/ab.rs", "\"", "*", "Ⅻ", "Ж", "ﬁ", "", "हिन्दी", "l'été"])
            .prop_map(String::from),
        1 => any::<char>().prop_map(String::from),
    ];
    let space = proptest::sample::select(vec![" ", "", "\n", "\"", "."]);
    proptest::collection::vec((word, space), 0..6)
        .prop_map(|parts| parts.into_iter().map(|(word, space)| word + space).collect())
}

fn extract() -> impl Strategy<Value = Extract> {
    (
        proptest::collection::vec(words(), 0..3),
        0..3_u64,
        proptest::option::of(0..3_u8),
        proptest::option::weighted(0.1, (0..6_u64, proptest::option::of(0..3_u32))),
        proptest::option::of(1..4_u32),
    )
        .prop_map(|(texts, seq, blob, dropped, turn)| {
            let texts: Vec<_> = texts.iter().map(String::as_str).collect();
            let mut extract = Extract {
                blobs: blob.map(|byte| blob_id(&[byte; 100])).into_iter().collect(),
                ..sample::extract(seq, &texts)
            };
            for text in &mut extract.texts {
                text.turn = turn.map(TurnId);
            }
            extract.dropped.extend(dropped.map(|(seq, kept)| TurnsDropped {
                seq,
                last_kept: kept.map(TurnId),
            }));
            extract
        })
}

fn operation() -> impl Strategy<Value = Operation> {
    let off = prop_oneof![8 => Just(0), 1 => -2..3_i64];
    let bytes = prop_oneof![8 => 0..300_usize, 1 => 50_000..300_000_usize];
    prop_oneof![
        8 => (thread(), off, 1..5_u64, bytes, proptest::option::of(summary()), extract()).prop_map(
            |(thread, off, events, bytes, summary, extract)| {
                Operation::Append { thread, off, events, bytes, summary, extract: Box::new(extract) }
            }
        ),
        1 => (thread(), proptest::collection::vec(0..4_u64, 0..3))
            .prop_map(|(thread, seqs)| Operation::Broken { thread, seqs }),
        4 => (thread(), 0..20_u64).prop_map(|(thread, after)| Operation::Read { thread, after }),
        2 => thread().prop_map(|thread| Operation::Look { thread }),
        4 => (filter(), proptest::option::of(cursor()), 0..5_usize)
            .prop_map(|(filter, cursor, limit)| Operation::List { filter, cursor, limit }),
        1 => (thread(), 0..3_u8).prop_map(|(thread, byte)| Operation::Keep { thread, byte }),
        1 => thread().prop_map(Operation::Delete),
        4 => (words(), proptest::option::weighted(0.3, thread()), 0..5_usize)
            .prop_map(|(text, thread, limit)| Operation::Search { text, thread, limit }),
        1 => (0..4_u8).prop_map(Operation::Fetch),
        1 => Just(Operation::Reopen),
    ]
}

async fn append(
    log: &SharedLog,
    thread: u64,
    events: &[Event],
    summary: Option<&Summary>,
    extract: &Extract,
) -> String {
    let answer = log.append_with(sample::thread(thread), events, summary, extract);
    format!("{:?}", answer.await)
}

/// Performs one operation. Returns the result as text.
async fn perform(log: &SharedLog, operation: &Operation) -> String {
    match operation {
        Operation::Append {
            thread,
            off,
            events,
            bytes,
            summary,
            extract,
        } => {
            let last = match log.last_seq(sample::thread(*thread)).await {
                Ok(last) => last,
                Err(LogError::NoSuchThread(_)) => 0,
                Err(error) => panic!("{error}"),
            };
            let first = (last + 1).saturating_add_signed(*off);
            let events = sample::run(first..=first + events - 1, *bytes);
            append(log, *thread, &events, summary.as_ref(), extract).await
        }
        Operation::Broken { thread, seqs } => {
            let events: Vec<_> = seqs.iter().map(|seq| sample::event(*seq, 10)).collect();
            append(log, *thread, &events, None, &Extract::default()).await
        }
        Operation::Read { thread, after } => {
            format!("{:?}", log.read(sample::thread(*thread), *after).await)
        }
        Operation::Look { thread } => {
            let thread = sample::thread(*thread);
            format!("{:?} {:?}", log.last_seq(thread).await, log.summary(thread).await)
        }
        Operation::List {
            filter,
            cursor,
            limit,
        } => {
            let first = log.list(filter.clone(), *cursor, *limit).await;
            let last = first.as_ref().ok().and_then(|page| page.last());
            let cursor = last.map(|last| ListCursor {
                updated_at: last.summary.updated_at,
                thread: last.thread,
            });
            format!("{first:?} {:?}", log.list(filter.clone(), cursor, *limit).await)
        }
        Operation::Keep { thread, byte } => {
            let answer = log.put_blob(sample::thread(*thread), vec![*byte; 100]);
            format!("{:?}", answer.await)
        }
        Operation::Delete(thread) => format!("{:?}", log.delete(sample::thread(*thread)).await),
        Operation::Search { text, thread, limit } => {
            let search = Search {
                text: text.clone(),
                thread: thread.map(sample::thread),
            };
            let first = log.search(search.clone(), None, *limit).await;
            let cursor = first.as_ref().ok().and_then(|hits| Some(hits.last()?.0));
            let second = log.search(search, cursor, *limit).await;
            // The texts of a deleted thread keep their positions until they are erased, so only the order is the same.
            [first, second]
                .map(|hits| {
                    format!(
                        "{:?}",
                        hits.map(|hits| hits.into_iter().map(|(_, hit)| hit).collect::<Vec<_>>())
                    )
                })
                .join(" ")
        }
        Operation::Fetch(byte) => format!("{:?}", log.blob(blob_id(&[*byte; 100])).await),
        Operation::Reopen => String::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_and_memory_agree(operations in proptest::collection::vec(operation(), 1..40)) {
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
                prop_assert_eq!(one, other);
            }
            Ok(())
        })?;
    }
}
