//! Directories that agents may write, and the paths that they control with them.
//!
//! In: paths. Out: whether an agent may have chosen their target or content. Never: relies on the name alone, since
//! links of the user may lead a path through such a directory.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use acpd_model::limits::PATH_LINKS;

/// Directories and files that agents may write.
#[derive(Debug, Clone, Default)]
pub struct Writable {
    /// The paths, without links.
    places: Vec<PathBuf>,
}

impl Writable {
    /// Resolves the paths. They need not exist yet.
    pub fn new<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Self {
        Self {
            places: paths.map(|path| real_name(path)).collect(),
        }
    }

    /// Returns whether an agent can choose the content at `path`: it is in such a directory, or a link in one leads
    /// there.
    pub fn decides(&self, path: &Path) -> bool {
        let Some(way) = Way::of(path) else {
            return true;
        };
        let mut passed = way.links.iter().chain([&way.real]);
        passed.any(|passed| self.places.iter().any(|place| passed.starts_with(place)))
    }

    /// Returns whether a link in such a directory leads out of it on the way to `path`. An agent may have created such
    /// a link. If `path` does not exist, its nearest existing ancestor counts.
    pub(super) fn leads_out(&self, path: &Path) -> bool {
        let Some(way) = path.ancestors().find_map(Way::of) else {
            return true;
        };
        let out = |link: &PathBuf| {
            let mut around = self.places.iter().filter(|place| link.starts_with(place));
            around.any(|place| !way.real.starts_with(place))
        };
        way.links.iter().any(out)
    }
}

/// How a path is resolved.
struct Way {
    /// The links on the way, each with the real path of its directory.
    links: Vec<PathBuf>,
    real: PathBuf,
}

impl Way {
    /// Resolves an absolute path. Returns `None` if the file does not exist.
    fn of(path: &Path) -> Option<Self> {
        let mut way = Self {
            links: Vec::new(),
            real: PathBuf::from("/"),
        };
        let mut left = parts(path);
        while let Some(part) = left.pop_front() {
            if part == ".." {
                way.real.pop();
                continue;
            }
            let here = way.real.join(&part);
            if !here.symlink_metadata().ok()?.is_symlink() {
                way.real = here;
                continue;
            }
            let target = here.read_link().ok()?;
            if way.links.len() >= PATH_LINKS {
                return None;
            }
            way.links.push(here);
            if target.is_absolute() {
                way.real = PathBuf::from("/");
            }
            let mut next = parts(&target);
            next.append(&mut left);
            left = next;
        }
        Some(way)
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    parts.collect()
}

/// Returns the real path of `path`, whose last parts need not exist yet.
pub(super) fn real_name(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real_name(parent).join(name),
        _ => path.to_owned(),
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
        let writable = Writable::new(places.iter());
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
            assert_eq!(
                (writable.decides(&full), writable.leads_out(&full)),
                (decides, leads_out),
                "{path}"
            );
        }
    }
}
