//! The paths of shims, and what their errors mean.
//!
//! In: an error of a shim. Out: one that names what a user can do. Owns: nothing on disk.

use std::io;
use std::path::PathBuf;

use acpd_shim::ShimError;

use super::error::HeldError;
use super::hold::Hold;

/// The paths of shims.
#[derive(Debug)]
pub(super) struct ShimPlace {
    /// The shim's binary.
    pub binary: PathBuf,
    /// The directory of the sockets.
    pub directory: PathBuf,
}

impl ShimPlace {
    /// Returns what an error about this shim means to a daemon that attaches with `cursor`.
    pub fn error(&self, error: ShimError, hold: &Hold, cursor: u64) -> HeldError {
        let shim = hold.shim.clone();
        match error {
            ShimError::Binary(source) => HeldError::Binary {
                path: self.binary.clone(),
                source,
            },
            ShimError::Place(source) | ShimError::Connection(source) if is_absent(&source) => {
                HeldError::Gone { shim }
            }
            ShimError::Place(source) => HeldError::Directory {
                path: self.directory.clone(),
                source,
            },
            ShimError::Connection(source)
            | ShimError::Block(source)
            | ShimError::Streams(source)
            | ShimError::Program(source) => HeldError::System { shim, source },
            ShimError::Silent => HeldError::Silent { shim },
            ShimError::Busy => HeldError::Busy { shim },
            ShimError::Denied => HeldError::Denied { shim },
            ShimError::Cursor { tail, head } => HeldError::Cursor {
                shim,
                cursor,
                tail,
                head,
            },
            ShimError::Version => HeldError::Version { shim },
        }
    }
}

/// Returns whether nothing listens at the socket, or what did has gone.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::UnexpectedEof
    )
}
