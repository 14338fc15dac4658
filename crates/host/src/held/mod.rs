//! Agents and their terminals that outlive the daemon: a shim of their own holds each.
//!
//! In: programs to start, and what the log has about agents that run. Out: their pipes, and their exits. Owns: the attachments to
//! shims. Never: loses or repeats a byte because the daemon was killed.
//!
//! A shim ([`acpd_shim`]) holds the agent's pipes. While this daemon is attached, it moves the bytes itself: output into a ring, where
//! bytes stay until the log has them, and lines from a journal into the agent's stdin. When the daemon is gone, the shim continues. The
//! next daemon attaches with the cursor of its log. Only Linux has what this needs.

mod error;
mod hold;
mod terminal_hold;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod pipes;
#[cfg(target_os = "linux")]
mod place;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod shared;
#[cfg(target_os = "linux")]
mod shims;
#[cfg(target_os = "linux")]
mod stdin;
#[cfg(target_os = "linux")]
mod stdout;
#[cfg(target_os = "linux")]
mod terminal;

pub use error::HeldError;
pub use hold::Hold;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{HeldAgent, HeldPipes, HeldProcess, HeldStdin, HeldStdout, Shims};
#[cfg(target_os = "linux")]
pub(crate) use terminal::{Handles, Held, HeldCommand, HeldOutput};
#[cfg(target_os = "linux")]
pub use {
    pipes::HeldPipes,
    process::HeldProcess,
    shims::{HeldAgent, Shims},
    stdin::HeldStdin,
    stdout::HeldStdout,
};
