//! Editors over native ACP, by whatever transport: one task carries messages to and from a
//! [`Peer`](acpd_proto::surface::acp::Peer), and a task for each session that is open follows its thread.
//!
//! In: a transport, and which agent it is for. Out: what the editor wants, done. Owns: what agents said of themselves,
//! and the transports. Never: reads or changes a message, but for what it needs to find its way.

mod checkpoints;
pub mod editor;
mod follow;
mod handlers;
mod header;
mod resumed_prompts;
pub mod setup;

#[cfg(test)]
mod tests;
