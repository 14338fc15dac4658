//! Why a sandbox cannot be made.

use std::path::PathBuf;

use crate::walk::LookupError;

/// Why a sandbox could not be created.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel does not support sandboxes.
    #[error("this system has no Landlock")]
    Unavailable,
    /// The workspace contains a withheld path.
    #[error("the workspace {} contains {}, which belongs to acpd itself", workspace.display(), withheld.display())]
    Contains {
        /// The workspace directory.
        workspace: PathBuf,
        /// The withheld path.
        withheld: PathBuf,
    },
    /// The workspace is inside of a withheld path.
    #[error("the workspace {} is inside of {}, which belongs to acpd itself", workspace.display(), withheld.display())]
    Inside {
        /// The workspace directory.
        workspace: PathBuf,
        /// The withheld path.
        withheld: PathBuf,
    },
    /// An agent may have replaced the workspace with a link.
    #[error("the workspace {} is a link to {}, in a directory that agents may write", workspace.display(), real.display())]
    Elsewhere {
        /// The workspace directory.
        workspace: PathBuf,
        /// The path that it leads to.
        real: PathBuf,
    },
    /// It is unknown where one of the paths leads, which may be to a withheld one.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The system refused to create the sandbox.
    #[error("the sandbox could not be made: {0}")]
    System(String),
}
