//! Text files of a workspace, reached through directory handles, so that neither `..` nor a symbolic link
//! leads out of it.
//!
//! In: absolute paths as an agent names them. Out: text, or a failure with one sentence that says why not. Owns:
//! handles of the workspace's directories. Never: opens a path of more than one name, follows a link by
//! itself, waits for a FIFO or a device, or leaves half a file behind.

mod failure;
mod read;
mod reserved;
mod walk;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use acpd_model::{Failure, PreviousContent};

use crate::sandbox::Sandbox;

pub(crate) use reserved::FileId;
pub use reserved::Reserved;
use walk::{Parents, Root};

/// A file that is meant.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Its absolute path, as the agent named it.
    pub path: &'a str,
    /// What [`Workspace::real_path`] said when it was decided on: it is read or written there, through no link, or
    /// not at all. `None` if nobody had to decide.
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

/// What became of work for which only so much room was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit<T> {
    /// It is done.
    Done(T),
    /// Nothing was done: a text takes so many bytes, which is more.
    Needs(u64),
}

impl<T> Fit<T> {
    /// The same with another result.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Fit<U> {
        match self {
            Self::Done(done) => Fit::Done(change(done)),
            Self::Needs(bytes) => Fit::Needs(bytes),
        }
    }
}

/// The directories that an agent may touch, with all that is below them. Whatever is mounted there belongs to them.
#[derive(Debug)]
pub struct Workspace {
    roots: Vec<Root>,
    reserved: Arc<Reserved>,
}

impl Workspace {
    /// Opens the directories; a relative path names none. A directory that cannot be opened now stays closed, and paths below it
    /// fail with the reason.
    pub fn open(directories: impl Iterator<Item = PathBuf>) -> Self {
        let roots = directories.filter(|path| path.is_absolute()).map(Root::open);
        Self {
            roots: roots.collect(),
            reserved: Arc::default(),
        }
    }

    /// Returns the name without links of one of the directories, if it is open.
    pub fn real_directory(&self, given: &Path) -> Option<&Path> {
        let mut named = self.roots.iter().filter(|root| root.given == given);
        named.find_map(Root::real)
    }

    /// Returns the names without links of the directories that are open.
    pub fn real_directories(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().filter_map(Root::real)
    }

    /// Returns the first of the directories that is not the directory that `sandbox` grants by this name.
    pub fn outside_of(&self, sandbox: &Sandbox) -> Option<&Path> {
        let mut roots = self.roots.iter();
        let changed = roots.find(|root| sandbox.workspace_directory(&root.given) != root.identity())?;
        Some(&changed.given)
    }

    /// The same directories without what is `reserved`, whether that is below them, above them or linked into them.
    #[must_use]
    pub fn without(self, reserved: Arc<Reserved>) -> Self {
        Self { reserved, ..self }
    }

    /// Reads `limit` lines from line `line` (counted from 1; 0 counts as 1), or the whole file. What is returned
    /// must be UTF-8 and at most [`READ_FILE_BYTES`](acpd_model::limits::READ_FILE_BYTES) long; of a file that
    /// is larger, lines can be asked for.
    ///
    /// Of a text that takes more than `room` bytes nothing is brought into memory.
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

    /// Replaces the file as a whole, or makes it, and the directories above it. After a failure the old file is as
    /// it was, and nothing but such directories is new.
    ///
    /// Answers what was there before. If that takes more than `room` bytes, nothing is written.
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

    /// The name without links of what `path` means, also of what is not there yet: what is above it, and its name.
    /// Nothing is opened or made. Such a name holds for the moment it was found in; a read or a write that is to
    /// go there and nowhere else is given it as [`Target::at`].
    pub fn real_path(&self, path: &str) -> Result<String, Failure> {
        let real = self.locate(path)?;
        let text = real.into_os_string().into_string();
        text.map_err(|_| failure::invalid(path, "leads to a name that is not UTF-8"))
    }

    /// Whether `path` leads to something reserved, in the workspace or anywhere else.
    pub fn reserves(&self, path: &str) -> bool {
        self.reserved.holds(path)
    }

    /// Whether a path without `..` is one of the directories or below one, by its name.
    pub fn contains(&self, path: &str) -> bool {
        self.is_below_a_root(Path::new(path))
    }

    /// The directories whose names have links in them: as they were given, and without links.
    pub fn other_names(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        self.names()
            .filter_map(|(given, real)| Some((text(given)?, text(real)?)))
            .collect()
    }
}
