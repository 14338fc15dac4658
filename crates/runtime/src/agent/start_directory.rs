//! Checks the directories above the one in which agents start.
//!
//! In: that directory. Out: nothing, or why no agent may start there. Never: follows a file of these directories.
//!
//! npx and version managers look for settings and programs in all of them. Those of the user, such as `~/.tool-versions`, are meant.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Files of a directory that decide what a runner, or the shim of a version manager, runs below it.
const DECIDING: [&str; 8] = [
    "node_modules",
    "package.json",
    ".tool-versions",
    ".node-version",
    ".nvmrc",
    ".python-version",
    "mise.toml",
    ".mise.toml",
];

/// Permission of all users to write, and the one that leaves files to their owners.
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Returns an error if another user, or an agent in a directory for temporary files, may decide what runs in `start`. The data
/// directory around it is the daemon's own.
pub fn check(start: &Path) -> Result<(), String> {
    let data_dir = start.parent().unwrap_or(start);
    let real = data_dir.canonicalize();
    let real = real.as_deref().unwrap_or(data_dir);
    real.ancestors().skip(1).try_for_each(check_parent)
}

fn check_parent(directory: &Path) -> Result<(), String> {
    let mode = std::fs::metadata(directory).map_or(0, |metadata| metadata.permissions().mode());
    let shown = directory.display();
    match (mode & OTHERS_WRITE != 0, mode & STICKY != 0) {
        (false, _) => Ok(()),
        (true, false) => Err(format!(
            "every user may write {shown}, which is above the data directory: remove that permission, or choose another data_dir"
        )),
        (true, true) => {
            let has = |name: &&&str| directory.join(name).symlink_metadata().is_ok();
            DECIDING.iter().find(has).map_or(Ok(()), |name| {
                Err(format!(
                    "{shown}/{name} would decide what runs below it, and every user may have made it: remove it, or choose another \
                     data_dir"
                ))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn files_of_other_users_above_decide_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let above = dir.path().join("above");
        let start = above.join("data/start");
        std::fs::create_dir_all(&start).unwrap();
        let checked = |mode: u32, file: Option<&str>| {
            let file = file.map(|file| above.join(file));
            if let Some(file) = &file {
                std::fs::write(file, "").unwrap();
            }
            std::fs::set_permissions(&above, Permissions::from_mode(mode)).unwrap();
            let checked = check(&start);
            if let Some(file) = &file {
                std::fs::remove_file(file).unwrap();
            }
            checked
        };
        let node_modules = Some("node_modules");
        assert_eq!(checked(0o755, None), Ok(()));
        assert_eq!(checked(0o775, node_modules), Ok(()), "it is the user's own");
        assert_eq!(checked(0o1777, None), Ok(()));
        assert_eq!(checked(0o1777, Some("other")), Ok(()));
        for name in DECIDING {
            let refused = checked(0o1777, Some(name)).unwrap_err();
            assert!(refused.contains(&format!("above/{name}")), "{refused}");
        }
        let refused = checked(0o777, None).unwrap_err();
        assert!(refused.contains("every user may write"), "{refused}");
    }
}
