//! The runtime: tokio tasks that run agents and threads and carry out client requests.
//!
//! In: client requests, agent output, the time. Out: replies, and batches of events for subscribers of a thread. Owns:
//! the tasks for threads, agents and the thread directory, and their shared state. Never: opens a socket, or decides
//! what happens in a thread; [`acpd_proto::thread`] does that.
//!
//! Each task has a bounded mailbox. [`thread`] runs one task for each loaded thread and one for the thread directory.
//! [`agent`] runs one for each agent process. [`policy::remembered`] runs one for the answers that apply to all threads
//! of an agent, [`seen`] one for what users have read, [`retention`] one that removes old data, and [`notifier`] one for notifications.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod agent;
pub mod attachments;
pub mod bulk;
pub mod clock;
pub mod config_file;
pub mod context;
pub mod feed;
pub mod host;
pub mod ids;
pub mod live_limits;
pub mod metrics;
pub mod notifier;
pub mod notify;
pub mod observe;
pub mod policy;
pub mod rate;
pub mod record;
pub mod retention;
pub mod room;
pub mod seen;
pub mod service;
pub mod share;
pub mod standby;
pub mod stored;
#[cfg(any(test, feature = "testing"))]
pub mod test_context;
pub mod thread;
pub mod unsent;
