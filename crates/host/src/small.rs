//! Small text files written by other programs.
//!
//! In: a path, a limit. Out: the text. Never: waits for a FIFO or a device, or reads more than the limit.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

/// These flags avoid waiting for a FIFO's writer, and acquiring a controlling terminal.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Reads a regular file of at most `limit` bytes.
pub fn read_small(path: &Path, limit: u64) -> Result<String> {
    text_of(open_regular(path)?, limit)
}

/// Reads a regular file of at most `limit` bytes in an open directory. Follows no link.
pub(crate) fn read_small_in(dir: BorrowedFd<'_>, name: &str, limit: u64) -> Result<String> {
    // Opening a device can already have an effect, so this is checked before and after.
    let found = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(not_regular());
    }
    let file = rustix::fs::openat(dir, name, READ | OFlags::NOFOLLOW, Mode::empty())?;
    text_of(regular(file.into())?, limit)
}

fn text_of(file: File, limit: u64) -> Result<String> {
    let mut text = String::new();
    let read = file.take(limit + 1).read_to_string(&mut text)?;
    if read as u64 > limit {
        let message = format!("it is larger than {limit} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// Reads at most the first `limit` bytes of a regular file.
pub fn read_beginning(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open_regular(path: &Path) -> Result<File> {
    // Opening a device can already have an effect, so this is checked before and after.
    if !path.metadata()?.is_file() {
        return Err(not_regular());
    }
    regular(rustix::fs::open(path, READ, Mode::empty())?.into())
}

fn regular(file: File) -> Result<File> {
    if !file.metadata()?.is_file() {
        return Err(not_regular());
    }
    Ok(file)
}

fn not_regular() -> Error {
    Error::new(ErrorKind::InvalidInput, "it is not a regular file")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// Returns the result of a read, which must not block.
    fn read(path: &Path) -> std::result::Result<String, ErrorKind> {
        let (done, read) = mpsc::channel();
        let path = path.to_owned();
        std::thread::spawn(move || done.send(read_small(&path, 4)));
        let read = read.recv_timeout(Duration::from_secs(20)).expect("it waits");
        read.map_err(|error| error.kind())
    }

    #[test]
    fn only_small_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("small"), "text").unwrap();
        std::fs::write(path("large"), "text+").unwrap();
        std::os::unix::fs::symlink("small", path("link")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(path("fifo")).status();
        assert!(made.unwrap().success());
        assert_eq!(read(&path("small")).as_deref(), Ok("text"));
        assert_eq!(read(&path("link")).as_deref(), Ok("text"));
        assert_eq!(read(&path("large")), Err(ErrorKind::FileTooLarge));
        assert_eq!(read(&path("none")), Err(ErrorKind::NotFound));
        assert_eq!(read_beginning(&path("large"), 4).unwrap(), b"text");
        assert_eq!(read_beginning(&path("small"), 8).unwrap(), b"text");
        for other in [path("fifo"), path(""), "/dev/zero".into()] {
            assert_eq!(read(&other), Err(ErrorKind::InvalidInput), "{}", other.display());
        }
    }
}
