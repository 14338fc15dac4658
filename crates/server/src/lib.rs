//! The server: sockets, authentication and connections around the [runtime](acpd_runtime).
//!
//! In: a configuration, and client connections. Out: a running daemon. Owns: listeners, tokens, sessions and connection
//! tasks. Never: decides the state of a thread, or executes a request; [`acpd_runtime::service`] does.

pub mod auth;
pub mod config;
mod connection;
mod daemon;
mod http;
pub mod net;
mod notify;
#[cfg(test)]
mod simulation;
mod transport;

pub use crate::http::{credentials, host_check};
pub use config::{CodexConfig, Config, PORT, ServerConfig, TracesConfig};
pub use daemon::{Daemon, Reloaded, StartError};
pub use notify::{NotificationsConfig, TargetConfig};
