//! Terminals whose commands are children of this process.

use acpd_host::{Terminal, TerminalSpec, TerminalUpdate};
use acpd_model::Failure;
use tokio::sync::mpsc;

#[allow(clippy::duplicate_mod, reason = "both kinds of terminals do the same")]
#[path = "terminals.rs"]
mod terminals;

fn start(spec: &TerminalSpec, updates: mpsc::Sender<TerminalUpdate>) -> Result<Terminal, Failure> {
    Terminal::spawn(spec, updates)
}
