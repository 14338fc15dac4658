//! Erasing deleted data delays neither appends nor the end of the log, and survives SIGKILL.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use acpd_log::conformance::{read_all, sample};
use acpd_log::{Durability, LogError, Search, SharedLog, Sqlite};
use acpd_model::limits::LOG_CLOSE_WAL_BYTES;
use acpd_model::{BlobId, ThreadId};

use crate::support::{erased, occurrences};

/// Passes the database's path to the child. Without it, the child's test does nothing.
const DATABASE: &str = "ACPD_TEST_ERASE_FROM";

/// Precedes each line of the child on its stdout, which the test harness writes to as well.
const PROGRESS: &str = "progress";

/// A word that occurs in every deleted text and nowhere else.
const SECRET: &str = "xylophagous";

/// Events of the deleted thread. Erasing them takes hundreds of steps.
const EVENTS: u64 = 1000;

fn open(path: &Path) -> SharedLog {
    Arc::new(Sqlite::open(path, Durability::Process).unwrap())
}

/// Stores a thread with secret events and texts, and a blob of 4 MiB. Returns the blob.
async fn store_secrets(log: &SharedLog, thread: ThreadId) -> BlobId {
    let summary = sample::summary(SECRET, 1);
    let mut answers = Vec::new();
    for seq in 1..=EVENTS {
        let mut event = sample::event(seq, 10);
        event.raw = Some(serde_json::json!({ "text": format!("{SECRET} in event {seq}") }).into());
        let words: Vec<_> = (0..20)
            .map(|number| format!("{SECRET}{}", seq * number))
            .collect();
        let extract = sample::extract(seq, &[&words.join(" ")]);
        answers.push(log.append_with(thread, &[event], Some(&summary), &extract));
        if answers.len() == 100 {
            for answer in answers.drain(..) {
                answer.await.unwrap();
            }
        }
    }
    log.put_blob(thread, SECRET.repeat((4 << 20) / SECRET.len()).into_bytes())
        .await
        .unwrap()
}

#[tokio::test]
async fn appends_are_stored_between_the_steps_of_erasing() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(&directory.path().join("log.db"));
    let (gone, other) = (sample::thread(1), sample::thread(2));
    store_secrets(&log, gone).await;
    let summary = sample::summary("other", 1);
    let deleted = log.delete(gone);
    for seq in 1..=20 {
        log.append(other, &[sample::event(seq, 30)], Some(&summary))
            .await
            .unwrap();
        assert!(
            log.stats().erasing,
            "append {seq} waited until everything was erased"
        );
    }
    deleted.await.unwrap();
    erased(&log).await;
    assert_eq!(occurrences(directory.path(), SECRET), 0);
    assert_eq!(read_all(&log, other, 0).await, sample::run(1..=20, 30));
}

#[tokio::test]
async fn erasing_continues_while_appends_never_cease() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(&directory.path().join("log.db"));
    let (gone, other) = (sample::thread(1), sample::thread(2));
    store_secrets(&log, gone).await;
    log.delete(gone).await.unwrap();
    let summary = sample::summary("other", 1);
    let mut answers = std::collections::VecDeque::new();
    let mut seq = 0;
    // The next append is always queued before the last one is stored.
    while log.stats().erasing {
        seq += 1;
        assert!(seq < 1_000_000, "nothing is erased");
        answers.push_back(log.append(other, &[sample::event(seq, 30)], Some(&summary)));
        if answers.len() > 2 {
            answers.pop_front().unwrap().await.unwrap();
        }
    }
    for answer in answers {
        answer.await.unwrap();
    }
    assert_eq!(log.last_seq(other).await, Ok(seq));
}

#[tokio::test]
async fn closing_leaves_a_large_write_ahead_log_to_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let wal = directory.path().join("log.db-wal");
    let log = open(&path);
    let thread = sample::thread(1);
    let summary = sample::summary("large", 1);
    log.append(thread, &[sample::event(1, 30)], Some(&summary))
        .await
        .unwrap();
    let reading = rusqlite::Connection::open(&path).unwrap();
    reading
        .execute_batch("BEGIN; SELECT count(*) FROM thread;")
        .unwrap();
    let mut blobs = Vec::new();
    for number in 0..=LOG_CLOSE_WAL_BYTES >> 23 {
        let content = vec![u8::try_from(number).unwrap(); 8 << 20];
        blobs.push(log.put_blob(thread, content).await.unwrap());
    }
    drop(reading);
    log.close().await.unwrap();
    assert!(fs::metadata(&wal).unwrap().len() > LOG_CLOSE_WAL_BYTES);

    let log = open(&path);
    for (number, blob) in (0..).zip(blobs) {
        let content = log.blob(blob).await.unwrap().unwrap();
        assert!(content.len() == 8 << 20 && content.iter().all(|byte| *byte == number));
    }
    assert_eq!(log.last_seq(thread).await, Ok(1));
    log.append(thread, &[sample::event(2, 30)], None).await.unwrap();
    log.close().await.unwrap();
    assert!(!wal.exists() || fs::metadata(&wal).unwrap().len() <= LOG_CLOSE_WAL_BYTES);
}

/// Deletes the thread and reports progress until everything is erased.
#[tokio::test]
async fn child_erases_until_it_is_killed() {
    let Some(path) = std::env::var_os(DATABASE) else {
        return;
    };
    let log = open(&PathBuf::from(path));
    log.delete(sample::thread(1)).await.unwrap();
    while log.stats().erasing {
        writeln!(std::io::stdout().lock(), "\n{PROGRESS}").unwrap();
        log.backlog(acpd_log::Lacking::Texts, None).await.unwrap();
    }
}

/// Runs the child and kills it at so many lines of progress. Returns false if it ended before.
fn kill_after(path: &Path, lines: usize) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "erasing::child_erases_until_it_is_killed",
            "--exact",
            "--nocapture",
        ])
        .env(DATABASE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let reported = stdout
        .lines()
        .filter(|line| line.as_ref().unwrap() == PROGRESS)
        .take(lines)
        .count();
    child.kill().unwrap();
    child.wait().unwrap();
    reported == lines
}

#[tokio::test]
async fn erasing_survives_sigkill() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let (gone, other) = (sample::thread(1), sample::thread(2));
    let mut interrupted = 0;
    for lines in [1, 30, 300, 3000, 30_000] {
        let log = open(&path);
        let blob = store_secrets(&log, gone).await;
        let ordinary = sample::extract(1, &["ordinary"]);
        if log.last_seq(other).await.is_err() {
            let summary = sample::summary("other", 1);
            log.append_with(other, &[sample::event(1, 30)], Some(&summary), &ordinary)
                .await
                .unwrap();
        }
        log.close().await.unwrap();
        drop(log);

        let killed = kill_after(&path, lines);
        if killed && occurrences(directory.path(), SECRET) > 0 {
            interrupted += 1;
        }
        let log = open(&path);
        assert_eq!(log.last_seq(gone).await, Err(LogError::NoSuchThread(gone)));
        assert_eq!(log.blob(blob).await, Ok(None));
        for (text, hits) in [(SECRET, 0), ("ordinary", 1)] {
            let (text, thread) = (text.to_owned(), None);
            let found = log.search(Search { text, thread }, None, 10).await.unwrap();
            assert_eq!(found.len(), hits);
        }
        erased(&log).await;
        assert_eq!(
            occurrences(directory.path(), SECRET),
            0,
            "killed after {lines} lines"
        );
        assert_eq!(read_all(&log, other, 0).await, sample::run(1..=1, 30));
        log.close().await.unwrap();
    }
    assert!(interrupted > 1, "the child was killed too late");
}
