//! The daemon's side of a shim.
//!
//! In: a program to start, or the token of a shim that runs; lines for its process. Out: output by its number of bytes, lines in the
//! process's stdin, news. Owns: the only attachment of the shim, and copies of its descriptors. Never: waits after it is attached,
//! except for a shim that does not read what it is asked for.
//!
//! Dropping it detaches: the shim continues alone, and a later daemon attaches with the cursor that its log has. The shim moves bytes
//! from then on, so no thread may still move some by a copy of these descriptors.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::backlog::Backlog;
use crate::channel::{Channel, Received};
use crate::error::ShimError;
use crate::frame::{Farewell, Frame, Hello, Status, Token};
use crate::journal::{Flushed, Journal};
use crate::place::Place;
use crate::ring::{Moved, Ring};
use crate::start::Start;

/// How long a connection that fails for a moment waits for the next attempt.
const PAUSE: Duration = Duration::from_millis(5);

/// How long a shim that is asked for something may leave no room for the question. It reads at once, unless it was stopped.
const ROOM_PATIENCE: Duration = Duration::from_secs(1);

/// How long a shim that must end may take: it kills its processes after two seconds.
const END_PATIENCE: Duration = Duration::from_secs(4);

/// A shim that was started and has not answered yet.
///
/// Dropping it leaves the shim alone, which ends in time if no daemon attaches.
#[derive(Debug)]
pub struct Starting {
    channel: Channel,
    shim: Process,
    place: Place,
}

/// The process of a shim.
#[derive(Debug)]
struct Process {
    pid: Pid,
    /// Refers to this process even when its number is another one's.
    file: OwnedFd,
}

impl Process {
    fn open(pid: Pid) -> io::Result<Self> {
        let file = pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Self { pid, file })
    }

    /// Sends a signal. A process that is gone needs none.
    fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(&self.file, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the process has ended. Returns whether it has.
    fn has_ended_in(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).unwrap_or_default();
            match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&timeout)) {
                Ok(0) => return false,
                Ok(_) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}

impl Starting {
    /// Starts a shim that starts this process. `rules` are Landlock rules for the process. The shim is a child of this process,
    /// which waits for it.
    pub fn spawn(
        binary: &Path,
        directory: &Path,
        name: &OsStr,
        start: &Start,
        rules: Option<BorrowedFd<'_>>,
    ) -> Result<(Self, Child), ShimError> {
        let place = Place::open(directory, name).map_err(ShimError::Place)?;
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
        // The command, which is dropped here, has the other end: the shim's exit would not be seen.
        let mut child = command.spawn().map_err(ShimError::Binary)?;
        drop(command);
        match Process::open(Pid::from_child(&child)) {
            Ok(shim) => Ok((Self { channel, shim, place }, child)),
            Err(error) => {
                // It has read nothing of worth, and ends with what it may have started.
                let _ = child.kill();
                let _ = child.wait();
                Err(ShimError::Binary(error))
            }
        }
    }

    /// Waits until the process has started, and attaches. If the shim does not answer in time, it is ended with all that it has started,
    /// and its name is free again, which takes some seconds more.
    pub fn welcomed<S: Streams>(self, patience: Duration) -> Result<Attached<S>, ShimError> {
        let Self { channel, shim, place } = self;
        match hello(&channel, Instant::now() + patience) {
            Ok(hello) => Attached::new(channel, shim, hello),
            Err(error) => {
                if matches!(error, ShimError::Silent) {
                    end_silent(&shim, &place);
                }
                Err(error)
            }
        }
    }
}

/// Ends a shim that does not answer.
fn end_silent(shim: &Process, place: &Place) {
    // What fails here has failed with a process that is gone, or that belongs to another user by now.
    let _ = shim.signal(Signal::CONT);
    let _ = shim.signal(Signal::TERM);
    if shim.has_ended_in(END_PATIENCE) {
        return;
    }
    let inode = place.inode();
    let _ = shim.signal(Signal::KILL);
    // A shim that is stuck in a call of the kernel may end later, and makes no socket then.
    if shim.has_ended_in(END_PATIENCE)
        && let Ok(Some(inode)) = inode
    {
        let _ = place.remove(inode);
    }
}

/// Waits for the answer of a shim.
fn hello(channel: &Channel, deadline: Instant) -> Result<(Hello, Vec<OwnedFd>), ShimError> {
    let gone = || ShimError::Connection(io::ErrorKind::UnexpectedEof.into());
    let received = match channel.wait(deadline) {
        Ok(received) => received.ok_or_else(gone)?,
        Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(ShimError::Silent),
        Err(error) => return Err(ShimError::Connection(error)),
    };
    let Received { frame, descriptors } = received;
    match frame {
        Frame::Hello(hello) => Ok((hello, descriptors)),
        Frame::Bye(farewell) => Err(match farewell {
            Farewell::Ended { .. } => gone(),
            Farewell::Busy => ShimError::Busy,
            Farewell::Denied => ShimError::Denied,
            Farewell::Cursor { tail, head } => ShimError::Cursor { tail, head },
            Farewell::Failed { step, errno } => ShimError::of_step(step, errno),
            Farewell::Other(_) => ShimError::Version,
        }),
        _ => Err(ShimError::Version),
    }
}

/// Returns whether another attempt to attach may succeed.
fn may_pass(error: &ShimError) -> bool {
    match error {
        ShimError::Busy => true,
        // Too many connections wait, or the shim preferred a later one.
        ShimError::Connection(error) => matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::UnexpectedEof
        ),
        _ => false,
    }
}

/// An attached shim with its process's streams.
#[derive(Debug)]
pub struct Attached<S> {
    channel: Channel,
    shim: Process,
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
    /// Attaches to a shim that runs. `cursor` is the number of bytes of output whose lines are in the log. What may pass is tried again:
    /// a daemon that was killed may still hold its connection, or many connections may wait.
    pub fn connect(
        directory: &Path,
        name: &OsStr,
        token: Token,
        cursor: u64,
        patience: Duration,
    ) -> Result<Self, ShimError> {
        let place = Place::open(directory, name).map_err(ShimError::Place)?;
        let deadline = Instant::now() + patience;
        let mut earlier = None;
        loop {
            let error = match Self::attach(&place, token, cursor, deadline) {
                Ok(attached) => return Ok(attached),
                // There was no time for the last attempt. An earlier one says more.
                Err(ShimError::Silent) => return Err(earlier.unwrap_or(ShimError::Silent)),
                Err(error) => error,
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if !may_pass(&error) || left.is_zero() {
                return Err(error);
            }
            earlier = Some(error);
            std::thread::sleep(PAUSE.min(left));
        }
    }

    fn attach(place: &Place, token: Token, cursor: u64, deadline: Instant) -> Result<Self, ShimError> {
        let channel = place.connect().map_err(ShimError::Connection)?;
        // Before the question: who answers it had this number all the time.
        let shim = socket_peercred(&channel).map_err(io::Error::from);
        let shim = shim.and_then(|peer| Process::open(peer.pid));
        let shim = shim.map_err(ShimError::Connection)?;
        // A process of the same user may have stopped it.
        shim.signal(Signal::CONT).map_err(ShimError::Connection)?;
        let attach = Frame::Attach { token, cursor };
        channel.send(&attach, &[]).map_err(ShimError::Connection)?;
        let hello = hello(&channel, deadline)?;
        Self::new(channel, shim, hello)
    }

    fn new(channel: Channel, shim: Process, hello: (Hello, Vec<OwnedFd>)) -> Result<Self, ShimError> {
        let (hello, descriptors) = hello;
        Ok(Self {
            channel,
            shim,
            process: hello.process,
            status: hello.status,
            streams: S::of(&hello, descriptors).map_err(ShimError::Streams)?,
        })
    }

    /// Returns the id of the process. It is not used again before the shim has reported the end.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Returns the id of the shim. It may be another process's once the shim was reported as ended or lost.
    pub fn shim(&self) -> u32 {
        u32::try_from(self.shim.pid.as_raw_pid()).unwrap_or_default()
    }

    /// Kills the shim, which does not do what it was asked for: a process of the same user may have stopped it. Its process ends with it,
    /// and descendants of that may be left.
    pub fn kill(&self) -> io::Result<()> {
        self.shim.signal(Signal::KILL)
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
        // Not none, if it is a part of a second.
        let seconds = time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0));
        self.ask(&Frame::Limits(seconds))
    }

    /// Sends a signal to the process's group.
    pub fn signal(&self, signal: u32) -> io::Result<()> {
        self.ask(&Frame::Signal(signal))
    }

    /// Ends the process and its descendants: with SIGTERM, and after `grace` with SIGKILL. [`News::Ended`] says when. A later call may only
    /// shorten the time. If the news does not come in time, the shim hangs: [`Attached::kill`].
    pub fn end(&self, grace: Duration) -> io::Result<()> {
        // Its process may have stopped it.
        self.shim.signal(Signal::CONT)?;
        let millis = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.ask(&Frame::End(millis))
    }

    /// Asks the shim for something. Acknowledgements that it has not read yet may leave no room at first.
    fn ask(&self, frame: &Frame) -> io::Result<()> {
        match self.channel.send(frame, &[]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.shim.signal(Signal::CONT)?;
                self.channel.send_by(frame, Instant::now() + ROOM_PATIENCE)
            }
            sent => sent,
        }
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
    /// What is stored.
    stored: u64,
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
            stored: hello.tail,
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
        self.send_stored()?;
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

    /// Lets output before `cursor` be overwritten: the log has it. Returns whether the shim knows. If it does not read at the moment,
    /// a later call of this or of [`Attached::fill`] notifies it, for which [`Attached::control`] is writable then.
    pub fn acknowledge(&mut self, cursor: u64) -> io::Result<bool> {
        let streams = &mut self.streams;
        if cursor > streams.head {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        streams.stored = streams.stored.max(cursor);
        self.send_stored()
    }

    fn send_stored(&mut self) -> io::Result<bool> {
        let streams = &mut self.streams;
        if streams.stored <= streams.tail {
            return Ok(true);
        }
        if streams.is_alone {
            streams.tail = streams.stored;
            return Ok(true);
        }
        match self.channel.send(&Frame::Ack(streams.stored), &[]) {
            // The shim may continue alone at any time, and must then know where the ring begins.
            Ok(()) => {
                streams.tail = streams.stored;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // Its process may have stopped it.
                self.shim.signal(Signal::CONT)?;
                Ok(false)
            }
            // The shim is gone, as is soon received. Its ring is this process's alone.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(error),
        }
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
        if has_no_reader(stdin) {
            return Ok(Flushed::Closed);
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
        self.ask(&Frame::CloseStdin)
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
        self.ask(&Frame::Resize { columns, rows })
    }
}

/// Resets a wake-up. It may be unset.
fn clear(wake: &OwnedFd) {
    let _ = rustix::io::read(wake, &mut [0_u8; 8]);
}

/// Returns whether no process reads this pipe any more.
fn has_no_reader(pipe: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(pipe, PollFlags::OUT)];
    let ready = poll(&mut polled, Some(&Timespec::default()));
    ready.is_ok() && polled[0].revents().contains(PollFlags::ERR)
}
