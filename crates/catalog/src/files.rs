//! Files and directories of the catalog.

use std::path::Path;

use super::error::CatalogError;

/// The mode of the registry's document, before the umask. It has no secrets.
const MODE: u32 = 0o666;

/// Creates the directory with access for its owner only. An existing directory keeps its mode.
pub(super) fn make_private(path: &Path) -> Result<(), CatalogError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(CatalogError::disk(path))
}

/// Replaces a file of the data directory.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), CatalogError> {
    acpd_files::replace(path, bytes, MODE).map_err(CatalogError::disk(path))
}
