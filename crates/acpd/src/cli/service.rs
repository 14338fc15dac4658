//! Arguments of the commands about the service of systemd.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum ServiceCommand {
    /// Install and start acpd as a systemd service of this user
    Install(ServiceChangeArgs),
    /// Stop and remove the service; threads and settings stay
    Uninstall(ServiceChangeArgs),
    /// Show whether the service is installed, enabled and active; exits with 0 if it is active
    Status(ServiceStatusArgs),
}

#[derive(Debug, Args)]
pub struct ServiceChangeArgs {
    /// Replace or remove a unit that was changed or not written by acpd
    #[arg(long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ServiceStatusArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
