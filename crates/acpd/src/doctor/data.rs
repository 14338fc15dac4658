//! The data directory: its owner, mode, space and file system, and the version of the log.
//!
//! In: the path of the directory. Out: findings. Never: creates the directory, or opens the log for writing.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use acpd_files::private_file;
use acpd_log::backup::log_version;
use acpd_log::free_bytes;
use acpd_model::limits::READY_FREE_BYTES;
use rustix::fs::{Access, access};

use super::report::{Finding, Group};
use super::subject::Subject;
use crate::file_system::FileSystem;

/// Space beyond the size of the log that is no reason for a warning.
const COMFORT_BYTES: u64 = 256 << 20;

/// Offset of the version of the tables in a database of `SQLite`, a number of four bytes.
/// <https://www.sqlite.org/fileformat.html#the_database_header>
const VERSION_AT: usize = 60;
const HEADER_BYTES: u64 = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";

/// What is known about the directory.
#[derive(Debug)]
struct Facts {
    dir: PathBuf,
    state: State,
    free: Option<u64>,
    log_bytes: u64,
    file_system: FileSystem,
    /// Whether the configuration permits a network file system.
    on_network: bool,
    log: Log,
    /// The version of the logs that this acpd writes.
    known: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// It does not exist, and can be created below this directory.
    Missing,
    /// It does not exist, and its parent cannot be written.
    CannotBeMade(PathBuf),
    /// It exists and is private.
    Private,
    /// It exists, but the daemon does not use it for this reason.
    Refused(String),
    /// It exists, and no file can be created in it.
    ReadOnly,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Log {
    /// There is no log, or nothing of it has reached the database yet.
    New,
    Version(usize),
    /// The file is no database.
    Foreign,
    Unreadable(String),
}

/// Checks the directory.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let dir = &subject.settings.daemon.data_dir;
    let nearest = dir
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(Path::new("/"));
    let size = |name: &str| std::fs::metadata(dir.join(name)).map_or(0, |found| found.len());
    findings(&Facts {
        dir: dir.clone(),
        state: state(dir, nearest),
        free: free_bytes(nearest).ok(),
        log_bytes: size("log.db") + size("log.db-wal"),
        file_system: FileSystem::of(nearest),
        on_network: subject.settings.daemon.data_dir_on_network,
        log: log(&dir.join("log.db")),
        known: log_version(),
    })
}

fn state(dir: &Path, nearest: &Path) -> State {
    let can_write = |path: &Path| access(path, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    if dir.symlink_metadata().is_err() {
        return if can_write(nearest) {
            State::Missing
        } else {
            State::CannotBeMade(nearest.to_owned())
        };
    }
    match private_file::directory(dir) {
        Err(error) => State::Refused(error.to_string()),
        Ok(()) if can_write(dir) => State::Private,
        Ok(()) => State::ReadOnly,
    }
}

/// Reads the version of the log from its file. `SQLite` itself would create files beside it.
fn log(path: &Path) -> Log {
    let mut header = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(HEADER_BYTES).read_to_end(&mut header));
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Log::New,
        Err(error) => Log::Unreadable(error.to_string()),
        Ok(_) => version(&header),
    }
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

fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found = vec![of_state(facts)];
    found.extend(of_space(facts));
    found.extend(of_file_system(facts));
    found.extend(of_log(facts));
    found
}

fn of_state(facts: &Facts) -> Finding {
    let (group, dir) = (Group::Data, facts.dir.display());
    match &facts.state {
        State::Private => Finding::ok(group, format!("{dir} is private and can be written")),
        State::Missing => Finding::ok(
            group,
            format!("{dir} does not exist yet; the first daemon creates it"),
        ),
        State::CannotBeMade(parent) => Finding::problem(
            group,
            format!("{dir} does not exist, and {} cannot be written", parent.display()),
        )
        .fix("name another directory with --data-dir, ACPD_DATA_DIR, or data_dir in the configuration"),
        State::Refused(reason) => Finding::problem(group, format!("{dir} cannot be used: {reason}"))
            .fix("make it belong to this user alone, as the message says"),
        State::ReadOnly => Finding::problem(
            group,
            format!("{dir} cannot be written, so no event can be stored"),
        )
        .fix("make it writable (mode 0700), or remount its file system"),
    }
}

fn of_space(facts: &Facts) -> Option<Finding> {
    let free = facts.free?;
    let (group, mib) = (Group::Data, free >> 20);
    let log = facts.log_bytes >> 20;
    let finding = if free < READY_FREE_BYTES {
        Finding::problem(
            group,
            format!("{mib} MiB are free: the disk is full, and turns fail"),
        )
        .fix("free some space; the daemon continues by itself")
    } else if free < facts.log_bytes.saturating_add(COMFORT_BYTES) {
        Finding::warning(
            group,
            format!("{mib} MiB are free for a log of {log} MiB; an upgrade of acpd may copy the log once"),
        )
        .fix("free some space, or delete threads that you do not need with acpd delete")
    } else {
        Finding::ok(group, format!("{mib} MiB are free; the log has {log} MiB"))
    };
    Some(finding)
}

fn of_file_system(facts: &Facts) -> Option<Finding> {
    let advice = "put data_dir on a local disk";
    match facts.file_system {
        FileSystem::Local => None,
        FileSystem::Network(name) if !facts.on_network => Some(
            Finding::problem(
                Group::Data,
                format!("it is on {name}, where several hosts can damage the log: \"acpd serve\" refuses to start"),
            )
            .fix(format!("{advice}, or set data_dir_on_network = true if only one host ever uses it")),
        ),
        FileSystem::Network(name) | FileSystem::Virtual(name) => Some(
            Finding::warning(
                Group::Data,
                format!("it is on {name}: SQLite's locks and shared memory are unreliable there, and the log can be damaged"),
            )
            .fix(advice),
        ),
        FileSystem::Memory => Some(
            Finding::warning(Group::Data, "it is on a file system in memory: threads are gone after a restart of the host")
                .fix(advice),
        ),
    }
}

fn of_log(facts: &Facts) -> Option<Finding> {
    let group = Group::Data;
    let (log, known) = (facts.dir.join("log.db"), facts.known);
    let log = log.display();
    match &facts.log {
        Log::New => None,
        Log::Version(version) if *version > known => Some(
            Finding::problem(
                group,
                format!("{log} was made by a newer acpd: it has version {version}, and this acpd knows versions up to {known}"),
            )
            .fix("install the newer acpd again, or restore an older backup"),
        ),
        Log::Version(version) if *version < known => Some(Finding::ok(
            group,
            format!("the log has version {version}; this acpd upgrades it to {known} when its daemon starts, and keeps a copy until then"),
        )),
        Log::Version(version) => Some(Finding::ok(group, format!("the log has version {version}, the current one"))),
        Log::Foreign => Some(
            Finding::problem(group, format!("{log} is no database of SQLite"))
                .fix("restore a backup with acpd restore, or name another data directory"),
        ),
        Log::Unreadable(reason) => {
            Some(Finding::problem(group, format!("{log} cannot be read: {reason}")).fix("make it readable by this user"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;

    fn facts() -> Facts {
        Facts {
            dir: "/d".into(),
            state: State::Private,
            free: Some(10 << 30),
            log_bytes: 1 << 30,
            file_system: FileSystem::Local,
            on_network: false,
            log: Log::Version(3),
            known: 3,
        }
    }

    fn worst(facts: &Facts) -> (Level, String) {
        let found = findings(facts);
        let worst = found.iter().max_by_key(|finding| finding.level).unwrap();
        assert!(worst.level == Level::Ok || worst.fix.is_some(), "{worst:?}");
        (worst.level, worst.message.clone())
    }

    #[test]
    fn a_good_directory_has_no_warning() {
        assert_eq!(worst(&facts()).0, Level::Ok);
        let missing = Facts {
            state: State::Missing,
            log: Log::New,
            ..facts()
        };
        assert_eq!(worst(&missing).0, Level::Ok);
        let older = Facts {
            log: Log::Version(2),
            ..facts()
        };
        assert_eq!(worst(&older).0, Level::Ok);
    }

    #[test]
    fn each_fault_has_its_finding() {
        for (facts, level, part) in [
            (
                Facts {
                    state: State::CannotBeMade("/".into()),
                    ..facts()
                },
                Level::Problem,
                "and / cannot be written",
            ),
            (
                Facts {
                    state: State::Refused("mode 0755".to_owned()),
                    ..facts()
                },
                Level::Problem,
                "mode 0755",
            ),
            (
                Facts {
                    state: State::ReadOnly,
                    ..facts()
                },
                Level::Problem,
                "no event can be stored",
            ),
            (
                Facts {
                    free: Some(1 << 20),
                    ..facts()
                },
                Level::Problem,
                "the disk is full",
            ),
            (
                Facts {
                    free: Some(1 << 30),
                    ..facts()
                },
                Level::Warning,
                "1024 MiB are free for a log of 1024 MiB",
            ),
            (
                Facts {
                    file_system: FileSystem::Network("NFS"),
                    ..facts()
                },
                Level::Problem,
                "on NFS",
            ),
            (
                Facts {
                    file_system: FileSystem::Memory,
                    ..facts()
                },
                Level::Warning,
                "in memory",
            ),
            (
                Facts {
                    log: Log::Version(4),
                    ..facts()
                },
                Level::Problem,
                "it has version 4",
            ),
            (
                Facts {
                    log: Log::Foreign,
                    ..facts()
                },
                Level::Problem,
                "no database",
            ),
            (
                Facts {
                    log: Log::Unreadable("denied".to_owned()),
                    ..facts()
                },
                Level::Problem,
                "denied",
            ),
        ] {
            let (found, message) = worst(&facts);
            assert_eq!(found, level, "{message}");
            assert!(message.contains(part), "{message}");
        }
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
        assert_eq!(state(&data, dir.path()), State::Missing);
        std::fs::create_dir(&data).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&data, open).unwrap();
        assert!(matches!(state(&data, dir.path()), State::Refused(reason) if reason.contains("chmod 700")));
        let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&data, closed).unwrap();
        assert_eq!(state(&data, dir.path()), State::Private);
    }
}
