//! Steps of erasing, one by one, without the writing thread.

mod blobs;

use std::path::{Path, PathBuf};

use acpd_model::{BlobId, Extract, Seq, ThreadId, TurnId, TurnsDropped};
use rusqlite::Connection;
use tempfile::TempDir;

use super::Cleaned;
use crate::Append;
use crate::conformance::sample;
use crate::sqlite::change::{Batch, Change};
use crate::sqlite::schema;
use crate::sqlite::store::Store;
use crate::sqlite::{files, list, query};
use crate::{Durability, Filter, LogError, Search, blob_id};

/// Pages that one step may write. Changes wait for at most this.
const STEP_PAGES: u32 = 300;

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    (directory, path)
}

fn open(path: &Path) -> Store {
    Store::new(files::writer(path, Durability::Process).unwrap())
}

/// Returns the content of a blob that some thread needs.
fn stored_blob(reader: &Connection, id: BlobId) -> Result<Option<Vec<u8>>, LogError> {
    let part = query::blob_part(reader, None, id, 0, usize::MAX)?;
    Ok(part.map(|part| part.content))
}

fn store(store: &mut Store, changes: &[Change]) {
    for changes in changes.chunks(100) {
        for answer in store.store(changes.iter()).unwrap() {
            assert_eq!(answer, Ok(()));
        }
    }
}

fn append_with(thread: ThreadId, seq: Seq, extract: &Extract) -> Change {
    let events = [sample::event(seq, 10)];
    let append = Append {
        summary: Some(&sample::summary("thread", 1)),
        extract,
        ..Append::new(thread, &events)
    };
    Change::Append(Batch::new(&append).unwrap())
}

fn append(thread: ThreadId, seq: Seq, raw: &str, text: &str) -> Change {
    let mut event = sample::event(seq, 10);
    event.raw = Some(serde_json::json!({ "text": raw }).into());
    let extract = if text.is_empty() {
        Extract::default()
    } else {
        sample::extract(seq, &[text])
    };
    let events = [event];
    let append = Append {
        summary: Some(&sample::summary("thread", 1)),
        extract: &extract,
        ..Append::new(thread, &events)
    };
    Change::Append(Batch::new(&append).unwrap())
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
        Cleaned::Some | Cleaned::Erased => true,
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
    assert_eq!(stored_blob(&reader, id), Ok(None));
    let listed = list::list(&reader, &Filter::default(), None, 9).unwrap();
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
fn a_rewrite_that_was_due_becomes_a_visit_of_all_pages() {
    let (_directory, path) = place();
    let mut database = Connection::open(&path).unwrap();
    schema::migrate_to(&mut database, 2).unwrap();
    database.execute_batch("INSERT INTO rewrite VALUES (1)").unwrap();
    let mut log = open(&path);
    assert_eq!(count(&database, "page_scrub"), 1);
    assert!(clean(&mut log) > 0);
    assert_eq!(count(&database, "page_scrub"), 0);
}

#[test]
fn a_database_shrinks_in_bounded_steps() {
    for created in ["by this version", "by an older version"] {
        let (_directory, path) = place();
        if created == "by an older version" {
            let database = Connection::open(&path).unwrap();
            database
                .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE old (id)")
                .unwrap();
        }
        let mut log = open(&path);
        let (kept, gone) = (sample::thread(1), sample::thread(2));
        for seq in 1..=30 {
            let raw = noise(seq, 400_000);
            store(
                &mut log,
                &[append(gone, seq, &raw, ""), append(kept, seq, "", "kept")],
            );
        }
        store(&mut log, &[Change::Delete(gone)]);
        let database = Connection::open(&path).unwrap();
        let full = count(&database, "pragma_page_count, sqlite_dbpage");
        written_pages(&database);
        let mut most = 0;
        while step(&mut log) {
            most = most.max(written_pages(&database));
        }
        let left = count(&database, "sqlite_dbpage");
        assert!(
            full > 2500 && left < 1500,
            "{created}: {left} of {full} pages are left"
        );
        assert!(most <= STEP_PAGES, "{created}: a step writes {most} pages");
        assert_sound(&database);
        assert_eq!(query::last_seq(&database, kept), Ok(30));
    }
}

#[test]
fn a_large_database_of_an_older_version_is_not_rewritten() {
    let (_directory, path) = place();
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch("CREATE TABLE old (body); INSERT INTO old VALUES (zeroblob(70 << 20))")
        .unwrap();
    let mut log = open(&path);
    let thread = sample::thread(1);
    store(
        &mut log,
        &[
            append(thread, 1, &noise(1, 6_000_000), ""),
            Change::Delete(thread),
        ],
    );
    clean(&mut log);
    let mode: i64 = database
        .query_row("PRAGMA auto_vacuum", (), |row| row.get(0))
        .unwrap();
    assert_eq!(mode, 0);
    assert_sound(&database);
}

#[test]
fn texts_of_dropped_turns_are_gone_before_they_are_erased() {
    const TURNS: Seq = 2000;
    let (_directory, path) = place();
    let mut log = open(&path);
    let database = Connection::open(&path).unwrap();
    let (thread, other) = (sample::thread(1), sample::thread(2));
    store(&mut log, &[append(other, 1, "", "a word of another thread")]);
    for seq in 1..=TURNS {
        let turn = u32::try_from(seq).unwrap();
        let mut extract = sample::extract(seq, &[&format!("a word of turn{seq}")]);
        extract.texts[0].turn = Some(TurnId(turn));
        store(&mut log, &[append_with(thread, seq, &extract)]);
    }
    clean(&mut log);
    let hits = || {
        let text = "word".to_owned();
        let search = Search { text, thread: None };
        query::search(&database, &search, None, 9999).unwrap().len()
    };
    assert_eq!(hits() as u64, TURNS + 1);
    let dropped = Extract {
        dropped: vec![TurnsDropped {
            seq: TURNS + 1,
            last_kept: Some(TurnId(5)),
        }],
        ..Extract::default()
    };
    written_pages(&database);
    store(&mut log, &[append_with(thread, TURNS + 1, &dropped)]);
    let written = written_pages(&database);
    assert_eq!(hits(), 6, "what is dropped is not found");
    assert!(written <= STEP_PAGES, "the append writes {written} pages");
    let words = count(&database, "word");
    let mut most = 0;
    while step(&mut log) {
        most = most.max(written_pages(&database));
    }
    assert!(most <= STEP_PAGES, "a step writes {most} pages");
    assert!(words > 2000 && count(&database, "word") == 6, "{words}");
    assert_eq!(count(&database, "entry"), 6);
    assert_eq!(hits(), 6);
    assert_sound(&database);
}
