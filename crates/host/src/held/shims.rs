//! The shims of a data directory.
//!
//! In: programs, and what the log has about agents that are held. Out: agents. Owns: the directory with the sockets. Never: attaches to
//! a shim of another user.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use acpd_model::{ErrorCode, Failure};
use acpd_shim::{Attached, Frame, OpenFiles, Pipes, Place, ShimError, Start, Starting, StreamKind, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::io::unix::AsyncFd;

use super::error::HeldError;
use super::hold::Hold;
use super::place::{ShimPlace, is_absent};
use super::process::HeldProcess;
use super::shared::{Shared, watch_control};
use super::stdin::HeldStdin;
use super::stdout::{Arrivals, HeldStdout};
use crate::children;
use crate::command::Program;
use crate::descriptors::{check_descriptors_for, inherited};
use crate::exit::agent_not_started;
use crate::mark::{Mark, VARIABLE};
use crate::sandbox::Sandbox;
use crate::seal::Seal;
use crate::stderr::StderrTail;

/// The directory of the sockets, in the data directory.
const DIRECTORY: &str = "shims";
/// Descriptors that a held agent needs at its start: its pipes, the files in memory, the connection, and copies to wait for them.
const HELD_DESCRIPTORS: u64 = 16;
/// How long a shim may take to start its process.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// How long a shim may take to accept a daemon. The one before may still be ending.
const ATTACH_PATIENCE: Duration = Duration::from_secs(2);
/// How long a shim that has failed may take to exit.
const EXIT_PATIENCE: Duration = Duration::from_secs(1);
/// How long a shim may take to end its processes once it was asked to: it kills them after two seconds, and gives up after ten more.
const END_PATIENCE: Duration = Duration::from_secs(13);
/// Connections to a shim that accepts many others, before it counts as unreachable.
const CONNECTIONS: usize = 5;
/// How long a shim waits for another daemon, in seconds, unless a daemon says something else.
pub(super) const ORPHAN_SECS: u64 = 3600;
/// Longest line of an agent, if the daemon says nothing else.
const LONGEST_LINE: u64 = 32 << 20;
/// What fits into the ring behind the longest line, in bytes.
const BEHIND_LINE: u64 = 1 << 20;

/// Where the shims of a daemon are, and which binary they run.
#[derive(Debug)]
pub struct Shims {
    pub(super) place: ShimPlace,
    /// Size of new rings, in bytes.
    ring: AtomicU64,
    copies: AtomicBool,
}

/// A running agent that a shim holds.
#[derive(Debug)]
pub struct HeldAgent {
    /// Pipe for messages to the agent.
    pub stdin: HeldStdin,
    /// Pipe for messages from the agent.
    pub stdout: HeldStdout,
    /// The end of what the agent prints on stderr.
    pub stderr: StderrTail,
    /// The process.
    pub process: HeldProcess,
}

impl HeldAgent {
    /// Takes an attachment, and reads from `cursor` on.
    fn new(
        attached: Attached<Pipes>,
        watches: Watches,
        cursor: u64,
        mark: Mark,
        name: &str,
        shim: Option<Child>,
    ) -> Self {
        let shared = Shared::new(attached, watches.control);
        let process = HeldProcess::new(shared.clone(), mark, name.to_owned(), shim);
        Self {
            stdin: HeldStdin::new(shared.clone()),
            stdout: HeldStdout::new(shared, watches.arrivals, cursor),
            stderr: process.stderr(),
            process,
        }
    }
}

/// What the runtime watches of an attachment.
struct Watches {
    control: AsyncFd<OwnedFd>,
    arrivals: Arrivals,
}

impl Watches {
    fn of(attached: &Attached<Pipes>) -> io::Result<Self> {
        Ok(Self {
            control: watch_control(attached)?,
            arrivals: Arrivals::of(attached)?,
        })
    }
}

impl Shims {
    /// Returns the shims of this data directory, an absolute path. New ones run this binary.
    pub fn new(binary: PathBuf, data_dir: &Path) -> Self {
        let directory = data_dir.join(DIRECTORY);
        Self {
            place: ShimPlace { binary, directory },
            ring: AtomicU64::new(LONGEST_LINE + BEHIND_LINE),
            copies: AtomicBool::new(false),
        }
    }

    /// Sets the length of the longest line that an agent may write, in bytes, for agents that start from now on. It bounds how much of
    /// an agent's output is kept before the log has it.
    pub fn set_longest_line(&self, bytes: u64) {
        self.ring
            .store(bytes.saturating_add(BEHIND_LINE), Ordering::Relaxed);
    }

    /// Has shims that start from now on copy all bytes, as they do where splice does not work.
    pub fn set_copies(&self, copies: bool) {
        self.copies.store(copies, Ordering::Relaxed);
    }

    /// Starts a program with a shim. The log has the hold already. Blocks until the program has started, which a busy host may delay for
    /// seconds. Must be called where a runtime is.
    pub fn start(&self, program: &Program, hold: &Hold) -> Result<HeldAgent, Failure> {
        if program.command.is_empty() {
            return Err(agent_not_started(program, &io::ErrorKind::InvalidInput.into()));
        }
        check_descriptors_for(HELD_DESCRIPTORS).map_err(|error| {
            let reason = format!("the agent {} cannot be started: {error}", program.command);
            Failure::new(ErrorCode::Overloaded, reason)
        })?;
        let mark = hold.agent_mark().ok_or(HeldError::Damaged("mark"))?;
        let start = self.block(program, hold, mark)?;
        self.make_directory()?;
        let failed = |error| self.start_failure(error, program, hold);
        let (starting, shim) = self.spawn(program, hold, &start, None).map_err(failed)?;
        let attached = match starting.welcomed(START_PATIENCE) {
            Ok(attached) => attached,
            Err(error) => {
                reap(shim);
                return Err(failed(error));
            }
        };
        match Watches::of(&attached) {
            Ok(watches) => Ok(HeldAgent::new(
                attached,
                watches,
                0,
                mark,
                &program.command,
                Some(shim),
            )),
            Err(source) => {
                // A shim that does not read ends in its time, as one without a daemon.
                let _ = attached.end(Duration::ZERO);
                reap(shim);
                Err(system(hold, source).into())
            }
        }
    }

    /// Attaches to a shim that another daemon has started, or this one has left. `cursor` is the number of bytes of output that the log
    /// has. Blocks for two seconds at most. Must be called where a runtime is.
    pub fn attach(&self, hold: &Hold, cursor: u64) -> Result<HeldAgent, HeldError> {
        check_descriptors_for(HELD_DESCRIPTORS)?;
        let mark = hold.agent_mark().ok_or(HeldError::Damaged("mark"))?;
        let token = hold.shim_token().ok_or(HeldError::Damaged("token"))?;
        let (directory, name) = (&self.place.directory, OsStr::new(&hold.shim));
        let attached = Attached::connect(directory, name, token, cursor, ATTACH_PATIENCE)
            .map_err(|error| self.place.error(error, hold, cursor))?;
        // After an error the shim continues alone, as before.
        let watches = Watches::of(&attached).map_err(|source| system(hold, source))?;
        Ok(HeldAgent::new(attached, watches, cursor, mark, "the agent", None))
    }

    /// Returns the names of the sockets in the directory, in no order. Some may be of shims that were killed.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let entries = match std::fs::read_dir(&self.place.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            // A file that has just gone is none.
            if entry.file_type().is_ok_and(|kind| kind.is_socket())
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Ends the shim of this name and all its processes, whether a daemon is attached or not, and removes its socket. Needs no token: a
    /// user may end their own processes. Blocks for some seconds. It succeeds if the shim is gone already.
    pub fn end(&self, name: &str) -> Result<(), HeldError> {
        let shim = name.to_owned();
        let failed = |source: io::Error| HeldError::System {
            shim: name.to_owned(),
            source,
        };
        let place = match Place::open(&self.place.directory, OsStr::new(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            place => place.map_err(failed)?,
        };
        let inode = place.inode().map_err(failed)?;
        let Some((pid, process)) = shim_at(&place).map_err(failed)? else {
            return remove(&place, inode).map_err(failed);
        };
        // A process of the same user may have stopped it.
        for signal in [Signal::CONT, Signal::TERM] {
            send(&process, signal).map_err(failed)?;
        }
        if !has_ended(&process, END_PATIENCE) {
            // Its process ends with it, and the next start of the daemon ends what is left.
            send(&process, Signal::KILL).map_err(failed)?;
            if !has_ended(&process, EXIT_PATIENCE) {
                let process = pid.as_raw_pid().unsigned_abs();
                return Err(HeldError::Stuck { shim, process });
            }
        }
        remove(&place, inode).map_err(failed)
    }

    /// Removes the sockets of shims that were killed. To be called when no shim is starting, after
    /// [`Supervision::begin`](crate::Supervision::begin) has ended those that no thread continues. `continued` has the names of agents
    /// that threads continue: their sockets and those of their terminals stay, since the socket of a killed shim is what shows that a
    /// command has started. Returns the names of those removed.
    pub fn remove_leftovers(&self, continued: &[String]) -> io::Result<Vec<String>> {
        let mut removed = Vec::new();
        for name in self.names()? {
            if continued.iter().any(|agent| is_of(&name, agent)) {
                continue;
            }
            let place = Place::open(&self.place.directory, OsStr::new(&name))?;
            let inode = place.inode()?;
            match place.connect() {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    remove(&place, inode)?;
                    removed.push(name);
                }
                // It listens, or is too busy to answer.
                _ => {}
            }
        }
        Ok(removed)
    }

    /// Starts a shim, which starts this program, in the directory `start_in` if that was opened before.
    pub(super) fn spawn(
        &self,
        program: &Program,
        hold: &Hold,
        start: &Start,
        start_in: Option<BorrowedFd<'_>>,
    ) -> Result<(Starting, Child), ShimError> {
        let (directory, name) = (&self.place.directory, OsStr::new(&hold.shim));
        let rules = program.sandbox.as_ref().map(Sandbox::rules);
        let spawn = |_: Mark| Starting::spawn_in(&self.place.binary, directory, name, start, rules, start_in);
        let pid = |(_, shim): &(Starting, Child)| Some(Pid::from_child(shim));
        Ok(children::start(spawn, pid)?.0)
    }

    /// Returns what a shim needs to start a program on pipes.
    fn block(&self, program: &Program, hold: &Hold, mark: Mark) -> Result<Start, HeldError> {
        let ring = self.ring.load(Ordering::Relaxed);
        let pipes = Self::start_block(program, hold, mark, StreamKind::Pipes { ring })?;
        Ok(Start {
            copies: self.copies.load(Ordering::Relaxed),
            ..pipes
        })
    }

    /// Returns what a shim needs to start a program with these streams.
    pub(super) fn start_block(
        program: &Program,
        hold: &Hold,
        mark: Mark,
        streams: StreamKind,
    ) -> Result<Start, HeldError> {
        let token = hold.shim_token().ok_or(HeldError::Damaged("token"))?;
        let mut environment: BTreeMap<OsString, OsString> = program
            .env
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        environment.insert(VARIABLE.into(), mark.text().into());
        let open_files = inherited().map(|limit| OpenFiles {
            current: limit.current,
            maximum: limit.maximum,
        });
        Ok(Start {
            arguments: program.args.iter().map(OsString::from).collect(),
            environment: environment.into_iter().collect(),
            directory: program.cwd.clone(),
            orphan_secs: ORPHAN_SECS,
            mark: Some(mark.limit()),
            shim_mark: Some(mark.of_shim().limit()),
            open_files,
            filter: Seal::new().to_bytes(),
            ..Start::new(token, &program.command, streams)
        })
    }

    /// Makes the directory of the sockets, which only this user can enter.
    pub(super) fn make_directory(&self) -> Result<(), HeldError> {
        let directory = &self.place.directory;
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => Err(HeldError::Directory {
                path: directory.clone(),
                source,
            }),
            _ => Ok(()),
        }
    }

    fn start_failure(&self, error: ShimError, program: &Program, hold: &Hold) -> Failure {
        match error {
            ShimError::Program(error) => agent_not_started(program, &error),
            ShimError::Block(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => {
                agent_not_started(program, &error)
            }
            ShimError::Connection(source) => system(hold, source).into(),
            error => self.place.error(error, hold, 0).into(),
        }
    }
}

/// Returns whether a socket is that of the agent with this name, or of one of its terminals. See [`Hold::of_terminal`].
fn is_of(name: &str, agent: &str) -> bool {
    name.strip_prefix(agent)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn system(hold: &Hold, source: io::Error) -> HeldError {
    let shim = hold.shim.clone();
    HeldError::System { shim, source }
}

/// Waits for a shim that has failed. One that does not exit is waited for with the orphans.
pub(super) fn reap(mut shim: Child) {
    let pid = Pid::from_child(&shim);
    if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) {
        has_ended(&handle, EXIT_PATIENCE);
    }
    let _ = shim.try_wait();
    children::forget(pid);
}

/// Returns the process that listens at this place; `None` if there is none.
fn shim_at(place: &Place) -> io::Result<Option<(Pid, OwnedFd)>> {
    for _ in 0..CONNECTIONS {
        let channel = match place.connect() {
            Err(error) if is_absent(&error) => return Ok(None),
            channel => channel?,
        };
        let pid = socket_peercred(&channel)?.pid;
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => continue,
            process => process?,
        };
        // It answers a wrong token. So the process that listens had this number all the time, even if another daemon is attached. One
        // that was stopped is continued first, whoever it is: any process of this user may.
        send(&process, Signal::CONT)?;
        let attach = Frame::Attach {
            token: Token(0),
            cursor: 0,
        };
        channel.send(&attach, &[])?;
        if channel.wait(Instant::now() + ATTACH_PATIENCE)?.is_some() {
            return Ok(Some((pid, process)));
        }
        // It has gone, or prefers later connections.
    }
    Err(io::ErrorKind::TimedOut.into())
}

fn send(process: &OwnedFd, signal: Signal) -> io::Result<()> {
    match pidfd_send_signal(process, signal) {
        // It is gone, which is what was wanted.
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Waits until a process has ended. Returns whether it has.
fn has_ended(process: &OwnedFd, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap_or_default();
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&timeout)) {
            Ok(ready) => return ready > 0,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Removes a socket that had this inode.
fn remove(place: &Place, inode: Option<u64>) -> io::Result<()> {
    match inode.map(|inode| place.remove(inode)) {
        // The shim has done it.
        Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
