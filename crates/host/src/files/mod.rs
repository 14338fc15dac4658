//! Text files of a workspace, reached through directory handles, so that neither `..` nor a symbolic link
//! leads out of it.
//!
//! In: absolute paths as an agent names them. Out: text, or a failure with one sentence that says why not. Owns:
//! handles of the workspace's directories. Never: opens a path of more than one name, follows a link by
//! itself, waits for a FIFO or a device, or leaves half a file behind.

mod failure;
mod read;
mod walk;
mod write;

use std::path::PathBuf;

use acpd_model::Failure;

use walk::{Parents, Root};

/// The directories that an agent may touch, with all that is below them. Whatever is mounted there belongs to them.
#[derive(Debug)]
pub struct Workspace {
    roots: Vec<Root>,
}

impl Workspace {
    /// Opens the directories; a relative path names none. One that cannot be opened now is tried again when a
    /// path below it is asked for, and until then such a path fails with the reason.
    pub fn open(directories: impl Iterator<Item = PathBuf>) -> Self {
        let roots = directories.filter(|path| path.is_absolute()).map(Root::open);
        Self {
            roots: roots.collect(),
        }
    }

    /// Reads `limit` lines from line `line` (counted from 1; 0 counts as 1), or the whole file. What is returned
    /// must be UTF-8 and at most [`READ_FILE_BYTES`](acpd_model::limits::READ_FILE_BYTES) long; of a file that
    /// is larger, lines can be asked for.
    pub fn read_text(&self, path: &str, line: Option<u64>, limit: Option<u64>) -> Result<String, Failure> {
        let place = self.find(path, Parents::Needed)?;
        if line.is_none() && limit.is_none() {
            read::whole(&place, path)
        } else {
            read::lines(&place, path, line.unwrap_or(1), limit.unwrap_or(u64::MAX))
        }
    }

    /// Replaces the file as a whole, or makes it, and the directories above it. After a failure the old file is as
    /// it was, and nothing but such directories is new.
    ///
    /// Answers the text that was there before. `None`: there is no such text, since the file is new, or what it
    /// held is too large or no text.
    pub fn write_text(&self, path: &str, content: &str) -> Result<Option<String>, Failure> {
        let place = self.find(path, Parents::Made)?;
        write::replace(&place, path, content)
    }
}
