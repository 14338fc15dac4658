//! The new content of a file: written beside it, and renamed once it is on the disk.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use crate::leftovers;

/// Links that are followed to a file.
const LINKS: usize = 40;

/// Names that are tried for a draft.
const NAMES: usize = 1000;

/// Replaces a file atomically: after a crash or a power failure it has either the old content or the new. `mode` is the mode of the
/// new file, before the umask.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let mut draft = Draft::new(path, mode)?;
    draft.write_all(bytes)?;
    draft.keep()
}

/// The new content of a file, under a temporary name beside it. If it is dropped, the file stays as it was.
#[derive(Debug)]
pub struct Draft {
    file: File,
    path: PathBuf,
    /// The file that it replaces; `None` if it has its own name already.
    target: Option<PathBuf>,
    is_kept: bool,
}

impl Draft {
    /// Creates a draft of the file at `target`, which need not exist, and removes drafts of it that killed processes have left. `mode`
    /// is the mode of the new file, before the umask.
    pub fn new(target: &Path, mode: u32) -> Result<Self> {
        /// Distinguishes the drafts of this process.
        static NUMBER: AtomicU64 = AtomicU64::new(0);

        let prefix = leftovers::prefix(target.file_name().ok_or(ErrorKind::InvalidFilename)?);
        leftovers::remove_drafts(directory_of(target), &prefix);
        for _ in 0..NAMES {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = target.with_file_name(format!("{prefix}{}-{number}", std::process::id()));
            match Self::of_new_file(path, mode) {
                // A process in another container may have the same id, and still write this draft.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => {
                    let mut draft = made?;
                    draft.target = Some(target.to_owned());
                    return Ok(draft);
                }
            }
        }
        let message = format!("there are {NAMES} drafts of it already: remove the files {prefix}*");
        Err(Error::new(ErrorKind::AlreadyExists, message))
    }

    /// Creates a file under its own name, and removes it if the draft is dropped. Fails with [`ErrorKind::AlreadyExists`] if there is
    /// a file.
    pub fn of_new_file(path: PathBuf, mode: u32) -> Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path)?;
        Ok(Self {
            file,
            path,
            target: None,
            is_kept: false,
        })
    }

    /// Sets the mode of the new file, whatever the umask.
    pub fn set_mode(&self, mode: u32) -> Result<()> {
        self.file.set_permissions(Permissions::from_mode(mode))
    }

    /// Gives the new file the owner of another one, and a mode.
    pub fn take_after(&self, old: &Metadata, mode: u32) -> Result<()> {
        let made = self.file.metadata()?;
        if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
            std::os::unix::fs::fchown(&self.file, Some(old.uid()), Some(old.gid()))?;
        }
        // A change of the owner may take set-user-ID and similar bits away. No text has a use for them.
        self.set_mode(mode)
    }

    /// Replaces the file by the draft. When this returns success, the new content survives a power failure. After an error, the file
    /// has the old content or, if only its directory could not be synced, the new.
    pub fn keep(mut self) -> Result<()> {
        self.file.sync_all()?;
        if let Some(target) = &self.target {
            std::fs::rename(&self.path, target)?;
        }
        self.is_kept = true;
        sync_names(&self.path)
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_kept {
            // An incomplete file is useless, and whatever made it incomplete is the error to report.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Gives a complete file its final name in the same directory. When this returns success, it survives a power failure. For files that
/// something else writes; others are a [`Draft`].
pub fn publish(complete: &Path, path: &Path) -> Result<()> {
    File::open(complete)?.sync_all()?;
    std::fs::rename(complete, path)?;
    sync_names(path)
}

/// Makes new and removed names in the directory of `path` survive a power failure, where the file system can do so.
pub fn sync_names(path: &Path) -> Result<()> {
    sync_directory(directory_of(path))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Does the same as [`sync_names`] for the names in a directory.
pub fn sync_directory(directory: &Path) -> Result<()> {
    let synced = match File::open(directory) {
        // The user may create files there and not list them, as in a drop box.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(()),
        opened => opened?.sync_all(),
    };
    match synced {
        // Some network file systems sync no directory.
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::INVAL | Errno::NOTSUP)) => Ok(()),
        synced => synced,
    }
}

/// Follows the links of a path to the file itself, which need not exist. Renaming a draft would replace a link.
pub fn follow_links(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match path.read_link() {
            Ok(link) => path = path.parent().unwrap_or(Path::new("/")).join(link),
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(Error::other("it is a link that leads to itself"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = folder.read_dir().unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_the_old_content_until_the_draft_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        replace(&path, b"old", 0o600).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        let mut draft = Draft::new(&path, 0o600).unwrap();
        draft.write_all(b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        draft.set_mode(0o640).unwrap();
        draft.keep().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640);
        let next = Draft::new(&path, 0o600).unwrap();
        next.take_after(&path.metadata().unwrap(), 0o640).unwrap();
        next.keep().unwrap();
        let found = path.metadata().unwrap();
        assert_eq!((found.len(), found.mode() & 0o777), (0, 0o640));
        assert_eq!(names(dir.path()), ["x"]);
    }

    #[test]
    fn a_draft_that_is_not_kept_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        replace(&path, b"old", 0o600).unwrap();
        // Two at once do not share a name.
        let (mut one, mut other) = (
            Draft::new(&path, 0o600).unwrap(),
            Draft::new(&path, 0o600).unwrap(),
        );
        one.write_all(b"one").unwrap();
        other.write_all(b"other").unwrap();
        assert_eq!(names(dir.path()).len(), 3);
        drop((one, other));
        assert_eq!(names(dir.path()), ["x"]);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        // A new file does not replace one.
        let new = dir.path().join("new");
        drop(Draft::of_new_file(new.clone(), 0o600).unwrap());
        assert_eq!(names(dir.path()), ["x"]);
        Draft::of_new_file(new.clone(), 0o600).unwrap().keep().unwrap();
        let again = Draft::of_new_file(new.clone(), 0o600).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::AlreadyExists);
        std::fs::remove_file(&new).unwrap();
        // What cannot be replaced.
        let folder = dir.path().join("folder");
        std::fs::create_dir(&folder).unwrap();
        assert!(replace(&folder, b"new", 0o600).is_err());
        assert!(replace(&dir.path().join("missing/x"), b"new", 0o600).is_err());
        assert!(replace(Path::new("/"), b"new", 0o600).is_err());
        assert_eq!(names(dir.path()), ["folder", "x"]);
    }

    #[test]
    fn a_draft_of_another_process_stays_while_it_may_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let draft = Draft::new(&path, 0o600).unwrap();
        let name = draft.path.to_str().unwrap();
        let (begin, number) = name.rsplit_once('-').unwrap();
        let number: u64 = number.parse().unwrap();
        // The next names are those of a process with the same id.
        let others: Vec<String> = (1..=5).map(|next| format!("{begin}-{}", number + next)).collect();
        for other in &others {
            std::fs::write(other, "theirs").unwrap();
        }
        replace(&path, b"new", 0o600).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        for other in &others {
            assert_eq!(std::fs::read(other).unwrap(), b"theirs");
        }
        let aged = File::open(&others[0]).unwrap();
        aged.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        replace(&path, b"newer", 0o600).unwrap();
        assert!(!Path::new(&others[0]).exists());
        assert!(draft.path.exists());
        assert_eq!(names(dir.path()).len(), 6);
    }

    #[test]
    fn every_name_that_a_file_can_have_has_a_draft() {
        let dir = tempfile::tempdir().unwrap();
        let long = "é".repeat(127) + "x";
        let mut all = vec![dir.path().join("x"), dir.path().join(long)];
        if cfg!(target_os = "linux") {
            all.push(dir.path().join(std::ffi::OsStr::from_bytes(&[0xff; 255])));
        }
        for path in &all {
            replace(path, b"1", 0o600).unwrap();
            replace(path, b"2", 0o600).unwrap();
            assert_eq!(std::fs::read(path).unwrap(), b"2");
        }
        assert_eq!(names(dir.path()).len(), all.len());
    }

    #[test]
    fn a_complete_file_gets_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let (part, path) = (dir.path().join("x.part"), dir.path().join("x"));
        std::fs::write(&part, "new").unwrap();
        std::fs::write(&path, "old").unwrap();
        publish(&part, &path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(names(dir.path()), ["x"]);
        assert_eq!(publish(&part, &path).unwrap_err().kind(), ErrorKind::NotFound);
        sync_names(Path::new("x")).unwrap();
        sync_directory(dir.path()).unwrap();
        let missing = sync_directory(&dir.path().join("missing")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn links_are_followed_to_a_file_that_exists_or_will() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("dotfiles")).unwrap();
        symlink("dotfiles/x", at("link")).unwrap();
        symlink("link", at("second")).unwrap();
        symlink("ring", at("ring")).unwrap();
        for _ in 0..2 {
            assert_eq!(follow_links(&at("second")).unwrap(), at("dotfiles/x"));
            std::fs::write(at("dotfiles/x"), "").unwrap();
        }
        assert_eq!(follow_links(&at("dotfiles/x")).unwrap(), at("dotfiles/x"));
        assert!(follow_links(&at("ring")).is_err());
    }
}
