//! Changes of a file that belongs to the user: atomic, through links, and with a copy of the file before unless one setting changes.
//!
//! In: a path, the text that was read there, and the new text. Out: the path of the copy. Never: replaces a text that
//! another program has written meanwhile, or a link.

use std::fs::Metadata;
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use acpd_files::{Draft, follow_links};

/// The mode of a file until it has its own.
const PRIVATE: u32 = 0o600;

/// Copies that are kept of one file.
const COPIES: usize = 100;

/// Replaces the text of a file. `before` is the text that the caller has read; `None` if there was no file, which then
/// gets this mode. Returns the path of the copy, if there was a file.
pub fn replace(path: &Path, before: Option<&str>, text: &str, mode: u32) -> Result<Option<PathBuf>> {
    let target = follow_links(path)?;
    check(&target, before)?;
    let metadata = target.metadata().ok();
    let copy = match (before, &metadata) {
        (Some(before), Some(metadata)) => Some(keep(path, before.as_bytes(), metadata)?),
        _ => None,
    };
    let draft = Draft::new(&target, PRIVATE)?;
    let mode = metadata.as_ref().map_or(mode, mode_of);
    write(draft, text.as_bytes(), metadata.as_ref(), mode)?;
    Ok(copy)
}

/// Replaces the text of a file in the same way, without a copy: for a single setting, which the user can set back. A file that may not
/// be written stays, although its directory would permit it.
///
/// `known` is the mode that the file had when the caller last checked it. An agent may have opened the file to others since, so the
/// new file gives other users no more. Returns its mode.
pub fn change(path: &Path, before: Option<&str>, text: &str, mode: u32, known: Option<u32>) -> Result<u32> {
    let target = follow_links(path)?;
    check(&target, before)?;
    let metadata = target.metadata().ok();
    if metadata
        .as_ref()
        .is_some_and(|found| found.permissions().readonly())
    {
        return Err(Error::new(ErrorKind::PermissionDenied, "it is read-only"));
    }
    let most = known.map_or(0o777, |known| known | 0o700);
    let mode = metadata.as_ref().map_or(mode, |found| mode_of(found) & most);
    let draft = Draft::new(&target, PRIVATE)?;
    write(draft, text.as_bytes(), metadata.as_ref(), mode)?;
    Ok(mode)
}

/// Returns the bits of a file's mode that say who may do what with it.
fn mode_of(found: &Metadata) -> u32 {
    found.mode() & 0o777
}

/// Checks that a file still has the text that the caller has read.
fn check(target: &Path, before: Option<&str>) -> Result<()> {
    let found = match std::fs::read(target) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if found.as_deref() == before.map(str::as_bytes) {
        return Ok(());
    }
    Err(Error::other(
        "it has changed meanwhile; nothing was written, so try again",
    ))
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
        match Draft::of_new_file(copy.clone(), PRIVATE) {
            Ok(draft) => {
                write(draft, bytes, Some(metadata), mode_of(metadata))?;
                return Ok(copy);
            }
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

/// Fills a draft that has its mode, and the owner of the file before, if there was one, before others can read a text in it.
fn write(mut draft: Draft, text: &[u8], before: Option<&Metadata>, mode: u32) -> Result<()> {
    match before {
        Some(before) => draft.take_after(before, mode)?,
        None => draft.set_mode(mode)?,
    }
    draft.write_all(text)?;
    draft.keep()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

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
    fn a_setting_changes_without_a_copy_and_a_read_only_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        change(&path, None, "1", 0o600, None).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        change(&path, Some("1"), "2", 0o600, None).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640);
        // What others got since the mode was known is not given to them again.
        for (known, now, after) in [
            (0o600, 0o666, 0o600),
            (0o600, 0o777, 0o700),
            (0o644, 0o666, 0o644),
            (0o644, 0o600, 0o600),
        ] {
            std::fs::set_permissions(&path, Permissions::from_mode(now)).unwrap();
            let given = change(&path, Some("2"), "2", 0o600, Some(known)).unwrap();
            assert_eq!((given, path.metadata().unwrap().mode() & 0o777), (after, after));
        }
        let refused = change(&path, Some("1"), "3", 0o600, None).unwrap_err();
        assert!(refused.to_string().contains("has changed meanwhile"), "{refused}");
        std::fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        let refused = change(&path, Some("2"), "3", 0o600, None).unwrap_err();
        assert!(refused.to_string().contains("read-only"), "{refused}");
        assert_eq!(names(dir.path()), ["x"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "2");
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("missing/x");
        assert!(replace(&path, None, "1", 0o600).is_err());
        assert_eq!(names(dir.path()), [""; 0]);
    }
}
