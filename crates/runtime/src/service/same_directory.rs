//! The same directory under other names: links, spare slashes and dots, other normal forms of Unicode, and paths of Windows.
//!
//! In: a path that a client names, and the working directories of stored threads. Out: those that are the same directory
//! now, or the path on this host. Owns: nothing. Never: changes what a thread stores.

use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use acpd_log::{Filter, ListCursor, ListedThread};
use acpd_model::Failure;
use acpd_model::windows_path::WindowsPath;
use unicode_normalization::UnicodeNormalization;

use crate::host::blocking;
use crate::service::Service;
use crate::stored::log_failure;

/// Maximum number of names of the host that are compared with those of one path.
const NAMES: usize = 10_000;

impl Service {
    /// Lists threads, with those whose directory is the filter's one under another of its `spellings`.
    pub(super) async fn list_of_directory(
        &self,
        filter: Filter,
        spellings: Vec<String>,
        cursor: Option<ListCursor>,
        limit: usize,
    ) -> Result<Vec<ListedThread>, Failure> {
        let mut found = Vec::new();
        if spellings.is_empty() {
            let page = self.context.log.list(filter, cursor, limit).await;
            return page.map_err(|error| log_failure(&error));
        }
        for cwd in spellings {
            let filter = Filter {
                cwd: Some(cwd),
                ..filter.clone()
            };
            let page = self.context.log.list(filter, cursor, limit).await;
            found.extend(page.map_err(|error| log_failure(&error))?);
        }
        found.sort_by_key(|listed| std::cmp::Reverse((listed.summary.updated_at, listed.thread)));
        found.truncate(limit);
        Ok(found)
    }

    /// Returns a directory that a client names as a path of this host, and the directories of stored threads that are the same one.
    pub(super) async fn spellings(&self, cwd: String) -> Result<(String, Vec<String>), Failure> {
        let known = self.context.log.directories().await;
        let known = known.map_err(|error| log_failure(&error))?;
        let look = move || {
            let cwd = on_this_host(cwd)?;
            let same = same(&cwd, known);
            Ok((cwd, same))
        };
        blocking(&*self.context.host, look).await
    }
}

/// Returns those of `known` that are the directory `cwd`.
fn same(cwd: &str, known: Vec<String>) -> Vec<String> {
    let identity = |path: &str| {
        std::fs::metadata(path)
            .ok()
            .map(|found| (found.dev(), found.ino()))
    };
    let wanted = identity(cwd);
    let is_same = |own: &String| match wanted {
        Some(_) => same_names(own, cwd) || identity(own) == wanted,
        // A directory that is gone has its names only.
        None => is_named(own, cwd),
    };
    known.into_iter().filter(is_same).collect()
}

/// Returns whether two paths are the same by their names, in whatever form. Does not look at the disk.
pub(super) fn is_named(one: &str, other: &str) -> bool {
    same_names(one, other) || same_text(&plain(one), &plain(other))
}

fn same_names(one: &str, other: &str) -> bool {
    Path::new(one).components().eq(Path::new(other).components())
}

/// Returns a path without spare slashes and dots.
fn plain(path: &str) -> String {
    Path::new(path)
        .components()
        .as_path()
        .to_string_lossy()
        .into_owned()
}

/// Returns whether two texts have the same characters, whatever their normal form.
fn same_text(one: &str, other: &str) -> bool {
    one.nfc().eq(other.nfc())
}

/// Returns a directory that a client names as a path of this host. Blocks on the disk.
pub(super) fn on_this_host(path: String) -> Result<String, Failure> {
    match WindowsPath::read(&path) {
        Some(windows) => translated(&path, &windows, acpd_host::windows_drives().as_deref()),
        None => Ok(in_the_form_of_the_host(&path).unwrap_or(path)),
    }
}

/// Returns the name that this host has for a path that does not exist as it is written: a client on another system may have taken its
/// characters apart, as systems of Apple do, or put them together. Of two names that fit, neither is meant.
fn in_the_form_of_the_host(path: &str) -> Option<String> {
    if path.is_ascii() || Path::new(path).exists() {
        return None;
    }
    let mut found = PathBuf::new();
    let mut names = NAMES;
    for part in Path::new(path).components() {
        let next = found.join(part);
        let Component::Normal(name) = part else {
            found = next;
            continue;
        };
        if next.symlink_metadata().is_ok() {
            found = next;
            continue;
        }
        let name = name.to_str()?;
        let mut own_names = Vec::new();
        for entry in std::fs::read_dir(&found).ok()? {
            names = names.checked_sub(1)?;
            let own = entry.ok()?.file_name();
            if own.to_str().is_some_and(|own| same_text(own, name)) {
                own_names.push(own);
            }
        }
        let [own] = &own_names[..] else { return None };
        found.push(own);
    }
    found.into_os_string().into_string().ok()
}

/// Returns the path here of a path of Windows. `drives` has the drives of Windows, if this host is a WSL.
fn translated(path: &str, windows: &WindowsPath, drives: Option<&Path>) -> Result<String, Failure> {
    let here = windows.on_linux(drives.unwrap_or(Path::new("/mnt")));
    match drives {
        Some(_) => Ok(here.to_string_lossy().into_owned()),
        None => Err(Failure::invalid_params(format!(
            "{path:?} is a path of Windows, and the daemon runs on Linux: name the directory as \"{}\"",
            here.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_the_same_under_each_of_its_names() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        std::fs::create_dir(path("real \u{fc}")).unwrap();
        std::fs::create_dir(path("other")).unwrap();
        std::os::unix::fs::symlink(path("real \u{fc}"), path("link")).unwrap();
        let names = [
            path("real \u{fc}"),
            path("real \u{fc}/"),
            path("link"),
            path("./link"),
            path("other/../link"),
            path("other//../real \u{fc}"),
        ];
        let mut known = names.to_vec();
        known.extend([path("other"), path("gone")]);
        for name in &names {
            assert_eq!(same(name, known.clone()), names, "{name}");
        }
        assert_eq!(same(&path("other/."), known.clone()), [path("other")]);
        // A directory that was moved away is found by its name.
        assert_eq!(same(&path("gone/"), known.clone()), [path("gone")]);
        assert_eq!(same(&path("never"), known), [""; 0]);
    }

    /// Clients on systems of Apple take the characters of names apart.
    #[test]
    fn a_directory_is_the_same_in_each_normal_form() {
        const COMPOSED: &str = "f\u{fc}r \u{e9}";
        const DECOMPOSED: &str = "fu\u{308}r e\u{301}";
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        for (own, other) in [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)] {
            let (parent, inside) = (path(own), format!("{}/{own}/app", path(own)));
            std::fs::create_dir_all(&inside).unwrap();
            let named = format!("{}/{other}/app", path(other));
            assert_eq!(on_this_host(named.clone()), Ok(inside.clone()));
            // What does not exist stays as it is.
            let missing = format!("{named}/\u{fc}");
            assert_eq!(on_this_host(missing.clone()), Ok(missing));
            std::fs::remove_dir_all(&parent).unwrap();
            // A thread is found by either name once its directory is gone.
            let known = vec![inside.clone(), path("other")];
            assert_eq!(same(&format!("{named}/"), known), [inside]);
        }
        // They may be two directories.
        for name in [COMPOSED, DECOMPOSED] {
            std::fs::create_dir(path(name)).unwrap();
        }
        let known = vec![path(COMPOSED), path(DECOMPOSED)];
        for name in [COMPOSED, DECOMPOSED] {
            assert_eq!(on_this_host(path(name)), Ok(path(name)));
            assert_eq!(same(&path(name), known.clone()), [path(name)]);
        }
    }

    #[test]
    fn a_path_of_windows_is_translated_in_wsl_and_refused_elsewhere() {
        for (path, here) in [
            (r"C:\work\app", "/windir/c/work/app"),
            ("d:/Work/my app/", "/windir/d/Work/my app"),
            (r"\\wsl$\Ubuntu\home\me\app", "/home/me/app"),
            (r"\\wsl.localhost\Ubuntu\home\me", "/home/me"),
        ] {
            let windows = WindowsPath::read(path).unwrap();
            let there = translated(path, &windows, Some(Path::new("/windir")));
            assert_eq!(there, Ok(here.to_owned()), "{path}");
            let refused = translated(path, &windows, None).unwrap_err();
            let advice = format!("{:?}", here.replace("/windir", "/mnt"));
            assert!(refused.message.contains(&advice), "{refused}");
        }
    }

    #[test]
    fn other_paths_stay_as_they_are() {
        for path in ["/work/C:\\x", "/work", "relative", "//double"] {
            assert_eq!(on_this_host(path.into()), Ok(path.to_owned()));
        }
    }
}
