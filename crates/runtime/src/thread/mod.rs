//! Threads: the task that owns each one's state machine, and the directory that wakes them.
//!
//! In: commands, and what agents and the host report. Out: events, first to the log, then to who follows. Owns: one
//! [`Thread`](acpd_proto::thread::Thread) for each thread that is awake. Never: decides what happened.

pub(crate) mod actor;
pub mod delegates;
pub mod directory;
pub(crate) mod history;
pub mod subscription;

#[cfg(test)]
mod tests;
