//! Whether a daemon in the background outlives the login that started it.
//!
//! In: the control group of its process, and the settings of systemd-logind. Out: why it ends with the login. Never: changes
//! a setting.

use std::path::{Path, PathBuf};

/// Why a daemon ends when its user logs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndsWithLogin {
    /// logind kills all processes of a login (`KillUserProcesses`).
    Session,
    /// The user's service manager, which the daemon runs below, stops with the last login.
    Manager,
}

impl EndsWithLogin {
    /// Returns what happens, and why.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Session => {
                "the daemon ends when you log out, because logind ends all processes of a login (KillUserProcesses=yes)"
            }
            Self::Manager => "the daemon ends when you log out, because it runs below your service manager",
        }
    }

    /// Returns what to do about it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Session => "\"acpd service install\" and \"loginctl enable-linger\" keep it running",
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
}

/// Returns why the process ends with its login; `None` if it does not, or if systemd does not manage logins here.
pub fn of_process(pid: u32) -> Option<EndsWithLogin> {
    let group = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let user = rustix::process::geteuid();
    decide(
        &group,
        Logins {
            kills_processes: kills_processes(&settings_of_logind()),
            lingers: user_name(user.as_raw())
                .is_some_and(|name| Path::new("/var/lib/systemd/linger").join(name).exists()),
            is_root: user.is_root(),
        },
    )
}

fn decide(group: &str, logins: Logins) -> Option<EndsWithLogin> {
    // Version 2 has one line, and version 1 a line for systemd.
    let path = group.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers) = (parts.next()?, parts.next()?);
        ["", "name=systemd"]
            .contains(&controllers)
            .then(|| parts.next())
            .flatten()
    })?;
    let mut units = path.split('/').filter(|unit| !unit.is_empty());
    let is_session = |unit: &str| is_unit(unit, "session-", ".scope");
    if units.clone().any(is_session) {
        // KillExcludeUsers is root unless it is set.
        return (logins.kills_processes && !logins.is_root).then_some(EndsWithLogin::Session);
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
    };

    #[test]
    fn the_control_group_and_the_settings_decide() {
        let session = "0::/user.slice/user-1000.slice/session-3.scope\n";
        let below = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1.scope\n";
        let old = "12:pids:/x\n1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n";
        for (group, logins, ends) in [
            (session, LOGINS, Some(EndsWithLogin::Session)),
            (old, LOGINS, Some(EndsWithLogin::Session)),
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
