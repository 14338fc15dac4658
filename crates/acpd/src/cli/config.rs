//! Arguments of the commands about the configuration.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check the configuration file; exits with 2 if it is wrong
    Check(ConfigArgs),
    /// Print the path of the configuration file
    Path(ConfigArgs),
    /// Print the effective settings, with the defaults; values of variables and headers are hidden
    Show(ConfigArgs),
}

#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
