//! The server: sockets, authentication and connections around the [runtime](acpd_runtime).
//!
//! In: a configuration, and connections. Out: a running daemon. Owns: listeners, tokens, sessions and the tasks of connections.
//! Never: decides what happened in a thread, or carries out a request; that is [`acpd_runtime::service`]'s.

pub mod auth;
pub mod config;
mod connection;
mod daemon;
mod http;
pub mod net;
#[cfg(test)]
mod simulation;
mod transport;

pub use config::{Config, ServerConfig};
pub use daemon::{Daemon, StartError};
