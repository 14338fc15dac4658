//! The daemon, as commands reach it.

pub mod connect;
pub mod link;
pub mod local;
pub mod pairing;
pub mod patience;
pub mod reach;
pub mod refusal;
pub mod response;
pub mod stdio;
pub mod ticket;
mod tunnel;
pub mod whole;

/// Why no prompt is sent in place of an earlier one to a daemon that would only add it.
pub const REPLACES_NO_TURNS: &str =
    "the daemon is older than this program and cannot replace a prompt: run \"acpd restart\" where it runs";
