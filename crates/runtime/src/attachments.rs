//! Files that clients attach to a thread, because a message has no room for them.
//!
//! In: the bytes of files, and prompts that link to them. Out: a directory for each thread that its agent may read, and links to the
//! files in it. Owns: the directory `attachments` of the data directory. Never: uses a name of a client as a path, gives a file of
//! one thread to another but a fork, or reads a file.
//!
//! A file is stored as `attachments/<thread>/<hash>/<name>`. It is writable until a prompt links to it; [`Attachments::sweep`]
//! removes files that stay so. What a fork has of the threads before it is in `forks`.

mod forks;
mod name;

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acpd_log::{LogError, SharedLog, free_bytes};
use acpd_model::limits::{
    ATTACHMENTS_ARRIVING, ATTACHMENTS_ARRIVING_OF_ONE, ATTACHMENTS_BYTES_OF_DAY, ATTACHMENTS_BYTES_OF_THREAD,
    ATTACHMENTS_OF_THREAD, LOW_FREE_BYTES,
};
use acpd_model::{BlobId, ErrorCode, Failure, Millis, RawJson, ThreadId};
use acpd_policy::normalise;
use bytes::Bytes;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use self::name::{file_name, uri};
use crate::clock::Clock;
use crate::host::{Host, blocking};

/// Longest block of a prompt that can link to an attached file, in bytes.
const ATTACHMENT_LINK_BYTES: usize = 32 << 10;
/// Milliseconds after which an attached file that no prompt links to is removed: a day.
const ATTACHMENT_UNSENT_MILLIS: i64 = 24 * 3600 * 1000;
/// The bits of a file's mode that let its owner write. A file that was sent has none.
const WRITABLE: u32 = 0o200;
/// Hexadecimal digits of the hash that a path contains: no two files have the same.
const HASH_DIGITS: usize = 32;
/// Directories above a file: those of its hash, its thread and all threads, and the data directory.
const DIRECTORIES: usize = 4;
const DAY_MILLIS: Millis = 24 * 3600 * 1000;

/// The files of all threads; cheap to clone.
#[derive(Debug, Clone)]
pub struct Attachments {
    root: Arc<Path>,
    host: Arc<dyn Host>,
    clock: Clock,
    arriving: Arc<Mutex<Arriving>>,
    modes: Modes,
}

/// Held from looking at the mode of a stored file until what depends on it is done: a prompt may keep the file at any time.
type Modes = Arc<Mutex<()>>;

/// The files that are being sent.
#[derive(Debug, Default)]
struct Arriving {
    /// Numbers the files on the disk.
    next: u64,
    count: usize,
    principals: BTreeMap<Arc<str>, Sender>,
}

/// What one principal sends.
#[derive(Debug, Default)]
struct Sender {
    count: usize,
    /// The day that `bytes` is about, since the epoch.
    day: Millis,
    bytes: u64,
}

/// The place of a file among those that are being sent, until it is dropped.
#[derive(Debug)]
struct Slot {
    arriving: Arc<Mutex<Arriving>>,
    principal: Arc<str>,
    /// The size that counts towards the limit of `day`. It is given back unless the file was stored.
    size: u64,
    day: Millis,
    stored: bool,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut arriving = lock(&self.arriving);
        arriving.count = arriving.count.saturating_sub(1);
        if let Some(sender) = arriving.principals.get_mut(&self.principal) {
            sender.count = sender.count.saturating_sub(1);
            if !self.stored && sender.day == self.day {
                sender.bytes = sender.bytes.saturating_sub(self.size);
            }
        }
    }
}

/// A file that has not arrived as a whole. It is removed when it is dropped.
#[derive(Debug)]
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        // The complete file has been moved. Another one is removed by the next sweep, if not here.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A file on its way into a thread.
#[derive(Debug)]
pub struct Upload {
    host: Arc<dyn Host>,
    modes: Modes,
    directory: PathBuf,
    name: String,
    file: File,
    part: Part,
    hash: Sha256,
    /// The size that the client has announced.
    size: u64,
    received: u64,
    slot: Slot,
}

/// A file that a prompt can link to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// The `file:` URI, for a content block of the type `resource_link`.
    pub uri: String,
    /// The name, without characters that would mislead a reader or a program.
    pub name: String,
    /// The size in bytes.
    pub size: u64,
}

/// The members of a content block that say whether it links to a file.
#[derive(Deserialize)]
struct ResourceLink {
    #[serde(rename = "type")]
    kind: String,
    uri: Option<String>,
}

impl Attachments {
    /// Creates access to the files in `data_dir`, which exists.
    pub fn new(host: Arc<dyn Host>, clock: Clock, data_dir: &Path) -> Self {
        // Links have absolute paths without `..`, or they would not be recognized in prompts.
        let data_dir = data_dir
            .canonicalize()
            .or_else(|_| std::path::absolute(data_dir))
            .unwrap_or_else(|_| data_dir.to_owned());
        Self {
            root: data_dir.join("attachments").into(),
            host,
            clock,
            arriving: Arc::default(),
            modes: Modes::default(),
        }
    }

    /// Returns the directories with files that a thread's agent may read: its own, and those of files that a fork has taken along.
    /// Blocks.
    pub fn directories(&self, thread: ThreadId, makes: bool) -> Vec<PathBuf> {
        let mut all: Vec<_> = self.directory(thread, makes).into_iter().collect();
        all.extend(forks::taken_directories(&self.root, &self.of(thread)));
        all
    }

    /// Returns the directory with a thread's own files; `None` if there are none. `makes` creates it for files
    /// that come later. Blocks.
    pub fn directory(&self, thread: ThreadId, makes: bool) -> Option<PathBuf> {
        let directory = self.of(thread);
        if makes && let Err(error) = make(&directory) {
            tracing::warn!(%thread, %error, "the agent will not be able to read attached files");
        }
        let is_of_use = if makes {
            directory.is_dir()
        } else {
            entries(&directory).next().is_some()
        };
        is_of_use.then_some(directory)
    }

    fn of(&self, thread: ThreadId) -> PathBuf {
        self.root.join(thread.to_string())
    }

    /// Begins to store a file of `size` bytes for a thread. `given` is the name that the client has for it.
    pub async fn begin(
        &self,
        principal: &Arc<str>,
        thread: ThreadId,
        given: &str,
        size: u64,
    ) -> Result<Upload, Failure> {
        if self.root.to_str().is_none() {
            // A prompt's link to such a path cannot be read.
            return Err(Failure::new(
                ErrorCode::Conflict,
                "files cannot be attached, because the path of the data directory is not UTF-8: give the daemon another data directory, \
                 or name a file that the agent can read in the prompt",
            ));
        }
        let (slot, number) = self.take_slot(principal, size)?;
        let (host, directory) = (Arc::clone(&self.host), self.of(thread));
        let modes = Arc::clone(&self.modes);
        let name = file_name(given);
        let begin = move || {
            let failed = |error: std::io::Error| unstored(&name, &error);
            make(&directory).map_err(failed)?;
            check_room(&directory, size)?;
            let part = Part(directory.join(format!(".{number}.part")));
            // A daemon that was killed may have left one of the same number.
            match std::fs::remove_file(&part.0) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
            let file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&part.0)
                .map_err(failed)?;
            Ok(Upload {
                host,
                modes,
                directory,
                name,
                file,
                part,
                hash: Sha256::new(),
                size,
                received: 0,
                slot,
            })
        };
        blocking(&*self.host, begin).await
    }

    fn take_slot(&self, principal: &Arc<str>, size: u64) -> Result<(Slot, u64), Failure> {
        let day = self.clock.now().wall.div_euclid(DAY_MILLIS);
        let mut arriving = lock(&self.arriving);
        arriving
            .principals
            .retain(|_, sender| sender.count > 0 || sender.day == day);
        let is_full = arriving.count >= ATTACHMENTS_ARRIVING;
        let number = arriving.next;
        let sender = arriving.principals.entry(Arc::clone(principal)).or_default();
        if sender.day != day {
            (sender.day, sender.bytes) = (day, 0);
        }
        let bytes = sender.bytes.saturating_add(size);
        if is_full || sender.count >= ATTACHMENTS_ARRIVING_OF_ONE {
            let message =
                "too many files are being attached at the same time: try again when one of them has arrived";
            return Err(Failure::new(ErrorCode::Overloaded, message));
        }
        if bytes > ATTACHMENTS_BYTES_OF_DAY {
            let message = format!(
                "{principal} has attached {} of files today (UTC), and this one would be more: attach it tomorrow, or name a file that \
                 the agent can read in the prompt",
                mebibytes(sender.bytes)
            );
            return Err(Failure::new(ErrorCode::Conflict, message));
        }
        sender.bytes = bytes;
        sender.count += 1;
        arriving.count += 1;
        arriving.next += 1;
        let slot = Slot {
            arriving: Arc::clone(&self.arriving),
            principal: Arc::clone(principal),
            size,
            day,
            stored: false,
        };
        Ok((slot, number))
    }

    /// Checks the links of a prompt to attached files, and keeps these files for as long as the thread. `thread` is `None` for
    /// a thread that does not exist yet. Other links are the client's own.
    pub async fn keep(&self, thread: Option<ThreadId>, prompt: &[RawJson]) -> Result<(), Failure> {
        let links: Vec<_> = prompt.iter().filter_map(|block| self.link(block)).collect();
        if links.is_empty() {
            return Ok(());
        }
        let own = thread.map(|thread| self.of(thread));
        let (root, modes) = (Arc::clone(&self.root), Arc::clone(&self.modes));
        let keep = move || {
            links
                .iter()
                .try_for_each(|path| keep_file(&modes, &root, own.as_deref(), path))
        };
        blocking(&*self.host, keep).await
    }

    /// Returns the path of an attached file that a content block links to.
    pub fn link(&self, block: &RawJson) -> Option<PathBuf> {
        let text = block.get();
        if text.len() > ATTACHMENT_LINK_BYTES {
            return None;
        }
        // The daemon passes malformed blocks on: the agent decides about them.
        let link: ResourceLink = serde_json::from_str(text).ok()?;
        let uri = link.uri.filter(|_| link.kind == "resource_link")?;
        let path = PathBuf::from(normalise(&uri, "/", None)?);
        path.starts_with(&self.root).then_some(path)
    }

    /// Removes the files of a thread that was deleted. Those that a fork has taken along stay until the fork is deleted.
    pub async fn forget(&self, thread: ThreadId) {
        let (root, directory) = (Arc::clone(&self.root), self.of(thread));
        let modes = Arc::clone(&self.modes);
        let removed = blocking(&*self.host, move || Ok(forks::remove(&modes, &root, &directory)));
        match removed.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%thread, %error, "attached files could not be removed; this is tried again each hour");
            }
            Err(failure) => tracing::warn!(%thread, %failure, "attached files could not be removed"),
        }
    }

    /// Removes files that no prompt has linked to for a day, and those of threads that do not exist any more.
    pub async fn sweep(&self, log: &SharedLog) {
        let before = self.clock.now().wall.saturating_sub(ATTACHMENT_UNSENT_MILLIS);
        let root = Arc::clone(&self.root);
        let threads = blocking(&*self.host, move || {
            Ok(entries(&root)
                .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
                .collect())
        });
        // The next sweep tries again.
        let threads: Vec<ThreadId> = threads.await.unwrap_or_default();
        for thread in threads {
            let directory = self.of(thread);
            let is_gone = match log.summary(thread).await {
                Ok(_) => false,
                Err(LogError::NoSuchThread(_)) => true,
                // It is not known whether the thread exists.
                Err(_) => continue,
            };
            let modes = Arc::clone(&self.modes);
            let swept = blocking(&*self.host, move || {
                clear(&modes, &directory, before);
                Ok(is_gone && is_older(&directory, before))
            });
            if swept.await.is_ok_and(|is_left_over| is_left_over) {
                self.forget(thread).await;
            }
        }
    }
}

impl Upload {
    /// Stores the next bytes.
    pub async fn write(mut self, bytes: Bytes) -> Result<Self, Failure> {
        self.received += bytes.len() as u64;
        if self.received > self.size {
            return Err(self.wrong_size());
        }
        let host = Arc::clone(&self.host);
        let write = move || {
            self.file
                .write_all(&bytes)
                .map_err(|error| unstored(&self.name, &error))?;
            self.hash.update(&bytes);
            Ok(self)
        };
        blocking(&*host, write).await
    }

    /// Stores the whole file under its name.
    pub async fn finish(self) -> Result<Attached, Failure> {
        if self.received != self.size {
            return Err(self.wrong_size());
        }
        let host = Arc::clone(&self.host);
        blocking(&*host, move || self.store()).await
    }

    fn store(mut self) -> Result<Attached, Failure> {
        let failed = |error: std::io::Error| unstored(&self.name, &error);
        // Others that arrived meanwhile count as well. The part itself is among the files.
        check_room(&self.directory, 0)?;
        self.file.sync_all().map_err(failed)?;
        let hash = BlobId(self.hash.clone().finalize().into()).to_string();
        let directory = self.directory.join(hash.get(..HASH_DIGITS).unwrap_or(&hash));
        let path = directory.join(&self.name);
        // From here on, the file may be there whatever fails.
        self.slot.stored = true;
        {
            let _modes = lock(&self.modes);
            make(&directory).map_err(failed)?;
            // The same content: a prompt may link to the file that is there.
            if !path.metadata().is_ok_and(|found| is_sent(&found)) {
                std::fs::rename(&self.part.0, &path).map_err(failed)?;
            }
        }
        sync_names(&path).map_err(failed)?;
        Ok(Attached {
            uri: uri(&path),
            name: self.name,
            size: self.size,
        })
    }

    fn wrong_size(&self) -> Failure {
        let (received, size, name) = (self.received, self.size, &self.name);
        Failure::invalid_params(format!(
            "{name} was announced with {size} bytes, and {received} arrived: send it again"
        ))
    }
}

/// Keeps one file that a prompt links to. `own` is the directory of the prompt's thread.
fn keep_file(modes: &Mutex<()>, root: &Path, own: Option<&Path>, path: &Path) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // A prompt of a thread before a fork keeps it already.
    if own.is_some_and(|own| forks::has_taken(root, own, path)) {
        return Ok(());
    }
    let Some(below) = own.and_then(|own| path.strip_prefix(own).ok()) else {
        return Err(Failure::invalid_params(format!(
            "{name} is attached to another thread: attach it to this one"
        )));
    };
    let is_below = below.components().count() == 2
        && below
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
    let mode = {
        let _modes = lock(modes);
        let is_file = is_below && path.symlink_metadata().is_ok_and(|found| found.is_file());
        is_file.then(|| std::fs::set_permissions(path, Permissions::from_mode(0o400)))
    };
    let Some(mode) = mode else {
        return Err(Failure::new(
            ErrorCode::NotFound,
            format!(
                "the attached file {name} is gone, as files that are not sent are after a day: attach it again"
            ),
        ));
    };
    // The prompt is stored next. After a power failure, the next sweep must not remove the file.
    let kept = mode.and_then(|()| File::open(path)?.sync_all());
    kept.map_err(|error| {
        Failure::new(
            ErrorCode::Storage,
            format!("the attached file {name} cannot be kept: {error}"),
        )
    })
}

/// Makes the name of a stored file survive a power failure, and those of the directories up to the data directory: an upload or the
/// start of an agent may just have created them.
fn sync_names(path: &Path) -> std::io::Result<()> {
    path.ancestors()
        .take(DIRECTORIES)
        .try_for_each(acpd_files::sync_names)
}

/// Creates a private directory and those above it, unless they exist.
fn make(directory: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Checks the limits of a thread and the free space of the disk before `size` bytes more.
fn check_room(directory: &Path, size: u64) -> Result<(), Failure> {
    let (mut files, mut bytes) = (0, size);
    let below = own_entries(directory).flat_map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => entries(&entry.path()).collect::<Vec<_>>(),
        _ => vec![entry],
    });
    for found in below.filter_map(|entry| entry.metadata().ok()) {
        files += 1;
        bytes += found.len();
    }
    // A file that arrives is counted with its size before, and among the files after.
    let most = if size > 0 {
        ATTACHMENTS_OF_THREAD - 1
    } else {
        ATTACHMENTS_OF_THREAD
    };
    if files > most || bytes > ATTACHMENTS_BYTES_OF_THREAD {
        let message = format!(
            "this thread has no room for the file: {ATTACHMENTS_OF_THREAD} files with {} together can be attached to a thread; start \
             another thread, or name a file that the agent can read in the prompt",
            mebibytes(ATTACHMENTS_BYTES_OF_THREAD)
        );
        return Err(Failure::new(ErrorCode::Conflict, message));
    }
    // A file system that does not tell its free space may have some.
    if free_bytes(directory).is_ok_and(|free| free < size.saturating_add(LOW_FREE_BYTES)) {
        let message = format!(
            "the disk of the data directory is nearly full, and {} stay free for the log: remove something there first",
            mebibytes(LOW_FREE_BYTES)
        );
        return Err(Failure::new(ErrorCode::Storage, message));
    }
    Ok(())
}

/// Removes the files of a thread that were last written before a time and never sent.
fn clear(modes: &Mutex<()>, directory: &Path, before: Millis) {
    for entry in own_entries(directory) {
        let _modes = lock(modes);
        let path = entry.path();
        if !path.is_dir() {
            remove_unsent(&path, before);
            continue;
        }
        for file in entries(&path) {
            remove_unsent(&file.path(), before);
        }
        // Only an empty directory can be removed like this.
        let _ = std::fs::remove_dir(&path);
    }
}

fn remove_unsent(path: &Path, before: Millis) {
    let is_unsent = path.symlink_metadata().is_ok_and(|found| !is_sent(&found));
    if is_unsent
        && is_older(path, before)
        && let Err(error) = std::fs::remove_file(path)
    {
        tracing::warn!(path = %path.display(), %error, "an attached file that was not sent could not be removed");
    }
}

fn is_sent(found: &std::fs::Metadata) -> bool {
    found.mode() & WRITABLE == 0
}

fn is_older(path: &Path, before: Millis) -> bool {
    let changed = path
        .symlink_metadata()
        .map(|found| found.mtime().saturating_mul(1000));
    changed.is_ok_and(|changed| changed < before)
}

/// Returns the entries of a thread's directory, but for what forks need: what it has of the threads before it, which takes no space,
/// and the mark that its own files are those of forks.
fn own_entries(directory: &Path) -> impl Iterator<Item = std::fs::DirEntry> + use<> {
    entries(directory).filter(|entry| {
        let name = entry.file_name();
        name != forks::ORIGINS && name != forks::DELETED
    })
}

/// Returns the entries of a directory; none if it cannot be read.
fn entries(directory: &Path) -> impl Iterator<Item = std::fs::DirEntry> + use<> {
    directory.read_dir().into_iter().flatten().flatten()
}

fn unstored(name: &str, error: &std::io::Error) -> Failure {
    Failure::new(
        ErrorCode::Storage,
        format!("{name} could not be stored in the data directory: {error}"),
    )
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
