//! Folders of the host, for users who choose where a thread works.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use acpd_model::{ErrorCode, Failure};
use acpd_proto::surface::reply::{Folder, FolderList};

use crate::host::blocking;
use crate::service::Service;

/// Entries of a directory that are read to list its folders.
const FOLDER_ENTRIES: usize = 100_000;
/// Folders in one answer of `folder/list`.
const FOLDERS: usize = 2_000;

impl Service {
    /// Lists the folders in a folder.
    pub(super) async fn list_folders(&self, path: Option<String>) -> Result<Box<FolderList>, Failure> {
        let home = home()?;
        let path = resolve(path.as_deref().unwrap_or("~"), &home)?;
        let list = blocking(&*self.context.host, move || read(&path, &home)).await?;
        Ok(Box::new(list))
    }

    /// Creates a folder.
    pub(super) async fn create_folder(&self, path: String) -> Result<String, Failure> {
        let path = resolve(&path, &home()?)?;
        blocking(&*self.context.host, move || create(&path)).await
    }
}

fn create(path: &Path) -> Result<String, Failure> {
    std::fs::create_dir(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::new(ErrorCode::Conflict, format!("{} exists already", text(path)))
        }
        ErrorKind::NotFound => missing(path.parent().unwrap_or(path)),
        _ => unusable(path, "created", &error),
    })?;
    Ok(text(path))
}

fn home() -> Result<PathBuf, Failure> {
    std::env::home_dir()
        .filter(|home| home.is_absolute())
        .ok_or_else(|| Failure::new(ErrorCode::NotFound, "the daemon's user has no home directory"))
}

/// Returns the absolute path that a user means, without `.`. Links are kept, except before a `..`.
fn resolve(given: &str, home: &Path) -> Result<PathBuf, Failure> {
    let path = match given.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(given),
    };
    if !path.is_absolute() || given.contains('\0') {
        let message = format!("{given:?} is neither an absolute path nor begins with ~/");
        return Err(Failure::invalid_params(message));
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return path.canonicalize().map_err(|_| missing(&path));
    }
    Ok(path.components().collect())
}

fn read(path: &Path, home: &Path) -> Result<FolderList, Failure> {
    let entries = std::fs::read_dir(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => missing(path),
        ErrorKind::NotADirectory => Failure::invalid_params(format!("{} is a file", text(path))),
        _ => unusable(path, "read", &error),
    })?;
    let mut names = Vec::new();
    let mut truncated = false;
    for (number, entry) in entries.enumerate() {
        if number == FOLDER_ENTRIES {
            truncated = true;
            break;
        }
        let entry = entry.map_err(|error| unusable(path, "read", &error))?;
        let is_folder = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
            kind => kind.is_ok_and(|kind| kind.is_dir()),
        };
        if is_folder && let Ok(name) = entry.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort_by_cached_key(|name| (name.to_lowercase(), name.clone()));
    truncated |= names.len() > FOLDERS;
    names.truncate(FOLDERS);
    let folder = |name: String| Folder {
        repository: path.join(&name).join(".git").exists(),
        name,
    };
    Ok(FolderList {
        path: text(path),
        parent: path.parent().map(text),
        home: text(home),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        folders: names.into_iter().map(folder).collect(),
        truncated,
    })
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn missing(path: &Path) -> Failure {
    Failure::new(ErrorCode::NotFound, format!("folder not found: {}", text(path)))
}

fn unusable(path: &Path, what: &str, error: &std::io::Error) -> Failure {
    let code = match error.kind() {
        ErrorKind::PermissionDenied => ErrorCode::Forbidden,
        _ => ErrorCode::Unsupported,
    };
    Failure::new(code, format!("{} cannot be {what}: {error}", text(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &FolderList) -> Vec<&str> {
        list.folders.iter().map(|folder| folder.name.as_str()).collect()
    }

    #[test]
    fn folders_are_listed_with_links_and_repositories_and_without_files() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for folder in ["b", "A", ".hidden", "repo/.git"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("b", at("link")).unwrap();
        std::os::unix::fs::symlink("gone", at("dangling")).unwrap();
        let list = read(root.path(), Path::new("/home/me")).unwrap();
        assert_eq!(names(&list), [".hidden", "A", "b", "link", "repo"]);
        assert_eq!(list.folders.iter().filter(|folder| folder.repository).count(), 1);
        assert_eq!(
            list.parent.as_deref(),
            root.path().parent().and_then(Path::to_str)
        );
        assert!(!list.truncated);
        let codes = [at("none"), at("file")].map(|path| read(&path, root.path()).unwrap_err().code);
        assert_eq!(codes, [ErrorCode::NotFound, ErrorCode::InvalidParams]);
    }

    #[test]
    fn an_absurd_number_of_folders_is_cut() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..=FOLDERS {
            std::fs::create_dir(root.path().join(format!("{number:05}"))).unwrap();
        }
        let list = read(root.path(), root.path()).unwrap();
        assert_eq!((list.folders.len(), list.truncated), (FOLDERS, true));
        assert_eq!(list.folders[0].name, "00000");
    }

    #[test]
    fn paths_are_resolved_as_a_user_means_them() {
        let home = Path::new("/home/me");
        for (given, meant) in [
            ("~", "/home/me"),
            ("~/", "/home/me"),
            ("~//a/./b/", "/home/me/a/b"),
            ("/a//b", "/a/b"),
            ("/usr/..", "/"),
        ] {
            assert_eq!(resolve(given, home).unwrap(), Path::new(meant), "{given}");
        }
        for given in ["", "a", "./a", "~other/a", "/a\0b"] {
            assert_eq!(
                resolve(given, home).unwrap_err().code,
                ErrorCode::InvalidParams,
                "{given:?}"
            );
        }
    }
}
