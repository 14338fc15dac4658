//! Sandboxes for agents and their terminals, which the kernel enforces (Landlock).
//!
//! In: lists of files, and of ports. Out: a sandbox that can be entered between fork and exec. Owns: the ruleset.
//! Never: grants a withheld path, or starts a program outside of a requested sandbox.

mod carve;
mod error;
mod fingerprint;
mod grants;
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

pub use error::SandboxError;
pub use grants::{Grants, Network};
pub use kernel::Kernel;
pub use writable::Writable;

use fingerprint::Fingerprint;
use landlock::Ruleset;

use crate::file_id::FileId;
use crate::files::{Reserved, Workspace};
use crate::walk::Walks;

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
    fn workspace_directory(&self, given: &Path) -> Option<FileId> {
        let place = self.0.workspace.iter().position(|named| named == given)?;
        *self.0.ruleset.workspace().get(place)?
    }

    /// Enters the sandbox permanently. Only makes system calls.
    pub(crate) fn enter(&self) -> io::Result<()> {
        self.0.ruleset.enter()
    }
}

impl Workspace {
    /// Returns the first directory that is not the one that `sandbox` grants under the same path.
    pub fn outside_of(&self, sandbox: &Sandbox) -> Option<&Path> {
        let mut opened = self.identities();
        let changed = opened.find(|(given, id)| sandbox.workspace_directory(given) != *id)?;
        Some(changed.0)
    }
}
