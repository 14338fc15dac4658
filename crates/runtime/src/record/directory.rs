//! The directory of a recording.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use acpd_files::private_file;

/// The directories that were created for a recording, from the outermost on. Dropping it removes those that are empty: a
/// daemon that cannot start leaves nothing behind.
#[derive(Debug)]
pub(super) struct Created(Vec<PathBuf>);

impl Created {
    /// Creates a directory and those that it is in, or checks that the existing one is closed to other users.
    pub fn at(path: &Path) -> io::Result<Self> {
        let mut created = Self(Vec::new());
        let missing: Vec<&Path> = path.ancestors().take_while(|part| !part.exists()).collect();
        for part in missing.into_iter().rev().filter(|part| *part != Path::new("")) {
            match DirBuilder::new().mode(0o700).create(part) {
                Ok(()) => created.0.push(part.to_owned()),
                // Another program was faster, so it is not ours to remove.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        private_file::directory(path)?;
        Ok(created)
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            // It has files, of this recording or of others, so it stays, and so do those that it is in.
            if std::fs::remove_dir(path).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_empty_directories_that_were_created_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("old");
        DirBuilder::new().mode(0o700).create(&old).unwrap();
        let new = old.join("new");
        let newer = new.join("newer");
        let created = Created::at(&newer).unwrap();
        let mode = newer.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(created);
        assert!(old.is_dir() && !new.exists());

        // What was written stays, and the next recording adds to it.
        let created = Created::at(&newer).unwrap();
        std::fs::write(newer.join("a.jsonl"), "{}\n").unwrap();
        drop(created);
        drop(Created::at(&newer).unwrap());
        assert!(newer.join("a.jsonl").is_file());

        drop(Created::at(&old).unwrap());
        assert!(old.is_dir());
    }

    #[test]
    fn a_directory_that_cannot_be_used_leaves_no_other_one() {
        let dir = tempfile::tempdir().unwrap();
        let new = dir.path().join("new");
        // No file name has 300 bytes.
        assert!(Created::at(&new.join("x".repeat(300))).is_err());
        assert!(!new.exists());
        std::fs::write(&new, "").unwrap();
        assert!(Created::at(&new).is_err());
        assert!(Created::at(&new.join("below")).is_err());
        assert!(new.is_file());
    }

    #[test]
    fn a_relative_path_with_parents_is_created() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/../b");
        let created = Created::at(&path).unwrap();
        assert!(dir.path().join("b").is_dir());
        drop(created);
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }
}
