//! The file that stores waiting notifications.

use std::path::{Path, PathBuf};

use acpd_files::private_file;
use acpd_model::limits::NOTIFICATIONS_FILE_BYTES;
use acpd_proto::notify::OutboxRecord;

/// Returns the path of the file in a data directory.
pub fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("notifications.json")
}

/// Reads the file; returns `None` if there is none.
pub fn read(path: &Path) -> Result<Option<OutboxRecord>, String> {
    let bytes = private_file::read(path, NOTIFICATIONS_FILE_BYTES).map_err(|error| error.to_string())?;
    let Some(bytes) = bytes else { return Ok(None) };
    acpd_model::json::from_bytes(&bytes).map_err(|error| error.to_string())
}

/// Replaces the file, or removes it.
pub fn write(path: &Path, record: Option<&OutboxRecord>) -> std::io::Result<()> {
    match record {
        Some(record) => private_file::replace(path, &serde_json::to_vec(record)?),
        None => match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}
