//! The lines that a daemon has sent to an agent.
//!
//! In: lines. Out: the same bytes in the agent's stdin. Owns: a file in memory that grows, and whose beginning is given back. Never:
//! sends a part of a line whose rest is missing.
//!
//! The file's position is what the agent's pipe has received. A line is appended first and moved then, so after a daemon was killed
//! the journal shows which lines it has sent: the whole ones. Half a line at the end cannot have been moved, and is cut off.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    FallocateFlags, MemfdFlags, SeekFrom, fallocate, fstat, ftruncate, memfd_create, seek, tell,
};
use rustix::io::{Errno, pread, pwrite, write};
use rustix::pipe::{SpliceFlags, fcntl_getpipe_size, splice};

use crate::error::retried;

/// The most bytes that one call moves or looks at.
const MOST_MOVED: u64 = 1 << 20;
/// The most bytes that one call copies.
const MOST_COPIED: usize = 16 << 10;
/// Only multiples of this are given back: the size of a page, or a multiple of it.
const PUNCHED: u64 = 64 << 10;

/// The journal. Only one side writes and moves at a time: the attached daemon, or the shim.
#[derive(Debug)]
pub struct Journal {
    file: OwnedFd,
    end: u64,
    /// Up to here the memory was given back.
    punched: u64,
}

/// What a call sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flushed {
    /// All lines are in the pipe.
    All,
    /// The pipe is full: the process does not read.
    Blocked,
    /// No process reads the pipe any more.
    Closed,
}

impl Journal {
    /// Makes an empty journal.
    pub fn create() -> io::Result<Self> {
        Self::open(memfd_create("acpd-journal", MemfdFlags::CLOEXEC)?)
    }

    /// Opens a journal that the other side made.
    pub fn open(file: OwnedFd) -> io::Result<Self> {
        let mut journal = Self {
            file,
            end: 0,
            punched: 0,
        };
        journal.refresh()?;
        Ok(journal)
    }

    /// Looks for what the other side has appended.
    pub fn refresh(&mut self) -> io::Result<()> {
        self.end = u64::try_from(fstat(&self.file)?.st_size).unwrap_or_default();
        Ok(())
    }

    /// Returns the number of bytes that were appended.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns the number of bytes that the pipe has received.
    pub fn sent(&self) -> io::Result<u64> {
        Ok(tell(&self.file)?)
    }

    /// Takes over from the other side: finds the end again, and cuts off half a line.
    pub fn take_over(&mut self) -> io::Result<()> {
        self.refresh()?;
        let sent = self.sent()?;
        let mut buffer = [0; 4096];
        let mut end = self.end;
        while end > sent {
            let from = end.saturating_sub(4096).max(sent);
            let length = usize::try_from(end - from).unwrap_or_default();
            let read = self.read(from, &mut buffer[..length])?;
            if read < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match buffer[..length].iter().rposition(|byte| *byte == b'\n') {
                Some(last) => {
                    end = from + u64::try_from(last + 1).unwrap_or_default();
                    break;
                }
                None => end = from,
            }
        }
        if end < self.end {
            ftruncate(&self.file, end)?;
            self.end = end;
        }
        Ok(())
    }

    /// Appends whole lines: `lines` ends with a line break. After an error nothing was appended.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if lines.last().is_some_and(|last| *last != b'\n') {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut end = self.end;
        let mut rest = lines;
        while !rest.is_empty() {
            match retried(|| pwrite(&self.file, rest, end)) {
                Ok(written) => {
                    end += u64::try_from(written).unwrap_or_default();
                    rest = rest.get(written..).unwrap_or_default();
                }
                Err(error) => {
                    ftruncate(&self.file, self.end)?;
                    return Err(error.into());
                }
            }
        }
        self.end = end;
        Ok(())
    }

    /// Moves lines into the pipe. Does not wait.
    pub fn splice_to(&self, pipe: impl AsFd) -> io::Result<Flushed> {
        loop {
            let left = self.end.saturating_sub(self.sent()?).min(MOST_MOVED);
            if left == 0 {
                return Ok(Flushed::All);
            }
            let bytes = usize::try_from(left).unwrap_or(usize::MAX);
            let moved = retried(|| splice(&self.file, None, &pipe, None, bytes, SpliceFlags::NONBLOCK));
            if let Some(flushed) = stopped(moved)? {
                return Ok(flushed);
            }
        }
    }

    /// Copies lines up to this place into a pipe that does not block. Only the shim may do it: its agent ends with it.
    pub fn copy_to(&self, pipe: impl AsFd, end: u64) -> io::Result<Flushed> {
        let mut buffer = [0; MOST_COPIED];
        loop {
            let sent = self.sent()?;
            let left = usize::try_from(end.saturating_sub(sent)).unwrap_or(usize::MAX);
            if left == 0 {
                return Ok(Flushed::All);
            }
            let read = self.read(sent, &mut buffer[..left.min(MOST_COPIED)])?;
            let moved = match read {
                0 => Ok(0),
                read => retried(|| write(&pipe, &buffer[..read])),
            };
            if let Some(flushed) = stopped(moved)? {
                return Ok(flushed);
            }
            let moved = u64::try_from(moved.unwrap_or_default()).unwrap_or_default();
            seek(&self.file, SeekFrom::Start(sent + moved))?;
        }
    }

    /// Reads what was appended from this place on. Returns how many bytes were read.
    pub fn read(&self, from: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(retried(|| pread(&self.file, &mut *buffer, from))?)
    }

    /// Gives the memory before this place back, as far as the process has read it. Places stay the same.
    pub fn forget(&mut self, before: u64, pipe: impl AsFd) -> io::Result<()> {
        // What is in the pipe is memory of the journal.
        let capacity = u64::try_from(fcntl_getpipe_size(pipe)?).unwrap_or_default();
        let read = self.sent()?.saturating_sub(capacity);
        let until = before.min(read) / PUNCHED * PUNCHED;
        if until > self.punched {
            let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            retried(|| fallocate(&self.file, how, self.punched, until - self.punched))?;
            self.punched = until;
        }
        Ok(())
    }
}

impl AsFd for Journal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Returns why no more can be moved.
fn stopped(moved: rustix::io::Result<usize>) -> io::Result<Option<Flushed>> {
    match moved {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => Ok(None),
        Err(Errno::AGAIN) => Ok(Some(Flushed::Blocked)),
        Err(Errno::PIPE) => Ok(Some(Flushed::Closed)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::OFlags;
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    type SendLines = fn(&Journal, &OwnedFd) -> io::Result<Flushed>;

    const SPLICE: SendLines = |journal, pipe| journal.splice_to(pipe);
    const COPY: SendLines = |journal, pipe| journal.copy_to(pipe, journal.end());

    fn pipe() -> (OwnedFd, OwnedFd) {
        let (from, to) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        for end in [&from, &to] {
            rustix::fs::fcntl_setfl(end, OFlags::NONBLOCK).unwrap();
        }
        (from, to)
    }

    fn read_all(from: &OwnedFd, into: &mut Vec<u8>) {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = rustix::io::read(from, &mut buffer) {
            into.extend(&buffer[..read]);
        }
    }

    #[test]
    fn lines_are_sent_in_order_and_the_position_says_how_many() {
        for send in [SPLICE, COPY] {
            let (from, to) = pipe();
            let mut journal = Journal::create().unwrap();
            assert_eq!(send(&journal, &to).unwrap(), Flushed::All);
            let mut expected = Vec::new();
            for number in 0..20_000 {
                let line = format!("line {number}\n");
                journal.append(line.as_bytes()).unwrap();
                expected.extend(line.as_bytes());
            }
            let mut received = Vec::new();
            while send(&journal, &to).unwrap() == Flushed::Blocked {
                read_all(&from, &mut received);
                assert_eq!(journal.sent().unwrap(), u64::try_from(received.len()).unwrap());
                journal.forget(journal.end(), &to).unwrap();
            }
            read_all(&from, &mut received);
            assert!(received == expected);
            assert!(journal.punched > 0);
            drop(from);
            journal.append(b"late\n").unwrap();
            assert_eq!(send(&journal, &to).unwrap(), Flushed::Closed);
        }
    }

    #[test]
    fn half_a_line_is_cut_off_and_whole_ones_are_not() {
        let (from, to) = pipe();
        let mut journal = Journal::create().unwrap();
        journal.append(b"sent\n").unwrap();
        assert_eq!(journal.splice_to(&to).unwrap(), Flushed::All);
        journal.append(b"whole\n").unwrap();
        // A daemon that is killed while it appends leaves this.
        for half in [1, 4095, 4096, 10_000] {
            pwrite(&journal.file, &vec![b'x'; half], journal.end()).unwrap();
            journal.take_over().unwrap();
            assert_eq!(journal.end(), 11, "{half}");
        }
        assert_eq!(journal.splice_to(&to).unwrap(), Flushed::All);
        pwrite(&journal.file, b"half", journal.end()).unwrap();
        journal.take_over().unwrap();
        assert_eq!(journal.end(), 11);
        let mut received = Vec::new();
        read_all(&from, &mut received);
        assert_eq!(received, b"sent\nwhole\n");
        assert!(journal.append(b"half").is_err());
    }
}
