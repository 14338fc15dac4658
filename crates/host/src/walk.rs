//! Walks along paths, one name at a time.
//!
//! In: absolute paths. Out: open files and directories, each with its real path and the links on the way. Owns: their
//! descriptors. Never: opens a path of more than one name, lets the system follow a link, or walks along one path twice.
//!
//! An agent can exchange a directory and a link at any time. A check that walks along a path and a use that walks again
//! may then find two different directories. So a check examines a [`Walk`], and a use takes the descriptor of the same one.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use acpd_model::limits::PATH_LINKS;
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::file_id::FileId;
use crate::small::read_small;

/// For looking up names in a directory, which needs no permission to list it.
#[cfg(target_os = "linux")]
const LOOKUP: OFlags = OFlags::PATH;
/// Other systems have no such descriptors. The flags avoid waiting for a FIFO, and acquiring a controlling terminal.
#[cfg(not(target_os = "linux"))]
const LOOKUP: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// For looking up names in a directory that this process may not list.
#[cfg(target_vendor = "apple")]
const SEARCH: OFlags = OFlags::from_bits_retain(libc::O_SEARCH.cast_unsigned());
#[cfg(not(target_vendor = "apple"))]
const SEARCH: OFlags = LOOKUP;

/// The directory with the names of this process's descriptors.
#[cfg(target_os = "linux")]
const DESCRIPTORS: &str = "/proc/self/fd";
#[cfg(not(target_os = "linux"))]
const DESCRIPTORS: &str = "/dev/fd";

/// A file or directory that one walk along a path has found and opened.
#[derive(Debug)]
pub struct Walk {
    file: File,
    real: PathBuf,
    links: Vec<PathBuf>,
    is_link: bool,
}

impl Walk {
    /// Walks along an absolute path.
    pub fn along(path: &Path) -> io::Result<Self> {
        Self::with_parents(path).map(|(walk, _)| walk)
    }

    /// Also returns the directories around what the path leads to, innermost first.
    fn with_parents(path: &Path) -> io::Result<(Self, Vec<Self>)> {
        if !path.is_absolute() {
            return Err(Errno::INVAL.into());
        }
        let mut here = Self::root()?;
        let mut above = Vec::new();
        let (mut links, mut is_link) = (Vec::new(), false);
        let mut left = names(path);
        while let Some(name) = left.pop_front() {
            if name == ".." {
                // The parent of a directory is the one that it was reached in.
                here = above.pop().unwrap_or(here);
                continue;
            }
            match step(&here, &name)? {
                WalkStep::File(_) if !left.is_empty() => return Err(Errno::NOTDIR.into()),
                WalkStep::Directory(next) | WalkStep::File(next) => {
                    let next = here.below(&name, next);
                    above.push(std::mem::replace(&mut here, next));
                }
                WalkStep::Link(target) => {
                    if links.len() >= PATH_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    links.push(here.real.join(&name));
                    is_link |= left.is_empty();
                    if target.is_absolute() {
                        here = Self::root()?;
                        above.clear();
                    }
                    let mut next = names(&target);
                    next.append(&mut left);
                    left = next;
                }
            }
        }
        above.reverse();
        for parent in &mut above {
            parent.links.clone_from(&links);
        }
        Ok((
            Self {
                links,
                is_link,
                ..here
            },
            above,
        ))
    }

    fn root() -> Result<Self, Errno> {
        let flags = LOOKUP | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            file: rustix::fs::open("/", flags, Mode::empty())?.into(),
            real: PathBuf::from("/"),
            links: Vec::new(),
            is_link: false,
        })
    }

    fn below(&self, name: &OsStr, opened: OwnedFd) -> Self {
        Self {
            file: opened.into(),
            real: self.real.join(name),
            links: self.links.clone(),
            is_link: false,
        }
    }

    /// Opens one entry of this directory. Fails if it is a link.
    pub fn child(&self, name: &OsStr) -> io::Result<Self> {
        match step(self, name)? {
            WalkStep::Directory(opened) | WalkStep::File(opened) => Ok(self.below(name, opened)),
            WalkStep::Link(_) => Err(Errno::LOOP.into()),
        }
    }

    /// Returns the real path, without links.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// Returns the links that the walk has followed, each with the real path of its directory.
    pub fn links(&self) -> &[PathBuf] {
        &self.links
    }

    /// Returns whether the last name of the path is a link.
    pub fn is_link(&self) -> bool {
        self.is_link
    }

    /// Returns whether this is a directory.
    pub fn is_directory(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.is_dir())
    }

    /// Returns whether this is a regular file.
    pub fn is_file(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.is_file())
    }

    /// Returns whether both are the same file under the same path.
    pub fn is_same(&self, other: &Self) -> bool {
        self.real == other.real && self.id().is_some_and(|id| other.id() == Some(id))
    }

    /// Returns whether this directory has an entry of the name.
    pub fn has(&self, name: &str) -> bool {
        rustix::fs::statat(self, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Reads a regular file of at most `limit` bytes.
    pub fn read_small(&self, limit: u64) -> io::Result<String> {
        // A descriptor for lookups cannot be read from. This name opens the same file again.
        let name = format!("{DESCRIPTORS}/{}", self.file.as_raw_fd());
        read_small(Path::new(&name), limit)
    }

    /// Returns the names of this directory's entries, at most `limit`.
    pub(crate) fn names(&self, limit: usize) -> io::Result<Vec<OsString>> {
        let entries = self.directory()?.entries()?;
        let entries = entries.take(limit).flatten();
        Ok(entries.map(|entry| entry.file_name()).collect())
    }

    /// Returns another handle of this directory.
    pub(crate) fn directory(&self) -> io::Result<Dir> {
        self.file.try_clone().map(Dir::from_std_file)
    }

    pub(crate) fn id(&self) -> Option<FileId> {
        self.file.metadata().ok().map(|found| FileId::of(&found))
    }

    /// Returns the real path and the descriptor of a directory.
    #[cfg(target_os = "linux")]
    pub(crate) fn into_directory(self) -> io::Result<(PathBuf, Dir)> {
        if !self.is_directory() {
            return Err(Errno::NOTDIR.into());
        }
        Ok((self.real, Dir::from_std_file(self.file)))
    }
}

impl AsFd for Walk {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Walks along several paths, along each once. A path that was missing stays missing.
#[derive(Debug, Clone, Default)]
pub struct Walks {
    known: RefCell<BTreeMap<PathBuf, Option<Arc<Walk>>>>,
    failure: RefCell<Option<LookupError>>,
}

/// The system did not say where a path leads, for example because too many files are open.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{} cannot be looked up: {reason}", .path.display())]
pub struct LookupError {
    path: PathBuf,
    reason: String,
}

impl Walks {
    /// Returns the walk along a path; `None` if that leads nowhere.
    pub fn along(&self, path: &Path) -> Option<Arc<Walk>> {
        if let Some(known) = self.known.borrow().get(path) {
            return known.clone();
        }
        let walk = self.found(path, Walk::along(path)).map(Arc::new);
        self.known.borrow_mut().insert(path.to_owned(), walk.clone());
        walk
    }

    /// Returns the same walk. One that was not known is not kept, so many paths need few descriptors. For paths that nothing else checks.
    pub fn once(&self, path: &Path) -> Option<Arc<Walk>> {
        if let Some(known) = self.known.borrow().get(path) {
            return known.clone();
        }
        self.found(path, Walk::along(path)).map(Arc::new)
    }

    /// Returns the walk along a path, then the directories around what that leads to, innermost first. Returns nothing if the
    /// path leads nowhere, or elsewhere than before.
    pub fn trail(&self, path: &Path) -> Vec<Arc<Walk>> {
        let Some((walk, above)) = self.found(path, Walk::with_parents(path)) else {
            return Vec::new();
        };
        let walk = Arc::new(walk);
        if !self.agree(path, &walk) {
            return Vec::new();
        }
        std::iter::once(walk)
            .chain(above.into_iter().map(Arc::new))
            .collect()
    }

    /// Keeps a walk under its real path, and returns that. Returns `None` if this path has led elsewhere before.
    pub fn keep(&self, walk: &Arc<Walk>) -> Option<PathBuf> {
        self.agree(walk.real(), walk).then(|| walk.real.clone())
    }

    /// Returns whether the path has led to the same file before, or was not walked along.
    fn agree(&self, path: &Path, walk: &Arc<Walk>) -> bool {
        let mut known = self.known.borrow_mut();
        let first = known
            .entry(path.to_owned())
            .or_insert_with(|| Some(Arc::clone(walk)));
        first.as_ref().is_some_and(|first| first.is_same(walk))
    }

    /// Returns a path without links. Its last names need not exist.
    pub fn real(&self, path: &Path) -> PathBuf {
        if let Some(walk) = self.along(path) {
            return walk.real.clone();
        }
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => self.real(parent).join(name),
            _ => path.to_owned(),
        }
    }

    /// Returns the first error that left open where a path leads. The path counts as missing, so nothing that was decided with
    /// these walks may be used then.
    pub fn check(&self) -> Result<(), LookupError> {
        self.failure.borrow().clone().map_or(Ok(()), Err)
    }

    /// Returns the result of a walk along `path`, if it leads anywhere.
    fn found<T>(&self, path: &Path, walked: io::Result<T>) -> Option<T> {
        let keep = |error: &io::Error| {
            if !leads_nowhere(error) {
                let (path, reason) = (path.to_owned(), error.to_string());
                self.failure
                    .borrow_mut()
                    .get_or_insert(LookupError { path, reason });
            }
        };
        walked.inspect_err(keep).ok()
    }
}

/// Returns whether an error says that a path leads nowhere. Agents can cause these errors with what they write, so no sandbox
/// fails for them.
fn leads_nowhere(error: &io::Error) -> bool {
    let of_the_path = [
        Errno::NOENT,
        Errno::NOTDIR,
        Errno::LOOP,
        Errno::NAMETOOLONG,
        Errno::INVAL,
        Errno::ACCESS,
    ];
    Errno::from_io_error(error).is_some_and(|error| of_the_path.contains(&error))
}

enum WalkStep {
    Directory(OwnedFd),
    /// Anything else but a link.
    File(OwnedFd),
    /// The target of a link, as stored in the link.
    Link(PathBuf),
}

fn step(dir: impl AsFd, name: &OsStr) -> Result<WalkStep, Errno> {
    // Systems differ in which of the two errors they return for a link.
    match directory(&dir, name) {
        Err(Errno::NOTDIR | Errno::LOOP) => match link(&dir, name) {
            Err(Errno::INVAL) => file(&dir, name).map(WalkStep::File),
            found => found.map(WalkStep::Link),
        },
        opened => opened.map(WalkStep::Directory),
    }
}

/// Opens a directory, in which names can be looked up. A link is not followed.
pub(crate) fn directory(dir: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |how: OFlags| rustix::fs::openat(&dir, name, how | flags, Mode::empty());
    match open(LOOKUP) {
        Err(Errno::ACCESS) if SEARCH != LOOKUP => open(SEARCH),
        opened => opened,
    }
}

/// Returns the target of a link. Fails with `INVAL` if the name is something else.
pub(crate) fn link(dir: impl AsFd, name: &OsStr) -> Result<PathBuf, Errno> {
    let target = rustix::fs::readlinkat(dir, name, Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()).into())
}

/// Opens something that is neither a directory nor a link, or fails if it is one now.
fn file(dir: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    use rustix::fs::FileType;
    let flags = LOOKUP | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    match FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode) {
        FileType::Directory | FileType::Symlink => Err(Errno::LOOP),
        _ => Ok(opened),
    }
}

fn names(path: &Path) -> VecDeque<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    struct Scene {
        _dir: tempfile::TempDir,
        root: PathBuf,
    }

    impl Scene {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            std::fs::create_dir_all(root.join("a/b/c")).unwrap();
            std::fs::write(root.join("a/file"), "text").unwrap();
            for (link, target) in [
                ("near", "a/b"),
                ("a/up", "../a/./b/"),
                ("far", root.join("a").to_str().unwrap()),
                ("chain", "near/../up"),
                ("loop", "loop"),
                ("gone", "a/none"),
            ] {
                symlink(target, root.join(link)).unwrap();
            }
            Self { _dir: dir, root }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.join(name)
        }
    }

    #[test]
    fn a_walk_ends_where_the_system_ends() {
        let scene = Scene::new();
        for name in [
            "",
            "a",
            "a/b/../file",
            "near",
            "near/c",
            "far/up/c",
            "chain",
            "chain/c/..",
            "near/..",
            "loop",
            "gone",
            "none",
            "a/file/..",
            "a/file/x",
            "far/none",
        ] {
            let path = scene.path(name);
            let walked = Walk::along(&path);
            let real = path.canonicalize();
            assert_eq!(
                walked.as_ref().ok().map(Walk::real),
                real.as_deref().ok(),
                "{name}"
            );
            assert_eq!(
                walked.ok().and_then(|walk| walk.id()),
                path.metadata().ok().map(|found| FileId::of(&found)),
                "{name}"
            );
        }
        assert!(Walk::along(Path::new("a")).is_err(), "a relative path");
        assert_eq!(Walk::along(Path::new("/../..")).unwrap().real(), Path::new("/"));
    }

    #[test]
    fn the_links_and_the_directories_of_a_walk_are_known() {
        let scene = Scene::new();
        let (walk, above) = Walk::with_parents(&scene.path("chain/c")).unwrap();
        assert_eq!(
            walk.links(),
            [scene.path("chain"), scene.path("near"), scene.path("a/up")]
        );
        let above: Vec<_> = above.iter().map(Walk::real).collect();
        let real = scene.path("a/b/c");
        assert_eq!(above, real.ancestors().skip(1).collect::<Vec<_>>());
        for (name, is_link) in [
            ("near", true),
            ("chain", true),
            ("near/c", false),
            ("far/up", true),
            ("a", false),
        ] {
            assert_eq!(
                Walk::along(&scene.path(name)).unwrap().is_link(),
                is_link,
                "{name}"
            );
        }
        let walk = Walk::along(&scene.path("a")).unwrap();
        assert!(walk.child(OsStr::new("up")).is_err() && walk.child(OsStr::new("b")).is_ok());
        let file = walk.child(OsStr::new("file")).unwrap();
        std::fs::rename(scene.path("a/file"), scene.path("moved")).unwrap();
        std::fs::write(scene.path("a/file"), "other").unwrap();
        assert_eq!(file.read_small(9).unwrap(), "text");
        assert!(file.read_small(3).is_err() && walk.read_small(9).is_err());
        assert!(walk.has("up") && !walk.has("none"));
    }

    #[test]
    fn a_path_is_walked_along_once() {
        let scene = Scene::new();
        let walks = Walks::default();
        let found = walks.along(&scene.path("a")).unwrap();
        assert!(walks.along(&scene.path("none")).is_none());
        std::fs::rename(scene.path("a"), scene.path("moved")).unwrap();
        symlink("/", scene.path("a")).unwrap();
        std::fs::create_dir(scene.path("none")).unwrap();
        assert!(walks.along(&scene.path("a")).unwrap().is_same(&found));
        assert!(walks.along(&scene.path("none")).is_none(), "it was missing");
        assert_eq!(walks.real(&scene.path("none/x")), scene.path("none/x"));
        std::fs::remove_file(scene.path("a")).unwrap();
        std::fs::create_dir(scene.path("a")).unwrap();
        assert_eq!(
            walks.keep(&Arc::new(Walk::along(&scene.path("a")).unwrap())),
            None
        );
        assert!(walks.trail(&scene.path("a")).is_empty(), "it led elsewhere");
        let moved = Arc::new(Walk::along(&scene.path("moved")).unwrap());
        assert_eq!(walks.keep(&moved), Some(scene.path("moved")));
        assert!(walks.trail(&scene.path("moved/b"))[1].is_same(&moved));
    }

    #[test]
    fn a_walk_goes_through_directories_that_cannot_be_listed() {
        let scene = Scene::new();
        let (closed, inside) = (scene.path("a"), scene.path("a/b"));
        let set = |mode| std::fs::set_permissions(&closed, Permissions::from_mode(mode)).unwrap();
        set(0o311);
        let walks = [Walk::along(&closed), Walk::along(&inside)];
        set(0o755);
        let real = walks.map(|walk| walk.unwrap().real().to_owned());
        assert_eq!(real, [closed, inside]);
    }

    #[test]
    fn only_an_error_that_leaves_open_where_a_path_leads_is_kept() {
        let scene = Scene::new();
        let walks = Walks::default();
        for nowhere in ["none", "a/file/x", "loop", "x".repeat(300).as_str(), "nul\0"] {
            assert!(walks.along(&scene.path(nowhere)).is_none(), "{nowhere}");
        }
        assert!(walks.along(Path::new("relative")).is_none());
        walks.check().unwrap();
        for (path, errno) in [("/first", Errno::MFILE), ("/second", Errno::IO)] {
            let failed: io::Result<()> = Err(errno.into());
            assert_eq!(walks.found(Path::new(path), failed), None);
        }
        let error = walks.check().unwrap_err().to_string();
        assert!(error.starts_with("/first cannot be looked up: "), "{error}");
    }
}
