//! The output of a process that is not in the log yet.
//!
//! In: a pipe. Out: its bytes by their number since the process started. Owns: a file in memory. Never: overwrites a byte behind
//! the tail.
//!
//! The file's position is the head: the kernel advances it in the same call that takes bytes out of the pipe. Daemon and shim share
//! it, since a descriptor that is passed on has the same position. A position is less than the head, which only grows, so the head
//! is computed from the tail. One byte stays free: a full ring is not an empty one.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    FallocateFlags, MemfdFlags, SeekFrom, fallocate, fstat, ftruncate, memfd_create, seek, tell,
};
use rustix::io::{Errno, pread, read, write};
use rustix::pipe::{SpliceFlags, splice};

use crate::error::retried;

/// The most bytes that one call moves, so that its caller stays responsive.
const MOST_MOVED: u64 = 1 << 20;
/// The most bytes that one call copies.
const MOST_COPIED: usize = 16 << 10;

/// A ring in memory. Only one side moves bytes into it at a time: the attached daemon, or the shim.
#[derive(Debug)]
pub struct Ring {
    file: OwnedFd,
    size: u64,
}

/// What a call moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// This many bytes.
    Bytes(u64),
    /// Nothing: the ring is full.
    Full,
    /// Nothing: none was there.
    Nothing,
    /// Nothing, and nothing can arrive any more.
    Ended,
}

impl Ring {
    /// Makes a ring that holds one byte less than `size`.
    pub fn create(size: u64) -> io::Result<Self> {
        let file = memfd_create("acpd-ring", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, size)?;
        Self::open(file)
    }

    /// Opens a ring that the other side made.
    pub fn open(file: OwnedFd) -> io::Result<Self> {
        let size = u64::try_from(fstat(&file)?.st_size).unwrap_or_default();
        if size < 2 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self { file, size })
    }

    /// Returns the most bytes that the ring holds.
    pub fn capacity(&self) -> u64 {
        self.size - 1
    }

    /// Returns how many bytes have arrived since the process started. `tail` is a number of bytes, of which the ring holds all
    /// later ones.
    pub fn head(&self, tail: u64) -> io::Result<u64> {
        // At the end of the file, the position is its size, which is the place of 0.
        let position = tell(&self.file)? % self.size;
        Ok(tail + (position + self.size - tail % self.size) % self.size)
    }

    /// Returns how many bytes fit at the file's position without a gap.
    fn room(&self, tail: u64) -> io::Result<u64> {
        let free = self.capacity() - (self.head(tail)? - tail);
        let mut position = tell(&self.file)?;
        if position >= self.size {
            position = seek(&self.file, SeekFrom::Start(0))?;
        }
        Ok(free.min(self.size - position))
    }

    /// Moves bytes from a pipe into the ring. Does not wait.
    pub fn splice_from(&self, pipe: impl AsFd, tail: u64) -> io::Result<Moved> {
        let room = self.room(tail)?.min(MOST_MOVED);
        if room == 0 {
            return Ok(Moved::Full);
        }
        let bytes = usize::try_from(room).unwrap_or(usize::MAX);
        let moved = retried(|| splice(&pipe, None, &self.file, None, bytes, SpliceFlags::NONBLOCK));
        result(moved)
    }

    /// Copies bytes from a descriptor that does not block into the ring. If this process is killed meanwhile, the bytes are lost,
    /// so only the shim may do it, with which the process that writes them ends, or who has
    /// outlived the shim.
    pub fn copy_from(&self, from: impl AsFd, tail: u64) -> io::Result<Moved> {
        let room = usize::try_from(self.room(tail)?)
            .unwrap_or(usize::MAX)
            .min(MOST_COPIED);
        if room == 0 {
            return Ok(Moved::Full);
        }
        // The memory is there before the bytes are: they could not be put back.
        let length = u64::try_from(room).unwrap_or_default();
        let keep = FallocateFlags::KEEP_SIZE;
        retried(|| fallocate(&self.file, keep, tell(&self.file)?, length))?;
        let mut buffer = [0; MOST_COPIED];
        let moved = retried(|| read(&from, &mut buffer[..room]));
        let mut rest = buffer.get(..moved.unwrap_or_default()).unwrap_or_default();
        while !rest.is_empty() {
            let written = retried(|| write(&self.file, rest))?;
            rest = rest.get(written..).unwrap_or_default();
        }
        result(moved)
    }

    /// Reads bytes by their number. Returns how many were read: at most up to `head`, and up to the end of the file.
    pub fn read(&self, from: u64, head: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let place = from % self.size;
        let most = head.saturating_sub(from).min(self.size - place);
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(buffer.len());
        Ok(retried(|| pread(&self.file, &mut buffer[..most], place))?)
    }

    /// Gives the memory of the ring back. It must be empty.
    pub fn give_back(&self) -> io::Result<()> {
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(retried(|| fallocate(&self.file, how, 0, self.size))?)
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn result(moved: rustix::io::Result<usize>) -> io::Result<Moved> {
    match moved {
        Ok(0) => Ok(Moved::Ended),
        Ok(moved) => Ok(Moved::Bytes(u64::try_from(moved).unwrap_or_default())),
        Err(Errno::AGAIN) => Ok(Moved::Nothing),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::OFlags;
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    fn pipe() -> (OwnedFd, OwnedFd) {
        let (from, to) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        rustix::fs::fcntl_setfl(&from, OFlags::NONBLOCK).unwrap();
        (from, to)
    }

    fn all(ring: &Ring, mut from: u64, head: u64) -> Vec<u8> {
        let mut found = Vec::new();
        let mut buffer = [0; 5];
        while from < head {
            let read = ring.read(from, head, &mut buffer).unwrap();
            found.extend(&buffer[..read]);
            from += u64::try_from(read).unwrap();
        }
        found
    }

    #[test]
    fn bytes_keep_their_numbers_around_the_end_and_are_not_overwritten() {
        type Move = fn(&Ring, &OwnedFd, u64) -> io::Result<Moved>;
        let splice: Move = |ring, from, tail| ring.splice_from(from, tail);
        let copy: Move = |ring, from, tail| ring.copy_from(from, tail);
        for moves in [splice, copy] {
            let (from, to) = pipe();
            let ring = Ring::create(8).unwrap();
            assert_eq!(ring.head(0).unwrap(), 0);
            assert_eq!(moves(&ring, &from, 0).unwrap(), Moved::Nothing);
            write(&to, b"abcdefghijklm").unwrap();
            assert_eq!(moves(&ring, &from, 0).unwrap(), Moved::Bytes(7));
            assert_eq!(moves(&ring, &from, 0).unwrap(), Moved::Full);
            assert_eq!(ring.head(0).unwrap(), 7);
            assert_eq!(all(&ring, 0, 7), b"abcdefg");
            // One byte up to the file's end, then from its beginning.
            assert_eq!(moves(&ring, &from, 3).unwrap(), Moved::Bytes(1));
            assert_eq!(ring.head(3).unwrap(), 8);
            assert_eq!(moves(&ring, &from, 3).unwrap(), Moved::Bytes(2));
            assert_eq!(moves(&ring, &from, 3).unwrap(), Moved::Full);
            assert_eq!(all(&ring, 3, 10), b"defghij");
            // The other side has another tail, and computes the same head.
            assert_eq!(ring.head(10).unwrap(), 10);
            assert_eq!(moves(&ring, &from, 10).unwrap(), Moved::Bytes(3));
            drop(to);
            assert_eq!(moves(&ring, &from, 13).unwrap(), Moved::Ended);
            ring.give_back().unwrap();
            assert_eq!(ring.head(13).unwrap(), 13);
        }
    }

    #[test]
    fn a_ring_without_room_is_refused() {
        for size in [0, 1] {
            assert!(Ring::create(size).is_err(), "{size}");
        }
    }
}
