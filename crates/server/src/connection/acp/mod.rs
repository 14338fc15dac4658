//! The setup of editors' connections over native ACP, independent of the transport.
//!
//! In: a transport, and the agent of its address. Out: a [`Connection`](crate::connection::driver::Connection). Owns: nothing.
//! Never: reads a message beyond the connection's header.

mod header;
pub mod setup;

#[cfg(test)]
mod tests;
