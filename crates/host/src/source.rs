//! Where a terminal's output comes from: a terminal of this process, or one that a shim holds.
//!
//! In: what arrives there. Out: its bytes. Owns: the terminal's master. Never: waits for a consumer of the output.

use std::io::{self, PipeReader};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

#[cfg(target_os = "linux")]
use crate::held::HeldOutput;
use crate::pty::Master;

/// Interval for checking whether a closed terminal was opened again.
const REOPENED: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Where output comes from.
#[derive(Debug)]
pub(crate) enum Source {
    /// A terminal of this process.
    Own(Master),
    /// A terminal that a shim holds.
    #[cfg(target_os = "linux")]
    Held(HeldOutput),
}

impl Source {
    /// Reads the available output. 0 is the end: no process has the terminal open.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Own(master) => master.read(buffer),
            #[cfg(target_os = "linux")]
            Self::Held(held) => held.read(buffer),
        }
    }

    /// Returns the number of bytes that were written before the last `bytes` that were read, if some may be lost.
    pub fn position(&self, bytes: usize) -> Option<u64> {
        match self {
            Self::Own(_) => None,
            #[cfg(target_os = "linux")]
            Self::Held(held) => Some(held.position().saturating_sub(bytes as u64)),
        }
    }

    /// Waits for output or a command, or for another process that opens the terminal. Returns whether there is a command. After an
    /// interruption, or a temporary lack of memory, the next read shows the state.
    pub fn wait(&self, commands: &PipeReader, has_hung_up: bool) -> bool {
        let mut polled = vec![PollFd::new(commands, PollFlags::IN)];
        let mut timeout = None;
        match self {
            Self::Own(_) if has_hung_up => timeout = Some(&REOPENED),
            Self::Own(master) => polled.push(PollFd::new(master, PollFlags::IN)),
            #[cfg(target_os = "linux")]
            Self::Held(held) => {
                let descriptors = held.descriptors();
                polled.extend(
                    descriptors.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN)),
                );
            }
        }
        let _ = poll(&mut polled, timeout);
        !polled[0].revents().is_empty()
    }

    /// Returns the end to which a user types.
    pub fn master(&mut self) -> &mut Master {
        match self {
            Self::Own(master) => master,
            #[cfg(target_os = "linux")]
            Self::Held(held) => held.master(),
        }
    }

    /// Has the holder of the terminal add a text to its output. Returns whether it does, and the text arrives as output.
    pub fn note(&self, text: &str) -> bool {
        match self {
            Self::Own(_) => false,
            #[cfg(target_os = "linux")]
            Self::Held(held) => held.note(text),
        }
    }

    /// Closes the terminal, or stays with its shim until that has ended or was left. `closed` is called when no output is read any
    /// more.
    pub fn close(self, closed: impl FnOnce()) {
        match self {
            Self::Own(master) => {
                drop(master);
                closed();
            }
            #[cfg(target_os = "linux")]
            Self::Held(held) => {
                closed();
                held.stay();
            }
        }
    }
}
