//! Arguments of the commands about the daemon.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::Shell;

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
pub struct AcpArgs {
    /// Agent, as named by "acpd agents list" [default: the configured default, or the only configured agent]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Continue this thread in the editor's first new session; as in "acpd show"
    #[arg(long, value_name = "THREAD")]
    pub thread: Option<String>,
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
