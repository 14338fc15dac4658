//! A private directory beside a target, for files that are not complete.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// The directory; dropping it removes it. What a killed process left is removed by the next one.
#[derive(Debug)]
pub struct Staging {
    path: PathBuf,
    /// Its lock excludes other processes.
    _lock: File,
    is_kept: bool,
}

impl Staging {
    /// Creates the directory beside `target`, which may exist: `.acpd.tar.part` for `acpd.tar`.
    pub fn beside(target: &Path) -> anyhow::Result<Self> {
        let name = target.file_name().context("it has no name")?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".part");
        let path = target.with_file_name(hidden);
        remove_left_over(&path)?;
        let made = DirBuilder::new().mode(0o700).create(&path);
        let lock = made.and_then(|()| File::open(&path)).and_then(|directory| {
            directory.try_lock()?;
            Ok(directory)
        });
        Ok(Self {
            _lock: lock.with_context(|| format!("{} cannot be created", path.display()))?,
            path,
            is_kept: false,
        })
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps what is at the directory's path from now on.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.is_kept {
            // The next process removes what this one cannot.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Removes the directory of a process that was killed. Fails if its process still runs.
fn remove_left_over(path: &Path) -> anyhow::Result<()> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => metadata,
        Ok(_) => bail!("{} is in the way: move it away", path.display()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be used", path.display())),
    };
    let directory = File::open(path)?;
    let is_same = directory.metadata()?.ino() == metadata.ino();
    match directory.try_lock() {
        Ok(()) if is_same => {}
        Ok(()) | Err(TryLockError::WouldBlock) => bail!(
            "another backup or restore is running, in {}: wait until it has ended",
            path.display()
        ),
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    std::fs::remove_dir_all(path).with_context(|| format!("{} cannot be removed", path.display()))
}

/// Returns the directory of `path`.
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_over_files_are_removed_and_those_of_others_are_not() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("acpd.tar");
        let part = home.path().join(".acpd.tar.part");
        std::fs::create_dir(&part).unwrap();
        std::fs::write(part.join("log.db"), "of a killed process").unwrap();
        let staging = Staging::beside(&target).unwrap();
        assert_eq!(std::fs::read_dir(&part).unwrap().count(), 0);
        let refusal = Staging::beside(&target).unwrap_err().to_string();
        assert!(refusal.contains("is running"), "{refusal}");
        drop(staging);
        assert!(!part.exists());
        let elsewhere = home.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &part).unwrap();
        let refusal = Staging::beside(&target).unwrap_err().to_string();
        assert!(refusal.contains("is in the way"), "{refusal}");
        assert!(elsewhere.exists());
    }
}
