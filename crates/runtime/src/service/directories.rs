//! The directories of threads.
//!
//! In: directories that a client names, and those of a thread. Out: the same as they are on this host, or why a thread cannot work
//! there. Owns: nothing. Never: runs on a thread of the runtime: the disk may not answer.

use std::path::{Path, PathBuf};

use acpd_model::Failure;
use acpd_model::event::Directories;
use acpd_proto::projection::Spec;

use crate::host::paths;
use crate::service::same_directory::on_this_host;

/// Returns the directories that a client names for a thread, if they exist.
pub(super) fn find_directories(
    cwd: String,
    additional_directories: Vec<String>,
) -> Result<Directories, Failure> {
    let cwd = on_this_host(cwd)?;
    let additional_directories = additional_directories
        .into_iter()
        .map(on_this_host)
        .collect::<Result<Vec<_>, _>>()?;
    for directory in std::iter::once(&cwd).chain(&additional_directories) {
        check_directory(directory)?;
    }
    Ok(named_directories(cwd, additional_directories))
}

/// Returns directories that a user has named, each with its real path.
fn named_directories(cwd: String, additional_directories: Vec<String>) -> Directories {
    let all = std::iter::once(&cwd).chain(&additional_directories);
    Directories {
        real_directories: paths::real_directories(all.map(String::as_str)),
        cwd,
        additional_directories,
    }
}

/// Returns the directories of a thread that a client moves to the directory `cwd`. Further ones inside the earlier one have moved
/// along, if they are there. Each must lead where it led before: the user has not named it, and an agent may have replaced
/// it with a link. Fails if one does not.
pub(super) fn moved_along(spec: &Spec, cwd: String) -> Result<Directories, Failure> {
    let cwd = on_this_host(cwd)?;
    check_directory(&cwd)?;
    let mut moved = named_directories(cwd, Vec::new());
    let (cwd, real_cwd) = (
        PathBuf::from(&moved.cwd),
        PathBuf::from(&moved.real_directories[0]),
    );
    let before: Vec<_> = spec.real_names().collect();
    let old_real = before.first().map_or(&*spec.cwd, |(_, real)| real);
    for (at, given) in spec.additional_directories.iter().enumerate() {
        let real = before.get(at + 1).map_or(&**given, |(_, real)| real);
        let rest = Path::new(given)
            .strip_prefix(&spec.cwd)
            .or_else(|_| Path::new(real).strip_prefix(old_real))
            .ok()
            .filter(|rest| cwd.join(rest).is_dir());
        let (new, wanted) = match rest {
            Some(rest) => (cwd.join(rest), real_cwd.join(rest)),
            None => (given.into(), real.into()),
        };
        if let Ok(leads) = new.canonicalize()
            && leads != wanted
        {
            return Err(Failure::invalid_params(format!(
                "{} leads to {}, and not to {}. An agent may have replaced it: put it back, or name all further directories, with \
                 \"acpd move --add-dir\" or in `additionalDirectories`; \"acpd move --only\" leaves them out",
                new.display(),
                leads.display(),
                wanted.display()
            )));
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        moved.additional_directories.push(text(&new));
        moved.real_directories.push(text(&wanted));
    }
    Ok(moved)
}

/// Rejects paths that are not a directory on this host.
fn check_directory(path: &str) -> Result<(), Failure> {
    let directory = Path::new(path);
    if !directory.is_absolute() {
        return Err(Failure::invalid_params(format!(
            "{path:?} is not an absolute path"
        )));
    }
    if !directory.is_dir() {
        return Err(Failure::invalid_params(format!(
            "directory not found on the daemon's host: {path:?}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nested_folders_move_along_and_keep_their_links() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let path = |name: &str| root.join(name).to_string_lossy().into_owned();
        for made in ["new/docs", "beside", "secret"] {
            std::fs::create_dir_all(path(made)).unwrap();
        }
        let named = ["old/docs", "old/gone", "beside", "missing"].map(path);
        let spec = Spec {
            cwd: path("old"),
            additional_directories: named.to_vec(),
            real_directories: std::iter::once(path("old")).chain(named).collect(),
            ..Spec::default()
        };
        let moved = moved_along(&spec, path("new")).unwrap();
        let expected = ["new/docs", "old/gone", "beside", "missing"].map(path);
        assert_eq!(moved.additional_directories, expected);
        assert_eq!(moved.real_directories[1..], expected);

        std::fs::remove_dir(path("beside")).unwrap();
        symlink(path("secret"), path("beside")).unwrap();
        let refused = moved_along(&spec, path("new")).unwrap_err();
        assert!(refused.message.contains("secret"), "{refused}");
        // A user who names it gets it.
        let named = named_directories(path("new"), vec![path("beside")]);
        assert_eq!(named.real_directories, [path("new"), path("secret")]);
    }
}
