//! Connections of clients, one task each: a [`Connection`](driver::Connection) of any protocol. [`acp`] sets up those of
//! editors.
//!
//! In: [transports](crate::transport), and the identity of their clients. Out: requests to the runtime, and messages for clients.
//! Owns: how long a client may be silent or accept nothing. Never: waits until a client reads.

pub mod acp;
pub mod channel;
mod delegated;
mod delivery;
pub mod driver;
mod followed;
mod pulse;
mod requests;
