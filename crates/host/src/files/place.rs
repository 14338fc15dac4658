//! Where a path of a workspace leads.

use std::ffi::OsString;
use std::sync::Arc;

use cap_std::fs::Dir;

use super::reserved::Reserved;

/// One name in an open directory of the workspace. When it was found, it was either missing or not a symbolic link.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) dir: Dir,
    pub(super) name: OsString,
    /// Files that must not be read there, even if the name now refers to one of them.
    pub(super) reserved: Arc<Reserved>,
}

/// How to handle missing directories on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parents {
    /// A missing directory means that the path does not exist.
    Needed,
    /// Missing directories are created.
    Made,
    /// Nothing is created or changed: only the resulting path is computed.
    NameOnly,
}
