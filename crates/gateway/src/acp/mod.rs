//! Editors over native ACP, by whatever transport: one task carries messages to and from a
//! [`Peer`](acpd_proto::surface::acp::Peer), and a task for each session that is open follows its thread.
//!
//! In: a transport, and which agent it is for. Out: what the editor wants, done. Owns: what agents said of themselves,
//! and the transports. Never: reads or changes a message, but for what it needs to find its way.

mod calls;
mod editor;
mod follow;
mod hellos;
mod http;
mod lobby;
mod marks;
mod preamble;
mod resumed;
mod transport;
mod websocket;

pub use editor::LAST_WORDS;
pub use http::{CONNECTION_ID, router};
pub use lobby::{Lobby, Visitor};
pub use transport::Lines;

#[cfg(test)]
mod tests;
