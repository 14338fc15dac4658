//! Options of all commands, and the values of options that other rooms use.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Heading of the options for remote daemons.
const REMOTE: &str = "Remote daemon";

/// Options of all commands
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Configuration file [default: ~/.config/acpd/config.toml]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "ACPD_CONFIG",
        hide_env = true,
        hide_short_help = true
    )]
    pub config: Option<PathBuf>,
    /// Directory of the log and the access token [default: ~/.local/state/acpd]
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "ACPD_DATA_DIR",
        hide_env = true,
        hide_short_help = true
    )]
    pub data_dir: Option<PathBuf>,
    /// Address at which a daemon that this command starts listens [default: 127.0.0.1:4127]
    #[arg(
        long,
        global = true,
        value_name = "ADDR",
        env = "ACPD_LISTEN",
        hide_env = true,
        hide_short_help = true
    )]
    pub listen: Option<SocketAddr>,
    /// Colours of the output
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_short_help = true
    )]
    pub color: Color,
    /// Print results and errors only
    #[arg(
        long,
        short,
        global = true,
        conflicts_with = "verbose",
        hide_short_help = true
    )]
    pub quiet: bool,
    /// Print details, such as unknown methods that an agent calls
    #[arg(long, short, global = true, hide_short_help = true)]
    pub verbose: bool,
    /// Use the remote daemon at this URL, with the access token of the environment
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "ACPD_CONNECT",
        hide_env = true,
        help_heading = REMOTE
    )]
    pub connect: Option<String>,
    /// Trust the remote daemon's certificate by its SHA-256 fingerprint, as printed by "acpd serve"
    #[arg(
        long,
        global = true,
        value_name = "SHA256",
        env = "ACPD_TLS_FINGERPRINT",
        hide_env = true,
        requires = "connect",
        hide_short_help = true,
        help_heading = REMOTE
    )]
    pub tls_fingerprint: Option<String>,
    /// Access token; prefer the environment variable, since other users can read arguments
    #[arg(
        long,
        global = true,
        value_name = "TOKEN",
        env = "ACPD_TOKEN",
        hide_env_values = true,
        hide = true
    )]
    pub token: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// If the output is a terminal, unless the environment says otherwise
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Permissions {
    /// Ask on the terminal; decline if there is none
    #[default]
    Ask,
    /// Allow each request once
    Allow,
    /// Decline each request once
    Deny,
}
