//! Walls around agents and their terminals, which the kernel holds up (Landlock).
//!
//! In: lists of files, and of ports. Out: a sandbox that is ready to be entered between fork and exec. Owns: the ruleset. Never:
//! grants what is withheld, or starts a program outside of a sandbox that was wanted.

mod carve;
mod kernel;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod landlock;
mod writable;

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use kernel::Kernel;
pub use writable::Writable;

use landlock::Ruleset;

use crate::files::{FileId, Reserved};

/// What processes in a sandbox may use; nothing else. What does not exist is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// The directories to work in. Unlike the others they are granted as a whole, or not at all.
    pub workspace: Vec<PathBuf>,
    /// Whether the workspace may only be read.
    pub readonly: bool,
    /// Files, and directories with all that is below them, that may be read and executed.
    pub read: Vec<PathBuf>,
    /// The same, that may also be written.
    pub write: Vec<PathBuf>,
    /// Out of reach, whatever contains it.
    pub withheld: Vec<PathBuf>,
    /// Directories that may be read although they are inside of what is withheld: where an agent is installed.
    pub spared: Vec<PathBuf>,
    /// TCP.
    pub network: Network,
}

/// Which of `paths` contain what is withheld, so that not all that is in them is granted: nothing new can be made there.
pub fn cut<'a>(paths: &'a [PathBuf], withheld: &Reserved) -> impl Iterator<Item = &'a PathBuf> {
    let withheld: Vec<_> = withheld.paths().map(writable::real_name).collect();
    paths.iter().filter(move |path| {
        let real = writable::real_name(path);
        withheld.iter().any(|withheld| withheld.starts_with(&real))
    })
}

impl Grants {
    /// The directories that agents may write. The workspace counts also where it may only be read: other sessions may write it.
    pub fn writable(&self) -> Writable {
        Writable::new(self.write.iter().chain(&self.workspace))
    }
}

/// TCP connections, and ports to listen on. Nothing restricts UDP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Network {
    /// All.
    #[default]
    On,
    /// None.
    Off,
    /// To these ports, and on these ports.
    Ports(Vec<u16>),
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel cannot do it.
    #[error("this system has no Landlock")]
    Unavailable,
    /// The workspace holds what must not be granted.
    #[error("the workspace {} contains {}, which belongs to acpd itself", workspace.display(), withheld.display())]
    Contains {
        /// The directory.
        workspace: PathBuf,
        /// What is in it.
        withheld: PathBuf,
    },
    /// The workspace is inside of what must not be granted.
    #[error("the workspace {} is inside of {}, which belongs to acpd itself", workspace.display(), withheld.display())]
    Inside {
        /// The directory.
        workspace: PathBuf,
        /// What it is in.
        withheld: PathBuf,
    },
    /// The workspace may have been made a link by an agent.
    #[error("the workspace {} is a link to {}, in a directory that agents may write", workspace.display(), real.display())]
    Elsewhere {
        /// The directory.
        workspace: PathBuf,
        /// Where it leads.
        real: PathBuf,
    },
    /// The system refused.
    #[error("the sandbox could not be made: {0}")]
    System(String),
}

/// A sandbox for any number of processes.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    grants: Grants,
    ruleset: Ruleset,
}

/// Two sandboxes are the same if they grant the same names, and their workspaces are the same directories: one that was deleted
/// and made again is another directory, which rules for the old one do not grant.
impl PartialEq for Sandbox {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.0.grants == other.0.grants && self.0.ruleset.workspace() == other.0.ruleset.workspace()
    }
}

impl Eq for Sandbox {}

impl Sandbox {
    /// Makes a sandbox. Looks at the disk: what the lists name is what it is now.
    pub fn new(grants: Grants) -> Result<Self, SandboxError> {
        let ruleset = Ruleset::new(&grants)?;
        Ok(Self(Arc::new(Inner { grants, ruleset })))
    }

    /// What it grants.
    pub fn grants(&self) -> &Grants {
        &self.0.grants
    }

    /// Returns which directory is granted for a directory of the workspace; `None` if it did not exist.
    pub(crate) fn workspace_directory(&self, given: &Path) -> Option<FileId> {
        let place = self.0.grants.workspace.iter().position(|named| named == given)?;
        *self.0.ruleset.workspace().get(place)?
    }

    /// Starts `command` in the sandbox.
    #[expect(
        unsafe_code,
        reason = "pre_exec has no safe form; the closure makes system calls and allocates nothing"
    )]
    pub fn confine(&self, command: &mut std::process::Command) {
        let sandbox = self.clone();
        // SAFETY: between fork and exec only async-signal-safe calls are allowed. These are system calls and nothing else; what
        // they need was made before the fork.
        unsafe {
            command.pre_exec(move || sandbox.enter());
        }
    }

    /// Enters the sandbox for good. Only makes system calls.
    pub(crate) fn enter(&self) -> io::Result<()> {
        self.0.ruleset.enter()
    }
}

/// Whether one of two paths is the other, or contains it.
fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
