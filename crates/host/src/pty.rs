//! A pseudo-terminal: its two ends, and the bytes that arrive at ours.
//!
//! In: only end-of-input characters. Out: the output of the terminal. Owns: the master. Never: waits for output.
//!
//! Output arrives as a terminal shows it: the line discipline converts `\n` to `\r\n`, as programs on a terminal
//! expect.
//!
//! There is no keyboard. A program that reads gets an end of input, as from an empty file, instead of waiting forever.
//! To achieve this, some end-of-input characters are queued at the start. They do not appear in the output, since echo
//! is off. A program that discards queued input, for example to ask for a password, waits until it is killed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use acpd_model::limits::{TERMINAL_COLUMNS, TERMINAL_ENDS_OF_INPUT, TERMINAL_ROWS};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Winsize, tcgetattr, tcsetattr, tcsetwinsize,
};
use tokio::process::Command;

/// Our end of a terminal.
#[derive(Debug)]
pub(crate) struct Master(OwnedFd);

/// Opens a terminal of 120 by 30 characters. Returns our end, and the one for the command.
pub(crate) fn open() -> io::Result<(Master, OwnedFd)> {
    let master = openpt(flags())?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = slave_of(&master)?;
    let size = Winsize {
        ws_row: TERMINAL_ROWS,
        ws_col: TERMINAL_COLUMNS,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&slave, size)?;
    let mut modes = tcgetattr(&slave)?;
    modes.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&slave, OptionalActions::Now, &modes)?;
    let end_of_input = modes.special_codes[SpecialCodeIndex::VEOF];
    fcntl_setfl(&master, fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
    // The queue holds some thousand characters. With fewer, programs would only wait earlier.
    rustix::io::write(&master, &[end_of_input; TERMINAL_ENDS_OF_INPUT])?;
    Ok((Master(master), slave))
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
    reason = "pre_exec has no safe form; the closure makes one system call and allocates nothing"
)]
pub(crate) fn attach(command: &mut Command, slave: OwnedFd) -> io::Result<()> {
    command
        .stdin(slave.try_clone()?)
        .stdout(slave.try_clone()?)
        .stderr(slave.try_clone()?);
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; ioctl(2) is one.
    unsafe {
        command.pre_exec(move || Ok(rustix::process::ioctl_tiocsctty(slave.as_fd())?));
    }
    Ok(())
}

impl Master {
    /// Reads the available output. 0 is the end: no process has the other end open any more.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::io::read(&self.0, &mut *buffer) {
                Err(rustix::io::Errno::INTR) => {}
                // The last process closed the other end, and all output has been read.
                Err(rustix::io::Errno::IO) => return Ok(0),
                read => return Ok(read?),
            }
        }
    }
}

impl AsFd for Master {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
