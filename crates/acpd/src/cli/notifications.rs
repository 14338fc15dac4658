//! Arguments of the commands about notifications.

use clap::{Args, Subcommand};

use super::group::examples;

#[derive(Debug, Subcommand)]
pub enum NotificationsCommand {
    /// List the targets, with what waits for each and its last error
    #[command(before_help = examples(["acpd notifications list"]))]
    List(NotificationsListArgs),
    /// Send a test notification to one target or to all, and show the results
    #[command(before_help = examples(["acpd notifications test", "acpd notifications test phone"]))]
    Test(NotificationsTestArgs),
}

#[derive(Debug, Args)]
pub struct NotificationsListArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct NotificationsTestArgs {
    /// Name of a target in the configuration [default: all targets]
    pub target: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
