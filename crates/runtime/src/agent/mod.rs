//! Agents: which there are, how each is run, and the tasks that own their processes.
//!
//! In: commands of threads, and bytes of processes. Out: what agents said. Owns: processes and their stdin. Never: decides what a
//! message means; that is [`acpd_proto::agent`]'s.

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
pub(crate) mod start;
pub(crate) mod stdin;
