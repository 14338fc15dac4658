//! Small files that are for their owner alone: read whole, replaced whole.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Reads a file of at most `most` bytes; `None` if there is none. One that others can read is refused with
/// [`ErrorKind::PermissionDenied`].
pub fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if file.metadata()?.mode() & 0o077 != 0 {
        let told = format!("other users can read it: run chmod 600 {}", path.display());
        return Err(Error::new(ErrorKind::PermissionDenied, told));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::new(ErrorKind::FileTooLarge, "it is too large"));
    }
    Ok(Some(bytes))
}

/// Replaces a file: after a crash it is the old one or the new one.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let draft = path.with_extension("new");
    match std::fs::remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&draft, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Holds the lock of a file until dropped, so that two who change it do so one after the other.
pub fn lock(path: &Path) -> Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path.with_extension("lock"))?;
    file.lock()?;
    Ok(file)
}
