//! Threads: the task that owns each thread's state machine, and the directory that loads threads.
//!
//! In: commands, agent messages, host results. Out: events, first to the log, then to subscribers. Owns: one
//! [`Thread`](acpd_proto::thread::Thread) for each loaded thread. Never: decides what happens in a thread.

pub(crate) mod actor;
pub mod delegates;
pub mod directory;
mod failed;
pub(crate) mod history;
pub mod subscription;
mod suspended;
mod task;

#[cfg(test)]
mod tests;
