//! The operating system: the kernel's version, and limits of processes.
//!
//! In: what the system says. Out: findings. Never: changes a limit.

use rustix::process::{Resource, getrlimit};

use super::report::{Finding, Group};
use super::subject::Subject;

/// The first version of Linux with all system calls that acpd uses (`close_range`; `pidfd_open` came before it).
const LINUX: (u32, u32) = (5, 9);

/// Open files below which clients and agents are refused early.
const FEW_FILES: u64 = 1024;
/// Open files that a connection, and an agent, need at most.
const FILES_OF_CONNECTION: u64 = 1;
const FILES_OF_AGENT: u64 = 8;
/// Processes of a user below which agents fail to start theirs.
const FEW_PROCESSES: u64 = 512;

/// What is known about the system.
#[derive(Debug, Clone)]
struct Facts {
    name: String,
    release: String,
    is_linux: bool,
    /// The limit of open files: of the running daemon, else of this process.
    open_files: Option<u64>,
    /// Open files that the configured limits allow for.
    wanted_files: u64,
    processes: Option<u64>,
}

/// Checks the system.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let found = rustix::system::uname();
    let limits = &subject.settings.daemon.limits;
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    findings(&Facts {
        name: found.sysname().to_string_lossy().into_owned(),
        release: found.release().to_string_lossy().into_owned(),
        is_linux: cfg!(target_os = "linux"),
        open_files: subject
            .daemon_pid()
            .and_then(limit_of)
            .or(getrlimit(Resource::Nofile).current),
        wanted_files: count(limits.connections)
            .saturating_mul(FILES_OF_CONNECTION)
            .saturating_add(count(limits.agents).saturating_mul(FILES_OF_AGENT)),
        processes: getrlimit(Resource::Nproc).current,
    })
}

/// Returns the limit of open files of a process, where the system has a file with it.
fn limit_of(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    soft_limit(&text)
}

fn soft_limit(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the first two numbers of a release such as `6.18.44-1`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let group = Group::System;
    let system = format!("{} {}", facts.name, facts.release);
    let mut found = Vec::new();
    found.push(match version(&facts.release) {
        _ if !facts.is_linux => Finding::warning(
            group,
            format!("{system}: acpd is tested on Linux only, and agents have no sandbox here"),
        )
        .fix("use Linux if agents must be confined"),
        Some(version) if version >= LINUX => {
            Finding::ok(group, format!("{system} has all system calls that acpd uses"))
        }
        _ => Finding::warning(
            group,
            format!(
                "{system} is older than Linux {}.{}: agents inherit files that were open when the daemon started, and have no sandbox",
                LINUX.0, LINUX.1
            ),
        )
        .fix("use a newer kernel"),
    });
    found.extend(facts.open_files.map(|files| of_files(files, facts.wanted_files)));
    if let Some(processes) = facts.processes.filter(|processes| *processes < FEW_PROCESSES) {
        found.push(
            Finding::warning(
                group,
                format!("this user may have {processes} processes; agents may fail to start theirs"),
            )
            .fix("raise nproc in /etc/security/limits.conf, or TasksMax= of the service"),
        );
    }
    found
}

fn of_files(files: u64, wanted: u64) -> Finding {
    let group = Group::System;
    let message = format!(
        "{files} files may be open at once; {wanted} are needed if limits.connections and limits.agents are reached"
    );
    if files < FEW_FILES.min(wanted) {
        Finding::warning(group, format!("{message}: clients are refused before that"))
            .fix("raise it with ulimit -n, or LimitNOFILE= of the service, and restart the daemon")
    } else {
        Finding::ok(group, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;

    fn facts() -> Facts {
        Facts {
            name: "Linux".to_owned(),
            release: "6.18.44-1".to_owned(),
            is_linux: true,
            open_files: Some(1 << 20),
            wanted_files: 1536,
            processes: None,
        }
    }

    fn worst(facts: &Facts) -> Level {
        let found = findings(facts);
        assert!(
            found
                .iter()
                .all(|finding| finding.level == Level::Ok || finding.fix.is_some())
        );
        found.iter().map(|finding| finding.level).max().unwrap()
    }

    #[test]
    fn each_state_has_its_finding() {
        for (facts, level) in [
            (facts(), Level::Ok),
            (
                Facts {
                    release: "5.9.0".to_owned(),
                    ..facts()
                },
                Level::Ok,
            ),
            (
                Facts {
                    release: "5.4.0-generic".to_owned(),
                    ..facts()
                },
                Level::Warning,
            ),
            (
                Facts {
                    release: "odd".to_owned(),
                    ..facts()
                },
                Level::Warning,
            ),
            (
                Facts {
                    is_linux: false,
                    ..facts()
                },
                Level::Warning,
            ),
            (
                Facts {
                    open_files: Some(1024),
                    ..facts()
                },
                Level::Ok,
            ),
            (
                Facts {
                    open_files: Some(256),
                    ..facts()
                },
                Level::Warning,
            ),
            (
                Facts {
                    open_files: Some(256),
                    wanted_files: 100,
                    ..facts()
                },
                Level::Ok,
            ),
            (
                Facts {
                    open_files: None,
                    ..facts()
                },
                Level::Ok,
            ),
            (
                Facts {
                    processes: Some(100),
                    ..facts()
                },
                Level::Warning,
            ),
        ] {
            assert_eq!(worst(&facts), level, "{facts:?}");
        }
    }

    #[test]
    fn the_limit_of_a_process_is_read() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max open files            256                  524288               files     \n";
        assert_eq!(soft_limit(text), Some(256));
        assert_eq!(
            soft_limit("Max open files            unlimited            unlimited"),
            None
        );
        assert_eq!(version("6.18.44-fc-v669"), Some((6, 18)));
        assert_eq!(version("x"), None);
    }
}
