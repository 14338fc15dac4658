//! The directories of a workspace.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use super::elsewhere::only_names;
use crate::file_id::FileId;
use crate::walk::Walk;

/// A directory of the workspace.
#[derive(Debug)]
pub(super) struct Root {
    /// Path of the directory, as given.
    pub(super) given: PathBuf,
    /// The error if the directory could not be opened. It then stays closed, since an agent may have put a link there
    /// since.
    pub(super) opened: io::Result<OpenedRoot>,
    /// Whether the directory may only be read, although a reserved directory contains it.
    pub(super) is_spared: bool,
    /// Whether the path names another directory, which has the same files as this one and more.
    pub(super) is_alias: bool,
}

/// An opened root. Only the handle determines what is reached. It was opened by this path, without following a link.
#[derive(Debug)]
pub(super) struct OpenedRoot {
    /// Real path of the directory, without links. Agents use this path too, since `getcwd` returns it.
    pub(super) real: PathBuf,
    pub(super) dir: Dir,
}

impl Root {
    pub(super) fn open(given: PathBuf) -> Self {
        let opened = open_directory(&given).map(|(real, dir)| OpenedRoot { real, dir });
        Self {
            given,
            opened,
            is_spared: false,
            is_alias: false,
        }
    }

    /// Takes the directory that a walk has found, under its real path.
    pub(super) fn of(walk: &Walk) -> Self {
        let real = walk.real().to_owned();
        Self {
            given: real.clone(),
            opened: walk.directory().map(|dir| OpenedRoot { real, dir }),
            is_spared: false,
            is_alias: false,
        }
    }

    /// Opens `directory`. Paths below `given` lead into it.
    pub(super) fn open_as(given: PathBuf, directory: PathBuf) -> Self {
        Self {
            given,
            is_alias: true,
            ..Self::open(directory)
        }
    }

    /// Returns the directory as one that may only be read, although a reserved directory contains it.
    pub(super) fn spared(self) -> Self {
        Self {
            is_spared: true,
            ..self
        }
    }

    /// Returns the rest of a path that begins with the path of this directory, as given. Of an alias, `..` would lead elsewhere.
    pub(super) fn below<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let below = path.strip_prefix(&self.given).ok()?;
        (!self.is_alias || only_names(below)).then_some(below)
    }

    /// Returns the directory, if it is open.
    pub(super) fn get(&self) -> Option<&OpenedRoot> {
        self.opened.as_ref().ok()
    }

    /// Returns the real path of the directory, if it is open.
    pub(super) fn real(&self) -> Option<&Path> {
        self.get().map(|opened| opened.real.as_path())
    }

    /// Returns the identity of the directory, if it is open.
    pub(super) fn identity(&self) -> Option<FileId> {
        FileId::of_directory(&self.get()?.dir)
    }
}

/// Opens a directory. Returns its real path of the same walk.
#[cfg(target_os = "linux")]
fn open_directory(given: &Path) -> io::Result<(PathBuf, Dir)> {
    Walk::along(given)?.into_directory()
}

/// Opens a directory. Other systems cannot open a parent directory without the right to list it.
#[cfg(not(target_os = "linux"))]
fn open_directory(given: &Path) -> io::Result<(PathBuf, Dir)> {
    let real = given.canonicalize()?;
    let dir = Dir::open_ambient_dir(&real, cap_std::ambient_authority())?;
    Ok((real, dir))
}
