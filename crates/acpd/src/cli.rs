//! What can be typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use acpd_model::Role;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Run coding agents that speak ACP in a daemon: many clients, one durable log.
#[derive(Debug, Parser)]
#[command(name = "acpd", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub struct Common {
    /// Configuration file [default: ~/.config/acpd/config.toml]
    #[arg(long, global = true, value_name = "FILE", env = "ACPD_CONFIG")]
    pub config: Option<PathBuf>,
    /// Where the log and the access token live [default: ~/.local/state/acpd]
    #[arg(long, global = true, value_name = "DIR", env = "ACPD_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// Address of the daemon [default: 127.0.0.1:4127]
    #[arg(long, global = true, value_name = "ADDR", env = "ACPD_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// Use a daemon elsewhere, with the token of the environment
    #[arg(long, global = true, value_name = "URL", env = "ACPD_CONNECT")]
    pub connect: Option<String>,
    /// Trust the daemon elsewhere by its certificate's SHA-256, as "acpd serve" prints it
    #[arg(
        long,
        global = true,
        value_name = "SHA256",
        env = "ACPD_TLS_FINGERPRINT",
        requires = "connect"
    )]
    pub tls_fingerprint: Option<String>,
    /// Access token; better set in the environment, since other users can see arguments
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
    /// Be an agent for an editor that speaks ACP on standard input and output
    Acp(AcpArgs),
    /// Open the web UI in a browser, signed in
    Open(OpenArgs),
    /// Send one prompt to an agent and show what it does
    Run(RunArgs),
    /// List threads, newest first
    Threads(ThreadsArgs),
    /// Find what was said and done in all threads, newest first
    Search(SearchArgs),
    /// Show a thread: its turns and what the agent did
    Show(ShowArgs),
    /// Put a thread away: "acpd threads" leaves it out, until it is unarchived
    Archive(ThreadArgs),
    /// Take a thread out again
    Unarchive(ThreadArgs),
    /// Delete a thread and its log, for good
    Delete(ThreadArgs),
    /// Name a thread
    Rename(RenameArgs),
    /// Write a thread out, as a record or as a document
    Export(ExportArgs),
    /// Show what the permission policy makes of something
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Print the JSON Schema of the app protocol
    Schema,
    /// List agents, install them, and see whether they work
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Give out access tokens, and take them back
    #[command(subcommand)]
    Token(TokenCommand),
    /// Started by the daemon: ends its agents if it is killed
    #[command(hide = true)]
    Keep(KeepArgs),
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it, this once
    Create(TokenCreateArgs),
    /// List the tokens that were given out
    List(TokenListArgs),
    /// Take a token back; its connections end
    Revoke(TokenRevokeArgs),
    /// Print an address at which an editor that can send no token may open one connection
    Ticket(TokenTicketArgs),
}

#[derive(Debug, Args)]
pub struct TokenCreateArgs {
    /// Whose it is: what the log says about whatever is done with it
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// What it may do: observer, approver, operator or owner; each may do what those before it may
    #[arg(long, value_name = "ROLE")]
    pub role: Role,
    /// When it ends: 90m, 12h, 30d or 2w [default: never]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<String>,
}

#[derive(Debug, Args)]
pub struct TokenListArgs {
    /// Print JSON, one token a line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TokenRevokeArgs {
    /// The token's name
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Debug, Args)]
pub struct TokenTicketArgs {
    /// The agent, as "acpd agents list" names it [default: the one of the configuration, or the only one]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Say whether something would be allowed, asked or denied, and by which rule
    Test(PolicyTestArgs),
}

#[derive(Debug, Args)]
pub struct PolicyTestArgs {
    #[command(flatten)]
    pub subject: PolicySubject,
    /// The agent that wants it [default: any]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The thread's directory [default: this one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// The thread's own policy: a preset's name, or JSON
    #[arg(long, value_name = "POLICY")]
    pub thread_policy: Option<String>,
    /// Print JSON: the decision, and every rule that had a say
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct PolicySubject {
    /// A shell command line
    #[arg(long, value_name = "LINE")]
    pub bash: Option<String>,
    /// Reading a file
    #[arg(long, value_name = "PATH")]
    pub read: Option<String>,
    /// Writing a file
    #[arg(long, value_name = "PATH")]
    pub write: Option<String>,
    /// A tool of an MCP server
    #[arg(long, value_name = "SERVER/TOOL")]
    pub mcp: Option<String>,
    /// An ACP tool call
    #[arg(long, value_name = "JSON")]
    pub tool_call: Option<String>,
}

#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Words that must all be there; those in double quotes one after the other
    #[arg(value_name = "WORDS", required = true)]
    pub words: Vec<String>,
    /// In this thread alone
    #[arg(long, value_name = "THREAD")]
    pub thread: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct KeepArgs {
    /// Which run of which daemon
    #[arg(value_name = "RUN")]
    pub run: String,
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Add an agent named "demo" that needs no model and shows what acpd can do
    #[arg(long)]
    pub demo: bool,
    /// Listen to the network without TLS: everybody on the way can read tokens and threads
    #[arg(long)]
    pub insecure_listen: bool,
    /// How the daemon's own log is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

#[derive(Debug, Args)]
pub struct AcpArgs {
    /// Which agent, as "acpd agents list" names it [default: the one of the configuration, or the only one]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The editor's first new session goes on in this thread
    #[arg(long, value_name = "ID")]
    pub thread: Option<String>,
}

#[derive(Debug, Args)]
pub struct OpenArgs {
    /// Print the link, and start no browser
    #[arg(long)]
    pub print: bool,
    /// Print a link for a browser of another device or user, such as behind a proxy; others work only for this user on this machine
    #[arg(long)]
    pub other_device: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// What the agent is asked to do; "-" reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub prompt: String,
    /// Which agent, as "acpd agents list" names it; not needed if only one is configured
    #[arg(long, value_name = "NAME", conflicts_with = "thread")]
    pub agent: Option<String>,
    /// Where the agent works [default: this directory]
    #[arg(long, value_name = "DIR", conflicts_with = "thread")]
    pub cwd: Option<PathBuf>,
    /// Go on in this thread instead of starting one
    #[arg(long, value_name = "ID")]
    pub thread: Option<String>,
    /// What is printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// What to do when the agent asks for a permission
    #[arg(long, value_name = "HOW", default_value = "ask")]
    pub permissions: Permissions,
    /// Also print notes about the protocol, such as calls of the agent that do not exist
    #[arg(long, short = 'v')]
    pub verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The agent's answer on standard output, all else on standard error
    Text,
    /// Every notification of the app protocol, one a line
    Jsonl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Permissions {
    /// Ask on the terminal; without one, decline
    Ask,
    /// Allow once, each time
    Allow,
    /// Decline once, each time
    Deny,
}

#[derive(Debug, Args)]
pub struct ThreadsArgs {
    /// How many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Those that were put away
    #[arg(long)]
    pub archived: bool,
    /// Print JSON, one thread a line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ThreadArgs {
    /// The thread's id, as "acpd threads" prints it; the end of it is enough if only one thread fits
    #[arg(value_name = "THREAD")]
    pub thread: String,
}

#[derive(Debug, Args)]
pub struct RenameArgs {
    /// The thread's id, as "acpd threads" prints it; the end of it is enough if only one thread fits
    #[arg(value_name = "THREAD")]
    pub thread: String,
    /// What it is called from now on; without it, the name is given back
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The thread's id, as "acpd threads" prints it; the end of it is enough if only one thread fits
    #[arg(value_name = "THREAD")]
    pub thread: String,
    /// Print the thread as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List agents: those of the configuration, then those of the registry
    List(AgentsListArgs),
    /// List the agents' processes that run, with what they take of the memory
    Running(AgentsRunningArgs),
    /// Fetch an agent of the registry into the data directory
    Install(AgentsInstallArgs),
    /// Fetch a newer registry
    Update(AgentsUpdateArgs),
    /// Sign in to an agent that wants a terminal for that
    Login(AgentsLoginArgs),
    /// Start an agent and show what it says of itself; the exit code tells whether it works
    Doctor(AgentsDoctorArgs),
}

#[derive(Debug, Args)]
pub struct AgentsListArgs {
    /// Print JSON, one agent a line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AgentsRunningArgs {
    /// Print JSON, one process a line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AgentsInstallArgs {
    /// The agent, as "acpd agents list" names it
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Take a download for which the registry gives no checksum
    #[arg(long)]
    pub unverified: bool,
}

#[derive(Debug, Args)]
pub struct AgentsUpdateArgs {
    /// Where the registry document is [default: the configured one, else the official one]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

#[derive(Debug, Args)]
pub struct AgentsLoginArgs {
    /// The agent, as "acpd agents list" names it
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The way to sign in, if the agent has several
    #[arg(value_name = "METHOD")]
    pub method: Option<String>,
    /// Run the command without asking first
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct AgentsDoctorArgs {
    /// The agent, as "acpd agents list" names it
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The thread's id, as "acpd threads" prints it; the end of it is enough if only one thread fits
    #[arg(value_name = "THREAD")]
    pub thread: String,
    /// What is written
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    pub format: ExportFormat,
    /// Where to; the file is there whole or not at all [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Every event, one JSON object a line
    Jsonl,
    /// A Markdown document
    Md,
    /// One HTML page
    Html,
}

impl ExportFormat {
    /// What the daemon calls it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Md => "md",
            Self::Html => "html",
        }
    }
}
