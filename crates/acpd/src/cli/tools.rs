//! Arguments of the commands that describe acpd to other programs, and their group.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;

use super::access::{PolicyCommand, TokenCommand};
use super::config::ConfigCommand;
use super::group::{Group, examples};
use super::notifications::NotificationsCommand;
use super::setup::SetupArgs;

/// Commands about settings and access, and tools for other programs.
#[derive(Debug, Subcommand)]
pub enum Tools {
    /// Write a configuration with the agents of this host, and with comments
    #[command(before_help = examples([
        "acpd setup",
        "acpd setup --print",
        "acpd setup --agent gemini --agent opencode --default-agent gemini --yes",
    ]))]
    Setup(SetupArgs),
    /// Check and show the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// List and test the targets of notifications
    #[command(subcommand)]
    Notifications(NotificationsCommand),
    /// Create, list and revoke access tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Test the permission policy, and list and revoke remembered answers
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Print the JSON Schema of the app protocol
    #[command(before_help = examples(["acpd schema > app-protocol.json"]))]
    Schema,
    /// Print completions for a shell
    #[command(before_help = examples([
        "acpd completions bash > ~/.local/share/bash-completion/completions/acpd",
    ]))]
    Completions(CompletionsArgs),
    /// Write man pages into a directory
    #[command(before_help = examples(["acpd man ~/.local/share/man/man1"]))]
    Man(ManArgs),
}

impl Group for Tools {
    const HEADING: &'static str = "Configuration, access and tools";
    const ON_HOST: &'static [&'static str] = &[
        "config",
        "policy test",
        "setup",
        "token create",
        "token list",
        "token revoke",
    ];
    const WITHOUT_DAEMON: &'static [&'static str] = &["completions", "man", "schema"];
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Directory, which must exist
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}
