//! The repository that a directory belongs to: what tools look for above it, and what a commit writes to.
//!
//! In: a directory. Out: the worktree around it, the repository's own directory. Never: believes a `.git` file alone, since agents
//! can write one: the repository must know the worktree.

use std::path::{Path, PathBuf};

use acpd_host::read_small;

/// What begins a `.git` file.
const PREFIX: &str = "gitdir:";

/// A path, as git writes it, is not longer.
const FILE_BYTES: u64 = 8192;

/// The worktree that `directory` is below.
pub fn root(directory: &Path) -> Option<&Path> {
    let root = directory.ancestors().find(|above| above.join(".git").exists())?;
    (root != directory).then_some(root)
}

/// The repository of the worktree that `directory` is in, if it is elsewhere.
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
    // REPOSITORY/worktrees/NAME
    let own = named.canonicalize().ok()?;
    let worktrees = own.parent()?;
    let repository = worktrees.parent().filter(|_| worktrees.ends_with("worktrees"))?;
    let back = own.join(read(&own.join("gitdir"))?.trim());
    let knows = back.canonicalize().ok()? == file.canonicalize().ok()?;
    let parts = ["objects", "refs", "HEAD"];
    (knows && parts.iter().all(|part| repository.join(part).exists())).then(|| repository.to_owned())
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
        // An agent names a directory of its choice, and makes what it can make.
        let fake = root.join("w/worktrees/fake");
        std::fs::create_dir_all(&fake).unwrap();
        std::fs::write(fake.join("gitdir"), root.join("w/.git").display().to_string()).unwrap();
        for named in [fake, root.clone(), root.join("none"), root.join("w")] {
            std::fs::write(root.join("w/.git"), format!("gitdir: {}", named.display())).unwrap();
            assert_eq!(repository(&root.join("w")), None, "{}", named.display());
        }
    }
}
