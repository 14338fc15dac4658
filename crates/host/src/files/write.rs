//! Replaces a file atomically: a new file is written beside it, synced to the disk, and renamed.
//!
//! `acpd-files` does the same for files of acpd by their paths. An agent chooses the path here, so that each step starts from the open
//! directory that was checked, and a process may change the names meanwhile.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::fs::fchown;

use acpd_model::{Failure, PreviousContent};
use cap_std::fs::{Dir, File, Metadata, MetadataExt, Permissions, PermissionsExt};
use cap_tempfile::TempFile;
use rustix::fs::{Access, AtFlags};

use super::failure::{invalid, of_errno, of_io};
use super::fit::Fit;
use super::place::Place;
use super::read;

/// Writes `content` to the place. Returns the previous content, if that needs at most `room` bytes.
pub(super) fn replace(
    place: &Place,
    path: &str,
    content: &str,
    room: u64,
) -> Result<Fit<PreviousContent>, Failure> {
    let found = match place.dir.symlink_metadata(&place.name) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(of_io(path, &error)),
    };
    let mut before = PreviousContent::Nothing;
    if let Some(found) = &found {
        read::regular(found.file_type(), path)?;
        if found.nlink() > 1 {
            let links = found.nlink();
            return Err(invalid(
                path,
                &format!(
                    "was not changed: it is one of {links} hard links to a file, \
                     and the others may lie outside the workspace"
                ),
            ));
        }
        // Replacing a file needs no permission to write it, but a read-only file must stay unchanged.
        rustix::fs::accessat(&place.dir, &place.name, Access::WRITE_OK, AtFlags::empty())
            .map_err(|errno| of_errno(path, errno))?;
        // A previous text that cannot be shown does not prevent the write.
        before = match read::whole(place, path, room) {
            Ok(Fit::Done(text)) => PreviousContent::Text(text),
            Ok(Fit::Needs(bytes)) => return Ok(Fit::Needs(bytes)),
            Err(_) => PreviousContent::Unknown,
        };
    }
    let fill = |file: &mut File| file.write_all(content.as_bytes());
    swap(&place.dir, &place.name, found.as_ref(), fill).map_err(|error| of_io(path, &error))?;
    Ok(Fit::Done(before))
}

/// Gives `name` to a new file that `fill` writes. After a failure nothing has changed.
fn swap(
    dir: &Dir,
    name: &OsStr,
    old: Option<&Metadata>,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    // The file is created with mode 0666, to which the system applies the umask (and a default ACL), as for any
    // program's file. If the system supports it, the file has no name until it is complete, so that a crash leaves
    // nothing behind.
    let mut new = TempFile::new(dir)?;
    if let Some(old) = old {
        take_after(old, new.as_file())?;
    }
    fill(new.as_file_mut())?;
    new.as_file().sync_all()?;
    new.replace(name)
}

/// Gives `new` the owner and the permissions of `old`, before it has any content to read.
fn take_after(old: &Metadata, new: &File) -> io::Result<()> {
    let mut mode = old.mode() & 0o777; // set-user-ID and similar bits are dropped, as they are by any write
    let made = new.metadata()?;
    if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
        // Only root may change the owner. The group is kept if the system permits it.
        let kept =
            fchown(new, Some(old.uid()), Some(old.gid())).or_else(|_| fchown(new, None, Some(old.gid())));
        if kept.is_err() {
            // The group bits were meant for another group: ours gets the permissions of others.
            mode = (mode & !0o070) | ((mode & 0o007) << 3);
        }
    }
    new.set_permissions(Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use acpd_model::ErrorCode;
    use cap_std::ambient_authority;
    use rustix::io::Errno;

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_full_disk_leaves_the_old_file_whole_and_no_other() {
        let outer = tempfile::tempdir().unwrap();
        std::fs::write(outer.path().join("f"), "old").unwrap();
        let dir = Dir::open_ambient_dir(outer.path(), ambient_authority()).unwrap();
        for name in ["f", "new"] {
            let old = dir.symlink_metadata(name).ok();
            let error = swap(&dir, OsStr::new(name), old.as_ref(), |file| {
                file.write_all(b"half")?;
                Err(Errno::NOSPC.into())
            });
            let failure = of_io("/w/f", &error.unwrap_err());
            assert_eq!(failure.code, ErrorCode::Conflict);
            assert_eq!(failure.message, "the disk is full: /w/f was not changed");
        }
        assert_eq!(std::fs::read_to_string(outer.path().join("f")).unwrap(), "old");
        assert_eq!(names(outer.path()), ["f"]);
    }

    #[test]
    fn a_directory_that_takes_the_name_meanwhile_stays() {
        let outer = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(outer.path(), ambient_authority()).unwrap();
        let error = swap(&dir, OsStr::new("f"), None, |file| {
            file.write_all(b"new")?;
            std::fs::create_dir(outer.path().join("f"))
        });
        assert_eq!(of_io("/w/f", &error.unwrap_err()).message, "/w/f is a directory");
        assert_eq!(names(outer.path()), ["f"]);
        assert!(outer.path().join("f").is_dir());
    }

    #[test]
    fn a_link_that_takes_the_name_meanwhile_is_replaced_and_not_followed() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("w");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(outer.path().join("secret"), "secret").unwrap();
        let dir = Dir::open_ambient_dir(&inner, ambient_authority()).unwrap();
        swap(&dir, OsStr::new("f"), None, |file| {
            std::os::unix::fs::symlink("../secret", inner.join("f"))?;
            file.write_all(b"new")
        })
        .unwrap();
        assert_eq!(std::fs::read_to_string(inner.join("f")).unwrap(), "new");
        assert_eq!(
            std::fs::read_to_string(outer.path().join("secret")).unwrap(),
            "secret"
        );
    }
}
