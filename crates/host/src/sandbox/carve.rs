//! Converts the paths to grant into rules that the kernel supports.
//!
//! In: paths to grant, paths to withhold. Out: paths whose whole contents may be granted. Never: returns a path that
//! contains, or is inside of, a withheld one.
//!
//! Landlock grants directories as a whole. If a directory contains a withheld path, all its other entries are granted
//! one by one, as they exist now. Entries that appear later, and the listing of the directory, stay out of reach.
//!
//! An agent may have created a link in a directory that sandboxes may write. The target of such a link is granted only
//! if it is below the same directory. Agents of other threads may exchange directories and links meanwhile, so what is
//! granted is the descriptor of the walk that was checked.

use std::path::{Path, PathBuf};

use acpd_model::limits::SANDBOX_ENTRIES;

use super::error::SandboxError;
use super::writable::Writable;
use crate::walk::{Walk, Walks};

/// Grants what a walk has found. Called with one part after the other, so that few descriptors are open.
type Grant<'a> = dyn FnMut(&Walk) -> Result<(), SandboxError> + 'a;

/// Withheld paths, and paths that agents may have changed.
pub(super) struct Reach<'a> {
    walks: &'a Walks,
    /// The withheld paths, with and without links, and the links: an agent that replaces one changes what is read there.
    withheld: Vec<PathBuf>,
    writable: Writable<'a>,
}

impl<'a> Reach<'a> {
    pub fn new(walks: &'a Walks, withheld: &[PathBuf]) -> Self {
        Self {
            walks,
            withheld: withheld.iter().flat_map(|path| passed(walks, path)).collect(),
            writable: Writable::new(walks, std::iter::empty()),
        }
    }

    /// Adds the directories that agents may write.
    pub fn writable(self, writable: Writable<'a>) -> Self {
        Self { writable, ..self }
    }

    /// Grants `path`: itself, parts of it, or nothing.
    pub fn carve(&self, path: &Path, grant: &mut Grant<'_>) -> Result<(), SandboxError> {
        match self.walks.along(path) {
            Some(walk) if !self.writable.leads_out(&walk) => self.cut(&walk, grant),
            _ => Ok(()),
        }
    }

    /// Grants what a walk has found, without the withheld paths.
    pub fn cut(&self, walk: &Walk, grant: &mut Grant<'_>) -> Result<(), SandboxError> {
        let real = walk.real();
        if self.withheld.iter().any(|withheld| real.starts_with(withheld)) {
            return Ok(());
        }
        if !self.withheld.iter().any(|withheld| withheld.starts_with(real)) {
            return grant(walk);
        }
        let names = walk.names(SANDBOX_ENTRIES + 1).unwrap_or_default();
        if names.len() > SANDBOX_ENTRIES {
            return Ok(());
        }
        for name in names {
            // The target of a link is granted by its own path, or not at all.
            if let Ok(entry) = walk.child(&name) {
                self.cut(&entry, grant)?;
            }
        }
        Ok(())
    }

    /// Returns the real path of a workspace directory.
    pub fn workspace(&self, path: &Path) -> Result<PathBuf, SandboxError> {
        let real = self.walks.real(path);
        // Of a directory that does not exist, the nearest one above it counts.
        let nearest = path.ancestors().find_map(|path| self.walks.along(path));
        if nearest.is_none_or(|walk| self.writable.leads_out(&walk)) {
            return Err(SandboxError::Elsewhere {
                workspace: path.to_owned(),
                real,
            });
        }
        match self.withheld.iter().find(|withheld| overlap(withheld, &real)) {
            None => Ok(real),
            Some(withheld) if withheld.starts_with(&real) => Err(SandboxError::Contains {
                workspace: path.to_owned(),
                withheld: withheld.clone(),
            }),
            Some(withheld) => Err(SandboxError::Inside {
                workspace: path.to_owned(),
                withheld: withheld.clone(),
            }),
        }
    }
}

/// Returns a path, its real path, and the links on the way.
fn passed(walks: &Walks, path: &Path) -> Vec<PathBuf> {
    let mut passed = vec![walks.real(path), path.to_owned()];
    let nearest = path.ancestors().find_map(|path| walks.along(path));
    passed.extend(nearest.iter().flat_map(|walk| walk.links().to_vec()));
    passed
}

/// Returns whether the paths are equal or one contains the other.
fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags};

    use super::*;
    use crate::file_id::FileId;

    /// Returns what is granted for a path: the real paths, and the files.
    fn granted(reach: &Reach<'_>, path: &Path) -> (Vec<PathBuf>, Vec<FileId>) {
        let mut all = Vec::new();
        reach
            .carve(path, &mut |walk| {
                all.push((walk.real().to_owned(), walk.id().unwrap()));
                Ok(())
            })
            .unwrap();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all.into_iter().unzip()
    }

    #[test]
    fn withheld_paths_are_cut_out_of_granted_folders() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in ["home/state/acpd/agents", "home/state/other", "home/docs", "away"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        symlink(root.join("home/state/acpd"), root.join("home/link")).unwrap();
        let withheld = [root.join("home/link"), root.join("home/later/config.toml")];
        let carved = |path: &str| {
            let walks = Walks::default();
            let (parts, _) = granted(&Reach::new(&walks, &withheld), &root.join(path));
            let parts = parts
                .iter()
                .map(|part| part.strip_prefix(&root).unwrap().display().to_string());
            parts.collect::<Vec<_>>()
        };
        assert_eq!(carved("away"), ["away"]);
        assert_eq!(carved("home"), ["home/docs", "home/state/other"]);
        assert_eq!(carved("home/state"), ["home/state/other"]);
        for inside in ["home/state/acpd", "home/state/acpd/agents", "home/link", "none"] {
            assert_eq!(carved(inside), [""; 0], "{inside}");
        }
        // A path that is created later is withheld from the start.
        std::fs::create_dir(root.join("home/later")).unwrap();
        assert_eq!(carved("home/later"), [""; 0]);
        std::fs::write(root.join("home/later/config.toml"), "").unwrap();
        std::fs::write(root.join("home/later/beside"), "").unwrap();
        assert_eq!(carved("home/later"), ["home/later/beside"]);
        let walks = Walks::default();
        let withheld = Reach::new(&walks, &withheld);
        assert!(withheld.workspace(&root.join("home/docs")).is_ok());
        assert!(withheld.workspace(&root.join("home/docs/new")).is_ok());
        assert!(matches!(
            withheld.workspace(&root.join("home")),
            Err(SandboxError::Contains { .. })
        ));
        assert!(matches!(
            withheld.workspace(&root.join("home/link/agents")),
            Err(SandboxError::Inside { .. })
        ));
    }

    #[test]
    fn links_made_by_an_agent_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for made in ["work/real", "work/sub", "keys"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        symlink(root.join("keys"), root.join("work/made")).unwrap();
        symlink(root.join("work/sub"), root.join("work/inner")).unwrap();
        symlink(root.join("keys"), root.join("users")).unwrap();
        let writable = [root.join("work")];
        let walks = Walks::default();
        let reach = Reach::new(&walks, &[]).writable(Writable::new(&walks, writable.iter()));
        let granted = |path: &str| granted(&reach, &root.join(path)).0.len();
        assert_eq!(
            [granted("work"), granted("work/real"), granted("work/inner")],
            [1; 3]
        );
        assert_eq!([granted("work/made"), granted("work/made/below")], [0; 2]);
        assert_eq!(granted("users"), 1, "no agent could make it");
        let made = reach.workspace(&root.join("work/made"));
        assert!(matches!(made, Err(SandboxError::Elsewhere { .. })), "{made:?}");
        assert!(reach.workspace(&root.join("work/real")).is_ok());
    }

    #[test]
    fn a_link_to_what_is_withheld_is_withheld_as_well() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for made in ["config", "dots", "keys"] {
            std::fs::create_dir(root.join(made)).unwrap();
        }
        std::fs::write(root.join("keys/config"), "").unwrap();
        symlink(root.join("dots/config"), root.join("config/config")).unwrap();
        symlink(root.join("keys/config"), root.join("dots/config")).unwrap();
        let walks = Walks::default();
        let reach = Reach::new(&walks, &[root.join("config/config")]);
        for workspace in ["config", "dots", "keys"] {
            let refused = reach.workspace(&root.join(workspace));
            assert!(
                matches!(refused, Err(SandboxError::Contains { .. })),
                "{workspace}"
            );
        }
    }

    #[test]
    fn a_directory_with_too_many_entries_is_not_cut() {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        std::fs::write(&secret, "").unwrap();
        for number in 0..SANDBOX_ENTRIES - 1 {
            std::fs::write(dir.path().join(number.to_string()), "").unwrap();
        }
        let walks = Walks::default();
        let withheld = Reach::new(&walks, &[secret]);
        assert_eq!(granted(&withheld, dir.path()).0.len(), SANDBOX_ENTRIES - 1);
        std::fs::write(dir.path().join("more"), "").unwrap();
        assert!(granted(&withheld, dir.path()).0.is_empty());
    }

    fn exchange(one: &Path, other: &Path) {
        rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
    }

    /// Exchanges two names, again and again until `work` is done.
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
                while !done.load(Ordering::Relaxed) {
                    exchange(one, other);
                }
            });
            // Also ends the thread if `work` panics.
            let _done = Done(&done);
            work();
        });
    }

    #[test]
    fn paths_exchanged_during_carving_are_not_granted() {
        const ROUNDS: usize = 10_000;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in [
            "home/.ssh/sub",
            "work/g/sub",
            "work/g/other",
            "work/own",
            "work/up",
        ] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        symlink(root.join("home/.ssh"), root.join("work/absolute")).unwrap();
        symlink("../home/.ssh", root.join("work/relative")).unwrap();
        symlink("up/../../home/.ssh", root.join("work/around")).unwrap();
        let ids = |paths: &[&str]| -> Vec<_> {
            let found = paths.iter().map(|path| root.join(path).metadata().unwrap());
            found.map(|found| FileId::of(&found)).collect()
        };
        let home = ids(&["home", "home/.ssh", "home/.ssh/sub"]);
        let cut = ids(&["work/g", "work/g/sub"]);
        let places = [root.join("work")];
        let [none, key] = [Vec::new(), vec![root.join("work/g/sub/key")]];
        for (link, carved, withheld) in [
            ("work/absolute", "work/g", &none),
            ("work/relative", "work/g/sub", &none),
            ("work/around", "work/own/../g/sub", &none),
            ("work/relative", "work/g", &key),
        ] {
            let (exchanged, link) = (root.join("work/g"), root.join(link));
            while_exchanging(&exchanged, &link, || {
                let mut found = 0;
                for round in 0..ROUNDS {
                    let walks = Walks::default();
                    let reach = Reach::new(&walks, withheld);
                    let reach = reach.writable(Writable::new(&walks, places.iter()));
                    let (_, ids) = granted(&reach, &root.join(carved));
                    let is_out = |id: &FileId| home.contains(id) || !withheld.is_empty() && cut.contains(id);
                    assert!(!ids.iter().any(is_out), "{carved} in round {round}");
                    found += ids.len();
                }
                assert!(found > 0, "{carved} was never found");
            });
            // The names may be the wrong way round now.
            if exchanged.is_symlink() {
                exchange(&exchanged, &link);
            }
        }
    }
}
