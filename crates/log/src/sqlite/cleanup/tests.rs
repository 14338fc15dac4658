//! Steps of erasing, one by one, without the writing thread.

use std::path::{Path, PathBuf};

use acpd_model::{Extract, Seq, ThreadId};
use rusqlite::Connection;
use tempfile::TempDir;

use super::super::files;
use super::super::index::Entries;
use super::super::query;
use super::super::store::{Append, Change, Store};
use super::Cleaned;
use crate::conformance::sample;
use crate::{Durability, Filter, LogError, Search, blob_id};

/// Pages that one step may write. Changes wait for at most this.
const STEP_PAGES: u32 = 1000;

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    (directory, path)
}

fn open(path: &Path) -> Store {
    Store::new(files::writer(path, Durability::Process).unwrap())
}

fn store(store: &mut Store, changes: &[Change]) {
    for changes in changes.chunks(100) {
        for answer in store.store(changes.iter()).unwrap() {
            assert_eq!(answer, Ok(()));
        }
    }
}

fn append(thread: ThreadId, seq: Seq, raw: &str, text: &str) -> Change {
    let mut event = sample::event(seq, 10);
    event.raw = Some(serde_json::json!({ "text": raw }).into());
    let extract = if text.is_empty() {
        Extract::default()
    } else {
        sample::extract(seq, &[text])
    };
    Change::Append(Append::new(thread, &[event], Some(&sample::summary("thread", 1)), &extract).unwrap())
}

fn blob(thread: ThreadId, content: Vec<u8>) -> Change {
    let id = blob_id(&content);
    Change::Blob { thread, id, content }
}

/// Returns text that cannot be compressed. No word of it occurs twice.
fn noise(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    while text.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text += &format!("{state:016x} ");
    }
    text.truncate(bytes);
    text
}

fn step(store: &mut Store) -> bool {
    match store.clean().unwrap() {
        Cleaned::Some => true,
        Cleaned::All => false,
        Cleaned::Busy => panic!("nothing reads"),
    }
}

/// Takes all steps. Returns how many they were.
fn clean(store: &mut Store) -> u32 {
    let mut steps = 0;
    while step(store) {
        steps += 1;
        assert!(steps < 100_000, "there is no end");
    }
    steps
}

/// Empties the write-ahead log. Returns how many pages it had.
fn written_pages(database: &Connection) -> u32 {
    let written = database
        .query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |row| row.get(1))
        .unwrap();
    database
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))
        .unwrap();
    written
}

fn count(database: &Connection, table: &str) -> u32 {
    let sql = format!("SELECT count(*) FROM {table}");
    database.query_row(&sql, (), |row| row.get(0)).unwrap()
}

fn occurrences(path: &Path, text: &str) -> usize {
    let files = std::fs::read_dir(path.parent().unwrap()).unwrap();
    files
        .map(|file| std::fs::read(file.unwrap().path()).unwrap())
        .map(|content| memchr::memmem::find_iter(&content, text).count())
        .sum()
}

/// Checks that `SQLite` and FTS5 find the database sound.
fn assert_sound(database: &Connection) {
    let result: String = database
        .query_row("PRAGMA integrity_check", (), |row| row.get(0))
        .unwrap();
    assert_eq!(result, "ok");
    database
        .execute("INSERT INTO word (word) VALUES ('integrity-check')", ())
        .unwrap();
}

#[test]
fn a_step_is_bounded_whatever_is_deleted() {
    let usual: Vec<_> = (1..=40).map(|seq| (seq, 300, noise(seq, 400))).collect();
    let many: Vec<_> = (1..=3000).map(|seq| (seq, 2000, String::new())).collect();
    let large = vec![
        (1, 9_000_000, noise(1, 16_000)),
        (2, 200_000, noise(2, 16_000)),
        (3, 1 << 20, "a b c ".repeat(2000)),
    ];
    for (name, events, blobs) in [
        ("empty", vec![(1, 0, String::new())], vec![]),
        ("usual", usual, vec![70_000]),
        ("many", many, vec![10; 200]),
        ("large", large, vec![9_000_000, 1 << 20]),
    ] {
        let (_directory, path) = place();
        let mut log = open(&path);
        let (thread, other) = (sample::thread(1), sample::thread(2));
        for (seq, bytes, text) in events {
            let raw = noise(seq, bytes);
            store(&mut log, &[append(thread, seq, &raw, &text)]);
            store(&mut log, &[append(other, seq, "other", "other words")]);
        }
        for (seed, bytes) in (1..).zip(blobs) {
            store(&mut log, &[blob(thread, noise(seed, bytes).into_bytes())]);
        }
        let database = Connection::open(&path).unwrap();
        written_pages(&database);
        store(&mut log, &[Change::Delete(thread)]);
        let deletion = written_pages(&database);
        assert!(deletion < 50, "{name}: the deletion writes {deletion} pages");
        let (mut steps, mut most) = (0, 0);
        while step(&mut log) {
            steps += 1;
            most = most.max(written_pages(&database));
        }
        println!("{name}: {steps} steps, at most {most} pages");
        assert!(most <= STEP_PAGES, "{name}: a step writes {most} pages");
        for table in [
            "deleted_thread",
            "deleted_blob",
            "blob",
            "blob_thread",
            "page_scrub",
        ] {
            assert_eq!(count(&database, table), 0, "{name}: {table}");
        }
        assert_eq!(count(&database, "thread"), 1, "{name}");
        assert_eq!(count(&database, "entry"), count(&database, "word"), "{name}");
        assert_sound(&database);
    }
}

#[test]
fn a_deleted_thread_is_gone_before_it_is_erased() {
    let (_directory, path) = place();
    let mut log = open(&path);
    let reader = files::reader(&path).unwrap();
    let (kept, gone, new) = (sample::thread(1), sample::thread(2), sample::thread(3));
    let content = b"content of a blob".to_vec();
    let id = blob_id(&content);
    store(
        &mut log,
        &[append(kept, 1, "", "word"), append(gone, 1, "", "word")],
    );
    store(&mut log, &[append(gone, 2, "", "word"), blob(gone, content)]);
    store(&mut log, &[Change::Delete(gone)]);
    assert_eq!(count(&reader, "chunk"), 3, "nothing is erased yet");

    let missing = LogError::NoSuchThread(gone);
    assert_eq!(query::page(&reader, gone, 0), Err(missing.clone()));
    assert_eq!(query::last_seq(&reader, gone), Err(missing.clone()));
    assert_eq!(query::summary(&reader, gone), Err(missing.clone()));
    assert_eq!(query::blob(&reader, id), Ok(None));
    let listed = query::list(&reader, &Filter::default(), None, 9).unwrap();
    assert_eq!(listed.len(), 1);
    let text = "word".to_owned();
    let hits = |thread| {
        let text = text.clone();
        query::search(&reader, &Search { text, thread }, None, 9)
            .unwrap()
            .len()
    };
    assert_eq!((hits(None), hits(Some(gone))), (1, 0));
    assert_eq!(log.store([Change::Delete(gone)].iter()).unwrap(), [Err(missing)]);

    // A new thread gets none of the rows that are not erased yet.
    store(
        &mut log,
        &[append(new, 1, "", "new word"), append(gone, 1, "", "again")],
    );
    clean(&mut log);
    for thread in [kept, new, gone] {
        assert_eq!(query::page(&reader, thread, 0).unwrap().events.len(), 1);
        assert_eq!(query::last_seq(&reader, thread), Ok(1));
    }
    assert_eq!((hits(None), hits(Some(gone)), hits(Some(new))), (2, 0, 1));
    assert_eq!(count(&reader, "chunk"), 3);
}

#[test]
fn a_blob_that_is_stored_again_while_it_is_erased_is_whole() {
    let (_directory, path) = place();
    let content = noise(1, 5_000_000).into_bytes();
    let id = blob_id(&content);
    // Once before each step of the erasure, until the blob is erased first.
    for taken in 0.. {
        let mut log = open(&path);
        let reader = files::reader(&path).unwrap();
        let (gone, other) = (sample::new_thread(), sample::new_thread());
        store(&mut log, &[append(gone, 1, "", ""), append(other, 1, "", "")]);
        store(&mut log, &[blob(gone, content.clone()), Change::Delete(gone)]);
        for _ in 0..taken {
            step(&mut log);
        }
        let was_erased = count(&reader, "blob") == 0;
        store(&mut log, &[blob(other, content.clone())]);
        clean(&mut log);
        assert!(
            query::blob(&reader, id).unwrap().as_ref() == Some(&content),
            "after {taken} steps"
        );
        store(&mut log, &[Change::Delete(other)]);
        clean(&mut log);
        assert_eq!(count(&reader, "blob"), 0);
        if was_erased {
            assert!(taken > 5, "the blob was erased in {taken} steps");
            return;
        }
    }
}

#[test]
fn a_blob_of_another_thread_is_kept() {
    let (_directory, path) = place();
    let mut log = open(&path);
    let reader = files::reader(&path).unwrap();
    let (gone, later, other) = (sample::thread(1), sample::thread(2), sample::thread(3));
    let content = b"shared".to_vec();
    for thread in [gone, later, other] {
        store(
            &mut log,
            &[append(thread, 1, "", ""), blob(thread, content.clone())],
        );
    }
    for thread in [gone, later] {
        store(&mut log, &[Change::Delete(thread)]);
    }
    clean(&mut log);
    assert_eq!(query::blob(&reader, blob_id(&content)), Ok(Some(content.clone())));
    store(&mut log, &[Change::Delete(other)]);
    assert_eq!(query::blob(&reader, blob_id(&content)), Ok(None));
    clean(&mut log);
    assert_eq!(count(&reader, "blob"), 0);
}

#[test]
fn words_are_erased_in_parts() {
    let (_directory, path) = place();
    let mut log = open(&path);
    let database = Connection::open(&path).unwrap();
    let (gone, other) = (sample::thread(1), sample::thread(2));
    let text = format!("{} twice {} twice end", noise(1, 8000), noise(2, 7000));
    store(
        &mut log,
        &[append(gone, 1, "", &text), append(other, 1, "", "twice end")],
    );
    store(&mut log, &[Change::Delete(gone)]);
    let mut parts = 0;
    while count(&database, "entry") > 1 {
        step(&mut log);
        parts += 1;
    }
    assert!(parts > 5, "{parts} parts");
    clean(&mut log);
    assert_sound(&database);
    let search = |text: &str| {
        let (text, thread) = (text.to_owned(), None);
        query::search(&database, &Search { text, thread }, None, 9)
            .unwrap()
            .len()
    };
    assert_eq!(search("twice end"), 1);
    let word = &noise(2, 7000)[..16];
    assert_eq!((search(word), occurrences(&path, word)), (0, 0));
}

#[test]
fn erasing_continues_after_a_restart_at_any_step() {
    let (_directory, path) = place();
    let mut log = open(&path);
    let reader = Connection::open(&path).unwrap();
    let (gone, other) = (sample::thread(1), sample::thread(2));
    for seq in 1..=100 {
        let (secret, text) = (
            format!("secret {}", noise(seq, 100)),
            format!("secret {}", noise(seq, 300)),
        );
        store(
            &mut log,
            &[
                append(gone, seq, &secret, &text),
                append(other, seq, "other", "other"),
            ],
        );
    }
    store(&mut log, &[blob(gone, "secret".repeat(500_000).into_bytes())]);
    store(&mut log, &[Change::Delete(gone)]);
    let mut steps = 0;
    while step(&mut log) {
        steps += 1;
        log = open(&path);
        // What one start has overwritten of the blob, the next overwrites again.
        if count(&reader, "deleted_blob") > 0 {
            clean(&mut log);
        }
    }
    assert!(steps > 10, "{steps} steps");
    drop(reader);
    log.close(u64::MAX).unwrap();
    assert_eq!(occurrences(&path, "secret"), 0);
    let log = open(&path);
    let reader = files::reader(&path).unwrap();
    assert_eq!(query::last_seq(&reader, other), Ok(100));
    drop(log);
}

#[test]
fn a_deletion_looks_at_no_blob_of_other_threads() {
    let (_directory, path) = place();
    let mut steps = Vec::new();
    let mut log = open(&path);
    for others in [1, 2000] {
        let (gone, other) = (sample::new_thread(), sample::new_thread());
        store(&mut log, &[append(gone, 1, "", ""), append(other, 1, "", "")]);
        let blobs: Vec<_> = (0..others)
            .map(|seed| blob(other, noise(seed, 100).into_bytes()))
            .collect();
        store(&mut log, &blobs);
        store(
            &mut log,
            &[blob(gone, noise(9999, 100).into_bytes()), Change::Delete(gone)],
        );
        steps.push(clean(&mut log));
    }
    assert_eq!(steps[0], steps[1]);
    let database = Connection::open(&path).unwrap();
    let plan: Vec<String> = database
        .prepare(&format!("EXPLAIN QUERY PLAN {}", super::erase::RELEASE))
        .unwrap()
        .query_map([1], |row| row.get("detail"))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(
        plan[0],
        "SEARCH blob USING COVERING INDEX sqlite_autoindex_blob_1 (hash=?)"
    );
    assert!(!plan.iter().any(|step| step.starts_with("SCAN blob")), "{plan:?}");
}

#[test]
fn unclaimed_blobs_are_erased_when_the_backlog_ends() {
    let (_directory, path) = place();
    let mut log = open(&path);
    let database = Connection::open(&path).unwrap();
    let (old, gone) = (sample::thread(1), sample::thread(2));
    store(&mut log, &[append(old, 1, "", ""), append(gone, 1, "", "")]);
    for seed in 0..200 {
        store(&mut log, &[blob(gone, noise(seed, 100).into_bytes())]);
    }
    database
        .execute("INSERT INTO backlog VALUES (1, 0, 1)", ())
        .unwrap();
    store(&mut log, &[Change::Delete(gone)]);
    clean(&mut log);
    assert_eq!(count(&database, "blob"), 200, "the old thread may need them");
    let mut extract = Extract::default();
    extract.blobs.push(blob_id(noise(7, 100).as_bytes()));
    let entries = Entries::new(&extract);
    store(
        &mut log,
        &[Change::Index {
            thread: old,
            through: 1,
            entries,
        }],
    );
    clean(&mut log);
    assert_eq!(count(&database, "blob"), 1);
}

#[test]
fn a_rewrite_that_was_due_becomes_a_visit_of_all_pages() {
    let (_directory, path) = place();
    let mut log = open(&path);
    store(&mut log, &[append(sample::thread(1), 1, "", "")]);
    drop(log);
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch(
            "DROP TABLE deleted_thread; DROP TABLE deleted_blob; DROP TABLE blob_sweep; DROP TABLE page_scrub;
             CREATE TABLE rewrite (due INTEGER PRIMARY KEY) STRICT; INSERT INTO rewrite VALUES (1);
             PRAGMA user_version = 2;",
        )
        .unwrap();
    let mut log = open(&path);
    assert_eq!(count(&database, "page_scrub"), 1);
    assert_eq!(clean(&mut log), 1);
    assert_eq!(count(&database, "page_scrub"), 0);
}
