//! Agents: the known agents, their configuration, and the tasks that own their processes.
//!
//! In: commands from threads, and output of processes. Out: agents' messages as events. Owns: processes and their
//! stdin. Never: decides what a message means; [`acpd_proto::agent`] does that.

pub(crate) mod budget;
pub mod config;
pub mod initialize_cache;
pub(crate) mod launcher;
pub mod mcp;
pub mod probe;
pub(crate) mod process;
pub mod process_table;
pub mod registry;
pub mod shared;
pub mod standby;
pub mod standby_task;
pub(crate) mod start;
pub(crate) mod stdin;
