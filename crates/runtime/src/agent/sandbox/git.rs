//! Finds the repository of a directory: the worktree root, which tools search for, and the directory that commits write to.
//!
//! In: a directory. Out: the worktree around it, and the repository's own directory. Never: trusts a `.git` file alone,
//! because agents can write one: the repository must refer back to the worktree, as a linked one or a submodule.

use std::path::{Path, PathBuf};

use acpd_host::read_small;

use crate::agent::sandbox::git_config;

/// The prefix of a `.git` file's content.
const PREFIX: &str = "gitdir:";

/// The maximum size of a file in which git stores a path.
const FILE_BYTES: u64 = 8192;

/// Returns the root of the worktree that contains `directory`, unless `directory` is the root itself.
pub fn root(directory: &Path) -> Option<&Path> {
    let root = directory.ancestors().find(|above| above.join(".git").exists())?;
    (root != directory).then_some(root)
}

/// Returns the repository of the worktree that contains `directory`, if it is outside of `directory`.
pub fn repository(directory: &Path) -> Option<PathBuf> {
    let file = directory
        .ancestors()
        .map(|above| above.join(".git"))
        .find(|git| git.exists())?;
    let kind = file.symlink_metadata().ok()?;
    if kind.is_symlink() {
        return None;
    }
    if kind.is_dir() {
        return (!file.starts_with(directory)).then_some(file);
    }
    let worktree = file.parent()?;
    let named = read(&file)?;
    let named = worktree.join(named.strip_prefix(PREFIX)?.trim());
    let own = named.canonicalize().ok()?;
    let repository = of_worktree(&own, &file).or_else(|| of_submodule(&own, worktree))?;
    let parts = ["objects", "refs", "HEAD"];
    parts
        .iter()
        .all(|part| repository.join(part).exists())
        .then(|| repository.to_owned())
}

/// Returns the repository of the linked worktree whose `.git` file is `file`: `own` is REPOSITORY/worktrees/NAME.
fn of_worktree<'a>(own: &'a Path, file: &Path) -> Option<&'a Path> {
    let worktrees = own.parent()?;
    let repository = worktrees.parent().filter(|_| worktrees.ends_with("worktrees"))?;
    let back = own.join(read(&own.join("gitdir"))?.trim());
    (back.canonicalize().ok()? == file.canonicalize().ok()?).then_some(repository)
}

/// Returns the repository of a submodule, which is `own` itself, if its settings refer back to the worktree.
fn of_submodule<'a>(own: &'a Path, worktree: &Path) -> Option<&'a Path> {
    let worktree = worktree.canonicalize().ok()?;
    let configs = ["config", "config.worktree"];
    let settings = configs
        .iter()
        .flat_map(|config| git_config::settings(&own.join(config)));
    let back = settings.rev().find(|setting| setting.is("core", "worktree"))?;
    (own.join(back.value()).canonicalize().ok()? == worktree).then_some(own)
}

fn read(file: &Path) -> Option<String> {
    read_small(file, FILE_BYTES).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_leads_to_a_repository_that_knows_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let main = root.join("main/.git");
        let own = main.join("worktrees/w");
        for made in [
            &own,
            &main.join("objects"),
            &main.join("refs"),
            &root.join("w/sub"),
        ] {
            std::fs::create_dir_all(made).unwrap();
        }
        std::fs::write(main.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(root.join("w/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert_eq!(repository(&root.join("w")), None, "it does not know the worktree");
        std::fs::write(own.join("gitdir"), format!("{}\n", root.join("w/.git").display())).unwrap();
        assert_eq!(repository(&root.join("w")), Some(main.clone()));
        assert_eq!(repository(&root.join("w/sub")), Some(main.clone()));
        assert_eq!(repository(&root.join("main")), None, "it is in the workspace");
        assert_eq!(super::root(&root.join("w/sub")), Some(&*root.join("w")));
        assert_eq!(super::root(&root.join("w")), None);
        assert_eq!(repository(&root.join("main/sub")), Some(main.clone()));
        // An agent points to a directory of its choice and creates the files that it can create.
        let fake = root.join("w/worktrees/fake");
        std::fs::create_dir_all(&fake).unwrap();
        std::fs::write(fake.join("gitdir"), root.join("w/.git").display().to_string()).unwrap();
        for named in [fake, root.clone(), root.join("none"), root.join("w")] {
            std::fs::write(root.join("w/.git"), format!("gitdir: {}", named.display())).unwrap();
            assert_eq!(repository(&root.join("w")), None, "{}", named.display());
        }
    }

    #[test]
    fn a_submodule_leads_to_a_repository_that_knows_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let own = root.join("super/.git/modules/lib");
        for made in ["objects", "refs"] {
            std::fs::create_dir_all(own.join(made)).unwrap();
        }
        let worktree = root.join("super/lib");
        std::fs::create_dir_all(worktree.join("sub")).unwrap();
        std::fs::write(own.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(worktree.join(".git"), "gitdir: ../.git/modules/lib\n").unwrap();
        let leads = |value: &str| {
            std::fs::write(own.join("config"), format!("[core]\n\tworktree = {value}\n")).unwrap();
            repository(&worktree)
        };
        assert_eq!(repository(&worktree), None, "it has no settings");
        for wrong in ["", "../../../other", "../../..", "../../../lib/sub", "/"] {
            assert_eq!(leads(wrong), None, "{wrong}");
        }
        assert_eq!(leads("../../../lib"), Some(own.clone()));
        assert_eq!(repository(&worktree.join("sub")), Some(own.clone()));
        // A `.git` file in another directory gains nothing by pointing to the repository.
        let other = root.join("other");
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert_eq!(repository(&other), None);
    }
}
