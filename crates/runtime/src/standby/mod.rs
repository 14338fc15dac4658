//! Agent processes without a session: their start, and the connections and threads that use them.
//!
//! In: an agent's name and a directory. Out: an initialized process, for the first thread that can use it. Owns: one
//! process for each connection, and the cache of `initialize` results. Never: opens a session.

pub(crate) mod initialize_cache;
pub mod process;
pub(crate) mod start;
pub mod task;
