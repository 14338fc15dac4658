//! Why nothing can be written to a data directory, and what to do about it.

use std::path::Path;

use acpd_model::limits::READY_FREE_BYTES;
use rustix::fs::{Access, access};
use rustix::io::Errno;

/// Returns a sentence with what to do, if the data directory cannot be written or its disk is full.
pub fn hindrance(data_dir: &Path) -> Option<String> {
    let existing = data_dir.ancestors().find(|path| path.exists())?;
    let shown = existing.display();
    match access(existing, Access::WRITE_OK) {
        Err(Errno::ROFS) => {
            return Some(format!(
                "{shown} is on a read-only file system: make it writable, or choose another directory with --data-dir"
            ));
        }
        Err(Errno::ACCESS | Errno::PERM) => {
            return Some(format!(
                "this user may not write to {shown}: change its permissions, or choose another directory with --data-dir"
            ));
        }
        _ => {}
    }
    let free = acpd_log::free_bytes(existing).ok()?;
    (free < READY_FREE_BYTES).then(|| {
        format!(
            "the disk of {shown} is full, only {} KiB are free: free some space and start again; nothing is lost",
            free >> 10
        )
    })
}

/// Adds what hinders writing to an error, if anything does.
pub fn explained(error: anyhow::Error, data_dir: &Path) -> anyhow::Error {
    match hindrance(data_dir) {
        Some(hindrance) => anyhow::anyhow!("{error:#}; {hindrance}"),
        None => error,
    }
}
