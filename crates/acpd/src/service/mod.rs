//! `acpd service`: acpd as a systemd service of this user.
//!
//! In: the settings, and the programs `systemctl` of the system. Out: a unit file, and calls of `systemctl` by its
//! arguments. Owns: the unit `acpd.service` of this user. Never: replaces or removes a unit that a user has changed.

mod unit;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, bail, ensure};
use serde_json::json;

use crate::cli::{ServiceChangeArgs, ServiceCommand, ServiceStatusArgs};
use crate::daemon::background;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::plain_line;
use crate::terminal::print;

/// The name of the unit.
const UNIT: &str = "acpd.service";

/// Runs an `acpd service` command.
pub async fn service(settings: &Settings, command: &ServiceCommand) -> anyhow::Result<Exit> {
    match command {
        ServiceCommand::Install(args) => install(settings, args).await,
        ServiceCommand::Uninstall(args) => uninstall(args),
        ServiceCommand::Status(args) => status(args),
    }
}

async fn install(settings: &Settings, args: &ServiceChangeArgs) -> anyhow::Result<Exit> {
    require_systemd()?;
    let path = unit_path()?;
    let existing = read(&path)?;
    if let Some(existing) = &existing {
        may_change(&path, existing, args.force)?;
    }
    let is_active = state("is-active")? == "active";
    if !is_active && background::try_connect(settings).await?.is_some() {
        bail!(
            "a daemon is running outside of the service: stop it first, with \"{}\"",
            settings.own_command("stop")
        );
    }
    let text = unit::text(&unit::Service {
        program: &std::env::current_exe().context("the path of acpd is unknown")?,
        options: settings.options_of_serve(),
        path: std::env::var("PATH").ok().as_deref(),
    })?;
    let is_same = existing.as_deref() == Some(&*text);
    if !is_same {
        write(&path, &text).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    run(&["daemon-reload"])?;
    run(&["enable", UNIT])?;
    run(&["start", UNIT])
        .context("the service does not start; \"journalctl --user -u acpd\" may show why")?;
    if args.json {
        print::json(&json!({ "unit": path, "restartNeeded": is_active && !is_same }).to_string());
        return Ok(Exit::Success);
    }
    print::out(&format!(
        "acpd runs as a service of this user ({})\n",
        plain_line(&path.display().to_string())
    ));
    if is_active && !is_same {
        print::hint("the service ran already: \"systemctl --user restart acpd\" makes it use the new unit");
    }
    print::hint(
        "it ends when you log out, unless you run \"loginctl enable-linger\"; \"acpd service uninstall\" removes it",
    );
    Ok(Exit::Success)
}

fn uninstall(args: &ServiceChangeArgs) -> anyhow::Result<Exit> {
    let path = unit_path()?;
    let Some(existing) = read(&path)? else {
        return Err(Exit::NotFound.error(format!(
            "no service is installed: {} does not exist",
            path.display()
        )));
    };
    may_change(&path, &existing, args.force)?;
    require_systemd()?;
    run(&["disable", "--now", UNIT])?;
    std::fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
    run(&["daemon-reload"])?;
    if args.json {
        print::json(&json!({ "unit": path }).to_string());
    } else {
        print::out("the service is stopped and removed; threads and settings are still there\n");
    }
    Ok(Exit::Success)
}

fn status(args: &ServiceStatusArgs) -> anyhow::Result<Exit> {
    let path = unit_path()?;
    let unit = read(&path)?;
    require_systemd()?;
    let (enabled, active) = (state("is-enabled")?, state("is-active")?);
    let is_changed = unit.as_deref().is_some_and(|unit| !unit::is_unchanged(unit));
    if args.json {
        let found = json!({
            "unit": unit.is_some().then_some(&path), "changed": is_changed, "enabled": enabled == "enabled",
            "active": active == "active",
        });
        print::json(&found.to_string());
    } else {
        let shown = plain_line(&path.display().to_string());
        let unit = match (&unit, is_changed) {
            (None, _) => format!("not installed ({shown} does not exist)"),
            (Some(_), false) => shown,
            (Some(_), true) => format!("{shown} (changed, or not written by acpd)"),
        };
        let (enabled, active) = (plain_line(&enabled), plain_line(&active));
        print::out(&format!("unit: {unit}\nat login: {enabled}\nstate: {active}\n"));
    }
    Ok(if active == "active" {
        Exit::Success
    } else {
        Exit::Failure
    })
}

/// Refuses to change a unit that is not as acpd wrote it.
fn may_change(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    ensure!(
        force || unit::is_unchanged(text),
        "{} was changed, or not written by acpd: keep it, or use --force",
        path.display()
    );
    Ok(())
}

/// Returns the path of this user's unit.
fn unit_path() -> anyhow::Result<PathBuf> {
    let config = crate::settings::base("XDG_CONFIG_HOME", ".config")?;
    Ok(config.join("systemd/user").join(UNIT))
}

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

/// Writes a unit: the old one or the new one, and never a part.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let draft = path.with_extension("service.new");
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&draft, text)?;
    std::fs::rename(&draft, path)
}

/// Returns an error that says what to do where systemd is not available to this user.
fn require_systemd() -> anyhow::Result<()> {
    let advice = "\"acpd serve\" runs the daemon in the foreground, as the main program of a container or for another \
                  service manager; see docs/service.md";
    let output = match systemctl(&["show-environment"]) {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("this system has no systemd (systemctl was not found), so no service was changed: {advice}")
        }
        Err(error) => return Err(error).context("systemctl cannot be run"),
    };
    ensure!(
        output.status.success(),
        "systemd does not manage services of this user here ({}), so no service was changed: {advice}",
        plain_line(String::from_utf8_lossy(&output.stderr).trim())
    );
    Ok(())
}

fn systemctl(args: &[&str]) -> std::io::Result<Output> {
    Command::new("systemctl").arg("--user").args(args).output()
}

/// Runs systemctl, which must succeed.
fn run(args: &[&str]) -> anyhow::Result<()> {
    let output = systemctl(args).context("systemctl cannot be run")?;
    ensure!(
        output.status.success(),
        "systemctl --user {} failed: {}",
        args.join(" "),
        plain_line(String::from_utf8_lossy(&output.stderr).trim())
    );
    Ok(())
}

/// Returns the word that systemctl prints about a state of the unit. Its exit code says the same.
fn state(question: &str) -> anyhow::Result<String> {
    let output = systemctl(&[question, UNIT]).context("systemctl cannot be run")?;
    let word = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(if word.is_empty() {
        "not-found".to_owned()
    } else {
        word
    })
}
