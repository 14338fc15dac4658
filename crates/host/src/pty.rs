//! A pseudo-terminal: its two ends, and bytes out of ours.
//!
//! In: nothing but ends of input. Out: what is written to the terminal. Owns: the master. Never: waits for output.
//!
//! Output is as a terminal shows it: the line discipline makes `\r\n` of `\n`, as programs that talk to a
//! terminal expect.
//!
//! Nobody types here. Who reads gets an end of input, as from an empty file, and not a wait without end: some
//! ends of input are put into the queue at the start, and what takes the terminal's echo for its own output
//! is not bothered, since echo is off. A program that throws waiting input away (to ask for a password, say)
//! waits until it is killed, as it would for a person who went away.

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

/// Opens a terminal of 120 by 30: our end, and the one for the command.
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
    // The queue takes some thousand; if it took fewer, readers would only wait earlier.
    rustix::io::write(&master, &[end_of_input; TERMINAL_ENDS_OF_INPUT])?;
    Ok((Master(master), slave))
}

#[cfg(target_os = "linux")]
fn flags() -> OpenptFlags {
    OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC
}

/// Without a file system between: the path of the slave may be hidden, or another's.
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

/// Gives a terminal to a command: as its three streams, and as what controls its session, which it must lead
/// by then.
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
    /// Output that is there already. 0 is the end: nobody has the other end open any more.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::io::read(&self.0, &mut *buffer) {
                Err(rustix::io::Errno::INTR) => {}
                // The last one has closed the other end, and all that was written has been read.
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
