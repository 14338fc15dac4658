//! Arguments of the commands about shims.

use clap::{Args, Subcommand};

use super::group::examples;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ShimsArgs {
    /// Print JSON, one shim per line
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<ShimsCommand>,
}

#[derive(Debug, Subcommand)]
pub enum ShimsCommand {
    /// End shims with all processes of their agents and terminals; turns of these agents fail
    #[command(before_help = examples(["acpd shims end s0123456789abcdef", "acpd shims end --all --yes"]))]
    End(ShimsEndArgs),
}

#[derive(Debug, Args)]
pub struct ShimsEndArgs {
    /// Shims, as named by "acpd shims"
    #[arg(value_name = "NAME", required_unless_present = "all")]
    pub names: Vec<String>,
    /// End all shims of the data directory
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// Print JSON, one shim per line
    #[arg(long)]
    pub json: bool,
}
