//! Which file or directory something is, whatever its name.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cap_std::fs::{Dir, MetadataExt as _};

/// The identity of a file or directory, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// Returns the identity of what a path leads to.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        path.metadata().ok().map(|found| Self::of(&found))
    }

    /// Returns the identity of a file or directory that was looked at.
    pub(crate) fn of(found: &std::fs::Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
        }
    }

    /// Returns the identity of an open directory.
    pub(crate) fn of_directory(dir: &Dir) -> Option<Self> {
        dir.dir_metadata().ok().map(|found| Self::found(&found))
    }

    /// Returns the identity of a file or directory that was looked at below a handle.
    pub(crate) fn found(found: &cap_std::fs::Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
        }
    }
}
