//! What agents need to outlive the daemon: the program of shims, and a kernel that moves their bytes.
//!
//! In: the configuration, the data directory, and a test of splice. Out: findings. Never: writes the program.

use std::path::{Path, PathBuf};

use acpd_files::data_files;
use rustix::fs::StatVfsMountFlags;

use super::report::{Finding, Group};
use super::subject::Subject;

/// What is known about shims.
#[derive(Debug, Clone)]
struct Facts {
    /// Whether agents are configured to outlive the daemon.
    is_wanted: bool,
    program: Program,
    path: PathBuf,
    /// Whether the file system of the data directory runs programs.
    runs_programs: bool,
    /// Whether splice keeps positions and bytes together here.
    splice_works: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    /// No daemon runs that needs it.
    Unneeded,
    Missing,
    /// It is that of another version, or was changed.
    Other,
    Same,
}

/// Checks what shims need.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let data_dir = &subject.settings.daemon.data_dir;
    let path = data_files::SHIM.path(data_dir);
    findings(&Facts {
        is_wanted: subject.survives(),
        program: subject.daemon_pid().map_or(Program::Unneeded, |_| program(&path)),
        path,
        runs_programs: runs_programs(data_dir),
        splice_works: acpd_shim::splice_works(),
    })
}

fn program(path: &Path) -> Program {
    match (std::fs::read(path), acpd_shim_binary::binary()) {
        (Ok(found), Ok(own)) if found == own => Program::Same,
        (Ok(_), _) => Program::Other,
        (Err(_), _) => Program::Missing,
    }
}

/// Returns whether a file system runs programs. One that does not answer may.
fn runs_programs(data_dir: &Path) -> bool {
    let found = rustix::fs::statvfs(data_dir);
    found.map_or(true, |found| !found.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let group = Group::System;
    if !facts.is_wanted {
        return Vec::new();
    }
    let path = facts.path.display();
    let mut found = Vec::new();
    if !facts.runs_programs {
        found.push(
            Finding::problem(
                group,
                format!("{path} cannot be run (noexec), so agents do not start: the configuration has survive = true"),
            )
            .fix("move data_dir to a file system that runs programs, or set survive = false"),
        );
    }
    match facts.program {
        Program::Missing => found.push(
            Finding::problem(
                group,
                format!("{path} is missing, so agents do not start: the configuration has survive = true"),
            )
            .fix("acpd restart writes it"),
        ),
        Program::Other => found.push(
            Finding::warning(group, format!("{path} is not that of this acpd"))
                .fix("acpd upgrade --when-idle writes it, if the daemon is of another version; otherwise acpd restart"),
        ),
        Program::Unneeded | Program::Same => {}
    }
    found.push(if facts.splice_works {
        Finding::ok(group, "agents can outlive the daemon")
    } else {
        Finding::warning(
            group,
            "the kernel's splice does not work as it should, so shims copy the output of agents, which takes more time",
        )
        .fix("use a newer kernel")
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::{Level, assert_found};

    fn facts() -> Facts {
        Facts {
            is_wanted: true,
            program: Program::Same,
            path: "/d/acpd-shim".into(),
            runs_programs: true,
            splice_works: true,
        }
    }

    #[test]
    fn each_state_has_its_finding() {
        for (facts, level, part) in [
            (facts(), Level::Ok, "can outlive the daemon"),
            (
                Facts {
                    program: Program::Unneeded,
                    ..facts()
                },
                Level::Ok,
                "can outlive the daemon",
            ),
            (
                Facts {
                    program: Program::Missing,
                    ..facts()
                },
                Level::Problem,
                "/d/acpd-shim is missing",
            ),
            (
                Facts {
                    program: Program::Other,
                    ..facts()
                },
                Level::Warning,
                "is not that of this acpd",
            ),
            (
                Facts {
                    runs_programs: false,
                    ..facts()
                },
                Level::Problem,
                "cannot be run (noexec)",
            ),
            (
                Facts {
                    splice_works: false,
                    ..facts()
                },
                Level::Warning,
                "splice",
            ),
        ] {
            assert_found(&findings(&facts), level, part);
        }
        let unwanted = Facts {
            is_wanted: false,
            runs_programs: false,
            ..facts()
        };
        assert!(findings(&unwanted).is_empty());
    }

    #[test]
    fn the_program_is_compared_with_that_of_this_acpd() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acpd-shim");
        assert_eq!(program(&path), Program::Missing);
        acpd_shim_binary::install(&path).unwrap();
        assert_eq!(program(&path), Program::Same);
        std::fs::write(&path, "x").unwrap();
        assert_eq!(program(&path), Program::Other);
        assert!(runs_programs(folder.path()));
    }
}
