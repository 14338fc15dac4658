//! Connections of clients, one task each: a [`Connection`](driver::Connection) of any protocol. [`acp`] sets up those of
//! editors.
//!
//! In: [transports](crate::transport), and the identity of their clients. Out: requests to the runtime, and messages for clients.
//! Owns: how long a client may be silent or accept nothing. Never: waits until a client reads.

pub mod acp;
mod delegated;
pub mod driver;
mod followed;
pub mod link;
mod pulse;
mod requests;

use std::time::Duration;

/// How long a client has to receive the rest of its messages when the daemon closes the connection.
pub const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long the requests of a client that has disconnected have to begin.
pub const LAST_REQUESTS: Duration = Duration::from_secs(10);
