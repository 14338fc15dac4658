//! `acpd service`: acpd as a service of systemd, or a job of launchd.
//!
//! In: the settings, and the service manager's program. Out: a unit or a job, and calls of that program by its arguments.
//! Owns: the files that it wrote. Never: replaces or removes a file that a user has changed.

pub mod launchd;
mod plist;
pub mod systemd;
pub mod unit;

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::json;

use crate::cli::{Manager, ServiceCommand};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::visible_line;
use crate::terminal::print;

/// Runs an `acpd service` command.
pub async fn service(settings: &Settings, command: &ServiceCommand) -> anyhow::Result<Exit> {
    let manager = match command {
        ServiceCommand::Install(args) => args.manager,
        ServiceCommand::Uninstall(args) => args.manager,
        ServiceCommand::Status(args) => args.manager,
    };
    match (manager.unwrap_or(Manager::here()), command) {
        (Manager::Systemd, ServiceCommand::Install(args)) => systemd::install(settings, args).await,
        (Manager::Systemd, ServiceCommand::Uninstall(args)) => systemd::uninstall(args),
        (Manager::Systemd, ServiceCommand::Status(args)) => systemd::status(args),
        (Manager::Launchd, ServiceCommand::Install(args)) => launchd::install(settings, args).await,
        (Manager::Launchd, ServiceCommand::Uninstall(args)) => launchd::uninstall(args),
        (Manager::Launchd, ServiceCommand::Status(args)) => launchd::status(args),
    }
}

/// Refuses to change a file that is not as acpd wrote it.
fn may_change(path: &Path, is_unchanged: bool, force: bool) -> anyhow::Result<()> {
    ensure!(
        force || is_unchanged,
        "{} was changed, or not written by acpd: keep it, or use --force",
        path.display()
    );
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

/// Writes a file: the old one or the new one, and never a part.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let draft = path.with_extension("new");
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&draft, text))
        .and_then(|()| std::fs::rename(&draft, path));
    written.with_context(|| format!("{} cannot be written", path.display()))
}

/// Describes the file of a service.
fn describe(path: &Path, exists: bool, is_changed: bool) -> String {
    let shown = visible_line(&path.display().to_string());
    match (exists, is_changed) {
        (false, _) => format!("not installed ({shown} does not exist)"),
        (true, false) => shown,
        (true, true) => format!("{shown} (changed, or not written by acpd)"),
    }
}

fn report_removed(path: &Path, as_json: bool) {
    if as_json {
        print::json(&json!({ "unit": path }).to_string());
    } else {
        print::out("the service is stopped and removed; threads and settings are still there\n");
    }
}
