//! Text files of a workspace, accessed through directory handles, so that neither `..` nor a symbolic link leads out of
//! it.
//!
//! In: absolute paths as an agent names them. Out: text, or a failure with one sentence for the reason. Owns: handles
//! of the workspace's directories. Never: opens a path of more than one name, lets the system follow a link, waits for
//! a FIFO or a device, or leaves a partial file behind.

mod elsewhere;
mod failure;
mod fit;
mod place;
mod read;
mod reserved;
mod root;
mod walk;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use acpd_model::{Failure, PreviousContent};

use crate::file_id::FileId;
use crate::walk::Walk;

pub use failure::{outside as outside_workspace, path_outside};
pub use fit::Fit;
use place::Parents;
pub use reserved::Reserved;
use root::Root;

/// A file to read or write.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Absolute path, as the agent named it.
    pub path: &'a str,
    /// The result of [`Workspace::real_path`] when access was approved. The file is read or written exactly there,
    /// without following a link, or the call fails. `None` if no approval was needed.
    pub at: Option<&'a str>,
}

impl<'a> From<&'a str> for Target<'a> {
    fn from(path: &'a str) -> Self {
        Self { path, at: None }
    }
}

impl<'a> From<&'a String> for Target<'a> {
    fn from(path: &'a String) -> Self {
        path.as_str().into()
    }
}

/// The directories that an agent may access, with everything below them, including mounted file systems.
#[derive(Debug)]
pub struct Workspace {
    roots: Vec<Root>,
    reserved: Arc<Reserved>,
}

impl Workspace {
    /// Opens the directories. Relative paths are ignored. A directory that cannot be opened now stays closed, and paths
    /// below it fail with the reason.
    pub fn open(directories: impl Iterator<Item = PathBuf>) -> Self {
        let roots = directories.filter(|path| path.is_absolute()).map(Root::open);
        Self {
            roots: roots.collect(),
            reserved: Arc::default(),
        }
    }

    /// Returns the real path of one of the directories, without links, if it is open.
    pub fn real_directory(&self, given: &Path) -> Option<&Path> {
        let mut named = self.roots.iter().filter(|root| root.given == given);
        named.find_map(Root::real)
    }

    /// Returns the real paths of the open directories, without links.
    pub fn real_directories(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().filter_map(Root::real)
    }

    /// Returns the directories as they were named, each with the identity of what was opened.
    pub(crate) fn identities(&self) -> impl Iterator<Item = (&Path, Option<FileId>)> {
        self.roots
            .iter()
            .map(|root| (root.given.as_path(), root.identity()))
    }

    /// Returns the same directories without the `reserved` files, whether those are below them, above them or linked
    /// into them.
    #[must_use]
    pub fn without(self, reserved: Arc<Reserved>) -> Self {
        Self { reserved, ..self }
    }

    /// Returns the same directories and one more, under its real path: what a sandbox grants by the same walk, whatever is there now.
    #[must_use]
    pub fn and_granted(mut self, directory: &Walk) -> Self {
        self.roots.push(Root::of(directory));
        self
    }

    /// Returns the same directories and one more, from which files may be read although a reserved directory contains it.
    #[must_use]
    pub fn and_readable(mut self, directory: PathBuf) -> Self {
        self.roots.push(Root::open(directory).spared());
        self
    }

    /// Returns the same directories and those files below `given` that are also in `directory`, which contains nothing else. They may be
    /// read although a reserved directory contains them. This keeps one directory open.
    #[must_use]
    pub fn and_readable_as(mut self, given: PathBuf, directory: PathBuf) -> Self {
        self.roots.push(Root::open_as(given, directory).spared());
        self
    }

    /// Reads `limit` lines from line `line` (counted from 1; 0 counts as 1), or the whole file. The returned text must
    /// be UTF-8 and at most [`READ_FILE_BYTES`](acpd_model::limits::READ_FILE_BYTES) long. Of a larger file, only lines
    /// can be read.
    ///
    /// A text of more than `room` bytes is not loaded into memory.
    pub fn read_text_within<'a>(
        &self,
        target: impl Into<Target<'a>>,
        line: Option<u64>,
        limit: Option<u64>,
        room: u64,
    ) -> Result<Fit<String>, Failure> {
        let Target { path, at } = target.into();
        let place = self.find(path, at, Parents::Needed)?;
        if line.is_none() && limit.is_none() {
            read::whole(&place, path, room)
        } else {
            read::lines(&place, path, line.unwrap_or(1), limit.unwrap_or(u64::MAX), room)
        }
    }

    /// Replaces the whole file, or creates it together with the directories above it. After a failure the old file is
    /// unchanged, and at most such directories are new.
    ///
    /// Returns the previous content. If that needs more than `room` bytes, nothing is written.
    pub fn write_text_within<'a>(
        &self,
        target: impl Into<Target<'a>>,
        content: &str,
        room: u64,
    ) -> Result<Fit<PreviousContent>, Failure> {
        let Target { path, at } = target.into();
        let place = self.find(path, at, Parents::Made)?;
        write::replace(&place, path, content, room)
    }

    /// Returns the real path of `path`, without links. If it does not exist, this is the real path of the nearest
    /// existing directory plus the remaining names. Nothing is opened or created. The result describes the current
    /// moment; pass it as [`Target::at`] to a read or write that must happen exactly there.
    pub fn real_path(&self, path: &str) -> Result<String, Failure> {
        let real = self.locate(path)?;
        let text = real.into_os_string().into_string();
        text.map_err(|_| failure::invalid(path, "leads to a name that is not UTF-8"))
    }

    /// Returns whether `path` leads to a reserved file, in the workspace or anywhere else.
    pub fn reserves(&self, path: &str) -> bool {
        !self.is_spared(path) && self.reserved.holds(path)
    }

    /// Returns whether an open directory is reserved, or below a reserved one.
    pub fn reserves_directory(&self, walk: &Walk) -> bool {
        let known = self.reserved.look();
        walk.directory().map_or(true, |dir| known.is_inside(&dir))
    }

    /// Returns whether a path without `..` is one of the directories or below one, by name.
    pub fn contains(&self, path: &str) -> bool {
        self.is_below_a_root(Path::new(path))
    }

    /// Returns the directories whose paths contain links: each as given, and without links.
    pub fn other_names(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        self.names()
            .filter_map(|(given, real)| Some((text(given)?, text(real)?)))
            .collect()
    }
}
