//! The copies of a database as older versions wrote it, beside the database: how they are made and removed.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use acpd_files::{publish, sync_names};
use acpd_model::limits::LOG_ERASE_BYTES;
use rusqlite::Connection;

use super::FileSystem;
use crate::LogError;

/// Ends the name of a copy that may be incomplete.
const PART: &str = ".part";

/// Bytes that are copied at once.
const COPIED_AT_ONCE: usize = 1 << 20;

/// Returns the path of a file beside the database, whose name begins with the database's.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Returns the directory of the database.
pub(super) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Returns the files that a copy of this version replaces.
pub(super) fn left_over(path: &Path, version: usize) -> [PathBuf; 2] {
    let copy = beside(path, &format!(".v{version}"));
    [beside(&copy, PART), copy]
}

/// Copies a database that no connection has open, and whose write-ahead log is empty. A copy of an earlier attempt is
/// replaced, since an older acpd may have written to the database after it.
pub(super) fn make(path: &Path, version: usize, files: &dyn FileSystem) -> Result<(), LogError> {
    finish(path, version, |part| {
        let mut from = File::open(path)?;
        let to = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(part)?;
        if files.clone_file(&from, &to).is_ok() {
            return Ok(());
        }
        copy(&mut from, to, files)
    })
}

/// Copies the content of a database without what deleted rows left in its pages.
pub(super) fn make_without_remains(
    path: &Path,
    version: usize,
    connection: &Connection,
) -> Result<(), LogError> {
    finish(path, version, |part| {
        // SQLite accepts an empty file, and keeps its mode.
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(part)?;
        let name = part
            .to_str()
            .ok_or_else(|| io::Error::other("its name is not UTF-8"))?;
        connection
            .execute("VACUUM INTO ?", [name])
            .map_err(io::Error::other)?;
        Ok(())
    })
}

/// Has a copy made under a temporary name, and renames it once it is on the disk.
fn finish(path: &Path, version: usize, make: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), LogError> {
    let [part, copy] = left_over(path, version);
    let made = [&part, &copy]
        .into_iter()
        .try_for_each(|file| remove_file(file))
        .and_then(|()| make(&part))
        .and_then(|()| publish(&part, &copy));
    made.map_err(|error| {
        let (path, copy) = (path.display(), copy.display());
        // An incomplete copy needs space, and is worth nothing. The next start removes it if this fails as well.
        let _ = fs::remove_file(&part);
        LogError::Storage(format!(
            "{path} is not upgraded, since it cannot be copied to {copy}: {error}"
        ))
    })
}

fn copy(from: &mut File, mut to: File, files: &dyn FileSystem) -> io::Result<()> {
    let of = from.metadata()?.len();
    let mut buffer = vec![0; COPIED_AT_ONCE];
    let mut copied = 0;
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        to.write_all(&buffer[..read])?;
        copied += read as u64;
        files.copied(copied, of);
    }
    if copied == of {
        Ok(())
    } else {
        Err(io::Error::other("its size has changed meanwhile"))
    }
}

/// Refuses to create a database where there is a copy of one. The copy would be removed, because nothing is left to do for
/// a new database.
pub(super) fn require_none(path: &Path) -> Result<(), LogError> {
    let copies = Copies::beside(path)?;
    let Some(copy) = copies.whole.first() else {
        return Ok(());
    };
    let (path, copy) = (path.display(), copy.display());
    Err(LogError::Storage(format!(
        "{path} does not exist, but {copy} is a copy of it: rename the copy to {path} to use it, or move it away"
    )))
}

fn remove_file(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The copies that exist.
///
/// A copy that is not needed any more is renamed, so that it is not taken for a whole one, and then overwritten in steps.
/// Else a thread that is deleted later would remain in blocks that no file uses.
#[derive(Debug, Default)]
pub(in crate::sqlite) struct Copies {
    path: PathBuf,
    whole: Vec<PathBuf>,
    parts: Vec<PathBuf>,
}

impl Copies {
    /// Finds the copies of the database.
    pub(in crate::sqlite) fn beside(path: &Path) -> Result<Self, LogError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let found = fs::read_dir(directory(path)).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let found = found.map_err(|error| {
            let directory = directory(path).display();
            LogError::Storage(format!("{directory} cannot be listed: {error}"))
        })?;
        let is_copy = |file: &str| {
            let version = file.strip_prefix(&*name).and_then(|rest| rest.strip_prefix(".v"));
            let version = version.map(|rest| rest.strip_suffix(PART).unwrap_or(rest));
            version.is_some_and(|version| version.parse::<usize>().is_ok())
        };
        let (parts, whole) = found
            .iter()
            .filter(|entry| is_copy(&entry.file_name().to_string_lossy()))
            .map(fs::DirEntry::path)
            .partition(|file| file.to_string_lossy().ends_with(PART));
        Ok(Self {
            path: path.to_owned(),
            whole,
            parts,
        })
    }

    /// Returns whether a copy can be returned to.
    pub(in crate::sqlite) fn exist(&self) -> bool {
        !self.whole.is_empty()
    }

    /// Gives all copies up. [`erase`](Self::erase) removes them.
    pub(in crate::sqlite) fn retire(&mut self) -> Result<(), LogError> {
        while let Some(copy) = self.whole.last() {
            let part = beside(copy, PART);
            fs::rename(copy, &part)
                .and_then(|()| sync_names(&self.path))
                .map_err(|error| {
                    LogError::Storage(format!("{} cannot be removed: {error}", copy.display()))
                })?;
            self.whole.pop();
            self.parts.push(part);
        }
        Ok(())
    }

    /// Takes one step to overwrite and remove copies that were given up. Returns whether there was something to do. A
    /// restart continues, since a file is shortened by what was overwritten.
    pub(in crate::sqlite) fn erase(&mut self) -> Result<bool, LogError> {
        let Some(part) = self.parts.last() else {
            return Ok(false);
        };
        let is_removed = overwrite_end(part)
            .and_then(|rest| if rest > 0 { Ok(false) } else { self.unlink(part) })
            .map_err(|error| LogError::Storage(format!("{} cannot be removed: {error}", part.display())))?;
        if is_removed {
            self.parts.pop();
        }
        Ok(true)
    }

    fn unlink(&self, part: &Path) -> io::Result<bool> {
        remove_file(part)?;
        sync_names(&self.path)?;
        Ok(true)
    }
}

/// Overwrites the end of a file on the disk, and cuts it off. Returns the length of the rest.
fn overwrite_end(part: &Path) -> io::Result<u64> {
    let file = match OpenOptions::new().write(true).open(part) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        opened => opened?,
    };
    let length = file.metadata()?.len();
    let rest = length.saturating_sub(LOG_ERASE_BYTES as u64);
    let end = usize::try_from(length - rest).unwrap_or(LOG_ERASE_BYTES);
    file.write_all_at(&vec![0; end], rest)?;
    file.sync_data()?;
    file.set_len(rest)?;
    Ok(rest)
}
