//! Resolves a path to a place: a directory handle and one name in that directory.
//!
//! Every step opens one name below a handle and follows no link, so that no step can leave its directory. A link, or a
//! `..`, yields a new path, which is resolved from a root of the workspace again. A path for which access was approved
//! is walked again by its resolved name, and then no link is followed at all. cap-std's own lookup is as safe, but
//! refuses every absolute link, including those that stay inside.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use acpd_model::limits::{PATH_BYTES, PATH_LINKS, PATH_STEPS};
use acpd_model::{ErrorCode, Failure};
use cap_std::fs::{Dir, MetadataExt};
use rustix::fs::Mode;
use rustix::io::Errno;

use super::Workspace;
use super::elsewhere::{elsewhere, only_names};
use super::failure::{invalid, moved, of_errno, of_io, only_read, outside, reserved};
use super::place::{Parents, Place};
use super::root::{OpenedRoot, Root};
use crate::walk;

/// How to handle symbolic links on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// Links are followed as long as they stay inside.
    Followed,
    /// No link is expected, since the path was resolved before. A link that exists now was put there since.
    Refused,
}

/// The result of a walk along a path.
#[derive(Debug)]
struct WalkResult {
    /// The path without any link.
    real: PathBuf,
    /// The place; absent for a root of the workspace itself, and if only the path was computed.
    place: Option<Place>,
}

impl Workspace {
    /// Resolves `path` to a place, following links that stay inside. `at` is the resolved path from when access was
    /// approved; then the result is that place or an error.
    pub(super) fn find(&self, path: &str, at: Option<&str>, parents: Parents) -> Result<Place, Failure> {
        check(path)?;
        if path.ends_with('/') || path.ends_with("/.") {
            return Err(invalid(path, "names a directory"));
        }
        let walked = match at {
            None => self.walk(path.into(), path, parents, Links::Followed),
            Some(at) => check(at).and_then(|()| self.walk(at.into(), path, parents, Links::Refused)),
        };
        walked?.place.ok_or_else(|| of_errno(path, Errno::ISDIR))
    }

    /// Returns the path without links of an existing file, or of one that would be created. Nothing is created or
    /// changed. If the path leaves the workspace, the rest of it is resolved by name.
    pub(super) fn locate(&self, path: &str) -> Result<PathBuf, Failure> {
        check(path)?;
        Ok(self
            .walk(path.into(), path, Parents::NameOnly, Links::Followed)?
            .real)
    }

    /// Returns whether a path leads into a directory that may be read although a reserved one contains it.
    pub(super) fn is_spared(&self, path: &str) -> bool {
        let mut spared = self
            .roots
            .iter()
            .filter(|root| root.is_spared)
            .filter_map(Root::real)
            .peekable();
        spared.peek().is_some()
            && self
                .locate(path)
                .is_ok_and(|real| spared.any(|root| real.starts_with(root)))
    }

    pub(super) fn is_below_a_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| {
            let is_given = path.starts_with(&root.given) && !root.is_alias;
            is_given || root.real().is_some_and(|real| path.starts_with(real))
        })
    }

    /// Returns the workspace's directories whose paths contain links, as pairs: as given, and without links.
    pub(super) fn names(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let opened = self
            .roots
            .iter()
            .filter(|root| !root.is_spared)
            .filter_map(|root| Some((root.given.as_path(), root.real()?)));
        opened.filter(|(given, real)| given != real)
    }

    /// Walks along `text`; `path` is the path that the agent named.
    fn walk(
        &self,
        mut text: PathBuf,
        path: &str,
        parents: Parents,
        on_link: Links,
    ) -> Result<WalkResult, Failure> {
        let mut known = self.reserved.look();
        let mut links = 0;
        let mut steps = 0;
        'again: loop {
            let (root, is_spared, below) = match self.root_of(&text, path) {
                Ok(found) => found,
                Err(_) if parents == Parents::NameOnly => {
                    let real = elsewhere(&text, path)?;
                    return Ok(WalkResult { real, place: None });
                }
                Err(failure) => return Err(failure),
            };
            if is_spared && parents == Parents::Made {
                return Err(only_read(path));
            }
            if !is_spared && known.is_inside(&root.dir) {
                return Err(reserved(path));
            }
            let mut dir = root.dir.try_clone().map_err(|error| of_io(path, &error))?;
            let mut walked = root.real.clone();
            let mut parts = below.components();
            while let Some(part) = parts.next() {
                steps += 1;
                if steps > PATH_STEPS {
                    return Err(invalid(path, "takes too many steps to follow"));
                }
                let Component::Normal(name) = part else {
                    // The parent of a directory is the one that it was reached in: `walked` is free of links.
                    walked.pop();
                    text = walked.join(parts.as_path());
                    continue 'again;
                };
                let rest = parts.as_path();
                let last = rest.as_os_str().is_empty();
                let next = if last {
                    leaf(&dir, name, !is_spared || parents != Parents::NameOnly)
                } else {
                    let make = parents == Parents::Made && only_names(rest);
                    descend(&dir, name, make)
                };
                if parents == Parents::NameOnly && matches!(next, Err(Errno::NOENT)) && only_names(rest) {
                    if is_spared {
                        // It may exist: one directory can stand for another that has more.
                        let real = elsewhere(&text, path)?;
                        return Ok(WalkResult { real, place: None });
                    }
                    let real = walked.join(name).join(rest);
                    return Ok(WalkResult { real, place: None });
                }
                let next = next.map_err(|errno| of_errno(path, errno))?;
                if matches!(next, WalkStep::Made(_)) {
                    // A reserved directory may have been created by this step.
                    known = self.reserved.look();
                }
                match next {
                    WalkStep::Leaf if known.is_name(&dir, name) => return Err(reserved(path)),
                    WalkStep::Leaf => {
                        walked.push(name);
                        let place = Place {
                            dir,
                            name: name.to_owned(),
                            reserved: Arc::clone(&self.reserved),
                        };
                        return Ok(WalkResult {
                            real: walked,
                            place: Some(place),
                        });
                    }
                    WalkStep::Link(_) if on_link == Links::Refused => return Err(moved(path)),
                    WalkStep::Into(next) | WalkStep::Made(next) if known.is_directory(&next) => {
                        return Err(reserved(path));
                    }
                    WalkStep::Into(next) | WalkStep::Made(next) => {
                        dir = next;
                        walked.push(name);
                    }
                    WalkStep::Link(target) => {
                        links += 1;
                        if links > PATH_LINKS {
                            return Err(of_errno(path, Errno::LOOP));
                        }
                        let target = walked.join(target);
                        text = if last { target } else { target.join(rest) };
                        continue 'again;
                    }
                }
            }
            return Ok(WalkResult {
                real: walked,
                place: None,
            });
        }
    }

    /// Returns the root that contains `text`, whether it is spared, and the remaining path. If several do, the innermost.
    /// `path` is the path that the agent named.
    fn root_of<'a>(
        &'a self,
        text: &'a Path,
        path: &str,
    ) -> Result<(&'a OpenedRoot, bool, &'a Path), Failure> {
        // The shorter the rest, the longer the matching root.
        let length = |below: &Path| below.components().count();
        let opened = self.roots.iter().filter_map(|root| {
            let opened = root.get()?;
            let given = root.below(text);
            let real = text.strip_prefix(&opened.real).ok();
            let below = given.into_iter().chain(real).min_by_key(|below| length(below))?;
            Some((opened, root.is_spared, below))
        });
        if let Some((opened, is_spared, below)) = opened.min_by_key(|(.., below)| length(below)) {
            // A removed directory keeps its handle, in which nothing can be found or created any more.
            if opened.dir.dir_metadata().is_ok_and(|dir| dir.nlink() == 0) {
                let root = opened.real.display();
                return Err(Failure::new(
                    ErrorCode::NotFound,
                    format!("the workspace directory {root} was removed; a new session opens it again"),
                ));
            }
            return Ok((opened, is_spared, below));
        }
        // Checked last, so that a path below an open root follows that root's rules, even if a closed root has the same
        // path now. The outermost root is reported, for the same reason.
        let closed = self.roots.iter().filter_map(|root| {
            let below = root.below(text)?;
            Some((length(below), &root.given, root.opened.as_ref().err()?))
        });
        let (_, root, error) = closed
            .max_by_key(|(length, ..)| *length)
            .ok_or_else(|| outside(path))?;
        let mut failure = of_io(path, error);
        failure.message = format!(
            "the workspace directory {} could not be opened: {error}; a new session opens it again",
            root.display()
        );
        Err(failure)
    }
}

/// Checks a path without accessing any file.
fn check(path: &str) -> Result<(), Failure> {
    if path.len() > PATH_BYTES {
        let length = path.len();
        return Err(Failure::invalid_params(format!(
            "the path is too long: {length} bytes, and {PATH_BYTES} are allowed"
        )));
    }
    if path.contains('\0') {
        return Err(Failure::invalid_params("the path has a NUL character in it"));
    }
    if !path.starts_with('/') {
        return Err(Failure::invalid_params(format!("path is not absolute: {path}")));
    }
    Ok(())
}

enum WalkStep {
    /// The last name of the path, which is not a link.
    Leaf,
    Into(Dir),
    /// A directory that was just created.
    Made(Dir),
    /// The target of a link, as stored in the link.
    Link(PathBuf),
}

/// `may_be_missing`: whether the last name of a path need not exist.
fn leaf(dir: &Dir, name: &OsStr, may_be_missing: bool) -> Result<WalkStep, Errno> {
    match link(dir, name) {
        Err(Errno::INVAL) => Ok(WalkStep::Leaf),
        Err(Errno::NOENT) if may_be_missing => Ok(WalkStep::Leaf),
        other => other,
    }
}

fn descend(dir: &Dir, name: &OsStr, make: bool) -> Result<WalkStep, Errno> {
    match directory(dir, name) {
        Err(Errno::NOENT) if make => {
            // The umask applies, as for any program. Another process may create the directory first.
            match rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => directory(dir, name).map(WalkStep::Made),
                Err(errno) => Err(errno),
            }
        }
        // Systems differ in which of the two errors they return for a link.
        Err(Errno::NOTDIR | Errno::LOOP) => match link(dir, name) {
            Err(Errno::INVAL) => Err(Errno::NOTDIR),
            other => other,
        },
        other => other.map(WalkStep::Into),
    }
}

fn link(dir: &Dir, name: &OsStr) -> Result<WalkStep, Errno> {
    walk::link(dir, name).map(WalkStep::Link)
}

fn directory(dir: &Dir, name: &OsStr) -> Result<Dir, Errno> {
    walk::directory(dir, name).map(|opened| Dir::from_std_file(opened.into()))
}
