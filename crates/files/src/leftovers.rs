//! Drafts that killed processes have left, and their removal.
//!
//! In: a directory, or a file that is replaced there. Owns: the names of drafts. Never: removes a file that something may still write, that
//! belongs to another user, or that has a name of another form.

use std::ffi::OsStr;
use std::fs::{DirEntry, remove_file};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use crate::DATA_FILES;

/// Separates the name of a file from the numbers of its draft.
const MARK: &str = ".acpd-";

/// Ends the name of a draft of earlier versions.
const EARLIER: &str = ".new";

/// Bytes of a file's name that the name of its draft repeats. No name has more than 255.
const NAME_BYTES: usize = 200;

/// The age of a draft that no process writes any more.
const ABANDONED: Duration = Duration::from_hours(1);

/// Entries of a directory that are looked at, so that a very large one delays no change of a file.
const ENTRIES: usize = 10_000;

/// Returns the beginning of the names of a file's drafts. The ids of processes and numbers follow: `.seen.json.acpd-4711-0`.
pub(crate) fn prefix(file: &OsStr) -> String {
    let name = file.to_string_lossy();
    let name = &name[..name.floor_char_boundary(NAME_BYTES)];
    format!(".{name}{MARK}")
}

/// Removes abandoned drafts from a directory whose names begin with this prefix.
pub(crate) fn remove_drafts(directory: &Path, prefix: &str) {
    remove(directory, |name| {
        name.strip_prefix(prefix).is_some_and(are_numbers)
    });
}

/// Removes abandoned drafts of all files from a data directory, also those of earlier versions. What cannot be removed stays, and is logged.
/// For the process that has locked the log. Blocks.
pub fn remove_leftovers(data_dir: &Path) {
    remove(data_dir, |name| is_draft(name) || is_earlier_draft(name));
}

fn is_draft(name: &str) -> bool {
    let parts = name.strip_prefix('.').and_then(|name| name.rsplit_once(MARK));
    parts.is_some_and(|(_, numbers)| are_numbers(numbers))
}

fn is_earlier_draft(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(EARLIER) else {
        return false;
    };
    DATA_FILES
        .iter()
        .any(|file| Path::new(file.name).file_stem() == Some(OsStr::new(stem)))
}

/// Whether a text is the id of a process and a number.
fn are_numbers(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('-')
        .is_some_and(|(process, number)| is_number(process) && is_number(number))
}

fn remove(directory: &Path, is_left: impl Fn(&str) -> bool) {
    // A directory that cannot be listed, such as a drop box, keeps its drafts.
    let entries = directory.read_dir().into_iter().flatten();
    for entry in entries.take(ENTRIES).flatten() {
        let has_name = entry.file_name().to_str().is_some_and(&is_left);
        if !(has_name && is_abandoned(&entry)) {
            continue;
        }
        match remove_file(entry.path()) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let path = entry.path();
                tracing::warn!(path = %path.display(), %error, "a draft that a killed process has left cannot be removed");
            }
            _ => {}
        }
    }
}

/// Whether an entry is a file of this user that has not changed for long. The time of a live draft is that of its last write.
fn is_abandoned(entry: &DirEntry) -> bool {
    let Ok(found) = entry.metadata() else {
        return false;
    };
    // A time in the future has no age: the clock was set back, and a later look decides.
    let age = found.modified().ok().and_then(|changed| changed.elapsed().ok());
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    found.is_file() && is_own && age.is_some_and(|age| age >= ABANDONED)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;

    fn age(path: &Path) {
        File::open(path)
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH)
            .unwrap();
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = directory.read_dir().unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn old_drafts_are_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let left = [
            ".seen.json.acpd-4711-0",
            ".config.toml.acpd-1-23",
            "tokens.new",
            "tls-key.new",
        ];
        let kept = [
            ".acpd-1-0",
            ".seen.json.acpd-1",
            ".seen.json.acpd-1-",
            ".seen.json.acpd-1-0.damaged",
            ".seen.json.acpd-x-0",
            "log.db",
            "log.new",
            "seen.json",
            "seen.json.acpd-1-0",
        ];
        for name in left.iter().chain(&kept) {
            std::fs::write(at(name), "x").unwrap();
            age(&at(name));
        }
        // What another process may still write, and a folder.
        std::fs::write(at(".seen.json.acpd-4711-1"), "x").unwrap();
        std::fs::create_dir(at(".seen.json.acpd-4711-2")).unwrap();
        age(&at(".seen.json.acpd-4711-2"));
        let mut expected = [&kept[..], &[".seen.json.acpd-4711-1", ".seen.json.acpd-4711-2"]].concat();
        expected.sort_unstable();
        remove_leftovers(dir.path());
        assert_eq!(names(dir.path()), expected);
        remove_leftovers(&at("missing"));
    }

    #[test]
    fn drafts_of_other_files_stay() {
        let dir = tempfile::tempdir().unwrap();
        for name in [".x.acpd-1-0", ".xy.acpd-1-0", ".x.acpd-y.acpd-1-0"] {
            let path = dir.path().join(name);
            std::fs::write(&path, "x").unwrap();
            age(&path);
        }
        remove_drafts(dir.path(), &prefix(OsStr::new("x")));
        assert_eq!(names(dir.path()), [".x.acpd-y.acpd-1-0", ".xy.acpd-1-0"]);
    }
}
