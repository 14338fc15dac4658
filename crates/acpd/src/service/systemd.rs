//! acpd as a service of systemd: of this user, or of the system as a user of its own.
//!
//! In: the settings, and the program `systemctl`. Out: a unit file, and calls of `systemctl` by its arguments. Owns: the
//! unit `acpd.service`. Never: replaces or removes a unit that a user has changed.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::json;

use super::files::{describe, may_change, read, report_removed, write};
use super::unit;
use crate::cli::{ServiceChangeArgs, ServiceInstallArgs, ServiceStatusArgs};
use crate::client::local;
use crate::daemon::manager::{Scope, UNIT};
use crate::exit::Exit;
use crate::own_program::own_program;
use crate::settings::Settings;
use crate::terminal::plain::{plain_line, visible_line};
use crate::terminal::print;

/// The user of a service of the system, if the command names none.
const USER: &str = "acpd";

/// Longest name of a user that systemd accepts, in bytes.
const USER_BYTES: usize = 31;

/// What `acpd service` needs of a scope.
impl Scope {
    /// Returns the word that systemctl prints about a state of the unit. Its exit code says the same.
    fn state(self, question: &str) -> anyhow::Result<String> {
        let output = self
            .systemctl(&[question, UNIT])
            .context("systemctl cannot be run")?;
        let word = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(if word.is_empty() {
            "not-found".to_owned()
        } else {
            word
        })
    }

    /// Returns an error that says what to do where systemd is not available.
    fn require(self) -> anyhow::Result<()> {
        let advice = "\"acpd serve\" runs the daemon in the foreground, as the main program of a container or for another \
                      service manager; see docs/service.md";
        let output = match self.systemctl(&["show-environment"]) {
            Ok(output) => output,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!(
                    "this system has no systemd (systemctl was not found), so no service was changed: {advice}"
                )
            }
            Err(error) => return Err(error).context("systemctl cannot be run"),
        };
        let whose = match self {
            Self::User => "systemd does not manage services of this user here",
            Self::System => "systemd does not run this system",
        };
        ensure!(
            output.status.success(),
            "{whose} ({}), so no service was changed: {advice}",
            plain_line(String::from_utf8_lossy(&output.stderr).trim())
        );
        Ok(())
    }

    /// Fails for a service of the system unless this is root.
    fn require_root(self, verb: &str) -> anyhow::Result<()> {
        self.require_root_of(verb, rustix::process::geteuid().is_root())
    }

    fn require_root_of(self, verb: &str, is_root: bool) -> anyhow::Result<()> {
        ensure!(
            self == Self::User || is_root,
            "a service of the system needs root, so nothing was changed: run sudo acpd service {verb} --system, or leave \
             --system out for a service of your user"
        );
        Ok(())
    }
}

/// Installs and starts the service.
pub async fn install(settings: &Settings, args: &ServiceInstallArgs) -> anyhow::Result<Exit> {
    let scope = Scope::named(args.system);
    scope.require_root("install")?;
    scope.require()?;
    let program = own_program().context("the path of acpd is unknown")?;
    let user = args.user.as_deref().unwrap_or(USER);
    if scope == Scope::System {
        check_user(user)?;
        check_program(&program, user)?;
    }
    let path = scope.unit()?;
    let existing = read(&path)?;
    if let Some(existing) = &existing {
        may_change(&path, unit::is_unchanged(existing), args.force)?;
    }
    let is_active = scope.state("is-active")? == "active";
    if scope == Scope::User && !is_active && local::try_connect(settings).await?.is_some() {
        bail!(
            "a daemon is running outside of the service: stop it first, with \"{}\"",
            settings.own_command("stop")
        );
    }
    let shell_path = std::env::var("PATH").ok();
    let text = unit::text(&unit::Service {
        program: &program,
        options: settings.options_of_serve(),
        // The PATH of root is not that of the service's user.
        path: shell_path.as_deref().filter(|_| scope == Scope::User),
        user: (scope == Scope::System).then_some(user),
    })?;
    let is_same = existing.as_deref() == Some(&*text);
    if !is_same {
        write(&path, &text)?;
    }
    scope.run(&["daemon-reload"])?;
    scope.run(&["enable", UNIT])?;
    let option = scope.option();
    scope.run(&["start", UNIT]).with_context(|| {
        format!("the service does not start; \"journalctl {option}-u acpd\" may show why")
    })?;
    let needs_restart = is_active && !is_same;
    if args.json {
        print::json(&json!({ "unit": path, "restartNeeded": needs_restart }).to_string());
        return Ok(Exit::Success);
    }
    let shown = visible_line(&path.display().to_string());
    print::out(&match scope {
        Scope::User => format!("acpd runs as a service of this user ({shown})\n"),
        Scope::System => format!("acpd runs as a service of the system, as the user {user} ({shown})\n"),
    });
    if needs_restart {
        print::hint(&format!(
            "the service ran already: \"systemctl {option}restart acpd\" makes it use the new unit"
        ));
    }
    print::hint(match scope {
        Scope::User => {
            "it ends when you log out, unless you run \"loginctl enable-linger\"; \"acpd service uninstall\" removes it"
        }
        Scope::System => {
            "\"acpd service uninstall --system\" removes it; other users need a token (acpd token create)"
        }
    });
    Ok(Exit::Success)
}

/// Fails unless the user exists and may run a service for agents.
fn check_user(user: &str) -> anyhow::Result<()> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if user.is_empty()
        || user.len() > USER_BYTES
        || !user.chars().all(is_name)
        || user.starts_with(|first: char| first == '-' || first.is_ascii_digit())
    {
        return Err(Exit::Usage.error(format!("invalid --user {user:?}: it is not a user name")));
    }
    ensure!(
        user != "root",
        "agents do not run as root: name another user with --user, or leave it out for the user {USER}"
    );
    let found = Command::new("id")
        .args(["-u", "--", user])
        .output()
        .context("id cannot be run")?;
    ensure!(
        found.status.success(),
        "the user {user} does not exist, so nothing was changed: run useradd --create-home --shell /bin/bash {user}, or \
         name another one with --user"
    );
    Ok(())
}

/// Fails unless all users can run the program.
fn check_program(program: &Path, user: &str) -> anyhow::Result<()> {
    let is_open = |path: &Path| {
        path.metadata()
            .is_ok_and(|found| found.permissions().mode() & 0o001 != 0)
    };
    ensure!(
        program.ancestors().all(is_open),
        "the user {user} cannot run {}: install acpd for all users first, for example with install -m 755 {} \
         /usr/local/bin/acpd, and run that one",
        program.display(),
        program.display()
    );
    Ok(())
}

/// Stops and removes the service.
pub fn uninstall(args: &ServiceChangeArgs) -> anyhow::Result<Exit> {
    let scope = Scope::named(args.system);
    scope.require_root("uninstall")?;
    let path = scope.unit()?;
    let Some(existing) = read(&path)? else {
        return Err(Exit::NotFound.error(format!(
            "no service is installed: {} does not exist",
            path.display()
        )));
    };
    may_change(&path, unit::is_unchanged(&existing), args.force)?;
    scope.require()?;
    scope.run(&["disable", "--now", UNIT])?;
    std::fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
    scope.run(&["daemon-reload"])?;
    report_removed(&path, args.json);
    Ok(Exit::Success)
}

/// Shows the state of the service.
pub fn status(args: &ServiceStatusArgs) -> anyhow::Result<Exit> {
    let scope = Scope::named(args.system);
    let path = scope.unit()?;
    let unit = read(&path)?;
    scope.require()?;
    let (enabled, active) = (scope.state("is-enabled")?, scope.state("is-active")?);
    let is_changed = unit.as_deref().is_some_and(|unit| !unit::is_unchanged(unit));
    if args.json {
        let found = json!({
            "unit": unit.is_some().then_some(&path), "changed": is_changed, "enabled": enabled == "enabled",
            "active": active == "active",
        });
        print::json(&found.to_string());
    } else {
        let unit = describe(&path, unit.is_some(), is_changed);
        let (enabled, active) = (plain_line(&enabled), plain_line(&active));
        let when = scope.when();
        print::out(&format!("unit: {unit}\n{when}: {enabled}\nstate: {active}\n"));
    }
    Ok(if active == "active" {
        Exit::Success
    } else {
        Exit::Failure
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_of_the_system_needs_root() {
        assert!(Scope::User.require_root_of("install", false).is_ok());
        assert!(Scope::System.require_root_of("install", true).is_ok());
        let refused = Scope::System
            .require_root_of("install", false)
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("sudo acpd service install --system"),
            "{refused}"
        );
    }

    #[test]
    fn invalid_and_unknown_users_are_refused() {
        for (user, part) in [
            ("", "it is not a user name"),
            ("-x", "it is not a user name"),
            ("a b", "it is not a user name"),
            ("a\nUser=root", "it is not a user name"),
            ("%i", "it is not a user name"),
            ("root", "do not run as root"),
            ("no-such-user-here", "useradd --create-home"),
        ] {
            let refused = check_user(user).unwrap_err().to_string();
            assert!(refused.contains(part), "{refused}");
        }
    }

    #[test]
    fn a_program_in_a_closed_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("acpd");
        std::fs::write(&program, "").unwrap();
        let refused = check_program(&program, "acpd").unwrap_err().to_string();
        assert!(refused.contains("/usr/local/bin/acpd"), "{refused}");
        assert!(check_program(Path::new("/bin/sh"), "acpd").is_ok());
    }
}
