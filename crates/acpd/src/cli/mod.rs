//! The command-line arguments.

use std::net::SocketAddr;
use std::path::PathBuf;

use acpd_model::Role;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Run coding agents that speak ACP in a daemon: many clients, one durable log
#[derive(Debug, Parser)]
#[command(name = "acpd", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of all commands
#[derive(Debug, Args)]
pub struct Common {
    /// Configuration file [default: ~/.config/acpd/config.toml]
    #[arg(long, global = true, value_name = "FILE", env = "ACPD_CONFIG")]
    pub config: Option<PathBuf>,
    /// Directory of the log and the access token [default: ~/.local/state/acpd]
    #[arg(long, global = true, value_name = "DIR", env = "ACPD_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// Address of the daemon [default: 127.0.0.1:4127]
    #[arg(long, global = true, value_name = "ADDR", env = "ACPD_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// Use the remote daemon at this URL, with the access token of the environment
    #[arg(long, global = true, value_name = "URL", env = "ACPD_CONNECT")]
    pub connect: Option<String>,
    /// Trust the remote daemon's certificate by its SHA-256 fingerprint, as printed by "acpd serve"
    #[arg(
        long,
        global = true,
        value_name = "SHA256",
        env = "ACPD_TLS_FINGERPRINT",
        requires = "connect"
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

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the daemon in this terminal
    Serve(ServeArgs),
    /// Run as an ACP agent for an editor, over standard input and output
    Acp(AcpArgs),
    /// Open the web UI in a browser, signed in
    Open(OpenArgs),
    /// Send one prompt to an agent and show what it does
    Run(RunArgs),
    /// List threads, newest first
    Threads(ThreadsArgs),
    /// Search the text of all threads, newest first
    Search(SearchArgs),
    /// Show a thread: its turns and what the agent did
    Show(ShowArgs),
    /// Archive a thread, hiding it from "acpd threads"
    Archive(ThreadArgs),
    /// Unarchive a thread
    Unarchive(ThreadArgs),
    /// Delete a thread and its log, for good
    Delete(ThreadArgs),
    /// Rename a thread
    Rename(RenameArgs),
    /// Export a thread as JSON lines, Markdown or HTML
    Export(ExportArgs),
    /// Test the permission policy
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Print the JSON Schema of the app protocol
    Schema,
    /// List, install and check agents
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Create, list and revoke access tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Terminate the agents of a daemon when the daemon exits; started by the daemon itself
    #[command(hide = true)]
    Keep(KeepArgs),
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token and print it once
    Create(TokenCreateArgs),
    /// List tokens
    List(TokenListArgs),
    /// Revoke a token and close its connections
    Revoke(TokenRevokeArgs),
    /// Print an address at which an editor that cannot send a token can open one connection
    Ticket(TokenTicketArgs),
}

#[derive(Debug, Args)]
pub struct TokenCreateArgs {
    /// Name of the token, recorded in the log with every action
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// Role: observer, approver, operator or owner; each includes the previous ones
    #[arg(long, value_name = "ROLE")]
    pub role: Role,
    /// Lifetime: 90m, 12h, 30d or 2w [default: unlimited]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<String>,
}

#[derive(Debug, Args)]
pub struct TokenListArgs {
    /// Print JSON, one token per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TokenRevokeArgs {
    /// Name of the token
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Debug, Args)]
pub struct TokenTicketArgs {
    /// Agent, as named by "acpd agents list" [default: the configured default, or the only configured agent]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Show whether an action would be allowed, asked or denied, and by which rule
    Test(PolicyTestArgs),
}

#[derive(Debug, Args)]
pub struct PolicyTestArgs {
    #[command(flatten)]
    pub subject: PolicySubject,
    /// Requesting agent [default: any]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Working directory of the thread [default: current directory]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Policy of the thread: name of a preset, or JSON
    #[arg(long, value_name = "POLICY")]
    pub thread_policy: Option<String>,
    /// Print the decision and all matching rules as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct PolicySubject {
    /// Shell command line
    #[arg(long, value_name = "LINE")]
    pub bash: Option<String>,
    /// Read access to a file
    #[arg(long, value_name = "PATH")]
    pub read: Option<String>,
    /// Write access to a file
    #[arg(long, value_name = "PATH")]
    pub write: Option<String>,
    /// Tool of an MCP server
    #[arg(long, value_name = "SERVER/TOOL")]
    pub mcp: Option<String>,
    /// ACP tool call
    #[arg(long, value_name = "JSON")]
    pub tool_call: Option<String>,
}

#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Words to find; use double quotes for a phrase
    #[arg(value_name = "WORDS", required = true)]
    pub words: Vec<String>,
    /// Search only this thread
    #[arg(long, value_name = "THREAD")]
    pub thread: Option<String>,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Print JSON, one object per line
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
pub struct ServeArgs {
    /// Add an agent named "demo" that needs no model and shows what acpd can do
    #[arg(long)]
    pub demo: bool,
    /// Listen on the network without TLS; tokens and threads are sent in clear text
    #[arg(long)]
    pub insecure_listen: bool,
    /// Format of the daemon's log output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Plain text
    Text,
    /// JSON, one object per line
    Json,
}

#[derive(Debug, Args)]
pub struct AcpArgs {
    /// Agent, as named by "acpd agents list" [default: the configured default, or the only configured agent]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Continue this thread in the editor's first new session
    #[arg(long, value_name = "ID")]
    pub thread: Option<String>,
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
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The prompt; "-" reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub prompt: String,
    /// Agent, as named by "acpd agents list"; optional if only one is configured
    #[arg(long, value_name = "NAME", conflicts_with = "thread")]
    pub agent: Option<String>,
    /// Working directory of the agent [default: current directory]
    #[arg(long, value_name = "DIR", conflicts_with = "thread")]
    pub cwd: Option<PathBuf>,
    /// Continue this thread instead of starting a new one
    #[arg(long, value_name = "ID")]
    pub thread: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// How to answer the agent's permission requests
    #[arg(long, value_name = "HOW", default_value = "ask")]
    pub permissions: Permissions,
    /// Also print protocol diagnostics, such as unknown methods called by the agent
    #[arg(long, short = 'v')]
    pub verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The agent's answer on standard output, everything else on standard error
    Text,
    /// Every notification of the app protocol, one per line
    Jsonl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Permissions {
    /// Ask on the terminal; decline if there is none
    Ask,
    /// Allow each request once
    Allow,
    /// Decline each request once
    Deny,
}

#[derive(Debug, Args)]
pub struct ThreadsArgs {
    /// Maximum number of threads
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Show archived threads
    #[arg(long)]
    pub archived: bool,
    /// Print JSON, one thread per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ThreadArgs {
    /// Id of the thread, as printed by "acpd threads"; its last characters are enough if they are unique
    #[arg(value_name = "THREAD")]
    pub thread: String,
}

#[derive(Debug, Args)]
pub struct RenameArgs {
    /// Id of the thread, as printed by "acpd threads"; its last characters are enough if they are unique
    #[arg(value_name = "THREAD")]
    pub thread: String,
    /// New name; omit it to restore the agent's title
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Id of the thread, as printed by "acpd threads"; its last characters are enough if they are unique
    #[arg(value_name = "THREAD")]
    pub thread: String,
    /// Print the thread as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List configured agents, then agents of the registry
    List(AgentsListArgs),
    /// List running agent processes and their memory use
    Running(AgentsRunningArgs),
    /// Install an agent of the registry into the data directory
    Install(AgentsInstallArgs),
    /// Download the current registry
    Update(AgentsUpdateArgs),
    /// Sign in to an agent in the terminal
    Login(AgentsLoginArgs),
    /// Start an agent and show its capabilities; exits with 0 if it works
    Doctor(AgentsDoctorArgs),
}

#[derive(Debug, Args)]
pub struct AgentsListArgs {
    /// Print JSON, one agent per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AgentsRunningArgs {
    /// Print JSON, one process per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AgentsInstallArgs {
    /// Agent, as named by "acpd agents list"
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Install a download that has no checksum in the registry
    #[arg(long)]
    pub unverified: bool,
}

#[derive(Debug, Args)]
pub struct AgentsUpdateArgs {
    /// URL of the registry document [default: the configured URL, or the official one]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

#[derive(Debug, Args)]
pub struct AgentsLoginArgs {
    /// Agent, as named by "acpd agents list"
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Authentication method, if the agent has several
    #[arg(value_name = "METHOD")]
    pub method: Option<String>,
    /// Run the command without confirmation
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct AgentsDoctorArgs {
    /// Agent, as named by "acpd agents list"
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Id of the thread, as printed by "acpd threads"; its last characters are enough if they are unique
    #[arg(value_name = "THREAD")]
    pub thread: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    pub format: ExportFormat,
    /// Leave out events that cannot be read because the log is damaged, and say which
    #[arg(long)]
    pub salvage: bool,
    /// Output file, replaced atomically [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Every event, one JSON object per line
    Jsonl,
    /// Markdown document
    Md,
    /// HTML page
    Html,
}

impl ExportFormat {
    /// Returns the daemon's name for the format.
    pub fn word(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Md => "md",
            Self::Html => "html",
        }
    }
}
