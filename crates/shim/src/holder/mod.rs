//! The shim's loop.
//!
//! In: frames of the daemon, signals, readiness of streams, the time. Out: frames. Owns: the socket, the connections, the held
//! process.

mod candidates;
mod child;
mod descendants;
mod ending;
mod orphan;
mod streams;
mod system;

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use acpd_shim::{
    Channel, Facts, Farewell, Frame, Hello, Moved, Place, Received, ShimError, Start, Status, Token,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{DumpableBehavior, Signal, kill_process_group};

use self::candidates::Candidates;
use self::child::Held;
use self::descendants::Reaped;
use self::ending::{Ending, Progress};
use self::orphan::Orphan;
use self::streams::Streams;
use self::system::Signalled;

/// How long a daemon may take to send what to start.
const START_PATIENCE: Duration = Duration::from_secs(30);
/// Time between SIGTERM and SIGKILL where no daemon says another one.
const GRACE: Duration = Duration::from_secs(2);
/// The longest time between the two.
const MOST_GRACE: Duration = Duration::from_hours(1);
/// How long the shim does nothing when the system is short of memory or descriptors.
const PAUSE: Duration = Duration::from_millis(100);
/// Reads from a terminal whose processes have ended. One reads at least a page, and the system keeps much less than all of them.
const MOST_LAST_READS: usize = 64;

/// Runs the shim.
pub(crate) fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(directory), Some(name), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        eprintln!("acpd-shim holds an agent for acpd, which starts it; it is not for users");
        return ExitCode::FAILURE;
    };
    system::close_inherited();
    // Fails for the leader of a group, which a user's shell makes of it.
    let _ = rustix::process::setsid();
    let Ok(channel) = first_channel() else {
        eprintln!("acpd-shim: stdin is not a connection to acpd");
        return ExitCode::FAILURE;
    };
    match Holder::start(&directory, &name, &channel) {
        Ok(mut holder) => {
            holder.welcome(channel);
            holder.run();
            ExitCode::SUCCESS
        }
        Err(error) => {
            let (step, errno) = error.step();
            // The daemon may be gone, too.
            let _ = channel.send(&Frame::Bye(Farewell::Failed { step, errno }), &[]);
            ExitCode::FAILURE
        }
    }
}

/// Takes the connection that is stdin. Nothing else keeps it open.
fn first_channel() -> io::Result<Channel> {
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let null = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    Channel::from_peer(socket)
}

/// What may be ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Attached,
    Signals,
    Output,
    Errors,
    Input,
    Listener,
    Candidate(usize),
}

#[derive(Debug)]
struct Holder {
    place: Place,
    listener: OwnedFd,
    /// Inode of the socket's file.
    inode: u64,
    signals: OwnedFd,
    token: Token,
    held: Held,
    status: Option<Status>,
    output_ended: bool,
    attached: Option<Channel>,
    /// Frames for the daemon while its end of the connection is full.
    unsent: Vec<Frame>,
    candidates: Candidates,
    orphan: Orphan,
    ending: Option<Ending>,
    /// It is over, with this number of processes that could not be ended.
    left: Option<u32>,
}

impl Holder {
    /// Receives what to start, and starts it.
    fn start(directory: &OsStr, name: &OsStr, channel: &Channel) -> Result<Self, ShimError> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let received = channel
            .wait(Instant::now() + START_PATIENCE)
            .map_err(ShimError::Block)?;
        let Some(Received {
            frame: Frame::Start,
            descriptors,
        }) = received
        else {
            return Err(ShimError::Block(invalid()));
        };
        let mut descriptors = descriptors.into_iter();
        let block = descriptors.next().ok_or_else(|| ShimError::Block(invalid()))?;
        let rules = descriptors.next();
        let start = Start::of_block(&block).map_err(ShimError::Block)?;
        let place = Place::open(Path::new(directory), name).map_err(ShimError::Place)?;
        let streams = |error: rustix::io::Errno| ShimError::Streams(error.into());
        let signals = system::signals().map_err(ShimError::Streams)?;
        let own = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(own)).map_err(streams)?;
        let (listener, inode) = place.listen().map_err(ShimError::Place)?;
        // A process that could trace the shim would have the token. If the system refuses, only its other protections are left.
        let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        if let Some(mark) = start.shim_mark {
            system::carry(mark);
        }
        let held = match child::start(&start, rules) {
            Ok(held) => held,
            Err(error) => {
                let _ = place.remove(inode);
                return Err(error);
            }
        };
        let _ = rustix::process::chdir("/");
        Ok(Self {
            place,
            listener,
            inode,
            signals,
            token: start.token,
            held,
            status: None,
            output_ended: false,
            attached: None,
            unsent: Vec::new(),
            candidates: Candidates::default(),
            orphan: Orphan::new(Duration::from_secs(start.orphan_secs)),
            ending: None,
            left: None,
        })
    }

    fn run(&mut self) {
        let left = loop {
            for source in self.wait() {
                self.handle(source);
            }
            self.pass_time(Instant::now());
            if let Some(left) = self.left {
                break left;
            }
        };
        // A daemon that has the news may use the name again.
        let _ = self.place.remove(self.inode);
        self.send(Frame::Bye(Farewell::Ended { left }));
    }

    /// Waits until something is ready or due.
    fn wait(&self) -> Vec<Source> {
        let mut sources = Vec::new();
        let mut polled = Vec::new();
        {
            let mut add = |source, descriptor, flags| {
                sources.push(source);
                polled.push(PollFd::from_borrowed_fd(descriptor, flags));
            };
            if let Some(channel) = &self.attached {
                let sends = if self.unsent.is_empty() {
                    PollFlags::empty()
                } else {
                    PollFlags::OUT
                };
                add(Source::Attached, channel.as_fd(), PollFlags::IN | sends);
            }
            add(Source::Signals, self.signals.as_fd(), PollFlags::IN);
            let (streams, is_detached) = (&self.held.streams, self.is_detached());
            if let Some(output) = streams.output(is_detached).filter(|_| !self.output_ended) {
                add(Source::Output, output, PollFlags::IN);
            }
            if let Some(errors) = streams.errors() {
                add(Source::Errors, errors, PollFlags::IN);
            }
            if let Some(input) = streams.input(is_detached) {
                add(Source::Input, input, PollFlags::OUT);
            }
            add(Source::Listener, self.listener.as_fd(), PollFlags::IN);
            for (place, candidate) in self.candidates.descriptors().enumerate() {
                add(Source::Candidate(place), candidate, PollFlags::IN);
            }
        }
        let timeout = self
            .due()
            .map(|due| due.saturating_duration_since(Instant::now()));
        let timeout = timeout.map(|time| Timespec::try_from(time).unwrap_or_default());
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) => {
                let ready = sources
                    .iter()
                    .zip(&polled)
                    .filter(|(_, polled)| !polled.revents().is_empty());
                ready.map(|(source, _)| *source).collect()
            }
            // A signal, or too little memory for a moment: what is due is looked at, and then waited for again.
            Err(_) => Vec::new(),
        }
    }

    /// Returns when something must happen without anything being ready.
    fn due(&self) -> Option<Instant> {
        let ending = self.ending.as_ref().map(Ending::due);
        let orphan = self.orphan.due().filter(|_| self.ending.is_none());
        let due = [self.candidates.due(), ending, orphan];
        due.into_iter().flatten().min()
    }

    fn handle(&mut self, source: Source) {
        match source {
            Source::Attached => {
                self.send_rest();
                self.receive();
            }
            Source::Signals => self.take_signals(),
            Source::Output => {
                self.move_output();
            }
            Source::Errors => self.keep_errors(),
            Source::Input => self.flush(),
            Source::Listener => self.accept(),
            Source::Candidate(place) => self.hear(place),
        }
        // Those behind a candidate that leaves are at another place, and ready again at the next poll.
    }

    fn pass_time(&mut self, now: Instant) {
        self.candidates.expire(now);
        let (place, inode) = (&self.place, self.inode);
        if self.ending.is_none() && self.orphan.is_over(now, || is_reachable(place, inode)) {
            self.end(GRACE, now);
        }
        if self.ending.is_none() {
            return;
        }
        let is_childless = self.reap();
        if let Some(ending) = &mut self.ending
            && let Progress::Over(left) = ending.proceed(now, is_childless)
        {
            self.move_rest();
            self.leave_rest();
            self.left = Some(left);
        }
    }

    // The process.

    fn take_signals(&mut self) {
        while let Some(signal) = system::next_signal(&self.signals) {
            match signal {
                Signalled::Child => {
                    self.reap();
                }
                Signalled::End => self.end(GRACE, Instant::now()),
                Signalled::Ignored => {}
            }
        }
    }

    /// Waits for all children that have ended. Returns whether there is no other.
    fn reap(&mut self) -> bool {
        loop {
            let (pid, status) = match descendants::reap() {
                Reaped::Child(pid, status) => (pid, status),
                Reaped::None => return false,
                Reaped::Childless => return true,
            };
            if let Some(ending) = &mut self.ending {
                ending.forget(pid);
            }
            if pid != self.held.pid || self.status.is_some() {
                continue;
            }
            let number = |number: i32| u32::try_from(number).unwrap_or_default();
            let status = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Status::Exited(number(code)),
                (None, signal) => Status::Signalled(number(signal.unwrap_or_default())),
            };
            self.status = Some(status);
            self.send(Frame::Exited(status));
        }
    }

    /// Sends a signal to the process's group. Once the process was waited for, its number is not its own.
    fn signal(&self, signal: Signal) {
        if self.status.is_none() {
            // No process of the group is left, or it runs as another user.
            let _ = kill_process_group(self.held.pid, signal);
        }
    }

    fn end(&mut self, grace: Duration, now: Instant) {
        let grace = grace.min(MOST_GRACE);
        if let Some(ending) = &mut self.ending {
            ending.hasten(now, grace);
            return;
        }
        self.signal(Signal::TERM);
        let group = self.status.is_none().then_some(self.held.pid);
        self.ending = Some(Ending::new(now, grace, group));
    }

    // The streams.

    fn is_detached(&self) -> bool {
        self.attached.is_none()
    }

    /// Moves output if that is the shim's task now. Returns whether there was some.
    fn move_output(&mut self) -> bool {
        let is_detached = self.is_detached();
        match self.held.streams.move_output(is_detached) {
            Ok(Moved::Bytes(_)) => {
                self.wake();
                return true;
            }
            Ok(Moved::Full | Moved::Nothing) => {}
            Ok(Moved::Ended) => {
                self.output_ended = true;
                if self.held.streams.copies() {
                    let head = self.held.streams.head().unwrap_or_default();
                    self.send(Frame::OutputEnded(head));
                    self.wake();
                }
            }
            // Memory is short. Bytes that were not moved are still in the pipe.
            Err(_) => std::thread::sleep(PAUSE),
        }
        false
    }

    fn wake(&self) {
        // A counter that is full wakes as well.
        let _ = rustix::io::write(&self.held.wake, &1_u64.to_ne_bytes());
    }

    fn keep_errors(&mut self) {
        if self.held.streams.keep_errors().is_err() {
            // Memory is short. The process must not fail for that, so some of its lines are lost.
            std::thread::sleep(PAUSE);
        }
    }

    fn flush(&mut self) {
        let is_detached = self.is_detached();
        if self.held.streams.flush(is_detached).is_err() {
            // Memory is short. The lines are still in the journal.
            std::thread::sleep(PAUSE);
        }
    }

    /// Moves what is left in the pipe or the terminal, as far as that is the shim's task and there is room.
    fn move_rest(&mut self) {
        // A process that cannot be ended may write without end. The pipe's ring is full at some time, and a terminal has no more than
        // this from those that have ended.
        let most = match &self.held.streams {
            Streams::Pipes(_) => usize::MAX,
            Streams::Terminal(_) => MOST_LAST_READS,
        };
        for _ in 0..most {
            if self.output_ended || !self.move_output() {
                return;
            }
        }
    }

    /// Stores output that no daemon has fetched beside the socket: the daemon may have ended for good, and the user may want it.
    fn leave_rest(&mut self) {
        if self.attached.is_some() || !is_reachable(&self.place, self.inode) {
            return;
        }
        if let Streams::Pipes(pipes) = &self.held.streams {
            // A file that is there is an older rest. The process is gone in any case.
            let _ = orphan::leave_rest(&self.place, pipes);
        }
    }

    // The connections.

    /// Sends a frame to the attached daemon, if there is one. It learns the same when it attaches again.
    ///
    /// A daemon that does not read stays attached: only the end of its connection says that it moves no bytes any more.
    fn send(&mut self, frame: Frame) {
        if self.is_detached() {
            return;
        }
        // Each is sent once to a daemon, but for refusals.
        let is_repeated = matches!(frame, Frame::Refused(_)) && !self.unsent.is_empty();
        if !is_repeated {
            self.unsent.push(frame);
        }
        self.send_rest();
    }

    fn send_rest(&mut self) {
        let Some(channel) = &self.attached else {
            return;
        };
        while let Some(frame) = self.unsent.first() {
            match channel.send(frame, &[]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // After another error the connection has ended, which is received.
                Ok(()) | Err(_) => {
                    self.unsent.remove(0);
                }
            }
        }
    }

    fn receive(&mut self) {
        while let Some(channel) = &self.attached {
            match channel.receive() {
                Ok(Some(received)) => self.obey(received.frame),
                Ok(None) => self.detach(),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => self.send(Frame::Refused(0)),
                Err(_) => return,
            }
        }
    }

    fn obey(&mut self, frame: Frame) {
        match frame {
            Frame::Ack(cursor) => {
                // A cursor that cannot be is left out: the ring stays as full as it is.
                let _ = self.held.streams.acknowledge(cursor);
            }
            Frame::Limits(seconds) => self.orphan.set_limit(Duration::from_secs(seconds)),
            Frame::Flush(end) => {
                if self.held.streams.accept_lines(end) {
                    self.flush();
                } else {
                    self.send(Frame::Refused(frame.kind()));
                }
            }
            Frame::CloseStdin => {
                self.held.streams.close_stdin();
                self.flush();
            }
            Frame::Resize { columns, rows } => self.held.streams.resize(columns, rows),
            Frame::Signal(number) => {
                let number = i32::try_from(number).unwrap_or_default();
                match Signal::from_named_raw(number) {
                    Some(signal) => self.signal(signal),
                    None => self.send(Frame::Refused(frame.kind())),
                }
            }
            Frame::End(grace) => self.end(Duration::from_millis(grace), Instant::now()),
            // The daemon moves nothing any more.
            Frame::Bye(_) => self.detach(),
            Frame::Hello(_)
            | Frame::Attach { .. }
            | Frame::Exited(_)
            | Frame::Start
            | Frame::OutputEnded(_)
            | Frame::Refused(_)
            | Frame::Unknown(_) => self.send(Frame::Refused(frame.kind())),
        }
    }

    fn accept(&mut self) {
        match Channel::accept(&self.listener) {
            Ok(Some(channel)) => self.candidates.add(channel, Instant::now()),
            Ok(None) => {}
            // No descriptor is free. The connection waits.
            Err(_) => std::thread::sleep(PAUSE),
        }
    }

    /// Reads what a candidate has sent.
    fn hear(&mut self, place: usize) {
        let Some((channel, frame)) = self.candidates.take(place) else {
            return;
        };
        let farewell = match frame {
            Frame::Attach { token, cursor } if token.matches(self.token) => {
                // A daemon that was killed may have left frames, and is not attached any more.
                self.receive();
                match self.admit(cursor) {
                    Ok(()) => return self.welcome(channel),
                    Err(farewell) => farewell,
                }
            }
            _ => Farewell::Denied,
        };
        // The connection is closed in any case.
        let _ = channel.send(&Frame::Bye(farewell), &[]);
    }

    /// Prepares the streams for a daemon whose log has this cursor.
    fn admit(&mut self, cursor: u64) -> Result<(), Farewell> {
        if self.attached.is_some() {
            return Err(Farewell::Busy);
        }
        self.held.streams.release(cursor)
    }

    /// Attaches a daemon.
    fn welcome(&mut self, channel: Channel) {
        let (tail, has_stdin) = match &self.held.streams {
            Streams::Pipes(pipes) => (pipes.tail, pipes.stdin.is_some()),
            Streams::Terminal(_) => (0, false),
        };
        let hello = Hello {
            head: self.held.streams.head().unwrap_or(tail),
            tail,
            process: u32::try_from(self.held.pid.as_raw_pid()).unwrap_or_default(),
            facts: Facts {
                copies: self.held.streams.copies(),
                is_terminal: matches!(self.held.streams, Streams::Terminal(_)),
                has_stdin,
                output_ended: self.output_ended,
            },
            status: self.status,
        };
        let descriptors = self.held.streams.descriptors(&self.held.wake);
        match channel.send(&Frame::Hello(hello), &descriptors) {
            Ok(()) => {
                self.held.streams.pass_journal();
                self.attached = Some(channel);
                self.orphan.found();
            }
            Err(error) => {
                // The system has too many descriptors on their way. A daemon that is gone again counts as detached since now.
                let (step, errno) = ShimError::Streams(error).step();
                let _ = channel.send(&Frame::Bye(Farewell::Failed { step, errno }), &[]);
                self.orphan.lost(Instant::now());
            }
        }
    }

    /// Continues without a daemon: sends the whole lines of its journal, and moves output from now on.
    fn detach(&mut self) {
        self.attached = None;
        self.unsent.clear();
        self.orphan.lost(Instant::now());
        self.held.streams.inherit_journal();
        self.flush();
    }
}

/// Returns whether a daemon can still find the socket.
fn is_reachable(place: &Place, inode: u64) -> bool {
    match place.inode() {
        Ok(found) => found == Some(inode),
        // The system did not answer.
        Err(_) => true,
    }
}
