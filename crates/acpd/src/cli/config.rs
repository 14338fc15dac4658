//! Arguments of the commands about the configuration.

use clap::{Args, Subcommand};

use super::group::examples;

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check the configuration file; exits with 2 if it is wrong
    #[command(before_help = examples(["acpd config check"]))]
    Check(ConfigArgs),
    /// Print the path of the configuration file
    #[command(before_help = examples(["$EDITOR \"$(acpd config path)\""]))]
    Path(ConfigArgs),
    /// Print the effective settings, with the defaults; values of variables and headers are hidden
    #[command(before_help = examples(["acpd config show", "acpd config show --json | jq .limits"]))]
    Show(ConfigArgs),
}

#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
