//! The start of the held process.
//!
//! In: a start block. Out: the process, and the shim's ends of its streams. Never: keeps an end that is the process's: the end of
//! its output would not be seen.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use acpd_shim::{Backlog, Journal, Ring, ShimError, Start, StreamKind, splice_works};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Pid, getpid};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use super::streams::{Pipes, Streams, Terminal, resize};
use super::system::{Steps, instructions};

/// Size of the pipe that an agent writes into, in bytes. It bounds how far the agent can run ahead.
const PIPE_BYTES: usize = 256 << 10;
/// Bytes of stderr that are kept.
const STDERR_BYTES: u64 = 64 << 10;
/// How much more likely than the shim its process is chosen when memory is short.
const OOM_STEP: i32 = 200;
const MOST_OOM_SCORE: i32 = 1000;

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
        inherits_journal: false,
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

fn set_nonblocking(end: &OwnedFd) -> rustix::io::Result<()> {
    fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)
}

/// Returns the score of the process, which is above that of the shim.
fn oom_score() -> Vec<u8> {
    let own = std::fs::read_to_string("/proc/self/oom_score_adj");
    let own: i32 = own.ok().and_then(|own| own.trim().parse().ok()).unwrap_or(0);
    (own + OOM_STEP).min(MOST_OOM_SCORE).to_string().into_bytes()
}
