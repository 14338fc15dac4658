//! The machine: processes, terminals, files, and the catalog of agents.
//!
//! In: what to run, read or write. Out: bytes, exits, errors that a person understands. Owns: child processes
//! and their groups. Never: knows a protocol, or leaves a process behind.

pub mod catalog;
mod command;
mod files;
mod group;
mod process;
mod tail;
mod terminal;

pub use command::{Environment, Program};
pub use files::Workspace;
pub use process::{AgentProcess, Ended};
pub use tail::Tail;
pub use terminal::{Exit, Terminal, TerminalSpec, TerminalUpdate};
