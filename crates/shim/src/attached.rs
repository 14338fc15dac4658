//! The daemon's side of a shim.
//!
//! In: a program to start, or the token of a shim that runs; lines for its process. Out: output by its number of bytes, lines in the
//! process's stdin, news. Owns: the only attachment of the shim, and copies of its descriptors. Never: waits after it is attached.
//!
//! Dropping it detaches: the shim continues alone, and a later daemon attaches with the cursor that its log has. The shim moves bytes
//! from then on, so no thread may still move some by a copy of these descriptors.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::backlog::Backlog;
use crate::channel::{Channel, Received};
use crate::error::ShimError;
use crate::frame::{Farewell, Frame, Hello, Status, Token};
use crate::journal::{Flushed, Journal};
use crate::place::Place;
use crate::ring::{Moved, Ring};
use crate::start::Start;

/// An attached shim with its process's streams.
#[derive(Debug)]
pub struct Attached<S> {
    channel: Channel,
    process: u32,
    status: Option<Status>,
    streams: S,
}

/// The streams that a shim has passed on.
pub trait Streams: Sized {
    /// Takes them. Fails if they are of another kind.
    fn of(hello: &Hello, descriptors: Vec<OwnedFd>) -> io::Result<Self>;

    /// The shim has said that this is all output.
    fn end_output(&mut self, head: u64);

    /// The shim is gone, so it moves nothing any more.
    fn lose_shim(&mut self);
}

/// What a shim reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// The process has ended. Output may still be in the pipe.
    Exited(Status),
    /// No more output can arrive. Only from a shim that moves all bytes.
    OutputEnded,
    /// The shim does not know this kind of frame.
    Refused(u32),
    /// The process and its descendants are gone, and the shim exits. What was written is still there.
    Ended {
        /// Processes that could not be ended.
        left: u32,
    },
    /// The shim is gone, and its process with it. What was written is still there.
    Lost,
}

impl<S: Streams> Attached<S> {
    /// Starts a shim with its process, and attaches. `rules` are Landlock rules for the process. The shim is a child of this process,
    /// which waits for it.
    pub fn start(
        binary: &Path,
        directory: &Path,
        name: &OsStr,
        start: &Start,
        rules: Option<BorrowedFd<'_>>,
        patience: Duration,
    ) -> Result<(Self, Child), ShimError> {
        let (channel, end) = Channel::pair().map_err(ShimError::Connection)?;
        let block = start.to_block().map_err(ShimError::Block)?;
        let descriptors: Vec<_> = std::iter::once(block.as_fd()).chain(rules).collect();
        // It waits in the connection until the shim reads.
        channel
            .send(&Frame::Start, &descriptors)
            .map_err(ShimError::Block)?;
        let mut command = Command::new(binary);
        command
            .arg(directory)
            .arg(name)
            .env_clear()
            .stdin(Stdio::from(end))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(ShimError::Binary)?;
        // The command has the other end: the shim's exit would not be seen.
        drop(command);
        match Self::welcomed(channel, patience) {
            Ok(attached) => Ok((attached, child)),
            Err(error) => {
                // It exits by itself unless it is stuck. Its process ends with it.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Attaches to a shim that runs. `cursor` is the number of bytes of output whose lines are in the log.
    pub fn connect(
        directory: &Path,
        name: &OsStr,
        token: Token,
        cursor: u64,
        patience: Duration,
    ) -> Result<Self, ShimError> {
        let place = Place::open(directory, name).map_err(ShimError::Place)?;
        let channel = place.connect().map_err(ShimError::Connection)?;
        let attach = Frame::Attach { token, cursor };
        channel.send(&attach, &[]).map_err(ShimError::Connection)?;
        Self::welcomed(channel, patience)
    }

    fn welcomed(channel: Channel, patience: Duration) -> Result<Self, ShimError> {
        let gone = || ShimError::Connection(io::ErrorKind::UnexpectedEof.into());
        let received = match channel.wait(Instant::now() + patience) {
            Ok(received) => received.ok_or_else(gone)?,
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(ShimError::Silent),
            Err(error) => return Err(ShimError::Connection(error)),
        };
        let Received { frame, descriptors } = received;
        match frame {
            Frame::Hello(hello) => Ok(Self {
                channel,
                process: hello.process,
                status: hello.status,
                streams: S::of(&hello, descriptors).map_err(ShimError::Streams)?,
            }),
            Frame::Bye(farewell) => Err(match farewell {
                Farewell::Ended { .. } => gone(),
                Farewell::Busy => ShimError::Busy,
                Farewell::Denied => ShimError::Denied,
                Farewell::Cursor => ShimError::Cursor,
                Farewell::Failed { step, errno } => ShimError::of_step(step, errno),
                Farewell::Other(_) => ShimError::Version,
            }),
            _ => Err(ShimError::Version),
        }
    }

    /// Returns the id of the process. It is not used again before the shim has reported the end.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Returns how the process ended; `None` while it runs.
    pub fn status(&self) -> Option<Status> {
        self.status
    }

    /// Returns the process's streams.
    pub fn streams(&self) -> &S {
        &self.streams
    }

    /// Returns a descriptor that is readable when there is news.
    pub fn control(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// Returns the next news; `None` if there is none.
    pub fn receive(&mut self) -> io::Result<Option<News>> {
        loop {
            let frame = match self.channel.receive() {
                Ok(Some(received)) => received.frame,
                Ok(None) => {
                    self.streams.lose_shim();
                    return Ok(Some(News::Lost));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            };
            let news = match frame {
                Frame::Exited(status) => {
                    self.status = Some(status);
                    News::Exited(status)
                }
                Frame::OutputEnded(head) => {
                    self.streams.end_output(head);
                    News::OutputEnded
                }
                Frame::Refused(kind) => News::Refused(kind),
                Frame::Bye(farewell) => {
                    self.streams.lose_shim();
                    match farewell {
                        Farewell::Ended { left } => News::Ended { left },
                        // It says none of these to an attached daemon.
                        _ => News::Lost,
                    }
                }
                // Of a later version, which says the same in words that this one knows.
                _ => continue,
            };
            return Ok(Some(news));
        }
    }

    /// Sets how long the shim waits for another daemon once this one is gone.
    pub fn limit_orphan(&self, time: Duration) -> io::Result<()> {
        self.channel.send(&Frame::Limits(time.as_secs()), &[])
    }

    /// Sends a signal to the process's group.
    pub fn signal(&self, signal: u32) -> io::Result<()> {
        self.channel.send(&Frame::Signal(signal), &[])
    }

    /// Ends the process and its descendants: with SIGTERM, and after `grace` with SIGKILL. [`News::Ended`] says when.
    pub fn end(&self, grace: Duration) -> io::Result<()> {
        let millis = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.channel.send(&Frame::End(millis), &[])
    }
}

/// Pipes of an agent. Its stdout loses nothing.
#[derive(Debug)]
pub struct Pipes {
    stdout: OwnedFd,
    ring: Ring,
    journal: Journal,
    errors: Backlog,
    wake: OwnedFd,
    stdin: Option<OwnedFd>,
    /// The shim moves all bytes.
    copies: bool,
    /// The shim is gone.
    is_alone: bool,
    head: u64,
    /// What the shim knows to be stored.
    tail: u64,
    /// Where the output ends, once it has.
    end: Option<u64>,
}

impl Streams for Pipes {
    fn of(hello: &Hello, descriptors: Vec<OwnedFd>) -> io::Result<Self> {
        let facts = hello.facts;
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next().ok_or(io::ErrorKind::InvalidData);
        if facts.is_terminal {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut pipes = Self {
            stdout: next()?,
            ring: Ring::open(next()?)?,
            journal: Journal::open(next()?)?,
            errors: Backlog::open(next()?)?,
            wake: next()?,
            stdin: facts.has_stdin.then(next).transpose()?,
            copies: facts.copies,
            is_alone: false,
            head: hello.head,
            tail: hello.tail,
            end: facts.output_ended.then_some(hello.head).filter(|_| facts.copies),
        };
        pipes.journal.take_over()?;
        Ok(pipes)
    }

    fn end_output(&mut self, head: u64) {
        self.end = Some(head);
    }

    fn lose_shim(&mut self) {
        self.is_alone = true;
    }
}

impl Pipes {
    /// Returns how many bytes of output can be read.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Returns the lines that were sent, by their place.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Returns the last of stderr.
    pub fn errors(&self) -> &Backlog {
        &self.errors
    }

    /// Returns a descriptor that is readable when [`Attached::fill`] may find output.
    pub fn output(&self) -> BorrowedFd<'_> {
        if self.copies && !self.is_alone {
            self.wake.as_fd()
        } else {
            self.stdout.as_fd()
        }
    }

    /// Returns a descriptor that is writable when [`Attached::flush`] may send more; `None` once stdin is closed.
    pub fn input(&self) -> Option<BorrowedFd<'_>> {
        self.stdin.as_ref().map(AsFd::as_fd)
    }

    /// Reads output from this byte on. Returns how many bytes were read.
    pub fn read(&self, from: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.ring.read(from, self.head, buffer)
    }
}

impl Attached<Pipes> {
    /// Moves output into the ring, where it can be read by its number, in this process and after it.
    pub fn fill(&mut self) -> io::Result<Moved> {
        let Pipes {
            stdout,
            ring,
            wake,
            copies,
            is_alone,
            head,
            tail,
            end,
            ..
        } = &mut self.streams;
        if !*copies {
            let moved = ring.splice_from(&*stdout, *tail)?;
            if let Moved::Bytes(bytes) = moved {
                *head += bytes;
            }
            return Ok(moved);
        }
        // Before the look at the ring: what arrives later wakes again.
        clear(wake);
        let arrived = ring.head(*tail)?;
        let moved = arrived - *head;
        *head = arrived;
        if *is_alone && moved == 0 && *end != Some(arrived) {
            // The rest is in the pipe. No process is left for which a byte could be lost.
            let moved = ring.copy_from(&*stdout, *tail)?;
            if let Moved::Bytes(bytes) = moved {
                *head += bytes;
            }
            return Ok(moved);
        }
        Ok(match (moved, *end) {
            (1.., _) => Moved::Bytes(moved),
            (0, Some(end)) if end == arrived => Moved::Ended,
            (0, _) if arrived - *tail == ring.capacity() => Moved::Full,
            (0, _) => Moved::Nothing,
        })
    }

    /// Lets output before `cursor` be overwritten: the log has it. If the shim does not read at the moment, the next call does it.
    pub fn acknowledge(&mut self, cursor: u64) -> io::Result<()> {
        if cursor > self.streams.head {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if cursor <= self.streams.tail {
            return Ok(());
        }
        match self.channel.send(&Frame::Ack(cursor), &[]) {
            // The shim may continue alone at any time, and must then know where the ring begins.
            Ok(()) => self.streams.tail = cursor,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Gives the ring's memory back if all output was acknowledged.
    pub fn give_back(&mut self) -> io::Result<()> {
        let streams = &self.streams;
        // A shim that copies may be writing to it.
        if streams.copies || streams.head != streams.tail {
            return Ok(());
        }
        streams.ring.give_back()
    }

    /// Appends whole lines to those that are sent to the process. From now on they are sent even if this process is killed.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.streams.journal.append(lines)
    }

    /// Sends what was appended, as far as the process reads it.
    pub fn flush(&mut self) -> io::Result<Flushed> {
        let streams = &self.streams;
        let Some(stdin) = &streams.stdin else {
            return Ok(Flushed::Closed);
        };
        if !streams.copies {
            return streams.journal.splice_to(stdin);
        }
        match self.channel.send(&Frame::Flush(streams.journal.end()), &[]) {
            Ok(()) => Ok(Flushed::All),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Flushed::Blocked),
            Err(error) => Err(error),
        }
    }

    /// Gives the memory of lines before this place back, if they were sent and read. The log needs none of them any more.
    pub fn forget(&mut self, mark: u64) -> io::Result<()> {
        match &self.streams.stdin {
            Some(stdin) => self.streams.journal.forget(mark, stdin),
            None => Ok(()),
        }
    }

    /// Closes the process's stdin behind the lines for which [`Attached::flush`] has returned [`Flushed::All`]. Others are never sent.
    pub fn close_stdin(&mut self) -> io::Result<()> {
        self.streams.stdin = None;
        self.channel.send(&Frame::CloseStdin, &[])
    }
}

/// A terminal, of whose output the last is kept.
#[derive(Debug)]
pub struct Terminal {
    master: OwnedFd,
    kept: Backlog,
    wake: OwnedFd,
    has_ended: bool,
}

impl Streams for Terminal {
    fn of(hello: &Hello, descriptors: Vec<OwnedFd>) -> io::Result<Self> {
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next().ok_or(io::ErrorKind::InvalidData);
        if !hello.facts.is_terminal {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self {
            master: next()?,
            kept: Backlog::open(next()?)?,
            wake: next()?,
            has_ended: hello.facts.output_ended,
        })
    }

    fn end_output(&mut self, _: u64) {
        self.has_ended = true;
    }

    fn lose_shim(&mut self) {
        // It alone keeps output.
        self.has_ended = true;
    }
}

impl Terminal {
    /// Returns the terminal's end to which a user types. Only the shim reads from it.
    pub fn master(&self) -> BorrowedFd<'_> {
        self.master.as_fd()
    }

    /// Returns the last output.
    pub fn kept(&self) -> &Backlog {
        &self.kept
    }

    /// Returns whether no more output can arrive.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns a descriptor that is readable when output has arrived, until [`Terminal::clear`].
    pub fn output(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Clears [`Terminal::output`]. Output that arrives later makes it readable again.
    pub fn clear(&self) {
        clear(&self.wake);
    }
}

impl Attached<Terminal> {
    /// Sets the size of the terminal.
    pub fn resize(&self, columns: u16, rows: u16) -> io::Result<()> {
        self.channel.send(&Frame::Resize { columns, rows }, &[])
    }
}

/// Resets a wake-up. It may be unset.
fn clear(wake: &OwnedFd) {
    let _ = rustix::io::read(wake, &mut [0_u8; 8]);
}
