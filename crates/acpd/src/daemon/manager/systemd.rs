//! Calls of systemctl.

use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context, ensure};
use rustix::process::Pid;

use crate::terminal::plain::plain_line;

/// The name of the unit that `acpd service` and the packages install.
pub const UNIT: &str = "acpd.service";

/// Longest name of a unit, in bytes, by systemd's own limit.
const UNIT_BYTES: usize = 255;

/// Whose service it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Of the user who runs the command.
    User,
    /// Of the system.
    System,
}

impl Scope {
    /// Returns the scope that a command names.
    pub fn named(is_system: bool) -> Self {
        if is_system { Self::System } else { Self::User }
    }

    /// Returns the path of the unit.
    pub fn unit(self) -> anyhow::Result<PathBuf> {
        let folder = match self {
            Self::User => crate::settings::base("XDG_CONFIG_HOME", ".config")?.join("systemd/user"),
            // Systemd itself looks for units there first.
            Self::System => std::env::var("SYSTEMD_UNIT_PATH")
                .ok()
                .and_then(|path| path.split(':').next().map(PathBuf::from))
                .filter(|folder| folder.is_absolute())
                .unwrap_or_else(|| "/etc/systemd/system".into()),
        };
        Ok(folder.join(UNIT))
    }

    /// Runs systemctl.
    pub fn systemctl(self, args: &[&str]) -> std::io::Result<Output> {
        let mut command = Command::new("systemctl");
        if self == Self::User {
            command.arg("--user");
        }
        command.args(args).output()
    }

    /// Returns the option by which commands of systemd name the scope, with a space behind it.
    pub fn option(self) -> &'static str {
        match self {
            Self::User => "--user ",
            Self::System => "",
        }
    }

    /// Returns when services of this scope start.
    pub fn when(self) -> &'static str {
        match self {
            Self::User => "at login",
            Self::System => "at boot",
        }
    }

    /// Runs systemctl, which must succeed.
    pub fn run(self, args: &[&str]) -> anyhow::Result<()> {
        let output = self.systemctl(args).context("systemctl cannot be run")?;
        ensure!(
            output.status.success(),
            "systemctl {}{} failed: {}",
            self.option(),
            args.join(" "),
            plain_line(String::from_utf8_lossy(&output.stderr).trim())
        );
        Ok(())
    }

    /// Returns whether this is the main process of the unit.
    fn runs(self, unit: &str, pid: Pid) -> bool {
        let question = ["show", "--property=MainPID", "--value", unit];
        let Ok(output) = self.systemctl(&question) else {
            return false;
        };
        let answer = String::from_utf8_lossy(&output.stdout);
        answer.trim().parse().ok().and_then(Pid::from_raw) == Some(pid)
    }
}

/// Returns the unit whose main process this is.
pub fn unit_of(pid: Pid) -> Option<(Scope, String)> {
    let path = format!("/proc/{}/cgroup", pid.as_raw_nonzero());
    let named = std::fs::read_to_string(path).ok().and_then(|text| unit_in(&text));
    // In a container the control group has another name, or none.
    let usual = [Scope::User, Scope::System].map(|scope| (scope, UNIT.to_owned()));
    named
        .into_iter()
        .chain(usual)
        .find(|(scope, unit)| scope.runs(unit, pid))
}

/// Returns the innermost service that the control groups of a process name. A process that a service has started is in its
/// group as well.
fn unit_in(groups: &str) -> Option<(Scope, String)> {
    groups.lines().find_map(|line| {
        let path = line.splitn(3, ':').nth(2)?;
        let parts: Vec<&str> = path.split('/').collect();
        let at = parts.iter().rposition(|part| part.ends_with(".service"))?;
        let unit = parts[at];
        let is_of_user = parts[..at].iter().any(|part| part.starts_with("user@"));
        let is_name = |c: char| c.is_ascii_alphanumeric() || "@:_.\\-".contains(c);
        (unit.len() <= UNIT_BYTES && unit.chars().all(is_name) && !unit.starts_with(['-', '.'])).then(|| {
            let scope = if is_of_user { Scope::User } else { Scope::System };
            (scope, unit.to_owned())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_a_process_is_read_from_its_control_groups() {
        let of_user = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/acpd.service\n";
        for (groups, scope, unit) in [
            (of_user, Scope::User, "acpd.service"),
            ("0::/system.slice/acpd.service\n", Scope::System, "acpd.service"),
            (
                "0::/system.slice/system-acpd.slice/acpd@ann.service\n",
                Scope::System,
                "acpd@ann.service",
            ),
            (
                "12:pids:/\n1:name=systemd:/system.slice/my\\x2dacpd.service/sub\n",
                Scope::System,
                "my\\x2dacpd.service",
            ),
        ] {
            assert_eq!(unit_in(groups), Some((scope, unit.to_owned())), "{groups}");
        }
        for groups in [
            "",
            "0::/\n",
            "rubbish",
            "0::/user.slice/user-1000.slice/session-2.scope\n",
            "0::/system.slice/-x.service\n",
            "0::/system.slice/a b.service\n",
        ] {
            assert_eq!(unit_in(groups), None, "{groups}");
        }
    }
}
