//! The last bytes of an output of which earlier ones may be lost: of stderr, and of a terminal.
//!
//! In: bytes from the shim. Out: the last of them, for a daemon. Owns: a file in memory. Never: keeps its writer from writing.
//!
//! The file ends with the number of bytes that were ever written. A reader compares it before and after it reads, so that it takes
//! no bytes that were overwritten meanwhile.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use rustix::io::{pread, pwrite};

use crate::error::retried;

/// The most bytes that are written before their number is.
const CHUNK: u64 = 16 << 10;
/// Size of the number at the end.
const NUMBER_BYTES: u64 = 8;

/// The last bytes of an output. The shim writes and a daemon reads.
#[derive(Debug)]
pub struct Backlog {
    file: OwnedFd,
    size: u64,
    written: u64,
}

/// A part of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Number of the first byte. It is higher than the requested one if bytes before it are lost.
    pub from: u64,
    /// Number of bytes.
    pub length: usize,
}

impl Backlog {
    /// Makes an empty one, which keeps at least the last `kept` bytes.
    pub fn create(kept: u64) -> io::Result<Self> {
        let file = memfd_create("acpd-backlog", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, kept.saturating_add(CHUNK + NUMBER_BYTES))?;
        Self::open(file)
    }

    /// Opens one that the other side made.
    pub fn open(file: OwnedFd) -> io::Result<Self> {
        let length = u64::try_from(fstat(&file)?.st_size).unwrap_or_default();
        let size = length.saturating_sub(NUMBER_BYTES);
        if size < CHUNK {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut backlog = Self {
            file,
            size,
            written: 0,
        };
        backlog.written = backlog.written()?;
        Ok(backlog)
    }

    /// Appends bytes. Only for the shim.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let place = self.written % self.size;
            let most = usize::try_from(CHUNK.min(self.size - place)).unwrap_or(usize::MAX);
            let part = rest.get(..most).unwrap_or(rest);
            let written = retried(|| pwrite(&self.file, part, place))?;
            self.written += u64::try_from(written).unwrap_or_default();
            retried(|| pwrite(&self.file, &self.written.to_le_bytes(), self.size))?;
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Returns the number of bytes that were ever written.
    pub fn written(&self) -> io::Result<u64> {
        // Two equal numbers were not read in the middle of a change.
        let mut last = None;
        loop {
            let mut bytes = [0; 8];
            retried(|| pread(&self.file, &mut bytes, self.size))?;
            let written = u64::from_le_bytes(bytes);
            if last == Some(written) {
                return Ok(written);
            }
            last = Some(written);
        }
    }

    /// Returns the number of the first byte that cannot be overwritten by the next write.
    fn oldest(&self, written: u64) -> u64 {
        written.saturating_sub(self.size - CHUNK)
    }

    /// Reads from this byte on, or from the first one that is still there.
    pub fn read(&self, from: u64, buffer: &mut [u8]) -> io::Result<Piece> {
        loop {
            let written = self.written()?;
            let from = from.max(self.oldest(written));
            let place = from % self.size;
            let most = written.saturating_sub(from).min(self.size - place);
            let most = usize::try_from(most).unwrap_or(usize::MAX).min(buffer.len());
            let length = retried(|| pread(&self.file, &mut buffer[..most], place))?;
            if from >= self.oldest(self.written()?) {
                return Ok(Piece { from, length });
            }
        }
    }
}

impl AsFd for Backlog {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: u64) -> Vec<u8> {
        format!("{number:08}").into_bytes()
    }

    #[test]
    fn the_last_bytes_are_there_by_their_numbers() {
        let kept = 4096;
        let mut writer = Backlog::create(kept).unwrap();
        let reader = Backlog::open(writer.file.try_clone().unwrap()).unwrap();
        let mut buffer = [0; 100];
        let nothing = Piece { from: 0, length: 0 };
        assert_eq!(reader.read(0, &mut buffer).unwrap(), nothing);
        for number in 0..20_000 {
            writer.push(&text(number)).unwrap();
        }
        assert_eq!(reader.written().unwrap(), 160_000);
        let mut from = 0;
        let mut found: Vec<u8> = Vec::new();
        while from < 160_000 {
            let piece = reader.read(from, &mut buffer).unwrap();
            if found.is_empty() {
                assert_eq!(piece.from, 160_000 - kept, "earlier ones are lost");
            } else {
                assert_eq!(piece.from, from);
            }
            found.extend(&buffer[..piece.length]);
            from = piece.from + u64::try_from(piece.length).unwrap();
        }
        let expected: Vec<u8> = (20_000 - kept / 8..20_000).flat_map(text).collect();
        assert!(found == expected);
    }

    #[test]
    fn more_than_everything_is_written_at_once() {
        let mut backlog = Backlog::create(10).unwrap();
        let bytes: Vec<u8> = (0..100_000)
            .map(|number| u8::try_from(number % 251).unwrap())
            .collect();
        backlog.push(&bytes).unwrap();
        let mut buffer = [0; 64];
        let piece = backlog.read(0, &mut buffer).unwrap();
        assert_eq!((piece.from, piece.length), (99_990, 10));
        assert_eq!(buffer[..10], bytes[99_990..]);
    }
}
