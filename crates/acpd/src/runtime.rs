//! The runtime of commands that only talk to the daemon, or look at its files.

use tokio::runtime::{Builder, Runtime};

/// Builds a runtime for commands that only talk to the daemon.
pub fn light() -> anyhow::Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}
