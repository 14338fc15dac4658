//! Commands on terminals that a shim holds.
//!
//! In: a command, or the hold of one that runs; what users type. Out: its output by its number of bytes, and its exit. Owns: the
//! connection to the shim, and the shim's process if this one started it. Never: ends a command that was left to the next daemon.
//!
//! The shim reads the terminal and keeps its last output, so nothing is lost while no daemon is there, and a command never waits for
//! one. It stays after the command has ended, with the output, until the last handle of the terminal is dropped.

use std::ffi::OsStr;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use acpd_model::limits::{LEFTOVER_MILLIS, TERMINAL_BYTES_MAX};
use acpd_model::{ErrorCode, Failure};
use acpd_shim::{
    Attached, Backlog, News, ShimError, Start, Status, StreamKind, Terminal as ShimTerminal, Token,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use tokio::sync::watch;

use super::error::HeldError;
use super::hold::Hold;
use super::shims::{ORPHAN_SECS, Shims, reap};
use crate::children;
use crate::command::TerminalSpec;
use crate::exit::{Exit, cannot_start, signal_name};
use crate::mark::Mark;
use crate::pty::{self, Master};
use crate::sweep::{self, ProcessScope};
use crate::tail::Tail;

/// How long a shim may take to start its command.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// How long a shim may take to answer.
const ATTACH_PATIENCE: Duration = Duration::from_secs(2);
/// How long a shim may take to end the descendants of its command: it kills them for ten seconds.
const SWEEP_PATIENCE: Duration = Duration::from_secs(15);
/// How much longer a terminal waits for a daemon than its agent. A daemon that finds the agent finds its terminals as well.
const LONGER_THAN_AGENT: Duration = Duration::from_mins(1);
/// Size of one read of what is kept.
const READ_BYTES: usize = 16 << 10;

/// A held command, as its terminal needs it.
#[derive(Debug)]
pub(crate) struct Held {
    pub command: HeldCommand,
    pub output: HeldOutput,
    pub handles: Handles,
    /// What the shim has kept so far.
    pub tail: Tail,
}

impl Shims {
    /// Starts a command on a terminal, or finds the one that an earlier daemon has started with this hold: a command starts at most
    /// once. Blocks.
    pub(crate) fn start_terminal(&self, spec: &TerminalSpec, hold: &Hold) -> Result<Held, Failure> {
        if spec.program.command.is_empty() {
            let error = ShimError::Program(io::ErrorKind::InvalidInput.into());
            return Err(self.refused(spec, hold, error));
        }
        match self.attach_terminal(hold, spec.output_bytes) {
            Ok(held) => return Ok(held),
            Err(ShimError::Connection(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(not_known(spec, &error)),
        }
        self.make_directory()?;
        let start = start(spec, hold)?;
        let start_in = spec.directory.as_ref().map(|directory| directory.as_fd());
        let spawned = self.spawn(&spec.program, hold, &start, start_in);
        let (starting, shim) = spawned.map_err(|error| self.refused(spec, hold, error))?;
        match starting.welcomed::<ShimTerminal>(START_PATIENCE) {
            Ok(attached) => match Copies::of(&attached, spec.output_bytes) {
                Ok(copies) => Ok(held(attached, copies, Some(shim), hold)),
                Err(error) => {
                    // A shim that does not read ends in its time, as one without a daemon.
                    let _ = attached.end(Duration::ZERO);
                    reap(shim);
                    Err(self.refused(spec, hold, ShimError::Streams(error)))
                }
            },
            Err(error) => {
                reap(shim);
                match error {
                    // A shim that an earlier daemon has started was faster.
                    ShimError::Place(place) if place.kind() == io::ErrorKind::AddrInUse => self
                        .attach_terminal(hold, spec.output_bytes)
                        .map_err(|error| not_known(spec, &error)),
                    error => Err(self.refused(spec, hold, error)),
                }
            }
        }
    }

    /// Returns the failure of a command that has not started.
    fn refused(&self, spec: &TerminalSpec, hold: &Hold, error: ShimError) -> Failure {
        let begin = "the command failed to start";
        let of_program = |error: io::Error| {
            let reason = cannot_start(&spec.program, &error);
            Failure::invalid_params(format!("{begin}: {reason}"))
        };
        match error {
            ShimError::Program(error) => of_program(error),
            ShimError::Block(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => {
                of_program(error)
            }
            error => {
                let reason = self.place.error(error, hold, 0);
                Failure::new(ErrorCode::Internal, format!("{begin}: {reason}"))
            }
        }
    }

    /// Attaches to the terminal with this hold, of whose output `output_bytes` are kept. Blocks.
    pub(crate) fn attach_terminal(&self, hold: &Hold, output_bytes: usize) -> Result<Held, ShimError> {
        // Only a row that was changed by hand has none, and the shim denies that.
        let token = hold.shim_token().unwrap_or(Token(0));
        let (directory, name) = (&self.place.directory, OsStr::new(&hold.shim));
        let attached = Attached::<ShimTerminal>::connect(directory, name, token, 0, ATTACH_PATIENCE);
        let attached = attached.map_err(|error| match error {
            // There is no directory before the first shim.
            ShimError::Place(error) if error.kind() == io::ErrorKind::NotFound => {
                ShimError::Connection(error)
            }
            error => error,
        })?;
        // After an error the shim continues alone, as before.
        let copies = Copies::of(&attached, output_bytes).map_err(ShimError::Streams)?;
        Ok(held(attached, copies, None, hold))
    }
}

/// Returns what a shim needs to start a command as a child of this process would start.
fn start(spec: &TerminalSpec, hold: &Hold) -> Result<Start, HeldError> {
    let mark = hold.agent_mark().ok_or(HeldError::Damaged("mark"))?;
    // One byte at least: by it, the number of bytes that were written is known.
    let kept = spec.output_bytes.clamp(1, TERMINAL_BYTES_MAX);
    let streams = StreamKind::Terminal {
        columns: pty::TERMINAL_COLUMNS,
        rows: pty::TERMINAL_ROWS,
        kept: u64::try_from(kept).unwrap_or(u64::MAX),
    };
    Ok(Start {
        orphan_secs: ORPHAN_SECS + LONGER_THAN_AGENT.as_secs(),
        input: pty::first_input(),
        ..Shims::start_block(&spec.program, hold, mark, streams)?
    })
}

/// Returns the failure of a command that an earlier daemon has started, and that cannot be reached.
fn not_known(spec: &TerminalSpec, error: &ShimError) -> Failure {
    let command = &spec.program.command;
    Failure::new(
        ErrorCode::Internal,
        format!(
            "it is not known how far {command:?} came, which acpd started before it was restarted: {error}; look at what it has done \
             before you run it again"
        ),
    )
}

/// What the thread that reads a terminal needs of its attachment.
struct Copies {
    master: OwnedFd,
    wake: OwnedFd,
    control: OwnedFd,
    /// Closed by the last handle.
    handles: PipeReader,
    last_handle: PipeWriter,
    tail: Tail,
}

impl Copies {
    fn of(attached: &Attached<ShimTerminal>, output_bytes: usize) -> io::Result<Self> {
        let terminal = attached.streams();
        let mut tail = Tail::new(output_bytes.min(TERMINAL_BYTES_MAX));
        fill(&mut tail, terminal.kept())?;
        let (handles, last_handle) = io::pipe()?;
        Ok(Self {
            master: terminal.master().try_clone_to_owned()?,
            wake: terminal.output().try_clone_to_owned()?,
            control: attached.control().try_clone_to_owned()?,
            handles,
            last_handle,
            tail,
        })
    }
}

/// Takes a terminal whose shim is attached.
fn held(attached: Attached<ShimTerminal>, copies: Copies, shim: Option<Child>, hold: &Hold) -> Held {
    let progress = watch::Sender::new(Progress {
        exit: attached.status().map(exit),
        ..Progress::default()
    });
    let shared = Arc::new(Shared {
        attached: Mutex::new(attached),
        is_left: AtomicBool::new(false),
        mark: hold.agent_mark(),
    });
    Held {
        command: HeldCommand {
            shared: Arc::clone(&shared),
            progress: progress.subscribe(),
        },
        handles: Handles {
            shared: Arc::clone(&shared),
            progress: progress.subscribe(),
            _open: copies.last_handle,
        },
        output: HeldOutput {
            master: Master::of_other(copies.master),
            shared,
            wake: copies.wake,
            control: copies.control,
            handles: copies.handles,
            position: copies.tail.written(),
            progress,
            shim,
        },
        tail: copies.tail,
    }
}

/// Reads what is kept. Output that arrives meanwhile is not waited for.
fn fill(tail: &mut Tail, kept: &Backlog) -> io::Result<()> {
    let end = kept.written()?;
    let mut buffer = vec![0; READ_BYTES];
    while tail.written() < end {
        let piece = kept.read(tail.written(), &mut buffer)?;
        tail.skip_to(piece.from);
        tail.push(buffer.get(..piece.length).unwrap_or_default());
    }
    Ok(())
}

fn exit(status: Status) -> Exit {
    let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    match status {
        Status::Exited(code) => Exit {
            code: Some(number(code)),
            signal: None,
        },
        Status::Signalled(signal) => Exit {
            code: None,
            signal: Some(signal_name(number(signal))),
        },
    }
}

/// What all sides of a held terminal use.
#[derive(Debug)]
struct Shared {
    attached: Mutex<Attached<ShimTerminal>>,
    /// The next daemon continues with the command, so it must not be ended.
    is_left: AtomicBool,
    mark: Option<Mark>,
}

impl Shared {
    fn attached(&self) -> MutexGuard<'_, Attached<ShimTerminal>> {
        // Each call leaves it consistent.
        self.attached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_left(&self) -> bool {
        self.is_left.load(Ordering::Acquire)
    }

    /// Ends what a shim that is gone has left. Blocks.
    fn sweep(&self) -> usize {
        let scope = self.mark.map(ProcessScope::Held);
        scope.map_or(0, |scope| sweep::end(scope, Duration::ZERO))
    }
}

/// How far a held command is.
#[derive(Debug, Clone, Default)]
struct Progress {
    /// How the command ended.
    exit: Option<Exit>,
    /// Its descendants are gone, but for so many.
    swept: Option<u32>,
    /// The shim is gone.
    is_gone: bool,
    /// It went without being asked to.
    is_lost: bool,
}

/// The command on a held terminal.
#[derive(Debug)]
pub(crate) struct HeldCommand {
    shared: Arc<Shared>,
    progress: watch::Receiver<Progress>,
}

impl HeldCommand {
    /// Waits until the command has ended. Safe to cancel.
    pub async fn exited(&mut self) {
        // The other side ends after it has said so.
        let _ = self.progress.wait_for(|progress| progress.exit.is_some()).await;
    }

    /// Returns how the command ended, if it has.
    pub fn status(&self) -> Option<Exit> {
        self.progress.borrow().exit.clone()
    }

    /// Returns whether the command was left to the next daemon.
    pub fn is_left(&self) -> bool {
        self.shared.is_left()
    }

    /// Returns whether the shim was ended by another process.
    pub fn is_lost(&self) -> bool {
        self.progress.borrow().is_lost
    }

    /// Ends the command and its descendants: with SIGTERM, and after this time with SIGKILL.
    pub fn terminate(&self, grace: Duration) {
        // A shim that cannot be reached is gone, or found to hang when the terminal ends.
        let _ = self.shared.attached().sweep(grace);
    }

    /// Returns the number of descendants that run, wherever they have moved.
    pub async fn descendants(&self) -> usize {
        if self.progress.borrow().is_gone {
            return 0;
        }
        let shim = self.shared.attached().shim();
        let shim = i32::try_from(shim).ok().and_then(Pid::from_raw);
        let count = tokio::task::spawn_blocking(move || shim.map_or(0, sweep::count_below));
        // If the runtime is shutting down, nothing reads the number.
        count.await.unwrap_or_default()
    }

    /// Has the shim add a text to the output. Returns whether it does.
    pub fn note(&self, text: &str) -> bool {
        !self.progress.borrow().is_gone && self.shared.attached().note(text.as_bytes()).is_ok()
    }

    /// Ends the command and its descendants. The shim stays, with the output. Children that an ended command left behind get a short
    /// grace period, but for one that was terminated. Returns how the command ended.
    pub async fn end(mut self, terminated: bool) -> Exit {
        let grace = if terminated {
            Duration::ZERO
        } else {
            Duration::from_millis(LEFTOVER_MILLIS)
        };
        // A shim that is gone is reported as well.
        let _ = self.shared.attached().sweep(grace);
        let is_over = |progress: &Progress| progress.is_gone || progress.swept.is_some();
        let over = tokio::time::timeout(SWEEP_PATIENCE + grace, self.progress.wait_for(is_over));
        let is_over = over.await.is_ok_and(|reached| reached.is_ok());
        if self.is_left() {
            // Nothing waits for the shim any more, and the next daemon ends what is left.
            return self.status().unwrap_or_default();
        }
        if !is_over {
            // It hangs: a process of the same user may have stopped it. The command ends with it.
            let _ = self.shared.attached().kill();
        }
        if !is_over || self.is_lost() {
            let shared = Arc::clone(&self.shared);
            // If the runtime is shutting down, the next start of the daemon finds them.
            let _ = tokio::task::spawn_blocking(move || shared.sweep()).await;
        }
        self.status().unwrap_or_default()
    }
}

/// All handles of a held terminal. Dropping them ends the command and its shim, if it was not left.
#[derive(Debug)]
pub(crate) struct Handles {
    shared: Arc<Shared>,
    progress: watch::Receiver<Progress>,
    /// Closed when this is dropped.
    _open: PipeWriter,
}

impl Handles {
    /// Leaves the command to the next daemon. The shim waits for it as long as for that of the agent, and a little longer.
    pub fn leave(&self, orphan: Duration) {
        self.limit_orphan(orphan);
        self.shared.is_left.store(true, Ordering::Release);
    }

    /// Sets how long the agent's shim waits for the next daemon when this one is killed. That of the terminal waits a little longer.
    pub fn limit_orphan(&self, orphan: Duration) {
        let longer = orphan.saturating_add(LONGER_THAN_AGENT);
        // A shim that reads nothing keeps its limit.
        let _ = self.shared.attached().limit_orphan(longer);
    }

    /// Ends the shim with all that is left, and waits until it is gone.
    pub async fn release(&self) {
        let mut progress = self.progress.clone();
        let _ = self.shared.attached().end(Duration::ZERO);
        // The other side ends last, when it has waited for the shim.
        let over = async { while progress.changed().await.is_ok() {} };
        // A shim that hangs is killed when the handles are dropped.
        let _ = tokio::time::timeout(SWEEP_PATIENCE, over).await;
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        if !self.shared.is_left() {
            // At once: this process may be about to exit.
            let _ = self.shared.attached().end(Duration::ZERO);
        }
    }
}

/// The output of a held terminal, for the thread that reads it. The thread receives what the shim reports as well.
#[derive(Debug)]
pub(crate) struct HeldOutput {
    master: Master,
    shared: Arc<Shared>,
    /// Readable when there is output.
    wake: OwnedFd,
    /// Readable when the shim has something to report.
    control: OwnedFd,
    /// Closed by [`Handles`].
    handles: PipeReader,
    /// Bytes that were read, or skipped because they were lost.
    position: u64,
    progress: watch::Sender<Progress>,
    /// The shim, if it is a child of this process.
    shim: Option<Child>,
}

impl HeldOutput {
    /// Reads the available output. 0 means that no process has the terminal open.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive();
        let attached = self.shared.attached();
        let terminal = attached.streams();
        // Before the read: what arrives later wakes again.
        terminal.clear();
        let piece = terminal.kept().read(self.position, buffer)?;
        if piece.length == 0 {
            let error = io::ErrorKind::WouldBlock.into();
            return if terminal.has_ended() { Ok(0) } else { Err(error) };
        }
        self.position = piece.from + piece.length as u64;
        Ok(piece.length)
    }

    /// Returns the number of bytes that were read or lost.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns what becomes readable when [`HeldOutput::read`] may have another result.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let control = (!self.is_gone()).then(|| self.control.as_fd());
        std::iter::once(self.wake.as_fd()).chain(control)
    }

    /// Returns the end to which a user types.
    pub fn master(&mut self) -> &mut Master {
        &mut self.master
    }

    /// Has the shim add a text to the output. Returns whether it does.
    pub fn note(&self, text: &str) -> bool {
        !self.is_gone() && self.shared.attached().note(text.as_bytes()).is_ok()
    }

    fn is_gone(&self) -> bool {
        self.progress.borrow().is_gone
    }

    /// Takes what the shim has reported.
    fn receive(&self) {
        while !self.is_gone() {
            let received = self.shared.attached().receive();
            match received {
                Ok(None) => return,
                Ok(Some(News::Exited(status))) => {
                    let exit = exit(status);
                    self.progress.send_modify(|progress| progress.exit = Some(exit));
                }
                Ok(Some(News::Swept { left })) => {
                    self.progress.send_modify(|progress| progress.swept = Some(left));
                }
                Ok(Some(News::Ended { .. })) => self.lose(false),
                Ok(Some(News::Lost)) => self.lose(true),
                // The end of the output is known to the streams. A frame that this shim does not know changes nothing.
                Ok(Some(News::OutputEnded | News::Refused(_))) => {}
                // Of a later version.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                Err(_) => {
                    // A shim that cannot be heard would keep its command forever.
                    let _ = self.shared.attached().kill();
                    self.lose(true);
                }
            }
        }
    }

    /// The shim is gone, and its command with it.
    fn lose(&self, is_lost: bool) {
        self.progress.send_modify(|progress| {
            progress.is_gone = true;
            progress.is_lost = is_lost;
            progress.exit.get_or_insert_default();
        });
    }

    /// Waits for the end of the shim or of the last handle, and ends the shim then, if the command was not left.
    pub fn stay(mut self) {
        while !self.is_gone() && !self.waits_for_handles() {
            self.receive();
        }
        // A daemon that leaves a shim is about to exit: the shim stays in the list of children, which nothing ends.
        let shim = self.shim.take();
        if self.shared.is_left() {
            return;
        }
        if !self.is_gone() {
            self.end();
        }
        if let Some(shim) = shim {
            reap(shim);
        }
    }

    /// Waits for a report of the shim. Returns whether there is no handle any more.
    fn waits_for_handles(&self) -> bool {
        let mut both = [
            PollFd::new(&self.handles, PollFlags::IN),
            PollFd::new(&self.control, PollFlags::IN),
        ];
        // After an interruption, or a temporary lack of memory, both are looked at again.
        let _ = poll(&mut both, None);
        !both[0].revents().is_empty()
    }

    /// Ends the shim.
    fn end(&self) {
        let deadline = Instant::now() + SWEEP_PATIENCE;
        let _ = self.shared.attached().end(Duration::ZERO);
        loop {
            self.receive();
            let left = deadline.saturating_duration_since(Instant::now());
            if self.is_gone() || left.is_zero() {
                break;
            }
            let left = Timespec::try_from(left).unwrap_or_default();
            let _ = poll(&mut [PollFd::new(&self.control, PollFlags::IN)], Some(&left));
        }
        if !self.is_gone() {
            let _ = self.shared.attached().kill();
            self.lose(true);
            // The stack of this thread is too small for a look at all processes.
            let shared = Arc::clone(&self.shared);
            let sweep = std::thread::Builder::new().spawn(move || shared.sweep());
            // Without a thread, the next start of the daemon finds them.
            drop(sweep);
        }
    }
}

impl Drop for HeldOutput {
    fn drop(&mut self) {
        if let Some(shim) = &self.shim {
            // No thread could be started that waits for it. The orphans' reaper does.
            children::forget(Pid::from_child(shim));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_filled_with_its_numbers() {
        let mut backlog = Backlog::create(10).unwrap();
        let mut tail = Tail::new(10);
        fill(&mut tail, &backlog).unwrap();
        assert_eq!((tail.text(false), tail.written()), ((String::new(), false), 0));
        backlog.push(b"0123456789ab").unwrap();
        fill(&mut tail, &backlog).unwrap();
        assert_eq!(tail.text(false), ("23456789ab".into(), true));
        backlog.push(&vec![b'x'; 100_000]).unwrap();
        backlog.push(b"end").unwrap();
        for mut late in [tail, Tail::new(10)] {
            fill(&mut late, &backlog).unwrap();
            assert_eq!(late.text(false), ("xxxxxxxend".into(), true));
            assert_eq!(late.written(), 100_015);
        }
    }

    #[test]
    fn exits_are_those_of_children() {
        assert_eq!(exit(Status::Exited(3)).code, Some(3));
        assert_eq!(exit(Status::Signalled(9)).signal.as_deref(), Some("SIGKILL"));
        assert_eq!(exit(Status::Signalled(u32::MAX)).code, None);
    }
}
