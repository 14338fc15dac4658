//! Agents: the known agents, their configuration, and the tasks that own their processes.
//!
//! In: commands from threads, and output of processes. Out: agents' messages as events. Owns: processes and their
//! stdin. Never: decides what a message means; [`acpd_proto::agent`] does that.

pub(crate) mod agent_clock;
pub mod config;
pub(crate) mod installs;
pub(crate) mod launcher;
pub(crate) mod leaderless;
pub(crate) mod lines;
pub mod mcp;
pub mod probe;
pub(crate) mod process;
pub(crate) mod process_table;
pub mod registry;
pub(crate) mod running;
pub mod sandbox;
pub mod sandbox_settings;
pub mod shared;
pub(crate) mod stalled;
mod start_directory;
pub(crate) mod stdin;
pub mod system_prompt;
