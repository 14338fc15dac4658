//! What is stored of a thread: its state, its turns and what the log lacks beside its events.
//!
//! In: a log, and a thread's id. Out: what the log has of it. Owns: nothing. Never: needs the thread's task.

mod failure;
pub mod indexing;
pub mod state;
pub mod turns;

pub use failure::log_failure;
