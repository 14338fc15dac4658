//! Editors over native ACP, by whatever transport: one task carries messages to and from a
//! [`Peer`](acpd_proto::surface::acp::Peer), and a task for each session that is open follows its thread.
//!
//! In: a transport, and which agent it is for. Out: what the editor wants, done. Owns: what agents said of themselves,
//! and the transports. Never: reads or changes a message, but for what it needs to find its way.

mod checkpoints;
mod editor;
mod follow;
mod handlers;
mod header;
mod http;
mod resumed_prompts;
mod setup;
mod transport;
mod websocket;

pub use editor::SHUTDOWN_FLUSH;
pub use http::{CONNECTION_ID, router};
pub use setup::ConnectionSetup;
pub use transport::Lines;

#[cfg(test)]
mod tests;
