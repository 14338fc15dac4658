//! Upgrades of the recorded logs: their copies, their space, and stops at each step.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use acpd_model::limits::LOG_ERASE_BYTES;
use acpd_model::{Extract, ThreadId};
use flate2::read::GzDecoder;
use rusqlite::Connection;
use tempfile::TempDir;

use super::super::files::writer_on;
use super::*;
use crate::{Durability, EventLog, Filter, Lacking, ListedThread, Sqlite};

/// A file system whose answers a test chooses.
struct Fake {
    free: u64,
    clones: bool,
    /// Panics once so many bytes are copied, as if the process was killed.
    stops_at: Option<u64>,
    cloned: Cell<u32>,
}

impl Fake {
    fn with_free(free: u64) -> Self {
        Self {
            free,
            clones: false,
            stops_at: None,
            cloned: Cell::new(0),
        }
    }
}

impl FileSystem for Fake {
    fn free_bytes(&self, _: &Path) -> io::Result<u64> {
        Ok(self.free)
    }

    fn clone_file(&self, mut from: &File, mut to: &File) -> io::Result<()> {
        if !self.clones {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.cloned.set(self.cloned.get() + 1);
        io::copy(&mut from, &mut to).map(drop)
    }

    fn copied(&self, bytes: u64, _: u64) {
        assert!(self.stops_at.is_none_or(|stop| bytes < stop), "killed");
    }
}

/// Unpacks a recorded log. Its write-ahead log has changes that are not in the database.
fn recorded(version: usize) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/logs/v{version}"));
    for name in ["log.db", "log.db-wal"] {
        let mut content = Vec::new();
        let packed = File::open(fixtures.join(format!("{name}.gz"))).unwrap();
        GzDecoder::new(packed).read_to_end(&mut content).unwrap();
        fs::write(directory.path().join(name), content).unwrap();
    }
    let path = directory.path().join("log.db");
    (directory, path)
}

fn open_on(path: &Path, files: &Fake) -> Result<Connection, LogError> {
    writer_on(path, Durability::Process, files)
}

fn open(path: &Path) -> Sqlite {
    Sqlite::open(path, Durability::Process).unwrap()
}

fn copy_of(path: &Path, version: usize) -> PathBuf {
    path.with_file_name(format!("log.db.v{version}"))
}

fn version_of(path: &Path) -> usize {
    schema::version(&Connection::open(path).unwrap()).unwrap()
}

/// Returns the files of a directory that have a log's content.
fn contents(directory: &TempDir) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory.path()).unwrap();
    entries
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                fs::read(entry.path()).unwrap(),
            )
        })
        .filter(|(name, _)| !name.ends_with("-shm"))
        .collect()
}

/// Returns all events and summaries as they are stored.
fn rows(path: &Path) -> Vec<(i64, Vec<u8>)> {
    let database = Connection::open(path).unwrap();
    let mut found = database
        .prepare("SELECT last_seq, body FROM chunk UNION ALL SELECT id, CAST(summary AS BLOB) FROM thread ORDER BY 1, 2")
        .unwrap();
    let rows = found.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(|row| row.unwrap()).collect()
}

async fn threads(log: &Sqlite) -> Vec<ListedThread> {
    log.list(Filter::default(), None, 100).await.unwrap()
}

/// Stores what is missing beside the events of one kind, up to `most` threads.
async fn catch_up(log: &Sqlite, lacks: Lacking, most: usize) {
    for _ in 0..most {
        let Some(due) = log.backlog(lacks, None).await.unwrap() else {
            return;
        };
        log.catch_up(due.thread, lacks, due.until, &Extract::default(), None)
            .await
            .unwrap();
    }
}

#[test]
fn the_copy_is_the_older_database() {
    for (version, clones) in [(1, false), (2, false), (2, true)] {
        let (_directory, path) = recorded(version);
        let (_other, reference) = recorded(version);
        let expected = rows(&reference);
        let files = Fake {
            clones,
            ..Fake::with_free(u64::MAX)
        };
        drop(open_on(&path, &files).unwrap());
        let copy = copy_of(&path, version);
        assert_eq!(files.cloned.get(), u32::from(clones));
        assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(
            fs::read(&copy).unwrap(),
            fs::read(&reference).unwrap(),
            "closing the reference has moved its write-ahead log"
        );
        assert_eq!((version_of(&copy), rows(&copy)), (version, expected));
        assert_eq!(version_of(&path), schema::CURRENT);
    }
}

#[test]
fn an_upgrade_without_space_changes_nothing() {
    for version in [1, 2] {
        let (directory, path) = recorded(version);
        let before = contents(&directory);
        let Err(LogError::NoSpace { needed, .. }) = open_on(&path, &Fake::with_free(1000)) else {
            panic!("it was upgraded")
        };
        let database: u64 = before.values().map(|content| content.len() as u64).sum();
        assert!(needed > 2 * database, "{needed} for {database}");
        for (free, clones) in [(needed - 1, false), (needed - database - 1, true)] {
            let files = Fake {
                clones,
                ..Fake::with_free(free)
            };
            let refusal = open_on(&path, &files).unwrap_err();
            assert!(matches!(refusal, LogError::NoSpace { .. }), "{refusal}");
            let refusal = refusal.to_string();
            assert!(refusal.contains(directory.path().to_str().unwrap()), "{refusal}");
            assert!(refusal.contains("MiB of free space"), "{refusal}");
            assert!(contents(&directory) == before, "it was changed");
        }
        let files = Fake {
            clones: true,
            ..Fake::with_free(needed - database)
        };
        drop(open_on(&path, &files).unwrap());
        assert_eq!(version_of(&path), schema::CURRENT);
    }
}

#[test]
fn a_database_of_this_version_needs_no_space_and_no_copy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    for _ in 0..2 {
        drop(open_on(&path, &Fake::with_free(0)).unwrap());
    }
    assert_eq!(contents(&directory).keys().collect::<Vec<_>>(), ["log.db"]);
}

#[test]
fn a_copy_that_was_interrupted_is_made_anew() {
    let (directory, path) = recorded(2);
    let (_other, reference) = recorded(2);
    let expected = rows(&reference);
    let killed = Fake {
        stops_at: Some(1),
        ..Fake::with_free(u64::MAX)
    };
    for _ in 0..2 {
        catch_unwind(AssertUnwindSafe(|| open_on(&path, &killed))).unwrap_err();
        let files = contents(&directory);
        assert!(files.contains_key("log.db.v2.part") && !files.contains_key("log.db.v2"));
        assert_eq!((version_of(&path), rows(&path)), (2, expected.clone()));
    }
    drop(open_on(&path, &Fake::with_free(u64::MAX)).unwrap());
    assert_eq!(rows(&copy_of(&path, 2)), expected);
    assert!(!contents(&directory).contains_key("log.db.v2.part"));
}

/// The process was killed, an older acpd stored more, and this one starts again.
#[test]
fn a_copy_of_a_database_that_was_not_upgraded_is_replaced() {
    let (_directory, path) = recorded(2);
    let (_other, reference) = recorded(2);
    fs::write(copy_of(&path, 2), "an earlier state of the database").unwrap();
    drop(open_on(&path, &Fake::with_free(u64::MAX)).unwrap());
    assert_eq!(rows(&copy_of(&path, 2)), rows(&reference));
}

#[tokio::test]
async fn the_copy_stays_until_everything_is_indexed() {
    let (_directory, path) = recorded(1);
    let copy = copy_of(&path, 1);
    for lacks in [Lacking::Marks, Lacking::Texts] {
        let log = open(&path);
        catch_up(&log, lacks, 2).await;
        drop(log);
        assert!(copy.exists());
        let log = open(&path);
        catch_up(&log, lacks, usize::MAX).await;
        drop(log);
    }
    assert!(!copy.exists());
}

#[tokio::test]
async fn a_start_removes_a_copy_that_a_kill_has_left() {
    let (_directory, path) = recorded(2);
    let copy = copy_of(&path, 2);
    let log = open(&path);
    for lacks in [Lacking::Texts, Lacking::Marks] {
        catch_up(&log, lacks, usize::MAX).await;
    }
    drop(log);
    fs::write(&copy, "left").unwrap();
    fs::write(path.with_file_name("log.db.version"), "another file").unwrap();
    drop(open(&path));
    assert!(!copy.exists());
    assert!(path.with_file_name("log.db.version").exists());
}

#[tokio::test]
async fn a_deleted_thread_does_not_survive_in_the_copy() {
    let (directory, path) = recorded(2);
    let log = open(&path);
    let copy = copy_of(&path, 2);
    assert!(copy.exists());
    let thread: ThreadId = threads(&log).await[0].thread;

    // The copy cannot be renamed: the deletion would leave the thread in it.
    let obstacle = directory.path().join("log.db.v2.part");
    fs::create_dir(&obstacle).unwrap();
    let refusal = log.delete(thread).await.unwrap_err();
    assert!(
        refusal.to_string().contains("log.db.v2 cannot be removed"),
        "{refusal}"
    );
    assert!(log.summary(thread).await.is_ok());
    fs::remove_dir(&obstacle).unwrap();

    assert!(matches!(
        log.delete(crate::conformance::sample::thread(99)).await,
        Err(LogError::NoSuchThread(_))
    ));
    assert!(copy.exists(), "nothing was deleted");
    // A second name shows what becomes of the blocks.
    let blocks = directory.path().join("blocks");
    fs::hard_link(&copy, &blocks).unwrap();
    log.delete(thread).await.unwrap();
    assert!(!copy.exists());
    drop(log);
    assert!(!obstacle.exists());
    assert_eq!(fs::metadata(&blocks).unwrap().len(), 0, "it was not overwritten");
}

#[test]
fn a_copy_is_overwritten_in_steps_that_a_restart_continues() {
    let (directory, path) = recorded(2);
    let copy = copy_of(&path, 2);
    let part = directory.path().join("log.db.v2.part");
    fs::write(&copy, vec![7; 2 * LOG_ERASE_BYTES + 1]).unwrap();
    let mut copies = Copies::beside(&path).unwrap();
    assert!(copies.exist());
    copies.retire().unwrap();
    assert!(!copies.exist() && !copy.exists());
    for rest in [LOG_ERASE_BYTES + 1, 1] {
        assert!(copies.erase().unwrap());
        assert_eq!(fs::read(&part).unwrap(), vec![7; rest]);
        copies = Copies::beside(&path).unwrap();
        assert!(!copies.exist(), "it is not a whole copy");
    }
    assert!(copies.erase().unwrap());
    assert!(!part.exists());
    assert!(!copies.erase().unwrap());
}

#[test]
fn a_new_database_does_not_take_the_place_of_a_copy() {
    let (_directory, path) = recorded(2);
    drop(open(&path));
    fs::remove_file(&path).unwrap();
    let refusal = Sqlite::open(&path, Durability::Process).unwrap_err().to_string();
    assert!(refusal.contains("log.db.v2 is a copy of it"), "{refusal}");
    fs::rename(copy_of(&path, 2), &path).unwrap();
    drop(open(&path));
    assert!(copy_of(&path, 2).exists());
}

#[test]
fn the_copy_has_no_remains_of_deleted_data() {
    let (_directory, path) = recorded(2);
    let database = Connection::open(&path).unwrap();
    let secret = "a secret that was deleted ".repeat(2000);
    database
        .execute("INSERT INTO blob VALUES (x'00', CAST(? AS BLOB))", [&secret])
        .unwrap();
    database
        .execute_batch(
            "PRAGMA secure_delete = OFF; DELETE FROM blob WHERE hash = x'00'; INSERT INTO rewrite VALUES (1)",
        )
        .unwrap();
    drop(database);
    let has_secret = |path: &Path| {
        let content = fs::read(path).unwrap();
        content.windows(20).any(|part| part == &secret.as_bytes()[..20])
    };
    assert!(has_secret(&path));
    let (_other, reference) = recorded(2);
    drop(open_on(&path, &Fake::with_free(u64::MAX)).unwrap());
    let copy = copy_of(&path, 2);
    assert!(!has_secret(&copy));
    assert_eq!((version_of(&copy), rows(&copy)), (2, rows(&reference)));
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
}
