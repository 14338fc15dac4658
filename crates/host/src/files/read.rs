//! Reads regular files, or some of their lines, up to a size limit.
//!
//! A file with several hard links is read like any other. One of its names may be outside the workspace, which no check
//! can detect. But package stores, compiler caches and local clones consist of such files. Moreover, a program that can
//! give a file a second name can already read it. Writing through such a name is different: see `write`.

use std::fs::File;
use std::io::Read;

use acpd_model::Failure;
use acpd_model::limits::{READ_CHUNK_BYTES, READ_FILE_BYTES};
use cap_std::fs::{FileType, FileTypeExt};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::failure::{changed, invalid, of_errno, of_io, reserved};
use super::fit::Fit;
use super::place::Place;

/// Bytes of a file that a search for lines reads at most. Without it, a sparse file could take forever.
const READ_SCAN_BYTES: u64 = 1 << 30;

/// Reads the whole file, if it needs at most `room` bytes.
pub(super) fn whole(place: &Place, path: &str, room: u64) -> Result<Fit<String>, Failure> {
    let (file, size) = open(place, path)?;
    if size > READ_FILE_BYTES {
        return Err(too_large(path, size));
    }
    if size > room {
        return Ok(Fit::Needs(size));
    }
    // One more byte than the size, so that the end of the file is found without growing the buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(room.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| of_io(path, &error))?;
    // The file may have grown since its size was read. Virtual files of the kernel have size 0.
    let read = bytes.len() as u64;
    if read > READ_FILE_BYTES {
        return Err(too_large(path, read));
    }
    if read > room {
        return Ok(Fit::Needs(READ_FILE_BYTES));
    }
    text(bytes, path).map(Fit::Done)
}

/// Reads `limit` lines from line `line`, if they need at most `room` bytes.
pub(super) fn lines(
    place: &Place,
    path: &str,
    line: u64,
    limit: u64,
    room: u64,
) -> Result<Fit<String>, Failure> {
    let (file, size) = open(place, path)?;
    let lines = slice(file, path, line.max(1) - 1, limit, room)?;
    Ok(match lines {
        Some(text) => Fit::Done(text),
        // The lines cannot exceed the file, unless it has grown.
        None if size > room => Fit::Needs(size.min(READ_FILE_BYTES)),
        None => Fit::Needs(READ_FILE_BYTES),
    })
}

/// Returns `None` if the lines need more than `room` bytes. If `room` is already the maximum, this is an error instead.
fn slice(
    mut from: impl Read,
    path: &str,
    mut skip: u64,
    mut take: u64,
    room: u64,
) -> Result<Option<String>, Failure> {
    let mut chunk = vec![0; READ_CHUNK_BYTES];
    let mut scanned = 0_u64;
    let mut kept = Vec::new();
    while take > 0 {
        let read = match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(of_io(path, &error)),
        };
        scanned += read as u64;
        let mut bytes = &chunk[..read];
        if skip > 0 {
            bytes = &bytes[after_lines(bytes, &mut skip)..];
        }
        if skip == 0 {
            let end = after_lines(bytes, &mut take);
            let needed = (kept.len() + end) as u64;
            if needed > room && room < READ_FILE_BYTES {
                return Ok(None);
            }
            if needed > READ_FILE_BYTES {
                return Err(invalid(
                    path,
                    &format!(
                        "has more than {READ_FILE_BYTES} bytes in these lines, which is too large; \
                         fewer lines may be read"
                    ),
                ));
            }
            kept.extend_from_slice(&bytes[..end]);
        }
        if scanned > READ_SCAN_BYTES && take > 0 {
            return Err(invalid(
                path,
                &format!("is too large to look for these lines beyond {READ_SCAN_BYTES} bytes"),
            ));
        }
    }
    text(kept, path).map(Some)
}

/// Returns how far the next `count` lines extend into `bytes`, and subtracts them from `count`.
fn after_lines(bytes: &[u8], count: &mut u64) -> usize {
    for newline in memchr::memchr_iter(b'\n', bytes) {
        *count -= 1;
        if *count == 0 {
            return newline + 1;
        }
    }
    bytes.len()
}

fn text(bytes: Vec<u8>, path: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| invalid(path, "is not UTF-8 text"))
}

fn too_large(path: &str, size: u64) -> Failure {
    invalid(
        path,
        &format!("is too large: {size} bytes, and {READ_FILE_BYTES} are allowed"),
    )
}

/// Opens a regular file. Returns it with its size.
fn open(place: &Place, path: &str) -> Result<(File, u64), Failure> {
    // Checked before the file is opened, since opening a device can already have an effect.
    let found = place.dir.symlink_metadata(&place.name);
    regular(found.map_err(|error| of_io(path, &error))?.file_type(), path)?;
    open_found(place, path)
}

/// Opens a file that was just found to be regular, but may have been replaced since.
fn open_found(place: &Place, path: &str) -> Result<(File, u64), Failure> {
    // These flags avoid waiting for a FIFO's writer, and acquiring a controlling terminal.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(&place.dir, &place.name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::LOOP) => return Err(changed(path)),
        Err(errno) => return Err(of_errno(path, errno)),
    };
    let opened = file.metadata().map_err(|error| of_io(path, &error))?;
    if !opened.is_file() {
        return Err(changed(path));
    }
    if place.reserved.is_file(&opened) {
        return Err(reserved(path));
    }
    Ok((file, opened.len()))
}

/// Returns an error if the file is not regular.
pub(super) fn regular(kind: FileType, path: &str) -> Result<(), Failure> {
    let what = if kind.is_file() {
        return Ok(());
    } else if kind.is_symlink() {
        return Err(changed(path));
    } else if kind.is_dir() {
        "is a directory"
    } else if kind.is_fifo() {
        "is a FIFO, not a regular file"
    } else if kind.is_socket() {
        "is a socket, not a regular file"
    } else if kind.is_char_device() || kind.is_block_device() {
        "is a device, not a regular file"
    } else {
        "is not a regular file"
    };
    Err(invalid(path, what))
}

#[cfg(test)]
mod tests {
    use acpd_model::ErrorCode;
    use cap_std::ambient_authority;
    use cap_std::fs::Dir;

    use super::*;

    /// Returns one byte at a time, so that every boundary is also a chunk boundary.
    struct Drops<'a>(&'a [u8]);

    impl Read for Drops<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(&mut into[..1])
        }
    }

    #[test]
    fn lines_are_the_same_wherever_chunks_end() {
        let file = "é\r\n\n3\nlast";
        for (line, limit, expected) in [
            (0, 1, "é\r\n"),
            (0, u64::MAX, file),
            (0, 0, ""),
            (1, 1, "\n"),
            (1, 2, "\n3\n"),
            (3, 1, "last"),
            (3, 9, "last"),
            (4, 1, ""),
            (u64::MAX - 1, u64::MAX, ""),
        ] {
            let expected = Some(expected.to_owned());
            assert_eq!(slice(file.as_bytes(), "/f", line, limit, 99).unwrap(), expected);
            let drops = Drops(file.as_bytes());
            assert_eq!(slice(drops, "/f", line, limit, 99).unwrap(), expected);
        }
    }

    #[test]
    fn lines_that_do_not_fit_are_not_kept() {
        let file = "12345\n12345\n".as_bytes();
        for (skip, take, room, fits) in [
            (0, 1, 6, true),
            (0, 1, 5, false),
            (1, 9, 6, true),
            (0, 9, 11, false),
        ] {
            let lines = slice(file, "/f", skip, take, room).unwrap();
            assert_eq!(lines.is_some(), fits, "{take} lines in {room}");
        }
    }

    #[test]
    fn files_that_are_exchanged_are_neither_followed_nor_waited_for() {
        let outer = tempfile::tempdir().unwrap();
        std::fs::write(outer.path().join("file"), "text").unwrap();
        std::os::unix::fs::symlink("file", outer.path().join("link")).unwrap();
        std::fs::create_dir(outer.path().join("dir")).unwrap();
        drop(std::os::unix::net::UnixListener::bind(outer.path().join("socket")).unwrap());
        let made = std::process::Command::new("mkfifo")
            .arg(outer.path().join("fifo"))
            .status();
        assert!(made.unwrap().success());
        let dir = Dir::open_ambient_dir(outer.path(), ambient_authority()).unwrap();
        for (name, expected) in [
            ("file", None),
            ("link", Some(ErrorCode::Conflict)),
            ("dir", Some(ErrorCode::Conflict)),
            ("fifo", Some(ErrorCode::Conflict)),
            ("socket", Some(ErrorCode::InvalidParams)),
            ("none", Some(ErrorCode::NotFound)),
        ] {
            let dir = dir.try_clone().unwrap();
            let name = name.into();
            let reserved = std::sync::Arc::default();
            let opened = open_found(&Place { dir, name, reserved }, "/w/f");
            assert_eq!(opened.err().map(|failure| failure.code), expected);
        }
    }

    #[test]
    fn an_endless_file_is_given_up() {
        let endless = std::io::repeat(b'x');
        let failure = slice(endless, "/f", 0, 1, READ_FILE_BYTES).unwrap_err();
        assert_eq!(failure.code, ErrorCode::InvalidParams);
        assert!(failure.message.contains("bytes in these lines"), "{failure}");
        let failure = slice(std::io::repeat(0), "/f", 1, 1, READ_FILE_BYTES).unwrap_err();
        assert!(failure.message.contains("too large to look for"), "{failure}");
    }
}
