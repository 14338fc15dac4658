//! Files and directories of the catalog.

use std::io::Write;
use std::path::Path;

use super::error::CatalogError;

/// Creates the directory with access for its owner only. An existing directory keeps its mode.
pub(super) fn make_private(path: &Path) -> Result<(), CatalogError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(CatalogError::disk(path))
}

/// Replaces a file atomically.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), CatalogError> {
    let fresh = path.with_extension(format!("new-{}", std::process::id()));
    let write = || {
        let mut file = std::fs::File::create(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&fresh, path)
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&fresh);
        CatalogError::disk(path)(error)
    })
}
