//! Resolves paths as the system does, outside of any workspace.

use std::io;
use std::path::{Component, Path, PathBuf};

use acpd_model::Failure;
use rustix::io::Errno;

use super::failure::{of_errno, of_io};

/// Returns the path without links, as the system resolves it.
pub(super) fn real_name(path: &str) -> Option<PathBuf> {
    elsewhere(Path::new(path), path).ok()
}

/// Resolves a path outside the workspace, where nothing is opened and nothing may be changed. Returns the path that the
/// system reports. A missing file is named by its nearest existing directory.
pub(super) fn elsewhere(text: &Path, path: &str) -> Result<PathBuf, Failure> {
    for known in text.ancestors() {
        let real = match known.canonicalize() {
            Ok(real) => real,
            // Without this check, a dangling link would count as a plain name.
            Err(error) if error.kind() == io::ErrorKind::NotFound && known.symlink_metadata().is_err() => {
                continue;
            }
            Err(error) => return Err(of_io(path, &error)),
        };
        let rest = text.strip_prefix(known).unwrap_or(Path::new(""));
        if !only_names(rest) {
            break;
        }
        return Ok(if rest.as_os_str().is_empty() {
            real
        } else {
            real.join(rest)
        });
    }
    Err(of_errno(path, Errno::NOENT))
}

/// Returns whether `path` has only plain names. The `..` of a missing directory is undefined, so nothing is created
/// then.
pub(super) fn only_names(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}
