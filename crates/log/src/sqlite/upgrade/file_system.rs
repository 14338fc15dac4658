//! What an upgrade needs of the file system. Tests replace it.

use std::fs::File;
use std::io;
use std::path::Path;

/// Bytes of a copy after which its progress is logged.
const REPORT_BYTES: u64 = 1 << 30;

/// The file system of the database.
pub(in crate::sqlite) trait FileSystem {
    /// Returns the bytes that this user can still write in the directory.
    fn free_bytes(&self, directory: &Path) -> io::Result<u64>;

    /// Makes `to` share the blocks of `from`. Fails where the file system cannot do that.
    fn clone_file(&self, from: &File, to: &File) -> io::Result<()>;

    /// Called after each part of a copy.
    fn copied(&self, bytes: u64, of: u64);
}

/// Returns the bytes that this user can still write in a directory.
pub fn free_bytes(directory: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(directory)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// The file system itself.
#[derive(Debug)]
pub(in crate::sqlite) struct Native;

impl FileSystem for Native {
    fn free_bytes(&self, directory: &Path) -> io::Result<u64> {
        free_bytes(directory)
    }

    #[cfg(target_os = "linux")]
    fn clone_file(&self, from: &File, to: &File) -> io::Result<()> {
        Ok(rustix::fs::ioctl_ficlone(to, from)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn clone_file(&self, _: &File, _: &File) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn copied(&self, bytes: u64, of: u64) {
        if bytes.is_multiple_of(REPORT_BYTES) {
            tracing::info!(bytes, of, "copying the log before its upgrade");
        }
    }
}
