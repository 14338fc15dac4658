//! Editors over native ACP, independent of the transport. One task transfers messages between the transport and a
//! [`Peer`](acpd_proto::surface::acp::Peer). A further task for each open session follows its thread.
//!
//! In: a transport, and the agent of the connection. Out: the editor's requests, for the service. Owns: the transports.
//! Never: reads or changes a message beyond what routing needs.

pub mod editor;
mod follow;
mod header;
pub mod setup;

#[cfg(test)]
mod tests;
