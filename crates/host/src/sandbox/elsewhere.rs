//! Systems other than Linux have no sandbox of ours.

use std::io;

use super::{FileId, Grants, SandboxError};

/// There is none.
#[derive(Debug)]
pub(super) enum Ruleset {}

/// No version.
pub(super) fn version() -> u32 {
    0
}

impl Ruleset {
    /// Fails.
    pub(super) fn new(_: &Grants) -> Result<Self, SandboxError> {
        Err(SandboxError::Unavailable)
    }

    /// Is never called.
    pub(super) fn workspace(&self) -> &[Option<FileId>] {
        match *self {}
    }

    /// Is never called.
    pub(super) fn enter(&self) -> io::Result<()> {
        match *self {}
    }
}
