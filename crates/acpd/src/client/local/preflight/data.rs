//! The data directory: its host, its file system, its owner and mode, its space, and the version of its log.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use acpd_files::private_file;
use acpd_log::backup::log_version;
use acpd_log::free_bytes;
use acpd_model::limits::READY_FREE_BYTES;
use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::hindrance::{Denied, Hindrance};
use crate::client::local::elsewhere::{self, Elsewhere};
use crate::file_system::FileSystem;
use crate::settings::Settings;

/// Offset of the version of the tables in a database of `SQLite`, a number of four bytes.
/// <https://www.sqlite.org/fileformat.html#the_database_header>
const VERSION_AT: usize = 60;
const HEADER_BYTES: u64 = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";

/// What is known about the data directory.
#[derive(Debug)]
pub struct Data {
    pub dir: PathBuf,
    pub state: State,
    /// Free bytes of its file system, if the system says so.
    pub free: Option<u64>,
    pub log_bytes: u64,
    pub file_system: FileSystem,
    /// Whether the configuration permits a network file system.
    pub on_network: bool,
    /// The configuration file.
    pub config: PathBuf,
    pub log: Log,
    /// The version of the logs that this acpd writes.
    pub known: usize,
    /// The daemon of another host that uses the directory.
    pub elsewhere: Option<Elsewhere>,
}

/// Whether the directory can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It does not exist, and can be created.
    Missing,
    /// It does not exist, and nothing can be created in this directory.
    CannotBeMade(PathBuf, Denied),
    /// It exists and is private.
    Private,
    /// It exists, but the daemon does not use it for this reason.
    Refused(String),
    /// It exists, and no file can be created in it.
    NotWritable(Denied),
}

/// What the file of the log is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Log {
    /// There is no log, or nothing of it has reached the database yet.
    New,
    Version(usize),
    /// The file is not a database.
    Foreign,
    Unreadable(String),
}

impl Data {
    /// Looks at the directory. Must not be called while this process has the log open: the locks of a file end when the process closes
    /// it anywhere.
    pub fn of(settings: &Settings) -> Self {
        let dir = &settings.daemon.data_dir;
        let size = |name: &str| std::fs::metadata(dir.join(name)).map_or(0, |found| found.len());
        Self {
            dir: dir.clone(),
            state: state(dir),
            free: free_bytes(nearest(dir)).ok(),
            log_bytes: size("log.db") + size("log.db-wal"),
            file_system: FileSystem::of(dir),
            on_network: settings.daemon.data_dir_on_network,
            config: settings.config_path.clone(),
            log: log(&dir.join("log.db")),
            known: log_version(),
            elsewhere: elsewhere::find(dir),
        }
    }

    /// Returns all that hinders a daemon: first what must not be tried.
    pub fn hindrances(&self) -> Vec<Hindrance> {
        let mut found = Vec::new();
        found.extend(self.elsewhere.clone().map(Hindrance::Elsewhere));
        if let FileSystem::Network(kind) = self.file_system
            && !self.on_network
        {
            found.push(Hindrance::NetworkFileSystem {
                dir: self.dir.clone(),
                kind,
                config: self.config.clone(),
            });
        }
        found.extend(of_state(&self.dir, &self.state));
        found.extend(of_space(&self.dir, self.free));
        let path = self.dir.join("log.db");
        match &self.log {
            Log::Version(version) if *version > self.known => found.push(Hindrance::NewerLog {
                path,
                version: *version,
                known: self.known,
            }),
            Log::New | Log::Version(_) => {}
            Log::Foreign => found.push(Hindrance::ForeignLog(path)),
            Log::Unreadable(reason) => found.push(Hindrance::UnreadableLog {
                path,
                reason: reason.clone(),
            }),
        }
        found
    }
}

/// Returns what hinders writing to a data directory.
pub fn unwritable(dir: &Path) -> Option<Hindrance> {
    of_state(dir, &state(dir)).or_else(|| of_space(dir, free_bytes(nearest(dir)).ok()))
}

fn of_state(dir: &Path, state: &State) -> Option<Hindrance> {
    let dir = dir.to_owned();
    match state {
        State::Missing | State::Private => None,
        State::CannotBeMade(parent, denied) => Some(Hindrance::CannotBeMade {
            dir,
            parent: parent.clone(),
            denied: *denied,
        }),
        State::Refused(reason) => Some(Hindrance::NotPrivate {
            dir,
            reason: reason.clone(),
        }),
        State::NotWritable(denied) => Some(Hindrance::NotWritable { dir, denied: *denied }),
    }
}

fn of_space(dir: &Path, free: Option<u64>) -> Option<Hindrance> {
    let free = free.filter(|free| *free < READY_FREE_BYTES)?;
    Some(Hindrance::DiskFull {
        dir: dir.to_owned(),
        free,
    })
}

/// Returns the directory, or its nearest parent that exists.
fn nearest(dir: &Path) -> &Path {
    dir.ancestors()
        .find(|path| path.exists())
        .unwrap_or(Path::new("/"))
}

fn state(dir: &Path) -> State {
    if dir.symlink_metadata().is_err() {
        let parent = nearest(dir);
        return match denied(parent) {
            None => State::Missing,
            Some(denied) => State::CannotBeMade(parent.to_owned(), denied),
        };
    }
    // It exists, so that this creates nothing.
    match private_file::directory(dir) {
        Err(error) => State::Refused(error.to_string()),
        Ok(()) => denied(dir).map_or(State::Private, State::NotWritable),
    }
}

/// Returns why nothing can be created in a directory.
fn denied(dir: &Path) -> Option<Denied> {
    if !dir.is_dir() {
        return Some(Denied::NotDirectory);
    }
    match access(dir, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => None,
        Err(Errno::ROFS) => Some(Denied::ReadOnly),
        Err(_) => Some(Denied::Access),
    }
}

/// Reads the version of the log from its file. `SQLite` itself would create files beside it.
fn log(path: &Path) -> Log {
    match header(path) {
        // Its directory does not exist, or cannot.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Log::New,
        Err(error) => Log::Unreadable(error.to_string()),
        Ok(header) => version(&header),
    }
}

fn header(path: &Path) -> std::io::Result<Vec<u8>> {
    // To open a pipe would wait for its other end.
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut header = Vec::new();
    std::fs::File::open(path)?
        .take(HEADER_BYTES)
        .read_to_end(&mut header)?;
    Ok(header)
}

fn version(header: &[u8]) -> Log {
    if header.is_empty() {
        return Log::New;
    }
    if !header.starts_with(MAGIC) {
        return Log::Foreign;
    }
    let bytes = header
        .get(VERSION_AT..VERSION_AT + 4)
        .and_then(|bytes| bytes.try_into().ok());
    match bytes.map(u32::from_be_bytes) {
        None | Some(0) => Log::New,
        Some(version) => Log::Version(usize::try_from(version).unwrap_or(usize::MAX)),
    }
}

#[cfg(test)]
impl Data {
    /// Returns a directory with which nothing is wrong.
    pub fn good() -> Self {
        Self {
            dir: "/d".into(),
            state: State::Private,
            free: Some(10 << 30),
            log_bytes: 1 << 30,
            file_system: FileSystem::Local,
            on_network: false,
            config: "/c.toml".into(),
            log: Log::Version(3),
            known: 3,
            elsewhere: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn each_fault_hinders_with_its_words() {
        let good = Data::good;
        let with_state = |state: State| Data { state, ..good() };
        let with_log = |log: Log| Data { log, ..good() };
        let on = |file_system: FileSystem| Data {
            file_system,
            ..good()
        };
        for (data, is_certain, parts) in [
            (
                with_state(State::CannotBeMade("/".into(), Denied::ReadOnly)),
                true,
                [
                    "/d cannot be created: / is on a read-only file system",
                    "--data-dir",
                ],
            ),
            (
                with_state(State::CannotBeMade("/".into(), Denied::Access)),
                true,
                ["/d cannot be created: this user may not write to /", "--data-dir"],
            ),
            (
                with_state(State::CannotBeMade("/f".into(), Denied::NotDirectory)),
                true,
                [
                    "/d cannot be created: /f is not a directory",
                    "; name another directory",
                ],
            ),
            (
                with_state(State::Refused("mode 0755".to_owned())),
                true,
                [
                    "the data directory /d cannot be used: mode 0755",
                    "this user alone",
                ],
            ),
            (
                with_state(State::NotWritable(Denied::ReadOnly)),
                true,
                ["/d is on a read-only file system", "make it writable"],
            ),
            (
                with_state(State::NotWritable(Denied::Access)),
                true,
                ["this user may not write to /d", "change its permissions"],
            ),
            (
                Data {
                    free: Some(1 << 20),
                    ..good()
                },
                false,
                [
                    "the disk of /d is full, only 1024 KiB are free",
                    "free some space and start again",
                ],
            ),
            (
                on(FileSystem::Network("NFS")),
                true,
                [
                    "/d is on a network file system (NFS)",
                    "data_dir_on_network = true in /c.toml",
                ],
            ),
            (
                with_log(Log::Version(9)),
                true,
                [
                    "/d/log.db was made by a newer acpd: it has version 9",
                    "install the newer acpd",
                ],
            ),
            (
                with_log(Log::Foreign),
                false,
                ["/d/log.db is not a database of SQLite", "acpd restore"],
            ),
            (
                with_log(Log::Unreadable("denied (os error 13)".to_owned())),
                false,
                ["/d/log.db cannot be read: denied; ", "this user can read"],
            ),
        ] {
            let found = data.hindrances();
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].is_certain(), is_certain, "{found:?}");
            let words = found[0].to_string();
            for part in parts {
                assert!(words.contains(part), "{part}: {words}");
            }
        }
        for fine in [
            good(),
            with_state(State::Missing),
            with_log(Log::New),
            with_log(Log::Version(2)),
            on(FileSystem::Virtual("9p")),
            on(FileSystem::Memory),
            Data {
                on_network: true,
                ..on(FileSystem::Network("NFS"))
            },
            Data { free: None, ..good() },
        ] {
            assert!(fine.hindrances().is_empty(), "{fine:?}");
        }
    }

    #[test]
    fn a_log_that_is_no_regular_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.db");
        assert_eq!(log(&path), Log::New);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        assert!(matches!(log(&path), Log::Unreadable(reason) if reason.contains("regular file")));
    }

    #[test]
    fn the_version_is_read_from_the_header() {
        assert_eq!(version(b""), Log::New);
        assert_eq!(version(b"SQLite format 3\0"), Log::New);
        assert_eq!(version(b"not a database"), Log::Foreign);
        let mut header = [MAGIC, &[0; 84]].concat();
        assert_eq!(version(&header), Log::New);
        header[63] = 7;
        assert_eq!(version(&header), Log::Version(7));
    }

    #[test]
    fn a_directory_that_others_can_use_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        assert_eq!(state(&data), State::Missing);
        assert_eq!(state(&data.join("deeper")), State::Missing);
        std::fs::create_dir(&data).unwrap();
        std::fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(state(&data), State::Refused(reason) if reason.contains("chmod 700")));
        std::fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
        assert_eq!(state(&data), State::Private);
        let file = dir.path().join("file");
        std::fs::write(&file, "mine").unwrap();
        assert!(matches!(state(&file), State::Refused(_)));
        // Whatever its mode permits.
        for mode in [0o600, 0o700] {
            std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            for below in [file.join("data"), file.join("data/deeper")] {
                assert_eq!(
                    state(&below),
                    State::CannotBeMade(file.clone(), Denied::NotDirectory)
                );
                assert_eq!(log(&below.join("log.db")), Log::New);
            }
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    }
}
