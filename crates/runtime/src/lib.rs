//! The runtime: tokio tasks that run agents and threads, and carry out what clients request.
//!
//! In: requests of clients, bytes of agents, the time. Out: answers, and batches of events for who follows a thread.
//! Owns: the tasks of threads, agents and the directory, and what they share. Never: opens a socket, or decides what
//! happened in a thread; that is [`acpd_proto::thread`]'s.
//!
//! Each task has a bounded mailbox: [`thread`] has one for each thread that is awake and one for the directory of them,
//! [`agent`] one for each agent's process, [`policy::remembered`] one for the answers that hold for all threads of an agent.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod agent;
pub mod clock;
pub mod context;
pub mod feed;
pub mod host;
pub mod ids;
pub mod metrics;
pub mod policy;
pub mod private_file;
pub mod sandbox;
pub mod service;
#[cfg(any(test, feature = "testing"))]
pub mod test_context;
pub mod thread;
