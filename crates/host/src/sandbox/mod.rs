//! Sandboxes for agents and their terminals, which the kernel enforces (Landlock).
//!
//! In: lists of files, and of ports. Out: a sandbox that can be entered between fork and exec. Owns: the ruleset.
//! Never: grants a withheld path, or starts a program outside of a requested sandbox.

mod carve;
mod fingerprint;
mod kernel;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod landlock;
mod writable;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use kernel::Kernel;
pub use writable::Writable;

use fingerprint::Fingerprint;
use landlock::Ruleset;

use crate::files::{FileId, Reserved};
use crate::walk::{LookupError, Walks};

/// The access that processes in a sandbox have; everything else is denied. Missing files are ignored.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    /// The directories to work in. Unlike the others, each is granted as a whole or not at all.
    pub workspace: Vec<PathBuf>,
    /// Whether the workspace is read-only.
    pub readonly: bool,
    /// Files, and directories with everything below them, that may be read and executed.
    pub read: Vec<PathBuf>,
    /// Files and directories that may also be written.
    pub write: Vec<PathBuf>,
    /// Paths that are out of reach, even inside of a granted directory.
    pub withheld: Vec<PathBuf>,
    /// Directories that may be read although they are inside of a withheld one: where an agent is installed.
    pub spared: Vec<PathBuf>,
    /// A directory that may be written although it is inside of a withheld one: where an agent is being installed.
    pub target: Option<PathBuf>,
    /// Access to TCP.
    pub network: Network,
    /// The walks by which these paths were checked. What each has found is granted, whatever is there now.
    pub walks: Walks,
}

/// Returns those of `paths` that contain a withheld path and are only granted in part. No new file can be created
/// there.
pub fn cut<'a>(paths: &'a [PathBuf], withheld: &Reserved) -> impl Iterator<Item = &'a PathBuf> {
    let walks = Walks::default();
    let withheld: Vec<_> = withheld.paths().map(|path| walks.real(path)).collect();
    paths.iter().filter(move |path| {
        let real = walks.real(path);
        withheld.iter().any(|withheld| withheld.starts_with(&real))
    })
}

impl Grants {
    /// Returns the directories that agents may write. This includes a read-only workspace, since other sessions may
    /// write it.
    pub fn writable(&self) -> Writable<'_> {
        Writable::new(&self.walks, self.write.iter().chain(&self.workspace))
    }
}

/// TCP connections, and ports to listen on. UDP is never restricted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Network {
    /// All connections are allowed.
    #[default]
    On,
    /// No connections are allowed.
    Off,
    /// Only connections to these ports, and listening on these ports, are allowed.
    Ports(Vec<u16>),
}

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

/// A sandbox for any number of processes. It does not keep the lists of paths: every loaded thread has a sandbox, and the
/// lists of one can take more memory than the rest of the thread.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The directories of the workspace, as they were named.
    workspace: Vec<PathBuf>,
    readonly: bool,
    grants: Fingerprint,
    ruleset: Ruleset,
}

/// Two sandboxes are equal if they grant the same paths and their workspaces are the same directories. A workspace that
/// was deleted and created again is another directory, which the old rules do not grant.
impl PartialEq for Sandbox {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.0.grants == other.0.grants && self.0.ruleset.workspace() == other.0.ruleset.workspace()
    }
}

impl Eq for Sandbox {}

impl Sandbox {
    /// Creates a sandbox. Walks now along the paths that were not checked before.
    pub fn new(grants: &Grants) -> Result<Self, SandboxError> {
        let ruleset = Ruleset::new(grants);
        grants.walks.check()?;
        Ok(Self(Arc::new(Inner {
            workspace: grants.workspace.clone(),
            readonly: grants.readonly,
            grants: Fingerprint::of(grants),
            ruleset: ruleset?,
        })))
    }

    /// Returns whether the workspace is read-only.
    pub fn is_readonly(&self) -> bool {
        self.0.readonly
    }

    /// Returns the directory that is granted for a workspace path; `None` if it did not exist.
    pub(crate) fn workspace_directory(&self, given: &Path) -> Option<FileId> {
        let place = self.0.workspace.iter().position(|named| named == given)?;
        *self.0.ruleset.workspace().get(place)?
    }

    /// Enters the sandbox permanently. Only makes system calls.
    pub(crate) fn enter(&self) -> io::Result<()> {
        self.0.ruleset.enter()
    }
}

/// Returns whether the paths are equal or one contains the other.
fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
