//! The sandbox of systems other than Linux: there is none.

use std::io;

use super::error::SandboxError;
use super::grants::Grants;
use crate::file_id::FileId;

/// A ruleset, which does not exist on this system.
#[derive(Debug)]
pub(super) enum Ruleset {}

/// Returns 0: there is no Landlock.
pub(super) fn version() -> u32 {
    0
}

impl Ruleset {
    /// Returns [`SandboxError::Unavailable`].
    pub(super) fn new(_: &Grants) -> Result<Self, SandboxError> {
        Err(SandboxError::Unavailable)
    }

    /// Never called, since there is no ruleset.
    pub(super) fn workspace(&self) -> &[Option<FileId>] {
        match *self {}
    }

    /// Never called, since there is no ruleset.
    pub(super) fn enter(&self) -> io::Result<()> {
        match *self {}
    }
}
