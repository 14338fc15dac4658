//! A thread that joins a process.

use acpd_proto::agent::Start;

use crate::agent::process::AgentSide;

/// A thread that joins a process.
#[derive(Debug)]
pub(super) struct JoiningThread {
    pub(super) start: Box<Start>,
    pub(super) ends: AgentSide,
}
