//! The data directory: its owner, mode, space and file system, and the version of the log.
//!
//! In: what is known about the directory. Out: findings. Never: creates the directory, or opens the log for writing.

use acpd_model::limits::READY_FREE_BYTES;

use super::report::{Finding, Group};
use super::subject::Subject;
use crate::client::local::preflight::{Data, DataState, Log};
use crate::file_system::FileSystem;

/// Space beyond the size of the log above which there is no warning.
const COMFORT_BYTES: u64 = 256 << 20;

/// Checks the directory.
pub fn check(subject: &Subject) -> Vec<Finding> {
    findings(&Data::of(&subject.settings))
}

fn findings(data: &Data) -> Vec<Finding> {
    let hindrances = data.hindrances();
    let mut found: Vec<Finding> = hindrances
        .iter()
        .map(|hindrance| Finding::hindrance(Group::Data, hindrance))
        .collect();
    found.extend(of_state(data));
    found.extend(of_space(data));
    found.extend(of_file_system(data));
    found.extend(of_log(data));
    found
}

fn of_state(data: &Data) -> Option<Finding> {
    let (group, dir) = (Group::Data, data.dir.display());
    match data.state {
        DataState::Private => Some(Finding::ok(group, format!("{dir} is private and can be written"))),
        DataState::Missing => Some(Finding::ok(
            group,
            format!("{dir} does not exist yet; the first daemon creates it"),
        )),
        // It hinders.
        DataState::CannotBeMade(..) | DataState::Refused(_) | DataState::NotWritable(_) => None,
    }
}

fn of_space(data: &Data) -> Option<Finding> {
    let free = data.free.filter(|free| *free >= READY_FREE_BYTES)?;
    let (group, mib) = (Group::Data, free >> 20);
    let log = data.log_bytes >> 20;
    Some(if free < data.log_bytes.saturating_add(COMFORT_BYTES) {
        Finding::warning(
            group,
            format!("{mib} MiB are free for a log of {log} MiB; an upgrade of acpd may copy the log once"),
        )
        .fix("free some space, or delete threads that you do not need with acpd delete")
    } else {
        Finding::ok(group, format!("{mib} MiB are free; the log has {log} MiB"))
    })
}

fn of_file_system(data: &Data) -> Option<Finding> {
    let advice = "put data_dir on a local disk";
    match data.file_system {
        FileSystem::Local => None,
        // It hinders.
        FileSystem::Network(_) if !data.on_network => None,
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

fn of_log(data: &Data) -> Option<Finding> {
    let (group, known) = (Group::Data, data.known);
    match data.log {
        Log::Version(version) if version < known => Some(Finding::ok(
            group,
            format!(
                "the log has version {version}; this acpd upgrades it to {known} when its daemon starts, and keeps a copy until then"
            ),
        )),
        Log::Version(version) if version == known => Some(Finding::ok(
            group,
            format!("the log has version {version}, the current one"),
        )),
        // A newer version hinders, and so does a file that is something else.
        Log::New | Log::Version(_) | Log::Foreign | Log::Unreadable(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::{Level, assert_found};

    #[test]
    fn a_good_directory_has_no_warning() {
        let good = Data::good;
        for (data, part) in [
            (good(), "/d is private and can be written"),
            (good(), "the current one"),
            (good(), "10240 MiB are free; the log has 1024 MiB"),
            (
                Data {
                    state: DataState::Missing,
                    log: Log::New,
                    ..good()
                },
                "the first daemon creates it",
            ),
            (
                Data {
                    log: Log::Version(2),
                    ..good()
                },
                "upgrades it to 3",
            ),
        ] {
            assert_found(&findings(&data), Level::Ok, part);
        }
    }

    #[test]
    fn each_fault_has_its_finding() {
        let good = Data::good;
        let on = |file_system: FileSystem| Data {
            file_system,
            ..good()
        };
        for (data, level, part) in [
            (
                Data {
                    state: DataState::Refused("mode 0755".to_owned()),
                    ..good()
                },
                Level::Problem,
                "mode 0755",
            ),
            (
                Data {
                    free: Some(1 << 20),
                    ..good()
                },
                Level::Problem,
                "is full",
            ),
            (
                Data {
                    free: Some(1 << 30),
                    ..good()
                },
                Level::Warning,
                "1024 MiB are free for a log of 1024 MiB",
            ),
            (on(FileSystem::Network("NFS")), Level::Problem, "(NFS)"),
            (
                Data {
                    on_network: true,
                    ..on(FileSystem::Network("NFS"))
                },
                Level::Warning,
                "it is on NFS",
            ),
            (on(FileSystem::Virtual("9p")), Level::Warning, "it is on 9p"),
            (on(FileSystem::Memory), Level::Warning, "in memory"),
            (
                Data {
                    log: Log::Version(4),
                    ..good()
                },
                Level::Problem,
                "made by a newer acpd",
            ),
        ] {
            assert_found(&findings(&data), level, part);
        }
    }

    #[test]
    fn a_hindrance_has_the_words_of_the_start() {
        let data = Data {
            log: Log::Foreign,
            free: Some(0),
            ..Data::good()
        };
        let hindrances = data.hindrances();
        assert_eq!(hindrances.len(), 2);
        for (finding, hindrance) in findings(&data).iter().zip(&hindrances) {
            let fix = finding.fix.as_deref().unwrap_or_default();
            assert_eq!(format!("{}; {fix}", finding.message), hindrance.to_string());
        }
    }
}
