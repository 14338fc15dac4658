//! The shim's ends of a process's streams.
//!
//! In: whether a daemon is attached. Out: what was moved. Owns: those ends. Never: moves bytes of pipes while a daemon does: the
//! position that counts them has room for one.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use acpd_shim::{Backlog, Farewell, Flushed, Journal, Moved, Ring};
use rustix::io::Errno;
use rustix::termios::{Winsize, tcsetwinsize};

/// The shim's ends of a process's streams.
#[derive(Debug)]
pub(super) enum Streams {
    Pipes(Pipes),
    Terminal(Terminal),
}

#[derive(Debug)]
pub(super) struct Pipes {
    pub stdout: OwnedFd,
    pub ring: Ring,
    /// Bytes of output that may be overwritten.
    pub tail: u64,
    pub journal: Journal,
    /// The shim sends the journal up to here.
    pub flush_to: u64,
    /// The journal of a daemon that is gone must be looked at.
    pub inherits_journal: bool,
    pub stdin: Option<OwnedFd>,
    /// Stdin is closed once the journal is sent.
    pub closes_stdin: bool,
    /// The read end of stderr, until it ends.
    pub stderr: Option<OwnedFd>,
    pub errors: Backlog,
    /// The shim moves all bytes, also while a daemon is attached.
    pub copies: bool,
}

#[derive(Debug)]
pub(super) struct Terminal {
    pub master: OwnedFd,
    pub kept: Backlog,
}

impl Streams {
    /// Returns what a daemon gets, in the order of [`acpd_shim::Hello`].
    pub fn descriptors<'a>(&'a self, wake: &'a OwnedFd) -> Vec<BorrowedFd<'a>> {
        match self {
            Self::Pipes(pipes) => {
                let mut all = vec![
                    pipes.stdout.as_fd(),
                    pipes.ring.as_fd(),
                    pipes.journal.as_fd(),
                    pipes.errors.as_fd(),
                    wake.as_fd(),
                ];
                all.extend(pipes.stdin.as_ref().map(AsFd::as_fd));
                all
            }
            Self::Terminal(terminal) => {
                vec![terminal.master.as_fd(), terminal.kept.as_fd(), wake.as_fd()]
            }
        }
    }

    /// Returns whether the shim moves all bytes, also while a daemon is attached.
    pub fn copies(&self) -> bool {
        match self {
            Self::Pipes(pipes) => pipes.copies,
            Self::Terminal(_) => true,
        }
    }

    /// Returns how many bytes of output were moved.
    pub fn head(&self) -> io::Result<u64> {
        match self {
            Self::Pipes(pipes) => pipes.ring.head(pipes.tail),
            Self::Terminal(terminal) => terminal.kept.written(),
        }
    }

    /// Returns the end with output, if the shim moves it now and there is room for it.
    pub fn output(&self, is_detached: bool) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Pipes(pipes) => {
                let head = pipes.ring.head(pipes.tail);
                let has_room = head.is_ok_and(|head| head - pipes.tail < pipes.ring.capacity());
                (pipes.is_moved_here(is_detached) && has_room).then(|| pipes.stdout.as_fd())
            }
            Self::Terminal(terminal) => Some(terminal.master.as_fd()),
        }
    }

    /// Returns the end of stderr, until it ends.
    pub fn errors(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Pipes(pipes) => pipes.stderr.as_ref().map(AsFd::as_fd),
            Self::Terminal(_) => None,
        }
    }

    /// Returns the end for lines, if some wait that the shim sends.
    pub fn input(&self, is_detached: bool) -> Option<BorrowedFd<'_>> {
        let Self::Pipes(pipes) = self else {
            return None;
        };
        let waits = pipes.inherits_journal || pipes.journal.sent().is_ok_and(|sent| sent < pipes.flush_to);
        let stdin = pipes.stdin.as_ref().map(AsFd::as_fd);
        stdin.filter(|_| pipes.is_moved_here(is_detached) && waits)
    }

    /// Moves output, if that is the shim's task now.
    pub fn move_output(&mut self, is_detached: bool) -> io::Result<Moved> {
        match self {
            Self::Pipes(pipes) if !pipes.is_moved_here(is_detached) => Ok(Moved::Nothing),
            Self::Pipes(pipes) if pipes.copies => pipes.ring.copy_from(&pipes.stdout, pipes.tail),
            Self::Pipes(pipes) => pipes.ring.splice_from(&pipes.stdout, pipes.tail),
            Self::Terminal(terminal) => Ok(match keep(&terminal.master, &mut terminal.kept)? {
                Kept::Bytes(bytes) => Moved::Bytes(bytes),
                Kept::Nothing => Moved::Nothing,
                Kept::Ended => Moved::Ended,
            }),
        }
    }

    /// Keeps what has arrived on stderr.
    pub fn keep_errors(&mut self) -> io::Result<()> {
        if let Self::Pipes(pipes) = self
            && let Some(stderr) = &pipes.stderr
            && keep(stderr, &mut pipes.errors)? == Kept::Ended
        {
            pipes.stderr = None;
        }
        Ok(())
    }

    /// The attached daemon has stored all output before this byte, so the ring may overwrite it. `false` if that cannot be.
    ///
    /// A daemon that moves the bytes itself uses the place at once. The position may therefore be beyond what the ring holds behind the
    /// old tail, and says nothing about the head until the new tail is known. But the daemon has never moved more than the ring holds
    /// behind the tail that it sent last.
    pub fn acknowledge(&mut self, cursor: u64) -> bool {
        if self.copies() {
            return self.release(cursor).is_ok();
        }
        let Self::Pipes(pipes) = self else {
            return false;
        };
        let ahead = cursor.checked_sub(pipes.tail);
        let is_possible = ahead.is_some_and(|ahead| ahead <= pipes.ring.capacity());
        if is_possible {
            pipes.tail = cursor;
        }
        is_possible
    }

    /// Lets the ring overwrite output before this byte. Only where no daemon moves bytes.
    pub fn release(&mut self, cursor: u64) -> Result<(), Farewell> {
        if let Self::Pipes(pipes) = self {
            let tail = pipes.tail;
            let head = pipes.ring.head(tail).unwrap_or(tail);
            if !(tail..=head).contains(&cursor) {
                return Err(Farewell::Cursor { tail, head });
            }
            pipes.tail = cursor;
        }
        Ok(())
    }

    /// The journal is whole up to here. `false` if it is shorter, or the daemon sends the lines itself.
    pub fn accept_lines(&mut self, end: u64) -> bool {
        let Self::Pipes(pipes) = self else {
            return false;
        };
        let is_possible = pipes.copies && pipes.journal.refresh().is_ok() && end <= pipes.journal.end();
        if is_possible {
            pipes.flush_to = pipes.flush_to.max(end);
        }
        is_possible
    }

    /// A daemon is gone. The whole lines of its journal are sent.
    pub fn inherit_journal(&mut self) {
        if let Self::Pipes(pipes) = self {
            pipes.inherits_journal = true;
        }
    }

    /// A daemon is attached, which cuts off half a line itself.
    pub fn pass_journal(&mut self) {
        if let Self::Pipes(pipes) = self {
            pipes.inherits_journal = false;
        }
    }

    /// Sends lines, if that is the shim's task now. An error passes, and leaves the lines where they are.
    pub fn flush(&mut self, is_detached: bool) -> io::Result<()> {
        let Self::Pipes(pipes) = self else {
            return Ok(());
        };
        let Some(stdin) = &pipes.stdin else {
            return Ok(());
        };
        if pipes.inherits_journal {
            pipes.journal.take_over()?;
            pipes.flush_to = pipes.journal.end();
            pipes.inherits_journal = false;
        }
        let flushed = if pipes.copies {
            pipes.journal.copy_to(stdin, pipes.flush_to)
        } else if is_detached {
            pipes.journal.splice_to(stdin)
        } else {
            return Ok(());
        };
        match flushed? {
            Flushed::All if pipes.closes_stdin => pipes.stdin = None,
            Flushed::All | Flushed::Blocked => {}
            // Nothing can be sent any more.
            Flushed::Closed => pipes.stdin = None,
        }
        Ok(())
    }

    /// Closes stdin behind the lines that the shim sends.
    pub fn close_stdin(&mut self) {
        if let Self::Pipes(pipes) = self {
            pipes.closes_stdin = true;
            // Otherwise the daemon has sent the lines that matter.
            if !pipes.copies {
                pipes.stdin = None;
            }
        }
    }

    /// Sets the size of a terminal.
    pub fn resize(&self, columns: u16, rows: u16) {
        if let Self::Terminal(terminal) = self {
            // Fails once the terminal is closed.
            let _ = resize(&terminal.master, columns, rows);
        }
    }
}

impl Pipes {
    /// Returns whether the shim moves the bytes of these pipes.
    fn is_moved_here(&self, is_detached: bool) -> bool {
        self.copies || is_detached
    }
}

pub(super) fn resize(master: &OwnedFd, columns: u16, rows: u16) -> rustix::io::Result<()> {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(master, size)
}

/// What was kept of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Bytes(u64),
    Nothing,
    Ended,
}

/// Reads once, so that a process that always writes does not keep the shim from its other work.
fn keep(from: &OwnedFd, into: &mut Backlog) -> io::Result<Kept> {
    let mut buffer = [0; 16 << 10];
    match rustix::io::read(from, &mut buffer) {
        // EIO: the last process closed its end of the terminal.
        Ok(0) | Err(Errno::IO) => Ok(Kept::Ended),
        Ok(read) => {
            into.push(&buffer[..read])?;
            Ok(Kept::Bytes(u64::try_from(read).unwrap_or_default()))
        }
        Err(Errno::AGAIN | Errno::INTR) => Ok(Kept::Nothing),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    #[test]
    fn an_error_leaves_stdin_open_for_the_lines() {
        let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
        let (_reader, stdin) = pipe_with(flags).unwrap();
        let (stdout, _writer) = pipe_with(flags).unwrap();
        let mut journal = Journal::create().unwrap();
        journal.append(b"line\n").unwrap();
        let mut streams = Streams::Pipes(Pipes {
            stdout,
            ring: Ring::create(16).unwrap(),
            tail: 0,
            journal,
            // Beyond the end, where nothing can be read.
            flush_to: 10,
            inherits_journal: false,
            stdin: Some(stdin),
            closes_stdin: false,
            stderr: None,
            errors: Backlog::create(1).unwrap(),
            copies: true,
        });
        assert!(streams.flush(false).is_err());
        assert!(streams.input(false).is_some());
        assert!(!streams.accept_lines(6), "the journal is shorter");
        assert!(streams.accept_lines(5));
    }
}
