//! Lists of many threads, which an older version stored: what they contain, and how long they take. Measure with
//! `cargo test --release -p acpd-log --test log -- lists:: --ignored --nocapture`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::time::{Duration, Instant};

use acpd_log::conformance::sample;
use acpd_log::{Durability, EventLog, Filter, ListCursor, Sqlite};
use acpd_model::event::TurnStatus;
use acpd_model::{ThreadId, ThreadStatus};
use rusqlite::Connection;

const THREADS: i64 = 500_000;

/// The longest time of a list, and of opening the log.
const ALLOWED: Duration = Duration::from_millis(50);

/// Writes threads as version 4 of the database has them. The older half differs from the newer half in everything, so that
/// every pair of filters has a case where each matches half of the threads and both match none. Every name contains
/// "parser"; the oldest thread is the only one of its kind.
fn fill(path: &Path, threads: i64) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "DROP TABLE thread_block;
             DROP INDEX thread_listed; DROP INDEX thread_agent; DROP INDEX thread_cwd;
             DROP INDEX thread_active; DROP INDEX thread_failed; DROP INDEX thread_session;
             ALTER TABLE thread DROP COLUMN last_turn;
             ALTER TABLE thread DROP COLUMN session_id;
             CREATE INDEX thread_newest ON thread (updated_at DESC, uuid DESC);
             PRAGMA user_version = 5;",
        )
        .unwrap();
    connection
        .execute(
            "WITH RECURSIVE
                 number (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number WHERE n < ?1),
                 fields AS (
                     SELECT n, n > ?1 / 2 AS new,
                         CASE WHEN n = 1 THEN 'rare' WHEN n > ?1 / 2 THEN 'new' ELSE 'old' END AS agent,
                         CASE WHEN n = 1 THEN '/rare' WHEN n > ?1 / 2 THEN '/home/user/new' ELSE '/home/user/old' END AS cwd,
                         CASE WHEN n = 1 THEN 'Rare Ünicorn #' ELSE
                             iif(n > ?1 / 2, 'newer: fix the parser of ', 'older: write a parser for ') || hex(n) END AS name,
                         iif(n % 2500 = 0, iif(n % 5000 = 0, 'running', 'waiting'), 'idle') AS status,
                         iif(n > ?1 / 2, 'completed', 'failed') AS last_turn,
                         n % 10 = 3 AS archived,
                         1700000000000 + n * 1000 AS updated_at
                     FROM number)
             INSERT INTO thread (uuid, agent, cwd, name, active, archived, updated_at, summary)
             SELECT unhex(format('0192f0c1c5d77c0a%016x', n)), agent, cwd, name, status <> 'idle', archived, updated_at,
                 json_object('agent', agent, 'cwd', cwd, 'name', name, 'status', status, 'lastTurn', last_turn,
                     'sessionId', format('0192f0c1-c5d7-7c0a-0000-%012x', n), 'createdAt', 1, 'updatedAt', updated_at,
                     'turns', 3, 'archived', json(iif(archived, 'true', 'false')))
             FROM fields",
            [threads],
        )
        .unwrap();
}

/// Returns each filter that a client can set, with values that match half of the threads, few, one, and none.
fn filters() -> Vec<(String, Filter)> {
    let mut filters = Vec::new();
    let mut add = |name: &str, filter: Filter| filters.push((name.to_owned(), filter));
    for is in [true, false] {
        let archived = Some(is);
        add(
            &format!("archived {is}"),
            Filter {
                archived,
                ..Filter::default()
            },
        );
    }
    for text in ["new", "old", "rare", "none"] {
        let agent = Some(text.to_owned());
        add(
            &format!("agent {text}"),
            Filter {
                agent,
                ..Filter::default()
            },
        );
    }
    for text in ["/home/user/new", "/home/user/old", "/rare", "/none"] {
        let cwd = Some(text.to_owned());
        add(
            &format!("cwd {text}"),
            Filter {
                cwd,
                ..Filter::default()
            },
        );
    }
    for (name, active, status, last_turn) in [
        ("active", true, None, None),
        ("running", true, Some(ThreadStatus::Running), None),
        ("waiting", true, Some(ThreadStatus::Waiting), None),
        ("idle", false, None, None),
        ("failed", false, None, Some(TurnStatus::Failed)),
    ] {
        let active = Some(active);
        add(
            name,
            Filter {
                active,
                status,
                last_turn,
                ..Filter::default()
            },
        );
    }
    for text in [
        "parser",
        "newer",
        "older",
        "ünicorn",
        "absent from all",
        "#",
        "q",
        "ün",
    ] {
        let search = Some(text.to_owned());
        add(
            &format!("name {text}"),
            Filter {
                search,
                ..Filter::default()
            },
        );
    }
    for text in ["0192f0c1-c5d7-7c0a-0000-000000000001", "none"] {
        let session_id = Some(text.to_owned());
        add(
            &format!("session {text}"),
            Filter {
                session_id,
                ..Filter::default()
            },
        );
    }
    filters
}

/// Some filters match more threads than a walk along an index passes over, and others none.
#[tokio::test]
async fn lists_of_an_older_versions_threads_are_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let open = || Sqlite::open(&path, Durability::Process).unwrap();
    drop(open());
    fill(&path, 4000);
    let log = open();
    let all = log.list(Filter::default(), None, usize::MAX).await.unwrap();
    assert_eq!(all.len(), 4000);
    for (one_name, one) in &filters() {
        for (other_name, other) in &filters() {
            let filter = sample::both(one, other);
            let found = log.list(filter.clone(), None, 100).await.unwrap();
            let expected = all
                .iter()
                .filter(|listed| filter.admits(listed.thread, &listed.summary));
            assert!(found.iter().eq(expected.take(100)), "{one_name}, {other_name}");
        }
    }
}

/// Returns the longest time of a page from the beginning and from the middle, and the most threads on one.
async fn measure(log: &Sqlite, filter: &Filter) -> (Duration, usize) {
    let middle = ListCursor {
        updated_at: 1_700_000_000_000 + THREADS / 4 * 3 * 1000,
        thread: ThreadId(uuid::Uuid::max()),
    };
    let (mut longest, mut most) = (Duration::ZERO, 0);
    for cursor in [None, Some(middle)] {
        // Other work on the host delays one of three less often than a single one.
        let mut shortest = Duration::MAX;
        for _ in 0..3 {
            let begun = Instant::now();
            let found = log.list(filter.clone(), cursor, 100).await.unwrap();
            shortest = shortest.min(begun.elapsed());
            most = most.max(found.len());
        }
        longest = longest.max(shortest);
    }
    (longest, most)
}

#[tokio::test]
#[ignore = "writes 400 MB, and is only of interest in release"]
async fn lists_of_500_000_threads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let open = || Sqlite::open(&path, Durability::Process).unwrap();
    drop(open());
    fill(&path, THREADS);
    let begun = Instant::now();
    drop(open());
    println!("migrated in {:?}", begun.elapsed());
    println!("{} MB", std::fs::metadata(&path).unwrap().len() / 1_000_000);
    let begun = Instant::now();
    let log = open();
    let opened = begun.elapsed();
    println!("opened in {opened:?}");
    let active = Filter {
        active: Some(true),
        ..Filter::default()
    };
    println!("active threads: {:?}", measure(&log, &active).await);

    let mut slow = Vec::new();
    for (name, one) in &filters() {
        let (alone, found) = measure(&log, one).await;
        let (mut longest, mut longest_with) = (Duration::ZERO, String::new());
        for (other_name, other) in filters() {
            for archived in [None, Some(false)] {
                let filter = sample::both(
                    &sample::both(
                        &Filter {
                            archived,
                            ..Filter::default()
                        },
                        one,
                    ),
                    &other,
                );
                let (took, _) = measure(&log, &filter).await;
                if took > longest {
                    (longest, longest_with) = (took, other_name.clone());
                }
                if took > ALLOWED {
                    slow.push((took, filter));
                }
            }
        }
        println!(
            "{name}: {alone:?} ({found} found); with another filter at most {longest:?} ({longest_with})"
        );
    }
    assert!(slow.is_empty() && opened <= ALLOWED, "{slow:#?}");
}
