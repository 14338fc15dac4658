//! Editors over native ACP, by whatever transport: one task carries messages to and from a
//! [`Peer`](acpd_proto::surface::acp::Peer), and a task for each session that is open follows its thread.
//!
//! In: a transport, and which agent it is for. Out: the editor's requests, for the service. Owns: the transports. Never:
//! reads or changes a message, but for what it needs to find its way.

pub mod editor;
mod follow;
mod header;
pub mod setup;

#[cfg(test)]
mod tests;
