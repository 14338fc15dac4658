//! The command-line arguments.

mod access;
mod agents;
mod backup;
mod codex;
mod config;
mod daemon;
mod doctor;
mod editors;
mod examples;
pub mod help;
mod notifications;
mod service;
mod setup;
mod threads;

use clap::{Parser, Subcommand};

pub use self::access::*;
pub use self::agents::*;
pub use self::backup::*;
pub use self::codex::CodexArgs;
pub use self::config::*;
pub use self::daemon::*;
pub use self::doctor::*;
pub use self::editors::*;
pub use self::notifications::*;
pub use self::service::*;
pub use self::setup::*;
pub use self::threads::*;
use crate::options::Common;

/// Run coding agents in a daemon: many clients, one durable log
#[derive(Debug, Parser)]
#[command(name = "acpd", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Send one prompt to an agent and show what it does
    Run(RunArgs),
    /// Follow a thread live in this terminal, and take part in it
    Attach(AttachArgs),
    /// List threads, the last changed first
    #[command(alias = "ls")]
    Threads(ThreadsArgs),
    /// Search the text of all threads, newest first
    Search(SearchArgs),
    /// Show a thread: its turns, what the agent did, and open questions
    Show(ShowArgs),
    /// Send a prompt to a thread without waiting for the answer
    Send(SendArgs),
    /// Answer the oldest open question of a thread
    Answer(AnswerArgs),
    /// Type into the terminal of a command that waits for input, or end the command
    Type(TypeArgs),
    /// Interrupt the running turn of a thread
    Interrupt(InterruptArgs),
    /// Rename a thread
    Rename(RenameArgs),
    /// Let a thread work in another directory, such as its own after a move
    Move(MoveArgs),
    /// Let a thread's agent use a further directory, for which it starts anew
    AddDir(AddDirArgs),
    /// Pin a thread: clients list it first, for all users
    Pin(ThreadArgs),
    /// Remove the pin of a thread
    Unpin(ThreadArgs),
    /// Archive a thread, hiding it from "acpd threads"
    Archive(ThreadArgs),
    /// Unarchive a thread
    Unarchive(ThreadArgs),
    /// Delete a thread and its log, for good
    #[command(alias = "rm")]
    Delete(DeleteArgs),
    /// Remove threads and attachments beyond the limits of the configuration
    Prune(PruneArgs),
    /// Show the tokens and costs of threads, by day, agent, thread or folder
    Usage(UsageArgs),
    /// Export a thread as JSON lines, Markdown or HTML
    Export(ExportArgs),
    /// Create, list and revoke links with which anyone can read one thread
    #[command(subcommand)]
    Share(ShareCommand),
    /// List, install and check agents
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// List editors, and add acpd to their settings
    #[command(subcommand)]
    Editors(EditorsCommand),
    /// Start the daemon in this terminal
    Serve(ServeArgs),
    /// Open the web UI in a browser, signed in
    Open(OpenArgs),
    /// Sign in a phone by a QR code, with a token of its own
    Pair(PairArgs),
    /// Show whether the daemon runs, where, and what it runs
    Status(StatusArgs),
    /// Stop the daemon, after asking if turns run or questions wait
    Stop(StopArgs),
    /// Stop the daemon and start it again in the background
    Restart(StopArgs),
    /// Print the log of the daemon in the background
    Logs(LogsArgs),
    /// Back up all threads into one file, also while the daemon runs
    Backup(BackupArgs),
    /// Restore a data directory from a backup
    Restore(RestoreArgs),
    /// Install acpd as a service of systemd or launchd
    #[command(subcommand)]
    Service(ServiceCommand),
    /// Check everything that acpd depends on, and suggest fixes
    Doctor(DoctorArgs),
    /// Write a configuration with the agents of this host, and with comments
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
    /// Run as an ACP agent for an editor, over standard input and output
    Acp(AcpArgs),
    /// Run the Codex TUI with the agents of the daemon, or a pipe for programs that start Codex
    Codex(CodexArgs),
    /// Print the JSON Schema of the app protocol
    Schema,
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Write man pages into a directory
    Man(ManArgs),
    /// Terminate the agents of a daemon when the daemon exits; started by the daemon itself
    #[command(hide = true)]
    Keep(KeepArgs),
    /// Run the demo agent; started by the daemon itself
    #[command(hide = true)]
    DemoAgent(DemoAgentArgs),
}

impl Command {
    /// Returns whether the command needs a correct configuration file. Others use the daemon as it runs.
    pub fn needs_configuration(&self) -> bool {
        match self {
            Self::Serve(_) | Self::Restart(_) | Self::Policy(PolicyCommand::Test(_)) => true,
            Self::Agents(command) => !matches!(
                command,
                AgentsCommand::Running(_) | AgentsCommand::Default(_) | AgentsCommand::Uninstall(_)
            ),
            _ => false,
        }
    }

    /// Commands that work only on the daemon's host, since they use files or processes there.
    pub const ON_HOST: [&'static str; 19] = [
        "agents uninstall",
        "agents update",
        "agents login",
        "backup",
        "config",
        "doctor",
        "editors",
        "logs",
        "open",
        "policy test",
        "restart",
        "restore",
        "serve",
        "service",
        "setup",
        "stop",
        "token create",
        "token list",
        "token revoke",
    ];

    /// Commands that use no daemon.
    pub const WITHOUT_DAEMON: [&'static str; 3] = ["completions", "man", "schema"];

    /// Returns whether the command decides itself what Ctrl-C does.
    pub fn handles_ctrl_c(&self) -> bool {
        matches!(
            self,
            Self::Run(_)
                | Self::Attach(_)
                | Self::Logs(_)
                | Self::Open(_)
                | Self::Pair(_)
                | Self::Acp(_)
                | Self::Codex(_)
        )
    }
}
