//! Finds the repository of a directory: the worktree root, which tools search for, and the directory that commits write to.
//!
//! In: a directory. Out: the worktree around it, and the repository's own directory. Never: trusts a `.git` file alone,
//! because agents can write one: the repository must refer back to the worktree, as a linked one or a submodule. Never: names a
//! path that may lead elsewhere by the time it is granted: the walk by which a path was checked is kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use acpd_host::{Walk, Walks};

use crate::agent::sandbox::git_config;

/// The file or directory at the root of a worktree.
const GIT: &str = ".git";

/// The prefix of a `.git` file's content.
const PREFIX: &str = "gitdir:";

/// The maximum size of a file in which git stores a path.
const FILE_BYTES: u64 = 8192;

/// Returns the root of the worktree that contains `directory`, unless `directory` is the root itself.
pub fn root(walks: &Walks, directory: &Path) -> Option<PathBuf> {
    let trail = walks.trail(directory);
    let root = trail.iter().position(|around| around.has(GIT))?;
    if root == 0 { None } else { walks.keep(&trail[root]) }
}

/// Returns the repository of the worktree that contains `directory`, if it is outside of `directory`.
pub fn repository(walks: &Walks, directory: &Path) -> Option<PathBuf> {
    let trail = walks.trail(directory);
    let root = trail.iter().position(|around| around.has(GIT))?;
    let worktree = &trail[root];
    let git = worktree.child(GIT.as_ref()).ok()?;
    if git.is_directory() {
        return if root == 0 {
            None
        } else {
            walks.keep(&Arc::new(git))
        };
    }
    let named = git.read_small(FILE_BYTES).ok()?;
    let trail = walks.trail(&worktree.real().join(named.strip_prefix(PREFIX)?.trim()));
    let repository = of_worktree(&trail, &git).or_else(|| of_submodule(&trail, worktree))?;
    let parts = ["objects", "refs", "HEAD"];
    if !parts.iter().all(|part| repository.has(part)) {
        return None;
    }
    walks.keep(repository)
}

/// Returns the repository of the linked worktree whose `.git` file is `git`: the trail is that of REPOSITORY/worktrees/NAME.
fn of_worktree<'a>(trail: &'a [Arc<Walk>], git: &Walk) -> Option<&'a Arc<Walk>> {
    let [own, worktrees, repository, ..] = trail else {
        return None;
    };
    if !worktrees.real().ends_with("worktrees") {
        return None;
    }
    let back = own.child("gitdir".as_ref()).ok()?.read_small(FILE_BYTES);
    let back = own.real().join(back.ok()?.trim());
    let is_back = Walk::along(&back).is_ok_and(|back| back.is_same(git));
    is_back.then_some(repository)
}

/// Returns the repository of a submodule, at which the trail begins, if its settings refer back to the worktree.
fn of_submodule<'a>(trail: &'a [Arc<Walk>], worktree: &Walk) -> Option<&'a Arc<Walk>> {
    let own = trail.first()?;
    let configs = ["config", "config.worktree"];
    let settings = configs.iter().flat_map(|config| {
        let config = own.child(config.as_ref());
        git_config::settings(config.ok().as_ref())
    });
    let back = settings.rev().find(|setting| setting.is("core", "worktree"))?;
    let is_back = Walk::along(&own.real().join(back.value())).is_ok_and(|back| back.is_same(worktree));
    is_back.then_some(own)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{AtFlags, CWD, RenameFlags};

    use super::*;

    fn repository(directory: &Path) -> Option<PathBuf> {
        super::repository(&Walks::default(), directory)
    }

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
            &root.join("main/sub"),
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
        let root_of = |path: &str| super::root(&Walks::default(), &root.join(path));
        assert_eq!(root_of("w/sub"), Some(root.join("w")));
        assert_eq!(root_of("w"), None);
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

    /// Exchanges two names while `work` runs, again and again.
    fn while_exchanging(one: &Path, other: &Path, work: impl FnOnce()) {
        struct Done<'a>(&'a AtomicBool);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let exchange = || rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
                // An even number restores the original state.
                while !done.load(Ordering::Relaxed) {
                    exchange().unwrap();
                    exchange().unwrap();
                }
            });
            // Also ends the thread if `work` panics.
            let _done = Done(&done);
            work();
        });
    }

    const ROUNDS: usize = 4_000;

    fn inode(walk: &Walk) -> u64 {
        let file = std::fs::File::from(walk.as_fd().try_clone_to_owned().unwrap());
        file.metadata().unwrap().ino()
    }

    #[test]
    fn a_repository_that_is_exchanged_for_a_link_is_granted_as_it_was_checked() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in ["home/.ssh", "work/g/worktrees/x", "work/g/objects", "work/g/refs"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        let text = |path: &str| root.join(path).display().to_string();
        for (file, text) in [
            ("work/g/HEAD", String::new()),
            ("work/g/worktrees/x/gitdir", text("work/.git")),
            ("work/.git", format!("gitdir: {}", text("work/g/worktrees/x"))),
        ] {
            std::fs::write(root.join(file), text).unwrap();
        }
        let own = root.join("work/g").metadata().unwrap().ino();
        for target in ["../home", "../home/.ssh", "/"] {
            let link = root.join("work/link");
            symlink(target, &link).unwrap();
            while_exchanging(&root.join("work/g"), &link, || {
                let mut found = 0;
                for round in 0..ROUNDS {
                    let walks = Walks::default();
                    if let Some(path) = super::repository(&walks, &root.join("work")) {
                        let granted = walks.along(&path).unwrap();
                        assert_eq!(inode(&granted), own, "{target} in round {round}");
                        found += 1;
                    }
                }
                assert!(found > 0, "it was never found");
            });
            std::fs::remove_file(link).unwrap();
        }
    }

    #[test]
    fn the_root_of_a_worktree_is_around_the_workspace_that_is_granted() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in ["home/sub", "home/.git", "work/p/sub", "work/p/.git"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        let link = root.join("work/link");
        symlink("../home", &link).unwrap();
        while_exchanging(&root.join("work/p"), &link, || {
            let directory = root.join("work/p/sub");
            let mut found = 0;
            for round in 0..ROUNDS {
                let walks = Walks::default();
                if let Some(path) = super::root(&walks, &directory) {
                    let (around, inside) = (walks.along(&path).unwrap(), walks.along(&directory).unwrap());
                    let parent = rustix::fs::statat(&*inside, "..", AtFlags::empty()).unwrap();
                    assert_eq!(inode(&around), parent.st_ino, "in round {round}");
                    found += 1;
                }
            }
            assert!(found > 0, "it was never found");
        });
    }
}
