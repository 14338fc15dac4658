//! Directories that agents may write, and the paths that they control with them.
//!
//! In: paths. Out: whether an agent may have chosen their target or content. Never: relies on the name alone, since
//! links of the user may lead a path through such a directory.

use std::path::{Path, PathBuf};

use crate::walk::{Walk, Walks};

/// Directories and files that agents may write.
#[derive(Debug, Clone)]
pub struct Writable<'a> {
    walks: &'a Walks,
    /// The paths, without links.
    places: Vec<PathBuf>,
}

impl<'a> Writable<'a> {
    /// Resolves the paths. They need not exist yet.
    pub fn new<'p>(walks: &'a Walks, paths: impl Iterator<Item = &'p PathBuf>) -> Self {
        Self {
            walks,
            places: paths.map(|path| walks.real(path)).collect(),
        }
    }

    /// Returns whether an agent can choose the content at `path`: it is in such a directory, or a link in one leads
    /// there.
    pub fn decides(&self, path: &Path) -> bool {
        let Some(walk) = self.walks.along(path) else {
            return true;
        };
        let mut passed = walk.links().iter().map(PathBuf::as_path).chain([walk.real()]);
        passed.any(|passed| self.places.iter().any(|place| passed.starts_with(place)))
    }

    /// Returns whether a link in such a directory led the walk out of it. An agent may have created such a link.
    pub(super) fn leads_out(&self, walk: &Walk) -> bool {
        let out = |link: &PathBuf| {
            let mut around = self.places.iter().filter(|place| link.starts_with(place));
            around.any(|place| !walk.real().starts_with(place))
        };
        walk.links().iter().any(out)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_way_to_a_path_counts() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in ["work/sub", "home", "keys"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        for file in ["work/own", "keys/key", "home/plain"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        for (link, target) in [
            // Links of the user, into the workspace and elsewhere.
            ("home/dots", "../work"),
            ("home/own", "../work/own"),
            ("home/key", "../keys/key"),
            ("home/bashrc", "dots/bashrc"),
            ("home/back", "../work/back"),
            // Links of an agent.
            ("work/bashrc", "../keys/key"),
            ("work/inner", "sub/../own"),
            ("work/back", "../home/plain"),
            ("work/loop", "loop"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        let places = [root.join("home/dots")];
        let walks = Walks::default();
        let writable = Writable::new(&walks, places.iter());
        for (path, decides, leads_out) in [
            ("home/plain", false, false),
            ("home/key", false, false),
            ("home/own", true, false),
            ("home/dots/own", true, false),
            ("home/dots/inner", true, false),
            ("home/bashrc", true, true),
            ("home/dots/bashrc", true, true),
            ("home/back", true, true),
            ("home/none", true, false),
            ("work/loop", true, false),
        ] {
            let full = root.join(path);
            let nearest = full.ancestors().find_map(|path| walks.along(path)).unwrap();
            assert_eq!(
                (writable.decides(&full), writable.leads_out(&nearest)),
                (decides, leads_out),
                "{path}"
            );
        }
    }
}
