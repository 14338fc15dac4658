//! Whether a daemon in the background outlives the login that started it.
//!
//! In: the control group of its process, and the settings of systemd-logind. Out: why it ends with the login, and a start outside of
//! the login's session. Never: changes a setting.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The program that starts others below the user's service manager.
const SYSTEMD_RUN: &str = "systemd-run";

/// Time for the user's service manager to answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Time between two looks at a program that is waited for.
const LOOK: Duration = Duration::from_millis(5);

/// Variable that SSH servers set in their sessions.
const SSH: &str = "SSH_CONNECTION";

/// Why a daemon ends when its user logs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndsWithLogin {
    /// logind kills all processes of a login (`KillUserProcesses`).
    Session {
        /// The login is one over SSH.
        over_ssh: bool,
    },
    /// The user's service manager, which the daemon runs below, stops with the last login.
    Manager,
}

impl EndsWithLogin {
    /// Returns what happens, and why.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Session { over_ssh: false } => {
                "the daemon ends when you log out, because logind ends all processes of a login (KillUserProcesses=yes)"
            }
            Self::Session { over_ssh: true } => {
                "the daemon was started from an SSH session and ends with it, because logind ends all processes of a login \
                 (KillUserProcesses=yes)"
            }
            Self::Manager => "the daemon ends when you log out, because it runs below your service manager",
        }
    }

    /// Returns what to do about it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Session { .. } => "\"acpd service install\" and \"loginctl enable-linger\" keep it running",
            Self::Manager => "\"loginctl enable-linger\" keeps it running",
        }
    }
}

/// What is known about the logins of this host.
#[derive(Debug, Clone, Copy)]
struct Logins {
    kills_processes: bool,
    lingers: bool,
    is_root: bool,
    /// The process was started over SSH.
    over_ssh: bool,
}

impl Logins {
    fn of_host(over_ssh: bool) -> Self {
        let user = rustix::process::geteuid();
        Self {
            kills_processes: kills_processes(&settings_of_logind()),
            lingers: user_name(user.as_raw())
                .is_some_and(|name| Path::new("/var/lib/systemd/linger").join(name).exists()),
            is_root: user.is_root(),
            over_ssh,
        }
    }
}

/// Returns the command of a program that outlives this login, as far as the system lets it: outside of the login's session, if
/// the user's service manager starts it there.
pub fn command(program: &Path) -> Command {
    let group = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    if should_leave(&group, Logins::of_host(false)) && starts_scopes(OsStr::new(SYSTEMD_RUN)) {
        let mut command = scope(OsStr::new(SYSTEMD_RUN));
        command.arg(program);
        command
    } else {
        Command::new(program)
    }
}

/// Returns whether a program should leave the session of this process. Below the user's service manager, it ends with the last login unless
/// the user lingers. Where logind leaves processes of a session alone, that would be sooner.
fn should_leave(group: &str, logins: Logins) -> bool {
    let is_in_session = path_of(group).is_some_and(|path| path.split('/').any(is_session));
    is_in_session && !logins.is_root && (logins.kills_processes || logins.lingers)
}

/// Returns a command that starts the program of its further arguments in a scope of its own. The program has the same process id.
fn scope(systemd_run: &OsStr) -> Command {
    let mut command = Command::new(systemd_run);
    command.args([
        "--user",
        "--scope",
        "--quiet",
        "--collect",
        "--description=acpd",
        "--",
    ]);
    command
}

/// Returns whether the user's service manager starts programs, which only an attempt shows.
fn starts_scopes(systemd_run: &OsStr) -> bool {
    let attempt = scope(systemd_run)
        .arg("true")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut attempt) = attempt else {
        return false;
    };
    let deadline = Instant::now() + PATIENCE;
    loop {
        match attempt.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(LOOK),
            Ok(None) | Err(_) => {
                // It may end in this moment.
                let _ = attempt.kill();
                let _ = attempt.wait();
                return false;
            }
        }
    }
}

/// Returns why the process ends with its login; `None` if it does not, or if systemd does not manage logins here.
pub fn of_process(pid: u32) -> Option<EndsWithLogin> {
    let group = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let over_ssh = environment
        .split(|byte| *byte == 0)
        .any(|variable| variable.starts_with(SSH.as_bytes()));
    decide(&group, Logins::of_host(over_ssh))
}

/// Returns the path of a control group. Version 2 has one line, and version 1 a line for systemd.
fn path_of(group: &str) -> Option<&str> {
    group.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers) = (parts.next()?, parts.next()?);
        ["", "name=systemd"]
            .contains(&controllers)
            .then(|| parts.next())
            .flatten()
    })
}

fn is_session(unit: &str) -> bool {
    is_unit(unit, "session-", ".scope")
}

fn decide(group: &str, logins: Logins) -> Option<EndsWithLogin> {
    let path = path_of(group)?;
    let mut units = path.split('/').filter(|unit| !unit.is_empty());
    if units.clone().any(is_session) {
        // KillExcludeUsers is root unless it is set.
        let over_ssh = logins.over_ssh;
        return (logins.kills_processes && !logins.is_root).then_some(EndsWithLogin::Session { over_ssh });
    }
    if path.ends_with("/acpd.service") {
        // "acpd service install" and "acpd doctor" say it of the service.
        return None;
    }
    let is_manager = |unit: &str| is_unit(unit, "user@", ".service");
    (units.any(is_manager) && !logins.lingers).then_some(EndsWithLogin::Manager)
}

/// Returns whether the name of a unit begins and ends like this.
fn is_unit(name: &str, begin: &str, end: &str) -> bool {
    name.starts_with(begin) && name.ends_with(end)
}

/// Returns the texts of logind's settings, the strongest last.
fn settings_of_logind() -> Vec<String> {
    let roots = ["/usr/lib/systemd", "/run/systemd", "/etc/systemd"].map(PathBuf::from);
    let mut files: Vec<PathBuf> = roots.iter().map(|root| root.join("logind.conf")).collect();
    let mut parts: Vec<PathBuf> = roots
        .iter()
        .filter_map(|root| root.join("logind.conf.d").read_dir().ok())
        .flat_map(|folder| folder.flatten().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "conf"))
        .collect();
    parts.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
    files.extend(parts);
    files
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .collect()
}

/// Returns `KillUserProcesses`. The files of a distribution have its default as a comment.
fn kills_processes(texts: &[String]) -> bool {
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "KillUserProcesses").then(|| ["yes", "true", "1", "on"].contains(&value.trim()))
    };
    let lines = || texts.iter().flat_map(|text| text.lines()).map(str::trim);
    let set = lines().filter_map(value).next_back();
    let default = || lines().find_map(|line| value(line.strip_prefix('#')?));
    set.or_else(default).unwrap_or(false)
}

fn user_name(user: u32) -> Option<String> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let named = users.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        (parts.nth(1)? == user.to_string()).then(|| name.to_owned())
    });
    // Users of a directory service are in no file.
    named.or_else(|| std::env::var("USER").ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGINS: Logins = Logins {
        kills_processes: true,
        lingers: false,
        is_root: false,
        over_ssh: false,
    };

    const SESSION: Option<EndsWithLogin> = Some(EndsWithLogin::Session { over_ssh: false });

    #[test]
    fn the_control_group_and_the_settings_decide() {
        let session = "0::/user.slice/user-1000.slice/session-3.scope\n";
        let below = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1.scope\n";
        let old = "12:pids:/x\n1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n";
        for (group, logins, ends) in [
            (session, LOGINS, SESSION),
            (
                session,
                Logins {
                    over_ssh: true,
                    ..LOGINS
                },
                Some(EndsWithLogin::Session { over_ssh: true }),
            ),
            (old, LOGINS, SESSION),
            (
                session,
                Logins {
                    kills_processes: false,
                    ..LOGINS
                },
                None,
            ),
            (
                session,
                Logins {
                    is_root: true,
                    ..LOGINS
                },
                None,
            ),
            (below, LOGINS, Some(EndsWithLogin::Manager)),
            (
                below,
                Logins {
                    lingers: true,
                    ..LOGINS
                },
                None,
            ),
            ("0::/system.slice/acpd.service\n", LOGINS, None),
            (
                "0::/user.slice/user-1.slice/user@1.service/app.slice/acpd.service\n",
                LOGINS,
                None,
            ),
            ("0::/\n", LOGINS, None),
            ("", LOGINS, None),
        ] {
            assert_eq!(decide(group, logins), ends, "{group} {logins:?}");
        }
    }

    #[test]
    fn a_session_is_left_where_a_program_lives_longer_outside_of_it() {
        let session = "0::/user.slice/user-1000.slice/session-3.scope\n";
        let kept = Logins {
            kills_processes: false,
            ..LOGINS
        };
        let lingers = Logins {
            lingers: true,
            ..kept
        };
        let root = Logins {
            is_root: true,
            ..LOGINS
        };
        for (group, logins, expected) in [
            (session, LOGINS, true),
            (session, lingers, true),
            // The last logout would end it, and not the end of the session.
            (session, kept, false),
            (session, root, false),
            ("0::/system.slice/cron.service\n", LOGINS, false),
            (
                "0::/user.slice/user-1.slice/user@1.service/app.slice/x.scope\n",
                LOGINS,
                false,
            ),
            ("", LOGINS, false),
        ] {
            assert_eq!(should_leave(group, logins), expected, "{group} {logins:?}");
        }
    }

    #[test]
    fn a_scope_is_used_only_if_the_manager_starts_one() {
        let dir = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            path
        };
        let said = dir.path().join("said");
        let works = script("works", &format!("echo \"$*\" > '{}'", said.display()));
        assert!(starts_scopes(works.as_os_str()));
        assert_eq!(
            std::fs::read_to_string(said).unwrap(),
            "--user --scope --quiet --collect --description=acpd -- true\n"
        );
        assert!(!starts_scopes(script("fails", "exit 1").as_os_str()));
        assert!(!starts_scopes(dir.path().join("missing").as_os_str()));
    }

    #[test]
    fn a_setting_wins_over_the_default_in_the_comment() {
        for (texts, expected) in [
            (&[][..], false),
            (&["[Login]\n#KillUserProcesses=no\n"], false),
            (&["[Login]\n#KillUserProcesses=yes\n"], true),
            (&["#KillUserProcesses=no", "KillUserProcesses = yes"], true),
            (
                &[
                    "#KillUserProcesses=yes",
                    "KillUserProcesses=yes",
                    "KillUserProcesses=no",
                ],
                false,
            ),
        ] {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(kills_processes(&texts), expected, "{texts:?}");
        }
    }
}
