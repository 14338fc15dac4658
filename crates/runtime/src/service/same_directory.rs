//! The same directory under other names: links, spare slashes and dots, and paths of Windows.
//!
//! In: a path that a client names, and the working directories of stored threads. Out: those that are the same directory
//! now, or the path on this host. Owns: nothing. Never: changes what a thread stores.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use acpd_log::{Filter, ListCursor, ListedThread};
use acpd_model::Failure;
use acpd_model::windows_path::WindowsPath;

use crate::host::blocking;
use crate::service::Service;
use crate::stored::log_failure;

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

    /// Returns the directories of stored threads that are this one.
    pub(super) async fn spellings(&self, cwd: String) -> Result<Vec<String>, Failure> {
        let known = self.context.log.directories().await;
        let known = known.map_err(|error| log_failure(&error))?;
        blocking(&*self.context.host, move || Ok(same(&cwd, known))).await
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
    let is_same = |own: &String| {
        Path::new(own).components().eq(Path::new(cwd).components())
            || (wanted.is_some() && identity(own) == wanted)
    };
    known.into_iter().filter(is_same).collect()
}

/// Returns a directory that a client names as a path of this host.
pub(super) fn on_this_host(path: String) -> Result<String, Failure> {
    match WindowsPath::read(&path) {
        Some(windows) => translated(&path, &windows, acpd_host::windows_drives().as_deref()),
        None => Ok(path),
    }
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
