//! Deleted data is in no file any more. Deletion and indexing survive SIGKILL atomically.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use acpd_log::conformance::{read_all, sample};
use acpd_log::{Append, Durability, Lacking, LogError, Search, SharedLog, Sqlite};
use acpd_model::{Extract, Inherited, Seq, ThreadId};

use crate::support::{erased, occurrences};

const ROUNDS: usize = 8;

/// Passes the database's path to the child. Without it, the child's test does nothing.
const DATABASE: &str = "ACPD_TEST_DELETE_FROM";

/// Precedes each acknowledgement on the child's stdout, which the test harness writes to as well.
const ACKNOWLEDGED: &str = "acknowledged";

/// A word that occurs in every deleted text and nowhere else.
const SECRET: &str = "xylophagous";

fn open(path: &Path) -> SharedLog {
    Arc::new(Sqlite::open(path, Durability::Process).unwrap())
}

async fn found(log: &SharedLog, thread: Option<ThreadId>, text: &str) -> usize {
    let text = text.to_owned();
    log.search(Search { text, thread }, None, 1000)
        .await
        .unwrap()
        .len()
}

/// Stores a thread whose events, name, texts and blob all contain the word.
async fn store(log: &SharedLog, thread: ThreadId, word: &str) {
    let mut summary = sample::summary(word, 1);
    for seq in 1..=40 {
        let mut event = sample::event(seq, 10);
        event.raw = Some(serde_json::json!({ "text": format!("{word} in event {seq}") }).into());
        summary.metadata = Some(serde_json::json!({ "note": format!("{word} {seq}").repeat(100) }).into());
        let (short, long) = (format!("{word} {seq}"), format!("{word} filler ").repeat(40));
        let extract = sample::extract(seq, &[&short, &long]);
        log.append_with(thread, &[event], Some(&summary), &extract)
            .await
            .unwrap();
    }
    log.put_blob(thread, format!("{word} of {thread} ").repeat(1000).into_bytes())
        .await
        .unwrap();
}

#[tokio::test]
async fn deleted_text_is_in_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(&directory.path().join("log.db"));
    let (thread, other) = (sample::thread(1), sample::thread(2));
    let around: Vec<_> = (10..20).map(sample::thread).collect();
    store(&log, around[0], "ordinary").await;
    store(&log, thread, SECRET).await;
    store(&log, other, SECRET).await;
    for thread in &around[1..] {
        store(&log, *thread, "ordinary").await;
    }
    assert!(
        occurrences(directory.path(), SECRET) > 0,
        "the test looks at the wrong place"
    );
    log.delete(thread).await.unwrap();
    assert_eq!(found(&log, None, SECRET).await, 80);
    log.delete(other).await.unwrap();
    assert_eq!(found(&log, None, SECRET).await, 0);
    erased(&log).await;
    assert_eq!(occurrences(directory.path(), SECRET), 0, "while the log is open");
    assert_eq!(found(&log, None, "ordinary").await, 800);
    store(&log, thread, SECRET).await;
    log.delete(thread).await.unwrap();
    log.close().await.unwrap();
    assert_eq!(occurrences(directory.path(), SECRET), 0, "when the log is closed");
}

#[tokio::test]
async fn a_removed_blob_is_in_no_file_and_comes_back_if_it_is_stored_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let log = open(&path);
    let thread = sample::thread(1);
    log.append(thread, &sample::run(1..=3, 10), Some(&sample::summary("kept", 1)))
        .await
        .unwrap();
    let content = |number: usize| format!("{SECRET} {number} ").repeat(10_000 * number).into_bytes();
    let mut blobs = Vec::new();
    for number in 1..=3 {
        blobs.push(log.put_blob(thread, content(number)).await.unwrap());
    }
    assert!(occurrences(directory.path(), SECRET) > 0);
    let full = log.usage().await.unwrap();
    log.remove_blobs(thread, 2).await.unwrap();
    // Stored again while it may be half overwritten.
    assert_eq!(log.put_blob(thread, content(2)).await, Ok(blobs[1]));
    assert_eq!(log.blob(blobs[1]).await, Ok(Some(content(2))));
    log.remove_blobs(thread, 2).await.unwrap();
    erased(&log).await;
    assert_eq!(occurrences(directory.path(), SECRET), 0);
    let empty = log.usage().await.unwrap();
    assert_eq!(empty.erasing_bytes, 0);
    assert!(empty.bytes + 700_000 < full.bytes, "{full:?} {empty:?}");
    log.close().await.unwrap();
    drop(log);
    let log = open(&path);
    for blob in &blobs {
        assert_eq!(log.blob(*blob).await, Ok(None));
        assert_eq!(log.is_removed(*blob).await, Ok(true));
    }
    assert_eq!(log.put_blob(thread, content(1)).await, Ok(blobs[0]));
    assert_eq!(log.blob(blobs[0]).await, Ok(Some(content(1))));
    assert_eq!(read_all(&log, thread, 0).await, sample::run(1..=3, 10));
}

/// A fork keeps the events that it shares with its origin, and nothing of what the origin did afterwards, even if one row has
/// both.
#[tokio::test]
async fn the_end_of_a_deleted_origin_is_in_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(&directory.path().join("log.db"));
    let (origin, fork) = (sample::thread(1), sample::thread(2));
    let event = |seq| {
        let word = if seq > 30 { SECRET } else { "ordinary" };
        let mut event = sample::event(seq, 10);
        event.raw = Some(serde_json::json!({ "text": format!("{word} in event {seq}").repeat(20) }).into());
        event
    };
    let events: Vec<_> = (1..=60).map(event).collect();
    for batch in [&events[..20], &events[20..40], &events[40..]] {
        log.append(origin, batch, Some(&sample::summary("origin", 1)))
            .await
            .unwrap();
    }
    let secret = log
        .put_blob(origin, SECRET.repeat(1000).into_bytes())
        .await
        .unwrap();
    let inherits = Some(Inherited {
        from: origin,
        until: 30,
    });
    let own = [sample::event(31, 10)];
    let append = Append {
        summary: Some(&sample::summary("fork", 1)),
        inherits,
        ..Append::new(fork, &own)
    };
    log.store(append).await.unwrap();
    assert!(occurrences(directory.path(), SECRET) > 0);
    log.delete(origin).await.unwrap();
    erased(&log).await;
    assert_eq!(occurrences(directory.path(), SECRET), 0);
    assert_eq!(log.blob(secret).await, Ok(None));
    assert_eq!(read_all(&log, fork, 0).await[..30], events[..30]);
    log.delete(fork).await.unwrap();
    log.close().await.unwrap();
    assert_eq!(
        occurrences(directory.path(), "ordinary"),
        0,
        "nothing needs the shared events"
    );
}

/// Deletes the thread, and returns how many pages of the closed database differ afterwards.
async fn pages_changed_by_deletion(path: &Path, thread: ThreadId) -> usize {
    let before = fs::read(path).unwrap();
    let log = open(path);
    log.delete(thread).await.unwrap();
    log.close().await.unwrap();
    let after = fs::read(path).unwrap();
    let (before, after) = (before.chunks(4096), after.chunks(4096));
    before
        .zip(after)
        .filter(|(before, after)| before != after)
        .count()
}

#[tokio::test]
async fn a_deletion_rewrites_only_what_was_deleted() {
    for threads in [2, 50] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.db");
        let log = open(&path);
        for thread in 0..threads {
            store(&log, sample::thread(thread), "ordinary").await;
        }
        log.close().await.unwrap();
        pages_changed_by_deletion(&path, sample::thread(0)).await;
        let changed = pages_changed_by_deletion(&path, sample::thread(1)).await;
        assert!(changed < 300, "{changed} pages with {threads} threads");
    }
}

/// Creates threads and deletes every second one, forever.
#[tokio::test]
async fn child_deletes_until_it_is_killed() {
    let Some(path) = std::env::var_os(DATABASE) else {
        return;
    };
    let log = open(&PathBuf::from(path));
    // Begins a little before the existing threads, since the previous child was killed in the middle.
    let (mut number, mut missing) = (1, 0);
    while missing < 4 {
        let is_there = log.last_seq(sample::thread(number)).await.is_ok();
        missing = if is_there { 0 } else { missing + 1 };
        number += 1;
    }
    number = number.saturating_sub(8).max(1);
    let acknowledge = |what: &str, number: u64| {
        writeln!(std::io::stdout().lock(), "\n{ACKNOWLEDGED} {what} {number}").unwrap();
    };
    loop {
        let thread = sample::thread(number);
        let summary = sample::summary("made", 1);
        for seq in 1..=3 {
            let extract = sample::extract(seq, &["made here"]);
            let stored = log.append_with(thread, &sample::run(seq..=seq, 40), Some(&summary), &extract);
            match stored.await {
                Ok(()) | Err(LogError::Conflict { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        log.put_blob(thread, number.to_le_bytes().to_vec()).await.unwrap();
        acknowledge("made", number);
        if number % 2 == 0 {
            log.delete(thread).await.unwrap();
            acknowledge("deleted", number);
        }
        number += 1;
    }
}

/// Runs the child until it has sent so many acknowledgements. Returns the last thread that it created and the last that
/// it deleted.
fn kill_after(path: &Path, acknowledgements: usize) -> (u64, u64) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "deletion::child_deletes_until_it_is_killed",
            "--exact",
            "--nocapture",
        ])
        .env(DATABASE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut made, mut deleted, mut count) = (0, 0, 0);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while lines.read_line(&mut line).unwrap() > 0 {
        let words: Vec<_> = line.split_whitespace().collect();
        if let ([ACKNOWLEDGED, what, number], true) = (words.as_slice(), line.ends_with('\n')) {
            let number = number.parse().unwrap();
            if *what == "made" {
                made = number
            } else {
                deleted = number
            }
            count += 1;
            if count == acknowledgements {
                child.kill().unwrap();
            }
        }
        line.clear();
    }
    assert!(count >= acknowledgements, "the child ended by itself");
    child.wait().unwrap();
    (made, deleted)
}

#[tokio::test]
async fn deletions_survive_sigkill() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let mut highest = 0;
    for round in 0..ROUNDS {
        let (made, deleted) = kill_after(&path, 1 + round * 7 % 20);
        let log = open(&path);
        highest = highest.max(made);
        let mut texts = 0;
        for number in 1..=highest + 2 {
            let thread = sample::thread(number);
            let blob = log.blob(acpd_log::blob_id(&number.to_le_bytes())).await.unwrap();
            match log.last_seq(thread).await {
                Ok(last) => {
                    assert!(number % 2 == 1 || number > deleted, "{number} was deleted");
                    assert!(last == 3 || number > made, "{number} was made");
                    assert!(blob.is_some() || number > made, "{number} has its blob");
                    assert_eq!(read_all(&log, thread, 0).await, sample::run(1..=last, 40));
                    let hits = found(&log, Some(thread), "made").await;
                    assert_eq!(hits as Seq, last, "what is stored is found");
                    texts += hits;
                }
                Err(LogError::NoSuchThread(_)) => {
                    assert!(
                        number % 2 == 0 || number > made,
                        "round {round}: {number} is lost"
                    );
                    assert_eq!(blob, None, "round {round}: {number}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(found(&log, None, "made").await, texts, "nothing else is found");
        log.close().await.unwrap();
    }
}

/// The tables of version 1, as that version created them.
const VERSION_1: &str = "
    CREATE TABLE thread (
        id INTEGER PRIMARY KEY, uuid BLOB NOT NULL UNIQUE, agent TEXT NOT NULL, cwd TEXT NOT NULL, name TEXT,
        active INTEGER NOT NULL, archived INTEGER NOT NULL, updated_at INTEGER NOT NULL, summary TEXT NOT NULL
    ) STRICT;
    CREATE INDEX thread_newest ON thread (updated_at DESC, uuid DESC);
    CREATE TABLE chunk (
        thread INTEGER NOT NULL, last_seq INTEGER NOT NULL, first_seq INTEGER NOT NULL, body BLOB NOT NULL,
        UNIQUE (thread, last_seq)
    ) STRICT;
    CREATE TABLE blob (hash BLOB NOT NULL PRIMARY KEY, body BLOB NOT NULL) STRICT;
    PRAGMA user_version = 1;";

/// Creates a database of version 1: threads with the given numbers of events, and blobs.
fn version_1(path: &Path, threads: &[(ThreadId, Seq)], blobs: &[&[u8]]) {
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch(VERSION_1).unwrap();
    for (thread, last) in threads {
        let summary = serde_json::to_string(&sample::summary("old", 1)).unwrap();
        let row = database
            .prepare("INSERT INTO thread (uuid, agent, cwd, name, active, archived, updated_at, summary) VALUES (?, 'demo', '/', 'old', 0, 0, 1, ?)")
            .unwrap()
            .insert((thread.0.as_bytes(), summary))
            .unwrap();
        for seq in 1..=*last {
            let chunks = acpd_log::chunk::encode(&[sample::event(seq, 30)]).unwrap();
            let values = (row, seq.cast_signed(), seq.cast_signed(), &chunks[0].body);
            database
                .execute("INSERT INTO chunk VALUES (?, ?, ?, ?)", values)
                .unwrap();
        }
    }
    for blob in blobs {
        database
            .execute(
                "INSERT INTO blob VALUES (?, ?)",
                (acpd_log::blob_id(blob).0, blob),
            )
            .unwrap();
    }
}

#[tokio::test]
async fn metadata_in_a_summary_of_an_older_version_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let thread = sample::thread(1);
    version_1(&path, &[(thread, 1)], &[]);
    let mut summary = sample::summary("old", 1);
    summary.metadata = Some(acpd_model::RawJson::trusted(r#"{ "a":1.10 }"#));
    let json = serde_json::to_string(&summary).unwrap();
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute("UPDATE thread SET summary = ?", [json])
        .unwrap();
    let log = open(&path);
    assert_eq!(log.summary(thread).await.as_ref(), Ok(&summary));
    let listed = log.list(acpd_log::Filter::default(), None, 9).await.unwrap();
    assert_eq!(listed[0].summary, summary);
    for (seq, metadata) in [(2, summary.metadata.clone()), (3, None)] {
        summary.metadata = metadata;
        log.append(thread, &sample::run(seq..=seq, 10), Some(&summary))
            .await
            .unwrap();
        assert_eq!(log.summary(thread).await.as_ref(), Ok(&summary));
    }
}

#[tokio::test]
async fn events_from_before_the_index_are_indexed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let (older, newer, gone) = (sample::thread(1), sample::thread(2), sample::thread(3));
    version_1(
        &path,
        &[(older, 4), (newer, 2), (gone, 1)],
        &[b"needed", b"not needed", b"shared"],
    );
    let blob = |content: &[u8]| acpd_log::blob_id(content);
    let log = open(&path);
    assert_eq!(read_all(&log, older, 0).await, sample::run(1..=4, 30));
    let backlog = async |before| {
        let found = log.backlog(Lacking::Texts, before).await.unwrap();
        found.map(|found| (found.thread, found.done, found.until))
    };
    assert_eq!(backlog(None).await, Some((gone, 0, 1)));
    log.delete(gone).await.unwrap();
    assert!(
        log.blob(blob(b"not needed")).await.unwrap().is_some(),
        "nobody knows yet"
    );
    assert_eq!(backlog(None).await, Some((newer, 0, 2)));
    assert_eq!(backlog(Some(newer)).await, Some((older, 0, 4)));
    assert_eq!(backlog(Some(older)).await, None);

    // Events that arrive meanwhile are indexed as usual and are not part of the backlog.
    log.append_with(
        older,
        &sample::run(5..=5, 30),
        None,
        &sample::extract(5, &["event five"]),
    )
    .await
    .unwrap();
    let naming = |seq, text, blobs: &[&[u8]]| Extract {
        blobs: blobs.iter().map(|content| blob(content)).collect(),
        ..sample::extract(seq, &[text])
    };
    log.catch_up(
        older,
        Lacking::Texts,
        3,
        &naming(2, "event two", &[b"needed", b"shared"]),
        None,
    )
    .await
    .unwrap();
    assert_eq!(backlog(Some(newer)).await, Some((older, 3, 4)));
    log.close().await.unwrap();

    let log = open(&path);
    let again = naming(2, "event two", &[]);
    log.catch_up(older, Lacking::Texts, 3, &again, None)
        .await
        .unwrap();
    assert_eq!(
        found(&log, Some(older), "event").await,
        2,
        "nothing is added twice"
    );
    log.catch_up(
        older,
        Lacking::Texts,
        4,
        &sample::extract(4, &["event four"]),
        None,
    )
    .await
    .unwrap();
    log.catch_up(
        newer,
        Lacking::Texts,
        2,
        &naming(1, "event one", &[b"shared"]),
        None,
    )
    .await
    .unwrap();
    assert_eq!(log.backlog(Lacking::Texts, None).await, Ok(None));
    assert_eq!(found(&log, None, "event").await, 4);
    assert_eq!(log.blob(blob(b"not needed")).await, Ok(None));
    log.delete(older).await.unwrap();
    assert_eq!(log.blob(blob(b"needed")).await, Ok(None));
    assert_eq!(log.blob(blob(b"shared")).await, Ok(Some(b"shared".to_vec())));
}
