//! Editors over native ACP, on any stream of bytes: one task carries lines to and from a
//! [`Peer`](acpd_proto::surface::acp::Peer), and a task for each session that is open follows its thread.
//!
//! In: a stream, and which agent it is for. Out: what the editor wants, done. Never: reads or changes a message.

#![cfg_attr(
    not(test),
    allow(dead_code, unused_imports, reason = "no transport hands it a stream yet")
)]

mod calls;
mod editor;
mod follow;

pub use calls::Place;
pub use editor::serve;

#[cfg(test)]
mod tests;
