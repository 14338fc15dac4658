//! `acpd service`: acpd as a service of systemd, or a job of launchd.
//!
//! In: the settings, and the service manager's program. Out: a unit or a job, and calls of that program by its arguments.
//! Owns: the files that it wrote. Never: replaces or removes a file that a user has changed.

mod files;
pub mod launchd;
mod plist;
pub mod systemd;
pub mod unit;

use crate::cli::{Manager, ServiceCommand};
use crate::exit::Exit;
use crate::settings::Settings;

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
