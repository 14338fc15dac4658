//! Terminals that shims hold, each with a directory of its own that is gone once it runs.

use acpd_host::{Hold, Terminal, TerminalSpec, TerminalUpdate};
use acpd_model::Failure;
use tokio::sync::mpsc;

use crate::support::shims;

#[allow(clippy::duplicate_mod, reason = "both kinds of terminals do the same")]
#[path = "terminals.rs"]
mod terminals;

fn start(spec: &TerminalSpec, updates: mpsc::Sender<TerminalUpdate>) -> Result<Terminal, Failure> {
    let here = tempfile::tempdir().expect("it can be made");
    Terminal::spawn_held(
        &shims(here.path()),
        spec,
        &Hold::new().of_terminal("term_1"),
        updates,
    )
}
