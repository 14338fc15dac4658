//! Small text files written by other programs.
//!
//! In: a path, a limit. Out: the text. Never: waits for a FIFO or a device, or reads more than the limit.

use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Reads a regular file of at most `limit` bytes.
pub fn read_small(path: &Path, limit: u64) -> Result<String> {
    let mut text = String::new();
    let read = open_regular(path)?.take(limit + 1).read_to_string(&mut text)?;
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
    let refused = || Error::new(ErrorKind::InvalidInput, "it is not a regular file");
    let regular = |found: Metadata| found.is_file().then_some(()).ok_or_else(refused);
    // Opening a device can already have an effect, so this is checked before and after.
    regular(path.metadata()?)?;
    // These flags avoid waiting for a FIFO's writer, and acquiring a controlling terminal.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    regular(file.metadata()?)?;
    Ok(file)
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
