//! Arguments of the commands about the service.

use clap::{Args, Subcommand, ValueEnum};

use super::group::examples;

#[derive(Debug, Subcommand)]
pub enum ServiceCommand {
    /// Install and start acpd as a service of this user, or of the system
    #[command(before_help = examples([
        "acpd service install",
        "sudo acpd service install --system --user acpd",
    ]))]
    Install(ServiceInstallArgs),
    /// Stop and remove the service; threads and settings stay
    #[command(before_help = examples(["acpd service uninstall"]))]
    Uninstall(ServiceChangeArgs),
    /// Show whether the service is installed, enabled and active; exits with 0 if it is active
    #[command(before_help = examples(["acpd service status", "acpd service status --json | jq .active"]))]
    Status(ServiceStatusArgs),
}

/// The program that manages services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Manager {
    /// systemd
    Systemd,
    /// launchd
    Launchd,
}

impl Manager {
    /// Returns that of this system.
    pub fn here() -> Self {
        if cfg!(target_os = "macos") {
            Self::Launchd
        } else {
            Self::Systemd
        }
    }
}

#[derive(Debug, Args)]
pub struct ServiceInstallArgs {
    /// Install a service of the system, which starts at boot; needs root and systemd
    #[arg(long)]
    pub system: bool,
    /// The user as which a service of the system runs [default: acpd]
    #[arg(long, value_name = "NAME", requires = "system")]
    pub user: Option<String>,
    /// Replace a file that was changed or not written by acpd
    #[arg(long)]
    pub force: bool,
    /// The program that manages services [default: that of this system]
    #[arg(long, value_name = "NAME", hide = true)]
    pub manager: Option<Manager>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ServiceChangeArgs {
    /// Remove the service of the system; needs root and systemd
    #[arg(long)]
    pub system: bool,
    /// Remove a file that was changed or not written by acpd
    #[arg(long)]
    pub force: bool,
    /// The program that manages services [default: that of this system]
    #[arg(long, value_name = "NAME", hide = true)]
    pub manager: Option<Manager>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ServiceStatusArgs {
    /// Show the service of the system
    #[arg(long)]
    pub system: bool,
    /// The program that manages services [default: that of this system]
    #[arg(long, value_name = "NAME", hide = true)]
    pub manager: Option<Manager>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
