//! Directories that agents may write, and what they decide with them.
//!
//! In: paths. Out: whether an agent may have chosen where they lead, or what is there. Never: goes by a name alone: the way to a path
//! may pass through such a directory by links of the user.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use acpd_model::limits::PATH_LINKS;

/// Directories, and files, that agents may write.
#[derive(Debug, Clone, Default)]
pub struct Writable {
    /// By their real names.
    places: Vec<PathBuf>,
}

impl Writable {
    /// Looks the paths up. They need not exist yet.
    pub fn new<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Self {
        Self {
            places: paths.map(|path| real_name(path)).collect(),
        }
    }

    /// Whether an agent can choose what is read by the name `path`: it is in such a directory, or a link in one leads there.
    pub fn decides(&self, path: &Path) -> bool {
        let Some(way) = Way::of(path) else {
            return true;
        };
        let mut passed = way.links.iter().chain([&way.real]);
        passed.any(|passed| self.places.iter().any(|place| passed.starts_with(place)))
    }

    /// Whether a link in such a directory leads out of that directory on the way to `path`: an agent may have made it. Of a path that
    /// does not exist, what is above it counts.
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

/// How a path is found.
struct Way {
    /// Where the links on the way are, by the real names of their directories.
    links: Vec<PathBuf>,
    real: PathBuf,
}

impl Way {
    /// The way to an absolute path; `None` if there is nothing.
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

/// The real name of a path, of which the last parts need not exist yet.
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
            // The user's, into the workspace and elsewhere.
            ("home/dots", "../work"),
            ("home/own", "../work/own"),
            ("home/key", "../keys/key"),
            ("home/bashrc", "dots/bashrc"),
            ("home/back", "../work/back"),
            // An agent's.
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
