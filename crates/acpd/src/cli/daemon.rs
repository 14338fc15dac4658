//! Arguments of the commands about the daemon.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::access::PairArgs;
use super::backup::{BackupArgs, RestoreArgs};
use super::doctor::DoctorArgs;
use super::group::{Group, examples};
use super::service::ServiceCommand;

/// Commands about the daemon.
#[derive(Debug, Subcommand)]
pub enum Daemon {
    /// Start the daemon in this terminal
    #[command(before_help = examples([
        "acpd serve",
        "acpd serve --demo",
        "acpd serve --listen 127.0.0.1:5000",
    ]))]
    Serve(ServeArgs),
    /// Open the web UI in a browser, signed in
    #[command(before_help = examples(["acpd open", "acpd open --print"]))]
    Open(OpenArgs),
    /// Sign in a phone by a QR code, with a token of its own
    #[command(before_help = examples([
        "acpd pair --tailscale",
        "acpd pair --url https://box.example --role operator",
        "acpd pair --ttl 1h --name tablet",
    ]))]
    Pair(PairArgs),
    /// Show whether the daemon runs, where, and what it runs
    #[command(before_help = examples(["acpd status", "acpd status --json"]))]
    Status(StatusArgs),
    /// Stop the daemon, after asking if turns run or questions wait
    #[command(before_help = examples(["acpd stop", "acpd stop --when-idle"]))]
    Stop(StopArgs),
    /// Stop the daemon and start it again in the background
    #[command(before_help = examples(["acpd restart", "acpd restart --when-idle"]))]
    Restart(StopArgs),
    /// Print the log of the daemon in the background
    #[command(before_help = examples(["acpd logs -f"]))]
    Logs(LogsArgs),
    /// Check everything that acpd depends on, and suggest fixes
    #[command(before_help = examples([
        "acpd doctor",
        "acpd doctor --agents --network",
        "acpd doctor --json | jq -r '.findings[] | select(.level != \"ok\") | .message'",
    ]))]
    Doctor(DoctorArgs),
    /// Install acpd as a service of systemd or launchd
    #[command(subcommand)]
    Service(ServiceCommand),
    /// Back up all threads into one file, also while the daemon runs
    #[command(before_help = examples(["acpd backup ~/backup/acpd.tar"]))]
    Backup(BackupArgs),
    /// Restore a data directory from a backup
    #[command(before_help = examples([
        "acpd restore ~/backup/acpd.tar",
        "acpd restore --data-dir /srv/acpd acpd.tar",
    ]))]
    Restore(RestoreArgs),
}

impl Group for Daemon {
    const HEADING: &'static str = "Daemon";
    const ON_HOST: &'static [&'static str] = &[
        "backup", "doctor", "logs", "open", "restart", "restore", "serve", "service", "stop",
    ];
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Configure the demo agent, so that it is the agent of commands that name none
    #[arg(long)]
    pub demo: bool,
    /// Listen on the network without TLS; tokens and threads are sent in clear text
    #[arg(long)]
    pub insecure_listen: bool,
    /// Format of the daemon's log output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
    /// Record all messages of agents and clients into files in DIR, to find a fault. They contain prompts, output and file
    /// contents
    #[arg(long, value_name = "DIR")]
    pub record_wire: Option<PathBuf>,
}

impl ServeArgs {
    /// Returns the options that a restart in the background repeats. `address` is the daemon's address if the command
    /// named one.
    pub fn repeated(&self, address: Option<SocketAddr>) -> Vec<String> {
        let given = [(self.demo, "--demo"), (self.insecure_listen, "--insecure-listen")];
        let mut options: Vec<String> = given
            .into_iter()
            .filter(|(given, _)| *given)
            .map(|(_, option)| option.to_owned())
            .collect();
        if let Some(address) = address {
            options.extend(["--listen".to_owned(), address.to_string()]);
        }
        if self.log_format == LogFormat::Json {
            options.extend(["--log-format".to_owned(), "json".to_owned()]);
        }
        if let Some(directory) = &self.record_wire {
            let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
            options.extend([
                "--record-wire".to_owned(),
                directory.to_string_lossy().into_owned(),
            ]);
        }
        options
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Plain text
    Text,
    /// JSON, one object per line
    Json,
}

#[derive(Debug, Args)]
pub struct OpenArgs {
    /// Print the link without starting a browser
    #[arg(long)]
    pub print: bool,
    /// Print a link for a browser of another device or user, for example behind a proxy; without this option, the link
    /// works only for this user on this host
    #[arg(long)]
    pub other_device: bool,
    /// Print the link as JSON, without starting a browser
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct KeepArgs {
    /// Identifier of the daemon's run
    #[arg(value_name = "RUN")]
    pub run: String,
}

#[derive(Debug, Args)]
pub struct DemoAgentArgs {
    /// Pause between the pieces of its text, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 30)]
    pub pace: u64,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct StopArgs {
    /// Wait until no turn runs and no question waits
    #[arg(long, conflicts_with = "now")]
    pub when_idle: bool,
    /// Do not ask; running turns end as interrupted
    #[arg(long, visible_alias = "yes")]
    pub now: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Print new lines as they are written
    #[arg(long, short)]
    pub follow: bool,
    /// Number of lines
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub limit: usize,
}
