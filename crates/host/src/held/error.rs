//! Why an agent cannot be held, or a held one not be continued, and what a user can do.

use std::io;
use std::path::PathBuf;

use acpd_model::{ErrorCode, Failure};

use crate::descriptors::NoDescriptors;

/// Why an agent cannot be held, or a held one not be continued.
#[derive(Debug, thiserror::Error)]
pub enum HeldError {
    /// This system has no shims.
    #[error(
        "agents outlive the daemon on Linux only; remove survive = true from the configuration of this agent"
    )]
    Unsupported,
    /// Only the reserved descriptors are left.
    #[error("the agent cannot be held: {0}")]
    Descriptors(#[from] NoDescriptors),
    /// The shim's binary cannot be started.
    #[error(
        "acpd-shim, which holds agents, cannot be started from {}: {source}; install it there, or remove survive = true from the \
         configuration of this agent", path.display()
    )]
    Binary {
        /// Where it should be.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The directory for sockets is not usable.
    #[error(
        "the directory {} cannot be used for the sockets of shims: {source}; it must belong to the daemon's user, and others may not \
         enter it (chmod 700)", path.display()
    )]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The log has something else than a token or a mark.
    #[error(
        "the log's entry about the held agent is damaged: invalid {0}; send the prompt again, which starts the agent anew"
    )]
    Damaged(&'static str),
    /// The shim is gone, and its agent with it.
    #[error("the agent has ended while no daemon was there (its shim {shim} is gone); send the prompt again")]
    Gone {
        /// Name of the shim.
        shim: String,
    },
    /// The shim did not answer in time.
    #[error("the shim {shim} does not answer; end it with acpd shims end {shim}, and send the prompt again")]
    Silent {
        /// Name of the shim.
        shim: String,
    },
    /// Another daemon is attached.
    #[error(
        "another daemon is attached to the shim {shim}; stop that daemon, or end the agent with acpd shims end {shim}"
    )]
    Busy {
        /// Name of the shim.
        shim: String,
    },
    /// The shim has another token.
    #[error(
        "the shim {shim} has another token than the log; end it with acpd shims end {shim}, and send the prompt again"
    )]
    Denied {
        /// Name of the shim.
        shim: String,
    },
    /// The log has a cursor that the shim cannot continue from.
    #[error(
        "the shim {shim} has the agent's output from byte {tail} to byte {head}, and the log continues at byte {cursor}: the log is an \
         older or a later one; end the shim with acpd shims end {shim}, and send the prompt again"
    )]
    Cursor {
        /// Name of the shim.
        shim: String,
        /// What the log has.
        cursor: u64,
        /// Bytes of output that may be overwritten.
        tail: u64,
        /// Bytes of output that have arrived.
        head: u64,
    },
    /// The shim is of a version that this daemon cannot use.
    #[error(
        "the shim {shim} is of another version, which this daemon cannot use; end it with acpd shims end {shim}, and send the prompt again"
    )]
    Version {
        /// Name of the shim.
        shim: String,
    },
    /// The system refused something.
    #[error(
        "the shim {shim} cannot be used: {source}; check that memory and file descriptors are left, and try again"
    )]
    System {
        /// Name of the shim.
        shim: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The shim did not end.
    #[error(
        "the shim {shim} has not ended (process {process}); it waits for the system, such as for a disk: look at that process"
    )]
    Stuck {
        /// Name of the shim.
        shim: String,
        /// Id of its process.
        process: u32,
    },
}

impl From<HeldError> for Failure {
    fn from(error: HeldError) -> Self {
        let code = match error {
            HeldError::Unsupported => ErrorCode::Unsupported,
            HeldError::Descriptors(_) => ErrorCode::Overloaded,
            _ => ErrorCode::AgentFailed,
        };
        Self::new(code, error.to_string())
    }
}
