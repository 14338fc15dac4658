//! How much free space an upgrade needs.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use acpd_model::limits::LOG_REWRITE_BYTES;

use super::FileSystem;
use super::copies::{beside, directory, left_over};
use crate::LogError;

/// Indices, places and snapshots of a database, as a share of its size: 1 / 8. Measured: 1 / 66.
const BESIDE_SHARE: u64 = 8;

/// How often a database of version 1, which has no searchable texts, grows by its own size. Measured with messages alone,
/// which have the most text: 1.65.
const TEXTS_FACTOR: u64 = 2;

/// The last version without searchable texts.
const WITHOUT_TEXTS: usize = 1;

/// A block of the file system, to try whether it can be shared.
const BLOCK: usize = 4096;

/// Refuses the upgrade of a database if the file system has less space than it needs. Leaves no file behind.
pub(super) fn check(path: &Path, version: usize, files: &dyn FileSystem) -> Result<(), LogError> {
    let directory = directory(path);
    let failed = |error: &io::Error| {
        let directory = directory.display();
        LogError::Storage(format!("the free space of {directory} is not known: {error}"))
    };
    let database = size(path) + size(&beside(path, "-wal"));
    let free = files.free_bytes(directory).map_err(|error| failed(&error))?;
    let free = free.saturating_add(left_over(path, version).iter().map(|copy| size(copy)).sum());
    let growth = growth(database, version);
    if free >= growth + database || (free >= growth && can_clone(path, files)) {
        return Ok(());
    }
    Err(LogError::NoSpace {
        directory: directory.display().to_string(),
        needed: growth + database,
        free,
    })
}

/// Returns the bytes that the upgrade writes beside the copy, at most: what is stored beside the events, and the
/// write-ahead log and the temporary file of a small database that is rewritten. The write-ahead log of a larger database
/// is no larger than those.
fn growth(database: u64, version: usize) -> u64 {
    let beside = if version <= WITHOUT_TEXTS {
        database * TEXTS_FACTOR
    } else {
        database / BESIDE_SHARE
    };
    beside + 2 * database.min(LOG_REWRITE_BYTES.unsigned_abs())
}

/// Returns whether files of this directory can share blocks, so that a copy needs no space.
fn can_clone(path: &Path, files: &dyn FileSystem) -> bool {
    let unnamed = |suffix| -> io::Result<File> {
        let name: PathBuf = beside(path, suffix);
        let file = OpenOptions::new()
            .write(true)
            .read(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&name)?;
        std::fs::remove_file(&name)?;
        Ok(file)
    };
    let cloned = unnamed(".probe").and_then(|mut from| {
        from.write_all(&[0; BLOCK])?;
        files.clone_file(&from, &unnamed(".probe")?)
    });
    cloned.is_ok()
}

/// Returns the size of a file; 0 if there is none.
fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}
