//! Behavior specific to `SQLite`: files, versions, damage, failing disks.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use acpd_log::backup::{BackupSource, check_copy, lock, log_version};
use acpd_log::conformance::{read_all, sample};
use acpd_log::{Durability, EventLog, LogError, SharedLog, Sqlite, blob_id};
use acpd_model::limits::{LOG_GROUP, LOG_QUEUE, LOG_QUEUE_BYTES};
use acpd_model::{Seq, ThreadId};
use rusqlite::Connection;
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    (directory, path)
}

fn open(path: &Path) -> Result<Sqlite, LogError> {
    Sqlite::open(path, Durability::Process)
}

/// Returns the error message of a failed opening.
fn refusal(path: &Path) -> String {
    open(path).unwrap_err().to_string()
}

async fn append(log: &Sqlite, thread: ThreadId, seqs: std::ops::RangeInclusive<Seq>) -> Result<(), LogError> {
    let summary = sample::summary("sqlite", 1);
    log.append(thread, &sample::run(seqs, 30), Some(&summary)).await
}

/// Changes a database in a way that acpd never does.
fn meddle(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn dropping_stores_what_was_queued_and_frees_the_files() {
    let (_directory, path) = place();
    let thread = sample::thread(1);
    let log = open(&path).unwrap();
    append(&log, thread, 1..=3).await.unwrap();
    drop(log.append(thread, &sample::run(4..=9, 30), None));
    drop(log);
    let log: SharedLog = Arc::new(open(&path).unwrap());
    assert_eq!(read_all(&log, thread, 0).await, sample::run(1..=9, 30));
    log.close().await.unwrap();
    drop(log);
    open(&path).unwrap();
}

#[tokio::test]
async fn closing_leaves_one_file_and_the_lock() {
    let (directory, path) = place();
    let log = open(&path).unwrap();
    append(&log, sample::thread(1), 1..=3).await.unwrap();
    log.close().await.unwrap();
    let mut names: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["log.db", "log.db.lock"]);
}

#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    let (directory, path) = place();
    let log = open(&path).unwrap();
    append(&log, sample::thread(1), 1..=3).await.unwrap();
    let mut modes = Vec::new();
    for entry in fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        modes.push((
            entry.file_name(),
            entry.metadata().unwrap().permissions().mode() & 0o777,
        ));
    }
    assert_eq!(modes.len(), 4, "{modes:?}");
    assert!(modes.iter().all(|(_, mode)| *mode == 0o600), "{modes:?}");
}

#[test]
fn one_process_has_the_database() {
    let (_directory, path) = place();
    let log = open(&path).unwrap();
    let refusal = refusal(&path);
    assert!(refusal.contains(path.to_str().unwrap()), "{refusal}");
    assert!(refusal.contains("in use by another acpd"), "{refusal}");
    drop(log);
    open(&path).unwrap();
}

/// Returns the content of the database and of its write-ahead log.
fn content(path: &Path) -> [Option<Vec<u8>>; 2] {
    let wal = path.with_file_name("log.db-wal");
    [fs::read(path).ok(), fs::read(wal).ok()]
}

#[tokio::test]
async fn a_newer_database_is_refused_and_left_alone() {
    let (directory, path) = place();
    let log = open(&path).unwrap();
    append(&log, sample::thread(1), 1..=3).await.unwrap();
    drop(log);
    meddle(&path, "PRAGMA user_version = 99");
    let (_other, of_killed) = place();
    let killed = Connection::open(&path).unwrap();
    killed
        .execute_batch("PRAGMA journal_mode = WAL; UPDATE thread SET cwd = '/changed'")
        .unwrap();
    for file in ["log.db", "log.db-wal"] {
        fs::copy(directory.path().join(file), of_killed.with_file_name(file)).unwrap();
    }
    drop(killed);
    assert!(
        fs::metadata(of_killed.with_file_name("log.db-wal"))
            .unwrap()
            .len()
            > 0
    );
    for path in [path, of_killed] {
        let before = content(&path);
        let error = open(&path).unwrap_err();
        assert!(matches!(error, LogError::Newer { version: 99, .. }), "{error:?}");
        let refusal = error.to_string();
        assert!(refusal.contains("newer acpd"), "{refusal}");
        assert!(
            refusal.contains("99") && refusal.contains(path.to_str().unwrap()),
            "{refusal}"
        );
        assert_eq!(content(&path)[0], before[0]);
        assert_eq!(
            content(&path)[1].clone().unwrap_or_default(),
            before[1].clone().unwrap_or_default()
        );
    }
}

#[tokio::test]
async fn a_copy_is_made_beside_a_writer_and_has_no_remains() {
    let (directory, path) = place();
    let log = open(&path).unwrap();
    append(&log, sample::thread(1), 1..=3).await.unwrap();
    append(&log, sample::thread(2), 1..=3).await.unwrap();
    let source = BackupSource::open(&path).unwrap();
    let needed = source.bytes().unwrap();
    let copy = directory.path().join("a copy?#%.db");
    source.copy_to(&copy).unwrap();
    // The writer goes on, and the copy is of the moment before.
    append(&log, sample::thread(3), 1..=3).await.unwrap();
    let contents = check_copy(&copy).unwrap();
    assert_eq!((contents.version, contents.threads), (log_version(), 2));
    assert!(fs::metadata(&copy).unwrap().len() <= needed);
    let beside: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("a copy"))
        .collect();
    assert_eq!(beside, ["a copy?#%.db"]);
    assert!(matches!(lock(&path), Err(LogError::InUse(_))));
    drop(log);
    drop(lock(&path).unwrap());
    let log: SharedLog = Arc::new(open(&copy).unwrap());
    assert_eq!(read_all(&log, sample::thread(2), 0).await.len(), 3);
}

#[tokio::test]
async fn a_damaged_or_foreign_copy_is_found() {
    let (_directory, path) = place();
    let log = open(&path).unwrap();
    append(&log, sample::thread(1), 1..=200).await.unwrap();
    drop(log);
    check_copy(&path).unwrap();
    let whole = fs::read(&path).unwrap();

    meddle(
        &path,
        "CREATE TRIGGER more AFTER INSERT ON thread BEGIN DELETE FROM chunk; END",
    );
    assert!(matches!(check_copy(&path), Err(LogError::Damaged(_))));
    fs::write(&path, &whole).unwrap();
    meddle(&path, "PRAGMA user_version = 99");
    assert!(matches!(check_copy(&path), Err(LogError::Newer { .. })));

    // Each page but the first, whose header is checked otherwise.
    let mut damaged = whole.clone();
    damaged[4096..].fill(0xa5);
    fs::write(&path, &damaged).unwrap();
    assert!(matches!(check_copy(&path), Err(LogError::Damaged(_))));
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(check_copy(&path), Err(LogError::Damaged(_))));
    fs::write(&path, "certainly no database".repeat(100)).unwrap();
    assert!(matches!(check_copy(&path), Err(LogError::Damaged(_))));
    fs::write(&path, "").unwrap();
    assert!(matches!(check_copy(&path), Err(LogError::Damaged(_))));
}

#[test]
fn files_other_than_databases_count_as_damaged() {
    let (_directory, path) = place();
    fs::write(
        &path,
        "certainly no database, but long enough to have a header".repeat(50),
    )
    .unwrap();
    assert!(matches!(open(&path), Err(LogError::Damaged(_))));
}

#[test]
fn a_place_that_takes_no_files_is_named() {
    let (directory, path) = place();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o500)).unwrap();
    let root = fs::write(directory.path().join("probe"), "").is_ok();
    // File modes do not stop root, but sysfs does.
    let read_only = if root { "/sys/log.db".into() } else { path };
    let missing = directory.path().join("missing").join("log.db");
    for path in [&read_only, &missing, &directory.path().join("\0.db")] {
        let refusal = refusal(path);
        assert!(
            refusal.contains(path.parent().unwrap().to_str().unwrap()),
            "{refusal}"
        );
        assert!(refusal.contains("cannot be opened"), "{refusal}");
    }
}

#[tokio::test]
async fn damage_is_reported_and_other_threads_work() {
    for (number, damage) in (1..).zip([
        "UPDATE chunk SET body = x'' WHERE thread = 1",
        "UPDATE chunk SET body = x'ff' WHERE thread = 1",
        "UPDATE chunk SET body = substr(body, 1, 40) WHERE thread = 1",
        "UPDATE chunk SET first_seq = -1 WHERE thread = 1",
        "UPDATE chunk SET first_seq = 2 WHERE thread = 1 AND first_seq = 1",
        "DELETE FROM chunk WHERE thread = 1 AND first_seq = 1",
        "UPDATE chunk SET body = (SELECT body FROM chunk WHERE thread = 2)",
        "UPDATE thread SET summary = '{' WHERE id = 1",
    ]) {
        let (_directory, path) = place();
        let log = open(&path).unwrap();
        let (hurt, sound) = (sample::thread(1), sample::thread(2));
        append(&log, hurt, 1..=3).await.unwrap();
        append(&log, hurt, 4..=5).await.unwrap();
        append(&log, sound, 1..=1).await.unwrap();
        meddle(&path, damage);
        let page = log.read(hurt, 0).await.map(|page| page.events.len());
        let told = page.and(log.summary(hurt).await.map(|_| 0)).unwrap_err();
        assert!(
            matches!(&told, LogError::DamagedEvents { .. } | LogError::Damaged(_)),
            "{number}: {told}"
        );
        assert_eq!(log.read(sound, 0).await.unwrap().events, sample::run(1..=1, 30));
        assert!(log.summary(sound).await.is_ok());
    }
}

#[tokio::test]
async fn events_around_a_damaged_row_can_be_read() {
    for damage in [
        "UPDATE chunk SET body = x'' WHERE first_seq = 3",
        "UPDATE chunk SET body = substr(body, 1, 40) WHERE first_seq = 3",
        "UPDATE chunk SET body = CAST(x'ff' || substr(body, 2) AS BLOB) WHERE first_seq = 3",
        "UPDATE chunk SET first_seq = -1 WHERE first_seq = 3",
        "DELETE FROM chunk WHERE first_seq = 3",
    ] {
        let (_directory, path) = place();
        let log = open(&path).unwrap();
        let thread = sample::thread(1);
        for seqs in [1..=2, 3..=5, 6..=6] {
            append(&log, thread, seqs).await.unwrap();
        }
        meddle(&path, damage);
        let page = log.read(thread, 0).await.unwrap();
        assert_eq!(
            (page.events, page.at_end),
            (sample::run(1..=2, 30), false),
            "{damage}"
        );
        let found = log.read(thread, 2).await;
        let Err(LogError::DamagedEvents { first, last, .. }) = found else {
            panic!("{damage}: {found:?}");
        };
        assert_eq!((first, last), (3, 5), "{damage}");
        let page = log.read(thread, 5).await.unwrap();
        assert_eq!(
            (page.events, page.at_end),
            (sample::run(6..=6, 30), true),
            "{damage}"
        );
        assert!(log.events(thread, vec![1, 6]).await.is_ok(), "{damage}");
        log.delete(thread).await.unwrap();
    }
}

#[tokio::test]
async fn an_append_that_fails_spoils_no_other() {
    let (_directory, path) = place();
    let log = open(&path).unwrap();
    meddle(
        &path,
        "CREATE TRIGGER refuse BEFORE INSERT ON chunk WHEN new.first_seq = 2
         BEGIN SELECT RAISE(ABORT, 'no second event'); END",
    );
    let threads: Vec<_> = (0..20).map(sample::thread).collect();
    let mut answers = Vec::new();
    for thread in &threads {
        let (first, second) = (sample::summary("first", 1), sample::summary("second", 2));
        answers.push(log.append(*thread, &sample::run(1..=1, 30), Some(&first)));
        answers.push(log.append(*thread, &sample::run(2..=2, 30), Some(&second)));
    }
    for (number, answer) in answers.into_iter().enumerate() {
        match answer.await {
            Ok(()) => assert_eq!(number % 2, 0),
            Err(LogError::Storage(what)) => {
                assert_eq!(number % 2, 1);
                assert!(what.contains("no second event"), "{what}");
            }
            Err(other) => panic!("{other}"),
        }
    }
    for thread in threads {
        assert_eq!(log.last_seq(thread).await, Ok(1));
        assert_eq!(log.summary(thread).await.unwrap().name.as_deref(), Some("first"));
    }
    meddle(&path, "DROP TRIGGER refuse");
    append(&log, sample::thread(0), 2..=2).await.unwrap();
}

#[tokio::test]
async fn a_commit_that_fails_stores_nothing() {
    let (_directory, path) = place();
    let log = open(&path).unwrap();
    let thread = sample::thread(1);
    append(&log, thread, 1..=1).await.unwrap();
    meddle(
        &path,
        "CREATE TABLE parent (id INTEGER PRIMARY KEY);
         CREATE TABLE child (parent REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
         CREATE TRIGGER owe AFTER INSERT ON chunk BEGIN INSERT INTO child VALUES (1); END",
    );
    let answers: Vec<_> = (2..9)
        .map(|seq| log.append(thread, &sample::run(seq..=seq, 30), None))
        .collect();
    for answer in answers {
        let told = answer.await.unwrap_err();
        assert!(
            matches!(told, LogError::Storage(_) | LogError::Conflict { last: 1, .. }),
            "{told}"
        );
    }
    assert_eq!(log.last_seq(thread).await, Ok(1));
    meddle(&path, "DROP TRIGGER owe");
    append(&log, thread, 2..=3).await.unwrap();
    assert_eq!(log.read(thread, 0).await.unwrap().events, sample::run(1..=3, 30));
}

#[tokio::test]
async fn a_full_queue_is_waited_for() {
    let (_directory, path) = place();
    let log = open(&path).unwrap();
    let count = u64::try_from(LOG_QUEUE + 2 * LOG_GROUP).unwrap();
    let writing = rusqlite::Connection::open(&path).unwrap();
    writing.execute_batch("BEGIN IMMEDIATE").unwrap();
    let summary = sample::summary("patient", 1);
    // One append for each thread: an append that waits for room in the queue may be overtaken.
    let answers: Vec<_> = (1..=count)
        .map(|number| log.append(sample::thread(number), &[sample::event(1, 30)], Some(&summary)))
        .collect();
    writing.execute_batch("COMMIT").unwrap();
    for answer in answers {
        assert_eq!(answer.await, Ok(()));
    }
    assert_eq!(log.last_seq(sample::thread(count)).await, Ok(1));
}

#[tokio::test]
async fn the_queue_is_bounded_in_bytes() {
    const EACH: usize = LOG_QUEUE_BYTES as usize / 4;
    let (_directory, path) = place();
    let log = open(&path).unwrap();
    let thread = sample::thread(1);
    let summary = sample::summary("large", 1);
    log.append(thread, &[sample::event(1, 30)], Some(&summary))
        .await
        .unwrap();
    let writing = rusqlite::Connection::open(&path).unwrap();
    writing.execute_batch("BEGIN IMMEDIATE").unwrap();
    let contents = || (0..8).map(|number| vec![number; EACH]);
    let answers: Vec<_> = contents().map(|content| log.put_blob(thread, content)).collect();
    assert!(log.stats().waiting <= 4, "{}", log.stats().waiting);
    let too_large = log.put_blob(thread, vec![9; LOG_QUEUE_BYTES as usize + 1]);
    writing.execute_batch("COMMIT").unwrap();
    for answer in answers {
        answer.await.unwrap();
    }
    too_large.await.unwrap();
    for content in contents() {
        assert_eq!(log.blob(blob_id(&content)).await, Ok(Some(content)));
    }
}

#[tokio::test]
async fn more_threads_than_are_remembered() {
    let (_directory, path) = place();
    let log = open(&path).unwrap();
    for round in 1..=2 {
        for number in (0..5000_u64).step_by(100) {
            let answers: Vec<_> = (number..number + 100)
                .map(|number| {
                    let summary = sample::summary("many", number.cast_signed());
                    let event = [sample::event(round, 30)];
                    log.append(sample::thread(number), &event, Some(&summary))
                })
                .collect();
            for answer in answers {
                assert_eq!(answer.await, Ok(()));
            }
        }
    }
    log.close().await.unwrap();
    drop(log);
    let before = Instant::now();
    let log = open(&path).unwrap();
    println!("opened with 5000 threads in {:?}", before.elapsed());
    for number in [0, 4999] {
        assert_eq!(log.last_seq(sample::thread(number)).await, Ok(2));
    }
}
