//! What processes in a sandbox can reach.

use std::path::PathBuf;

use super::writable::Writable;
use crate::walk::Walks;

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
