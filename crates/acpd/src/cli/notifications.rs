//! Arguments of the commands about notifications.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum NotificationsCommand {
    /// List the targets, with what waits for each and its last error
    List(NotificationsListArgs),
    /// Send a test notification to one target or to all, and show the results
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
