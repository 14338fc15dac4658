//! The shell: tokio tasks that carry bytes, time and effects to and from the machines of `proto`.
//!
//! In: connections, and a configuration. Out: a running daemon. Owns: tasks, channels, sockets. Never: decides
//! what happened in a thread; that is [`acpd_proto::thread`]'s.
//!
//! One task each, with a bounded mailbox and no shared state: [`thread`] owns a thread's machine, [`agent`] an
//! agent's process, [`shared`] knows those that threads share, [`peer`] a client's connection, [`directory`] knows
//! which threads are awake, [`remembered`] keeps what holds for all threads of an agent,
//! [`thread_list`] tells how the list of threads changes.

mod acp;
mod agent;
mod agent_config;
mod agent_start;
pub mod agents;
mod batch;
mod budget;
mod clock;
pub mod config;
mod context;
mod daemon;
mod directory;
mod door;
mod editors;
mod export;
mod follow;
mod fork;
mod heartbeat;
mod history;
mod host;
mod initialize_cache;
mod lifecycle;
#[cfg(test)]
mod many_clients;
pub mod mcp;
mod metrics;
mod off_thread;
pub mod paths;
mod peer;
mod policies;
mod presence;
pub mod private_file;
pub mod probe;
mod process_table;
mod queries;
pub mod remembered;
pub mod sandbox;
mod search;
mod service;
mod session_claims;
mod shared;
mod snapshot;
mod standby;
mod stdin;
mod terminals;
#[cfg(test)]
mod test_context;
mod thread;
mod thread_list;

pub use acpd_catalog as catalog;
pub use acpd_host::Reserved;
pub use acpd_host::give_back_large_buffers;
pub use acpd_host::keep;
pub use acpd_policy as policy;
pub use acpd_proto::agent::Quirks;
pub use agent_config::AgentConfig;
pub use agents::Agents;
pub use config::{Config, ServerConfig};
pub use daemon::{Daemon, StartError};
pub use door::tls::{TlsConfig, fingerprint};
pub use door::{Holder, Token, TokenError, tokens, unix_socket};
pub use policies::PolicyBook;
