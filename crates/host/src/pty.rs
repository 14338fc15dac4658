//! A pseudo-terminal: its two ends, and the bytes that arrive at ours.
//!
//! In: what users type, and end-of-input characters. Out: the output of the terminal. Owns: the master. Never: waits for output.
//!
//! Output arrives as a terminal shows it: the line discipline converts `\n` to `\r\n`, as programs on a terminal
//! expect.
//!
//! Until a user types, a program that reads gets an end of input, as from an empty file, instead of waiting forever. To achieve
//! this, some end-of-input characters are queued at the start. A program that discards queued input, for example to ask for a
//! password, waits for a user. It gets other such characters once it has been silent for long. What a user types discards those
//! that are queued.
//!
//! The hangup of a terminal whose shell has ended is ignored, as with nohup(1): what the shell left may write its last lines.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
use rustix::termios::{
    LocalModes, QueueSelector, SpecialCodeIndex, Winsize, tcflush, tcgetattr, tcsetwinsize,
};
use tokio::process::Command;

/// Width of a terminal, in characters.
const TERMINAL_COLUMNS: u16 = 120;
/// Height of a terminal, in lines.
const TERMINAL_ROWS: u16 = 30;
/// End-of-input characters that are queued in a terminal, so that a program that reads its input gets an end of file.
const TERMINAL_ENDS_OF_INPUT: usize = 64;

/// What a program that waits for input reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Lines or keys.
    Text,
    /// A line that the terminal does not show, such as a password.
    Secret,
}

/// Our end of a terminal.
#[derive(Debug)]
pub(crate) struct Master {
    end: OwnedFd,
    /// The character that ends the input.
    end_of_input: u8,
    /// Whether ends of input were queued after what a user typed last.
    is_ended: bool,
}

/// Opens a terminal of 120 by 30 characters for a command that no user may follow. Returns our end, and the one for the command.
pub(crate) fn open() -> io::Result<(Master, OwnedFd)> {
    let (end, slave) = open_plain()?;
    let size = Winsize {
        ws_row: TERMINAL_ROWS,
        ws_col: TERMINAL_COLUMNS,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&slave, size)?;
    let modes = tcgetattr(&slave)?;
    let mut master = Master {
        end,
        end_of_input: modes.special_codes[SpecialCodeIndex::VEOF],
        is_ended: false,
    };
    // The queue holds some thousand characters. With fewer, programs would only wait earlier.
    master.end_input()?;
    Ok((master, slave))
}

/// Opens a terminal without input. Returns our end, which does not block, and the one for the command.
pub(crate) fn open_plain() -> io::Result<(OwnedFd, OwnedFd)> {
    let master = openpt(flags())?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = slave_of(&master)?;
    fcntl_setfl(&master, fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
    Ok((master, slave))
}

#[cfg(target_os = "linux")]
fn flags() -> OpenptFlags {
    OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC
}

/// Opens the slave without its path, which may be hidden or belong to another file system.
#[cfg(target_os = "linux")]
fn slave_of(master: &OwnedFd) -> io::Result<OwnedFd> {
    Ok(rustix::pty::ioctl_tiocgptpeer(master, flags())?)
}

#[cfg(not(target_os = "linux"))]
fn flags() -> OpenptFlags {
    OpenptFlags::RDWR | OpenptFlags::NOCTTY
}

#[cfg(not(target_os = "linux"))]
fn slave_of(master: &OwnedFd) -> io::Result<OwnedFd> {
    rustix::io::fcntl_setfd(master, rustix::io::FdFlags::CLOEXEC)?;
    let path = rustix::pty::ptsname(master, Vec::new())?;
    let how = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path.as_c_str(), how, rustix::fs::Mode::empty())?)
}

/// Connects a command to a terminal: as its three streams, and as the controlling terminal of its session. The command
/// must already lead that session.
#[expect(
    unsafe_code,
    reason = "pre_exec has no safe form; the closure makes two system calls and allocates nothing"
)]
pub(crate) fn attach(command: &mut Command, slave: OwnedFd) -> io::Result<()> {
    command
        .stdin(slave.try_clone()?)
        .stdout(slave.try_clone()?)
        .stderr(slave.try_clone()?);
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; ioctl(2) and signal(2) are.
    unsafe {
        command.pre_exec(move || {
            rustix::process::ioctl_tiocsctty(slave.as_fd())?;
            // The end of the session's leader sends a hangup to the group that it was in.
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        });
    }
    Ok(())
}

impl Master {
    /// Queues ends of input.
    fn end_input(&mut self) -> io::Result<()> {
        rustix::io::write(&self.end, &[self.end_of_input; TERMINAL_ENDS_OF_INPUT])?;
        self.is_ended = true;
        Ok(())
    }

    /// Returns `None` while input is queued. Otherwise a silent program has read or discarded it, and probably waits for more:
    /// for a secret, if lines are not echoed.
    pub fn used_up_input(&self) -> io::Result<Option<InputKind>> {
        let slave = slave_of(&self.end)?;
        let modes = tcgetattr(&slave)?.local_modes;
        let is_secret = modes.contains(LocalModes::ICANON) && !modes.contains(LocalModes::ECHO);
        let kind = if is_secret {
            InputKind::Secret
        } else {
            InputKind::Text
        };
        Ok(is_empty(&slave)?.then_some(kind))
    }

    /// Queues further ends of input if no input is queued. Returns whether that was so. In raw mode the character is a key like
    /// others, and is not sent.
    pub fn end_input_again(&mut self) -> io::Result<bool> {
        let slave = slave_of(&self.end)?;
        if !tcgetattr(&slave)?.local_modes.contains(LocalModes::ICANON) || !is_empty(&slave)? {
            return Ok(false);
        }
        self.end_input()?;
        Ok(true)
    }

    /// Queues what a user typed, instead of ends of input that the program has not read.
    pub fn type_in(&mut self, typed: &[u8]) -> io::Result<()> {
        if std::mem::take(&mut self.is_ended) {
            tcflush(slave_of(&self.end)?, QueueSelector::IFlush)?;
        }
        let mut rest = typed;
        while !rest.is_empty() {
            match rustix::io::write(&self.end, rest) {
                Err(rustix::io::Errno::INTR) => {}
                written => rest = &rest[written?..],
            }
        }
        Ok(())
    }

    /// Reads the available output. 0 is the end: no process has the other end open any more.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::io::read(&self.end, &mut *buffer) {
                Err(rustix::io::Errno::INTR) => {}
                // The last process closed the other end, and all output has been read.
                Err(rustix::io::Errno::IO) => return Ok(0),
                read => return Ok(read?),
            }
        }
    }
}

fn is_empty(slave: &OwnedFd) -> io::Result<bool> {
    let mut input = [PollFd::new(slave, PollFlags::IN)];
    poll(&mut input, Some(&Timespec::default()))?;
    Ok(input[0].revents().is_empty())
}

impl AsFd for Master {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }
}
