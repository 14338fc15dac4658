//! The OS threads of the log.

use std::thread::{Builder, JoinHandle};

use crate::LogError;

/// Stack of each thread, in bytes. `SQLite` and JSON need little, and touched pages stay resident.
const STACK_BYTES: usize = 256 << 10;

/// Starts an OS thread of the log.
pub(super) fn start(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, LogError> {
    Builder::new()
        .name(name)
        .stack_size(STACK_BYTES)
        .spawn(work)
        .map_err(|error| LogError::Storage(format!("no thread could be started: {error}")))
}
