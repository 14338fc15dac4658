//! The held process and its streams.
//!
//! In: a start block. Out: the process, and the shim's ends of its streams. Owns: those ends. Never: keeps an end that is the
//! process's: the end of its output would not be seen.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};

use acpd_shim::{Backlog, Journal, Ring, ShimError, Start, StreamKind, splice_works};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Pid, getpid};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::system::{Steps, instructions};

/// Size of the pipe that an agent writes into, in bytes. It bounds how far the agent can run ahead.
const PIPE_BYTES: usize = 256 << 10;
/// Bytes of stderr that are kept.
const STDERR_BYTES: u64 = 64 << 10;
/// How much more likely than the shim its process is chosen when memory is short.
const OOM_STEP: i32 = 200;
const MOST_OOM_SCORE: i32 = 1000;

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

/// A process that was started.
#[derive(Debug)]
pub(super) struct Held {
    pub pid: Pid,
    pub streams: Streams,
    /// An event for the daemon: the shim has moved output.
    pub wake: OwnedFd,
}

/// Starts the process. `rules` are those of Landlock.
pub(super) fn start(start: &Start, rules: Option<OwnedFd>) -> Result<Held, ShimError> {
    let mut command = Command::new(&start.command);
    command
        .args(&start.arguments)
        .env_clear()
        .envs(start.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&start.directory);
    let (streams, terminal) = match start.streams {
        StreamKind::Pipes { ring } => {
            let pipes = pipes(&mut command, ring, start.copies).map_err(ShimError::Streams)?;
            (Streams::Pipes(pipes), None)
        }
        StreamKind::Terminal { columns, rows, kept } => {
            let opened = terminal(&mut command, kept);
            let (terminal, end) = opened.map_err(ShimError::Streams)?;
            let sized = resize(&terminal.master, columns, rows);
            sized.map_err(|error| ShimError::Streams(error.into()))?;
            (Streams::Terminal(terminal), Some(end))
        }
    };
    let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
    let wake = wake.map_err(|error| ShimError::Streams(error.into()))?;
    let steps = Steps {
        parent: getpid(),
        oom_score: oom_score(),
        open_files: start.open_files,
        mark: start.mark,
        terminal,
        rules,
        filter: instructions(&start.filter),
    };
    steps.of(&mut command);
    let child = command.spawn().map_err(ShimError::Program)?;
    // The command, which is dropped here, has the process's ends.
    Ok(Held {
        pid: Pid::from_child(&child),
        streams,
        wake,
    })
}

fn pipes(command: &mut Command, ring: u64, copies: bool) -> io::Result<Pipes> {
    let (stdin, input) = pipe_with(PipeFlags::CLOEXEC)?;
    let (output, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    let (errors, stderr) = pipe_with(PipeFlags::CLOEXEC)?;
    // Only our ends: the process may expect its own to block.
    for end in [&input, &output, &errors] {
        set_nonblocking(end)?;
    }
    // If the system refuses, the pipe stays as it is.
    let _ = fcntl_setpipe_size(&output, PIPE_BYTES);
    command
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr));
    Ok(Pipes {
        stdout: output,
        ring: Ring::create(ring)?,
        tail: 0,
        journal: Journal::create()?,
        flush_to: 0,
        stdin: Some(input),
        closes_stdin: false,
        stderr: Some(errors),
        errors: Backlog::create(STDERR_BYTES)?,
        copies: copies || !splice_works(),
    })
}

/// Opens a terminal. Returns the process's end as well.
fn terminal(command: &mut Command, kept: u64) -> io::Result<(Terminal, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    // Without its path, which may be hidden or belong to another file system.
    let end = ioctl_tiocgptpeer(&master, flags)?;
    set_nonblocking(&master)?;
    command
        .stdin(Stdio::from(end.try_clone()?))
        .stdout(Stdio::from(end.try_clone()?))
        .stderr(Stdio::from(end.try_clone()?));
    let kept = Backlog::create(kept)?;
    Ok((Terminal { master, kept }, end))
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

fn set_nonblocking(end: &OwnedFd) -> rustix::io::Result<()> {
    fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)
}

/// Returns the score of the process, which is above that of the shim.
fn oom_score() -> Vec<u8> {
    let own = std::fs::read_to_string("/proc/self/oom_score_adj");
    let own: i32 = own.ok().and_then(|own| own.trim().parse().ok()).unwrap_or(0);
    (own + OOM_STEP).min(MOST_OOM_SCORE).to_string().into_bytes()
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
}

impl Terminal {
    /// Keeps what has arrived.
    pub fn keep(&mut self) -> io::Result<Kept> {
        keep(&self.master, &mut self.kept)
    }
}

impl Pipes {
    /// Keeps what has arrived on stderr.
    pub fn keep_errors(&mut self) -> io::Result<Kept> {
        match &self.stderr {
            Some(stderr) => keep(stderr, &mut self.errors),
            None => Ok(Kept::Ended),
        }
    }
}

/// What was kept of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    Some,
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
            Ok(Kept::Some)
        }
        Err(Errno::AGAIN | Errno::INTR) => Ok(Kept::Nothing),
        Err(error) => Err(error.into()),
    }
}
