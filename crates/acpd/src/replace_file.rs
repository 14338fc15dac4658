//! Changes of a file that belongs to the user: atomic, through links, and with a copy of the file before.
//!
//! In: a path, the text that was read there, and the new text. Out: the path of the copy. Never: replaces a text that
//! another program has written meanwhile, or a link.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Links that are followed to a file.
const LINKS: usize = 40;

/// Copies that are kept of one file.
const COPIES: usize = 100;

/// Replaces the text of a file. `before` is the text that the caller has read; `None` if there was no file, which then
/// gets this mode. Returns the path of the copy, if there was a file.
pub fn replace(path: &Path, before: Option<&str>, text: &str, mode: u32) -> Result<Option<PathBuf>> {
    let target = target(path)?;
    let found = match std::fs::read(&target) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if found.as_deref() != before.map(str::as_bytes) {
        return Err(Error::other(
            "it has changed meanwhile; nothing was written, so try again",
        ));
    }
    let metadata = target.metadata().ok();
    let copy = match (&found, &metadata) {
        (Some(bytes), Some(metadata)) => Some(keep(path, bytes, metadata)?),
        _ => None,
    };
    write(&target, text, metadata.as_ref(), mode)?;
    Ok(copy)
}

/// Follows the links of a path, also to a file that does not exist yet.
fn target(path: &Path) -> Result<PathBuf> {
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

/// Copies the file before to a new name beside `path`. An equal copy is kept once.
fn keep(path: &Path, bytes: &[u8], metadata: &Metadata) -> Result<PathBuf> {
    for number in 0..COPIES {
        let mut name = path.as_os_str().to_owned();
        name.push(".before-acpd");
        if number > 0 {
            name.push(format!("-{number}"));
        }
        let copy = PathBuf::from(name);
        match create(&copy, bytes, Some(metadata), 0o600) {
            Ok(()) => return Ok(copy),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if std::fs::read(&copy).is_ok_and(|kept| kept == bytes) {
                    return Ok(copy);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(Error::other(format!(
        "there are {COPIES} copies of it already, named {}.before-acpd: remove those that you do not need",
        path.display()
    )))
}

fn write(target: &Path, text: &str, metadata: Option<&Metadata>, mode: u32) -> Result<()> {
    let folder = target.parent().unwrap_or(Path::new("/"));
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let draft = folder.join(format!(".{name}.acpd-{}", std::process::id()));
    let written =
        create(&draft, text.as_bytes(), metadata, mode).and_then(|()| std::fs::rename(&draft, target));
    if written.is_err() {
        // It may not have been made.
        let _ = std::fs::remove_file(&draft);
    }
    written?;
    File::open(folder)?.sync_all()
}

/// Creates a file with the mode and the owner of another one.
fn create(path: &Path, bytes: &[u8], like: Option<&Metadata>, mode: u32) -> Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    let filled = fill(&mut file, bytes, like, mode);
    if filled.is_err() {
        // A part of a file is worse than none; the first error is the one to report.
        let _ = std::fs::remove_file(path);
    }
    filled
}

fn fill(file: &mut File, bytes: &[u8], like: Option<&Metadata>, mode: u32) -> Result<()> {
    if let Some(like) = like {
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (like.uid(), like.gid()) {
            std::os::unix::fs::fchown(&*file, Some(like.uid()), Some(like.gid()))?;
        }
    }
    let mode = like.map_or(mode, |like| like.mode() & 0o777);
    file.set_permissions(Permissions::from_mode(mode))?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = folder.read_dir().unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_new_file_gets_its_mode_and_an_old_one_keeps_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        assert_eq!(replace(&path, None, "1", 0o600).unwrap(), None);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let copy = replace(&path, Some("1"), "2", 0o600).unwrap().unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o644);
        assert_eq!(copy.metadata().unwrap().mode() & 0o777, 0o644);
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), "1");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "2");
        replace(&path, Some("2"), "1", 0o600).unwrap();
        // The same text is kept once.
        let again = replace(&path, Some("1"), "3", 0o600).unwrap().unwrap();
        assert_eq!(again, copy);
        assert_eq!(
            names(dir.path()),
            ["x.json", "x.json.before-acpd", "x.json.before-acpd-1"]
        );
    }

    #[test]
    fn a_file_that_changed_meanwhile_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, "theirs").unwrap();
        for before in [None, Some("mine")] {
            let refused = replace(&path, before, "new", 0o600).unwrap_err();
            assert!(refused.to_string().contains("has changed meanwhile"), "{refused}");
        }
        assert_eq!(names(dir.path()), ["x"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs");
    }

    #[test]
    fn links_are_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let dotfiles = dir.path().join("dotfiles");
        std::fs::create_dir(&dotfiles).unwrap();
        std::fs::write(dotfiles.join("x"), "1").unwrap();
        let (link, second) = (dir.path().join("link"), dir.path().join("second"));
        symlink("dotfiles/x", &link).unwrap();
        symlink("link", &second).unwrap();
        replace(&second, Some("1"), "2", 0o600).unwrap();
        assert!(link.is_symlink() && second.is_symlink());
        assert_eq!(std::fs::read_to_string(dotfiles.join("x")).unwrap(), "2");
        // The copy does not get into the repository of the dotfiles.
        assert_eq!(names(&dotfiles), ["x"]);
        let dangling = dir.path().join("dangling");
        symlink("dotfiles/new", &dangling).unwrap();
        replace(&dangling, None, "3", 0o600).unwrap();
        assert_eq!(std::fs::read_to_string(dotfiles.join("new")).unwrap(), "3");
        let ring = dir.path().join("ring");
        symlink("ring", &ring).unwrap();
        assert!(replace(&ring, None, "4", 0o600).is_err());
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("missing/x");
        assert!(replace(&path, None, "1", 0o600).is_err());
        assert_eq!(names(dir.path()), [""; 0]);
    }
}
