//! Files that no workspace gives access to, whatever its directories: the daemon's own files, and those of other
//! agents.
//!
//! They are identified by device and inode, which are looked up for each walk along a path. So they cannot be reached
//! by another name, by a link, or, if a file is directly in one of the directories, by a hard link. A file that was
//! replaced is still recognized.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use super::elsewhere::real_name;
use crate::file_id::FileId;
use crate::walk::directory;

/// Directories with everything below them, and files, which agents must not access.
#[derive(Debug, Clone, Default)]
pub struct Reserved {
    directories: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

/// Returns whether `inner`, which need not exist yet, is `outer` or below it: by its name, or by its real path.
fn contains(outer: &Path, inner: &Path) -> bool {
    let Some(outer) = FileId::of_path(outer) else {
        return false;
    };
    let real = inner.canonicalize().ok();
    let ancestors = inner
        .ancestors()
        .chain(real.iter().flat_map(|real| real.ancestors()));
    ancestors.filter_map(FileId::of_path).any(|above| above == outer)
}

impl Reserved {
    /// Reserves `directories` and `files`, which need not exist yet.
    pub fn new(directories: Vec<PathBuf>, files: Vec<PathBuf>) -> Self {
        Self { directories, files }
    }

    /// Looks up the reserved files for the steps of one walk.
    pub(super) fn look(&self) -> Known {
        let file = |file: &PathBuf| KnownFile {
            own: FileId::of_path(file),
            above: file.parent().and_then(FileId::of_path),
            name: file.file_name().map(OsStr::to_owned),
        };
        let directories = self.directories.iter();
        Known {
            directories: directories.filter_map(|path| FileId::of_path(path)).collect(),
            files: self.files.iter().map(file).collect(),
        }
    }

    /// Returns whether `path` leads into one of the directories or to one of the files, under any name.
    pub(super) fn holds(&self, path: &str) -> bool {
        if self.directories.is_empty() && self.files.is_empty() {
            return false;
        }
        // A file that does not exist yet is identified by its directory and its name.
        let Some(real) = real_name(path) else {
            return false;
        };
        let known = self.look();
        let is_inside = |place: &Path| FileId::of_path(place).is_some_and(|id| known.has_directory(id));
        let named = |file: &PathBuf| file.to_str().and_then(real_name).is_some_and(|file| file == real);
        real.ancestors().any(is_inside)
            || self.files.iter().any(named)
            || real
                .metadata()
                .is_ok_and(|found| found.is_file() && self.is_file(&found))
    }

    /// Also reserves `others`, files or directories, for a workspace of `roots`. An entry that contains a root is not
    /// reserved, since the user opened it on purpose. Nor is an entry outside of all roots, which is out of reach
    /// anyway.
    #[must_use]
    pub fn and(&self, others: Vec<PathBuf>, roots: &[PathBuf]) -> Self {
        let mut all = self.clone();
        for other in others {
            let is_held = roots.iter().any(|root| contains(root, &other));
            if is_held && !roots.iter().any(|root| contains(&other, root)) {
                all.files.push(other.clone());
                all.directories.push(other);
            }
        }
        all
    }

    /// Returns the reserved directories.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.directories.iter().map(PathBuf::as_path)
    }

    /// Returns the reserved directories and files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.directories().chain(self.files.iter().map(PathBuf::as_path))
    }

    /// Returns whether an open file is one of the files, or directly in one of the directories, under another name.
    pub(super) fn is_file(&self, found: &std::fs::Metadata) -> bool {
        let id = Some(FileId::of(found));
        if self.files.iter().any(|file| FileId::of_path(file) == id) {
            return true;
        }
        // A file with a single name is where it was found, and that is not in the directories.
        found.nlink() > 1
            && self.directories.iter().any(|directory| {
                let entries = directory.read_dir().into_iter().flatten().flatten();
                let mut ids = entries.filter_map(|entry| entry.metadata().ok());
                ids.any(|entry| Some(FileId::of(&entry)) == id)
            })
    }
}

/// The identities of the reserved files at one moment.
#[derive(Debug)]
pub(super) struct Known {
    directories: Vec<FileId>,
    files: Vec<KnownFile>,
}

#[derive(Debug)]
struct KnownFile {
    /// `None` if the file does not exist yet.
    own: Option<FileId>,
    /// The directory that contains, or would contain, the file.
    above: Option<FileId>,
    name: Option<OsString>,
}

impl Known {
    /// Returns whether `dir` is one of the directories.
    pub(super) fn is_directory(&self, dir: &Dir) -> bool {
        !self.directories.is_empty() && FileId::of_directory(dir).is_some_and(|id| self.has_directory(id))
    }

    /// Returns whether `dir` is one of the directories, or below one.
    pub(super) fn is_inside(&self, dir: &Dir) -> bool {
        if self.directories.is_empty() {
            return false;
        }
        let (Ok(mut dir), Some(mut id)) = (dir.try_clone(), FileId::of_directory(dir)) else {
            return false;
        };
        loop {
            if self.has_directory(id) {
                return true;
            }
            let Ok(above) = directory(&dir, OsStr::new("..")) else {
                return false;
            };
            dir = Dir::from_std_file(above.into());
            match FileId::of_directory(&dir) {
                Some(next) if next != id => id = next,
                // The parent of the root is the root itself.
                _ => return false,
            }
        }
    }

    /// Returns whether `name` in `dir` is one of the files, or would be one if it were created.
    pub(super) fn is_name(&self, dir: &Dir, name: &OsStr) -> bool {
        let Some(here) = FileId::of_directory(dir) else {
            return false;
        };
        let known = dir.symlink_metadata(name).ok();
        let known = known.map(|found| FileId::found(&found));
        self.files.iter().any(|file| {
            let named = file.name.as_deref() == Some(name) && file.above == Some(here);
            named || known.is_some() && file.own == known
        })
    }

    fn has_directory(&self, id: FileId) -> bool {
        self.directories.contains(&id)
    }
}
