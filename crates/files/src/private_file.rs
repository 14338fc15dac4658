//! The daemon's own directory and small secret files: private to its user, read as a whole and replaced as a whole.

use std::fs::{DirBuilder, File, Metadata, Permissions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use acpd_policy::shell_line;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Creates a directory that only its owner can access. An existing directory must belong to the user and be closed to
/// others. Its entries must also belong to the user: other users could have put files there while it was open.
pub fn directory(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    // Another user's link can lead anywhere.
    is_ours(&path.symlink_metadata()?, path)?;
    let found = path.metadata()?;
    is_ours(&found, path)?;
    is_closed(&found, path, "700")?;
    for entry in path.read_dir()? {
        let entry = entry?;
        match entry.metadata() {
            Ok(found) => is_ours(&found, &entry.path())?,
            // Another command has just replaced this file.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Takes access to a directory, a file or a socket of this user back from other users, and gives it to the user. Returns its mode if
/// that had to be changed. Does nothing with a link.
pub fn close(path: &Path) -> Result<Option<u32>> {
    let found = match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    let (needed, private) = match found.file_type() {
        kind if kind.is_dir() => (0o500, 0o700),
        // Clients need to write to it.
        kind if kind.is_socket() => (0o600, 0o600),
        kind if kind.is_file() => (0o400, 0o600),
        _ => return Ok(None),
    };
    let now = found.mode() & 0o777;
    // Nothing for others, and all that is needed for the owner.
    let is_private = now & (0o077 | needed) == needed;
    if is_private || found.uid() != rustix::process::geteuid().as_raw() {
        return Ok(None);
    }
    std::fs::set_permissions(path, Permissions::from_mode(private))?;
    Ok(Some(now))
}

/// A file or directory whose mode is the user's choice, such as the configuration.
#[derive(Debug)]
pub struct UserFile {
    path: PathBuf,
    seen: Option<Seen>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    device: u64,
    inode: u64,
    mode: u32,
}

impl UserFile {
    /// Remembers the mode of the file, if it exists.
    pub fn new(path: PathBuf) -> Self {
        let seen = look(&path).ok().flatten();
        Self { path, seen }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the remembered mode; `None` if there was no file, or one of another user.
    pub fn mode(&self) -> Option<u32> {
        self.seen.map(|seen| seen.mode)
    }

    /// Remembers `mode` for the file that this program has just put there. Access that others have got to it already is taken back
    /// like any other.
    pub fn replaced(&mut self, mode: u32) {
        let now = look(&self.path).ok().flatten();
        self.seen = now.map(|now| Seen { mode, ..now });
    }

    /// Takes access back that other users got since the mode was remembered, and restores the mode if the user lost access. Returns
    /// the mode if that had to be changed. A mode that gives others less is remembered, and so is that of another file: an agent
    /// cannot put one there.
    pub fn restore(&mut self) -> Result<Option<u32>> {
        let Some(now) = look(&self.path)? else {
            return Ok(None);
        };
        let is_same = |seen: &Seen| (seen.device, seen.inode) == (now.device, now.inode);
        let before = self.seen.filter(is_same).map_or(now.mode, |seen| seen.mode);
        let is_lost = before & 0o500 & !now.mode != 0;
        let mode = if is_lost {
            before
        } else {
            now.mode & (before | 0o700)
        };
        if mode != now.mode {
            std::fs::set_permissions(&self.path, Permissions::from_mode(mode))?;
        }
        self.seen = Some(Seen { mode, ..now });
        Ok((mode != now.mode).then_some(now.mode))
    }
}

/// Returns the identity and the mode of what a path leads to, if it belongs to this user, who alone can change the mode.
fn look(path: &Path) -> Result<Option<Seen>> {
    let found = match path.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    Ok(is_own.then(|| Seen {
        device: found.dev(),
        inode: found.ino(),
        mode: found.mode() & 0o777,
    }))
}

/// Reads a file of at most `most` bytes; returns `None` if there is no file. Fails for a file that belongs to another
/// user, that other users can access, or that is not a regular file.
pub fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>> {
    read_if(path, most, |found| {
        is_ours(found, path)?;
        is_closed(found, path, "600")
    })
}

/// Reads a file as [`read`] does, also if it belongs to another user, or other users can access it.
pub(crate) fn read_unchecked(path: &Path, most: u64) -> Result<Option<Vec<u8>>> {
    read_if(path, most, |_| Ok(()))
}

fn read_if(path: &Path, most: u64, check: impl FnOnce(&Metadata) -> Result<()>) -> Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(denied(format!("{} is a symbolic link", path.display()))),
        Err(errno) => return Err(errno.into()),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(denied(format!("{} is not a regular file", path.display())));
    }
    check(&found)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it is too large: {most} bytes are allowed");
        return Err(Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(Some(bytes))
}

/// Replaces a file atomically by one that only this user can read: after a crash the file has either the old content or the new.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    crate::replace(path, bytes, 0o600)
}

/// Holds the lock of a file until dropped, so that writers change the file one after the other.
pub fn lock(path: &Path) -> Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let file = File::from(rustix::fs::open(path.with_extension("lock"), flags, mode)?);
    file.lock()?;
    Ok(file)
}

fn is_ours(found: &Metadata, path: &Path) -> Result<()> {
    let user = rustix::process::geteuid().as_raw();
    if is_trusted(found.uid(), user) {
        return Ok(());
    }
    Err(denied(format!(
        "{} belongs to another user ({}); acpd runs as user {user}",
        path.display(),
        found.uid()
    )))
}

/// Whether files of `owner` are as trustworthy as files of `user`. Root can do anything in any case.
fn is_trusted(owner: u32, user: u32) -> bool {
    owner == user || owner == 0
}

fn is_closed(found: &Metadata, path: &Path, mode: &str) -> Result<()> {
    let now = found.mode() & 0o777;
    if now & 0o077 != 0 {
        let shown = path.to_string_lossy();
        let hint = shell_line("chmod", [mode, &*shown]);
        return Err(denied(format!(
            "other users can use it (mode {now:04o}): run {hint}"
        )));
    }
    Ok(())
}

fn denied(message: String) -> Error {
    Error::new(ErrorKind::PermissionDenied, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_the_user_are_trusted_and_no_other_user() {
        for (owner, user, trusted) in [
            (1000, 1000, true),
            (0, 1000, true),
            (0, 0, true),
            (1001, 1000, false),
            (65534, 0, false),
        ] {
            assert_eq!(is_trusted(owner, user), trusted, "{owner} {user}");
        }
    }

    #[test]
    fn files_with_wrong_modes_are_closed() {
        let dir = tempfile::tempdir().unwrap();
        let [folder, file, socket, link] =
            ["folder", "file", "socket", "link"].map(|name| dir.path().join(name));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&file, "").unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for (path, before, after) in [
            (&folder, 0o755, 0o700),
            (&folder, 0o701, 0o700),
            (&folder, 0o000, 0o700),
            (&folder, 0o500, 0o500),
            (&file, 0o644, 0o600),
            (&file, 0o620, 0o600),
            (&file, 0o000, 0o600),
            (&file, 0o400, 0o400),
            (&socket, 0o666, 0o600),
            (&socket, 0o400, 0o600),
            (&link, 0o644, 0o644),
        ] {
            std::fs::set_permissions(path, Permissions::from_mode(before)).unwrap();
            let changed = close(path).unwrap();
            let mode = path.metadata().unwrap().mode() & 0o777;
            assert_eq!(mode, after, "{} {before:o}", path.display());
            assert_eq!(changed, (before != after).then_some(before));
        }
        assert_eq!(close(&dir.path().join("none")).unwrap(), None);
    }

    #[test]
    fn files_that_the_user_opened_keep_their_modes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "").unwrap();
        let set = |mode| std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let mode = || path.metadata().unwrap().mode() & 0o777;
        for (before, then, after) in [
            (0o640, 0o644, 0o640),
            (0o644, 0o666, 0o644),
            (0o600, 0o777, 0o700),
            (0o640, 0o000, 0o640),
            (0o640, 0o600, 0o600),
            (0o600, 0o400, 0o400),
            (0o400, 0o600, 0o600),
        ] {
            set(before);
            let mut file = UserFile::new(path.clone());
            set(then);
            let restored = file.restore().unwrap();
            assert_eq!(
                (restored, mode()),
                ((then != after).then_some(then), after),
                "{before:o} {then:o}"
            );
            assert_eq!(file.restore().unwrap(), None);
        }
        // The daemon put another file there, which was opened at once.
        set(0o600);
        let mut file = UserFile::new(path.clone());
        replace(&path, b"new").unwrap();
        set(0o666);
        file.replaced(0o600);
        assert_eq!(file.mode(), Some(0o600));
        assert_eq!((file.restore().unwrap(), mode()), (Some(0o666), 0o600));
        // The user closed it, or put another file there.
        set(0o644);
        let mut file = UserFile::new(path.clone());
        set(0o600);
        assert_eq!(file.restore().unwrap(), None);
        set(0o644);
        assert_eq!(file.restore().unwrap(), Some(0o644));
        let other = dir.path().join("other");
        std::fs::write(&other, "").unwrap();
        std::fs::set_permissions(&other, Permissions::from_mode(0o644)).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!((file.restore().unwrap(), mode()), (None, 0o644));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.restore().unwrap(), None);
    }

    #[test]
    fn special_files_are_neither_read_nor_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        assert_eq!(read(&path, 9).unwrap(), None);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
        let refused = read(&path, 9).unwrap_err().to_string();
        assert!(refused.ends_with("is not a regular file"), "{refused}");
        replace(&path, b"0123456789").unwrap();
        assert_eq!(read(&path, 9).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read(&path, 10).unwrap().as_deref(), Some(&b"0123456789"[..]));
    }
}
