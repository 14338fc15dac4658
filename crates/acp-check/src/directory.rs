//! A directory for one run, which is removed afterwards.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::client::{FILE, FILE_TEXT};

/// How many names are tried.
const ATTEMPTS: u32 = 100;

/// An empty directory of this user alone.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Creates a directory among temporary files, with the file that agents may read.
    pub fn new() -> io::Result<Self> {
        let parent = std::env::temp_dir().canonicalize()?;
        let own = std::process::id();
        let mut number = 0;
        let path = loop {
            let path = parent.join(format!("acp-check-{own}-{number}"));
            // Neither a directory nor a link of others is used.
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < ATTEMPTS => {
                    number += 1
                }
                Err(error) => return Err(error),
            }
        };
        let directory = Self { path };
        fs::write(directory.path.join(FILE), FILE_TEXT)?;
        Ok(directory)
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A descendant of the agent may still write; what stays is among temporary files.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_private_and_goes_away() {
        use std::os::unix::fs::PermissionsExt;
        let (one, other) = (Directory::new().unwrap(), Directory::new().unwrap());
        assert_ne!(one.path(), other.path());
        let path = one.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(path.join(FILE).is_file());
        drop(one);
        assert!(!path.exists());
    }
}
