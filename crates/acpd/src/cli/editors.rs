//! Arguments of the commands about editors.

use clap::{Args, Subcommand};

use super::group::examples;

#[derive(Debug, Subcommand)]
pub enum EditorsCommand {
    /// List editors, whether they are on this host, and what they start
    #[command(before_help = examples(["acpd editors list"]))]
    List(EditorsListArgs),
    /// Add acpd to the settings of an editor; prints the change and asks
    #[command(before_help = examples([
        "acpd editors install zed",
        "acpd editors install vscode --agent gemini",
        "acpd editors install neovim          # prints what belongs into its configuration",
    ]))]
    Install(EditorsInstallArgs),
}

#[derive(Debug, Args)]
pub struct EditorsListArgs {
    /// Print JSON, one editor per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct EditorsInstallArgs {
    /// Editor, as named by "acpd editors list"
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Agent, as named by "acpd agents list" [default: the configured default]
    #[arg(long, short, value_name = "NAME")]
    pub agent: Option<String>,
    /// Print the entry instead of writing it
    #[arg(long)]
    pub print: bool,
    /// Write the change without confirmation
    #[arg(long)]
    pub yes: bool,
    /// Print JSON; needs --yes
    #[arg(long, requires = "yes", conflicts_with = "print")]
    pub json: bool,
}
