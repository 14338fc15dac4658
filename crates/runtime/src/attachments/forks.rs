//! Files that a fork takes along, because turns that it has copied link to them.
//!
//! In: links of copied prompts. Out: files that the agent of the fork may read under the paths that its prompts name. Owns: the
//! directory `origins` in the directory of a thread. Never: takes along what the origin does not have itself, whatever an agent has put
//! into its history.
//!
//! `attachments/<fork>/origins/<thread>/<hash>/<name>` is a hard link to `attachments/<thread>/<hash>/<name>`. A file with such a link
//! outlives its own thread, until the last fork is deleted that has taken it along.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use acpd_files::sync_directory;
use acpd_host::Workspace;
use acpd_model::ThreadId;

use super::{Attachments, HASH_DIGITS, entries, is_sent, lock, make};
use crate::host::blocking;

/// The directory, in that of a thread, with the files of the threads before it.
pub(super) const ORIGINS: &str = "origins";
/// The file in the directory of a deleted thread whose files forks have taken along.
pub(super) const DELETED: &str = ".deleted";

impl Attachments {
    /// Lets the agent of the thread `fork` read files that prompts link to which it has copied from the thread `origin`. Only files that
    /// `origin` has, or has taken along itself, count.
    pub async fn take_along(&self, origin: ThreadId, fork: ThreadId, links: BTreeSet<PathBuf>) {
        if links.is_empty() {
            return;
        }
        let (root, modes) = (self.root.clone(), self.modes.clone());
        let (from, to) = (self.of(origin), self.of(fork));
        let work = move || {
            let mut changed = BTreeSet::new();
            for link in links {
                match take(&modes, &root, &from, &to, &link) {
                    Ok(Some(taken)) => changed.extend(directories(&root, &taken)),
                    Ok(None) => {}
                    Err(error) => warn(fork, &error),
                }
            }
            // The fork is stored next, and its prompts must not outlive the files in a power failure.
            let synced = changed.iter().try_for_each(|directory| sync_directory(directory));
            synced.unwrap_or_else(|error| warn(fork, &error));
            Ok(())
        };
        if let Err(failure) = blocking(&*self.host, work).await {
            tracing::warn!(thread = %fork, %failure, "the fork has no attached files of its origin");
        }
    }

    /// Returns a workspace with the files in `attached`, which [`Self::directories`] has returned for the thread. It keeps two
    /// directories open, however many files a fork has taken along. Blocks.
    pub fn open_in(&self, workspace: Workspace, thread: ThreadId, attached: &[PathBuf]) -> Workspace {
        let own = self.of(thread);
        let (own, taken): (Vec<_>, Vec<_>) = attached.iter().partition(|directory| **directory == own);
        let workspace = own.into_iter().cloned().fold(workspace, Workspace::and_readable);
        if taken.is_empty() {
            return workspace;
        }
        let origins = self.of(thread).join(ORIGINS);
        workspace.and_readable_as(self.root.to_path_buf(), origins)
    }

    /// Returns whether a thread has attached files, which a fork may need.
    pub async fn has_files(&self, thread: ThreadId) -> bool {
        let files = self.clone();
        let look = move || Ok(files.directory(thread, false).is_some());
        blocking(&*self.host, look).await.unwrap_or(false)
    }
}

fn warn(fork: ThreadId, error: &std::io::Error) {
    tracing::warn!(thread = %fork, %error, "the agent of the fork will not be able to read an attached file of its origin");
}

/// Takes one file along. Returns where it is then; `None` if the origin has no such file.
fn take(
    modes: &Mutex<()>,
    root: &Path,
    from: &Path,
    to: &Path,
    link: &Path,
) -> std::io::Result<Option<PathBuf>> {
    let Some(below) = place(root, link) else {
        return Ok(None);
    };
    let source = if link.starts_with(from) {
        link.to_owned()
    } else {
        from.join(ORIGINS).join(below)
    };
    let target = to.join(ORIGINS).join(below);
    let _modes = lock(modes);
    let found = source.symlink_metadata();
    if !found.is_ok_and(|found| found.is_file() && is_sent(&found)) {
        return Ok(None);
    }
    target.parent().map_or(Ok(()), make)?;
    match std::fs::hard_link(&source, &target) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(Some(target)),
    }
}

/// Returns the path of a stored file below the directory of all threads, if it is one: of a thread, a hash and a name.
fn place<'p>(root: &Path, path: &'p Path) -> Option<&'p Path> {
    let below = path.strip_prefix(root).ok()?;
    let mut parts = below.components().map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let (thread, hash, name) = (parts.next()??, parts.next()??, parts.next()?);
    let is_thread = thread
        .parse::<ThreadId>()
        .is_ok_and(|id| id.to_string() == thread);
    let is_hash = hash.len() == HASH_DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_thread && is_hash && name.is_some() && parts.next().is_none()).then_some(below)
}

/// Returns whether the thread with the directory `own` has taken a file along.
pub(super) fn has_taken(root: &Path, own: &Path, path: &Path) -> bool {
    let taken = place(root, path).map(|below| own.join(ORIGINS).join(below));
    taken.is_some_and(|taken| taken.symlink_metadata().is_ok_and(|found| found.is_file()))
}

/// Returns the directories of the files that the thread with the directory `own` has taken along, under their own paths.
pub(super) fn taken_directories(root: &Path, own: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for thread in entries(&own.join(ORIGINS)) {
        // All files of such a directory have the same content.
        let hashes = entries(&thread.path());
        all.extend(hashes.map(|hash| root.join(thread.file_name()).join(hash.file_name())));
    }
    all.sort();
    all
}

/// Removes the files of a deleted thread, but for those that a fork has taken along.
pub(super) fn remove(modes: &Mutex<()>, root: &Path, directory: &Path) -> std::io::Result<()> {
    let taken = directory.join(ORIGINS);
    let before: Vec<_> = entries(&taken)
        .map(|thread| root.join(thread.file_name()))
        .collect();
    gone(std::fs::remove_dir_all(&taken))?;
    remove_own(modes, directory)?;
    // This thread may have been the last one that needed them.
    let mut deleted = before.iter().filter(|other| other.join(DELETED).exists());
    deleted.try_for_each(|other| remove_own(modes, other))
}

fn remove_own(modes: &Mutex<()>, directory: &Path) -> std::io::Result<()> {
    // No fork takes a file along meanwhile.
    let _modes = lock(modes);
    let mut is_needed = false;
    for hash in entries(directory).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        for file in entries(&hash.path()) {
            if file.metadata().is_ok_and(|found| found.nlink() > 1) {
                is_needed = true;
            } else {
                gone(std::fs::remove_file(file.path()))?;
            }
        }
        // Only an empty directory can be removed like this.
        let _ = std::fs::remove_dir(hash.path());
    }
    if is_needed {
        return File::create(directory.join(DELETED)).map(drop);
    }
    gone(std::fs::remove_dir_all(directory))
}

/// Ignores that there is nothing to remove.
fn gone(removed: std::io::Result<()>) -> std::io::Result<()> {
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the directories above a file, up to the one with the directories of all threads.
fn directories(root: &Path, file: &Path) -> Vec<PathBuf> {
    let above = file.ancestors().skip(1);
    let below_root = above.take_while(|directory| directory.starts_with(root));
    below_root.map(Path::to_owned).collect()
}
